# SPDX-License-Identifier: MIT
"""Rewords click's errors about a command line in the form of all our errors."""

from __future__ import annotations

import difflib
import re

import click

from mptcplab.errors import InputError

_COMMAND = re.compile(r"No such command '(.*)'")
_VALUE = re.compile(r"Invalid value for '?(.*?)'?: (.*)", re.DOTALL)


def lacks_subcommand(error: click.ClickException) -> bool:
    """Return whether a command group was called without a subcommand; ``error`` then contains the group's help."""
    return error.format_message().startswith("Usage: ")


def explain_usage(error: click.ClickException) -> InputError:
    """Return ``error`` as one sentence and a hint."""
    message = error.format_message().rstrip(".")
    ctx = getattr(error, "ctx", None)
    hint = f"see `{ctx.command_path if ctx is not None else 'mptcplab'} --help`"
    if isinstance(error, click.NoSuchOption):
        near = " or ".join(error.possibilities or [])
        return InputError(f"there is no option '{error.option_name}'", hint=f"did you mean {near}?" if near else hint)
    if (command := _COMMAND.match(message)) is not None:
        known = ctx.command.list_commands(ctx) if ctx is not None and isinstance(ctx.command, click.Group) else []
        found = difflib.get_close_matches(command[1], known, n=1)
        return InputError(f"there is no command '{command[1]}'", hint=f"did you mean {found[0]}?" if found else hint)
    if (value := _VALUE.match(message)) is not None:
        message = f"{value[1]}: {value[2]}"
    elif not re.match("[A-Z]{2}", message):  # FILE keeps its capitals
        message = f"{message[:1].lower()}{message[1:]}"
    return InputError(message.replace("\n", " "), hint=hint)
