# SPDX-License-Identifier: MIT
"""What click says of a wrong command line, in the words and the form of all our errors."""

from __future__ import annotations

import difflib
import re

import click

from mptcplab.errors import InputError

_COMMAND = re.compile(r"No such command '(.*)'")
_VALUE = re.compile(r"Invalid value for '?(.*?)'?: (.*)", re.DOTALL)


def is_group_alone(error: click.ClickException) -> bool:
    """Whether a group of commands was called without one: its help, which click has made, is the best answer."""
    return error.format_message().startswith("Usage: ")


def explain_usage(error: click.ClickException) -> InputError:
    """The same as one sentence and a hint."""
    said = error.format_message().rstrip(".")
    ctx = getattr(error, "ctx", None)
    hint = f"see `{ctx.command_path if ctx is not None else 'mptcplab'} --help`"
    if isinstance(error, click.NoSuchOption):
        near = " or ".join(error.possibilities or [])
        return InputError(f"there is no option '{error.option_name}'", hint=f"did you mean {near}?" if near else hint)
    if (command := _COMMAND.match(said)) is not None:
        known = ctx.command.list_commands(ctx) if ctx is not None and isinstance(ctx.command, click.Group) else []
        found = difflib.get_close_matches(command[1], known, n=1)
        return InputError(f"there is no command '{command[1]}'", hint=f"did you mean {found[0]}?" if found else hint)
    if (value := _VALUE.match(said)) is not None:
        said = f"{value[1]}: {value[2]}"
    elif not re.match("[A-Z]{2}", said):  # FILE stays as it is
        said = f"{said[:1].lower()}{said[1:]}"
    return InputError(said.replace("\n", " "), hint=hint)
