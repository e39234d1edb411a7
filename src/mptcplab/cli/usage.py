# SPDX-License-Identifier: MIT
"""Rewords click's errors about a command line in the form of all our errors."""

from __future__ import annotations

import difflib
import re
import sys

import click

from mptcplab.errors import InputError

_COMMAND = re.compile(r"No such command '(.*)'")
_NUMBER = re.compile(r"is not a valid (integer|float)(?: range)?\b")
#: What users of other programs type for an option whose name is unlike it, or less like it than another's.
_MEANT = {"--seeds": "--repeats for the number of seeds, or --seed for the first of them"}
#: What they type for a command.
_MEANT_COMMANDS = {"plot": "figure", "graph": "figure", "chart": "figure", "check": "show", "validate": "show"}
#: Names that are less alike than this are not meant; click proposes them.
_ALIKE = 0.6
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
        return InputError(f"there is no option '{error.option_name}'", hint=_option_hint(error) or hint)
    if (command := _COMMAND.match(message)) is not None:
        known = ctx.command.list_commands(ctx) if ctx is not None and isinstance(ctx.command, click.Group) else []
        meant = [_MEANT_COMMANDS[command[1]]] if command[1] in _MEANT_COMMANDS else []
        texts = [text for text in meant if text in known] or difflib.get_close_matches(command[1], known, n=1)
        return InputError(f"there is no command '{command[1]}'", hint=f"did you mean {texts[0]}?" if texts else hint)
    if (value := _VALUE.match(message)) is not None:
        message = f"{value[1]}: {_NUMBER.sub(_number_words, value[2])}"
    elif not re.match("[A-Z]{2}", message):  # FILE keeps its capitals
        message = f"{message[:1].lower()}{message[1:]}"
    return InputError(message.replace("\n", " "), hint=hint)


def _option_hint(error: click.NoSuchOption) -> str | None:
    """Return which option was probably meant, or that it belongs behind its command; None if nothing is near."""
    if error.ctx is not None and isinstance(error.ctx.command, click.Group):
        group = error.ctx.command
        behind = next((word for word in sys.argv[1:] if word in group.list_commands(error.ctx)), None)
        command = group.get_command(error.ctx, behind) if behind is not None else None
        if command is not None and any(error.option_name in parameter.opts for parameter in command.params):
            return f"write it behind the command: {error.ctx.command_path} {behind} ... {error.option_name}"
    known = _options_of(error)
    if (meant := _MEANT.get(error.option_name)) is not None and meant.split()[0] in known:
        return f"use {meant}"
    near = list(error.possibilities or []) or _options_with_letter(error)
    begun = [option for option in near if option.startswith((error.option_name, f"-{error.option_name}"))]
    name = error.option_name.lstrip("-")
    alike = difflib.get_close_matches(name, [option.lstrip("-") for option in near], cutoff=_ALIKE)
    texts = begun or [option for option in near if option.lstrip("-") in alike]
    return f"did you mean {' or '.join(texts)}?" if texts else None


def _options_of(error: click.NoSuchOption) -> list[str]:
    """Return the options that the command has."""
    return (
        [option for parameter in error.ctx.command.params for option in parameter.opts] if error.ctx is not None else []
    )


def _options_with_letter(error: click.NoSuchOption) -> list[str]:
    """Return the options that begin with the letter of a short one: other programs have it."""
    is_short = len(error.option_name) == 2 and error.option_name[0] == "-"
    return [option for option in _options_of(error) if is_short and option.startswith(f"-{error.option_name}")]


def _number_words(match: re.Match[str]) -> str:
    return "is not a whole number" if match[1] == "integer" else "is not a number"
