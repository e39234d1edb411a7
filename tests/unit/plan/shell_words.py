# SPDX-License-Identifier: MIT
"""The programs that a command line starts, read from its text: the other opinion to what plans say that they use."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

#: What dash carries out itself, of all that it knows.
_BUILT_IN = {":", "[", "cd", "echo", "exit", "kill", "printf", "read", "test", "trap", "true", "wait"}
_BEFORE_A_COMMAND = {"{", "(", "!", "exec", "do", "then", "else", "if", "while", "until", "|", "||", "&", "&&", ";"}
_NO_COMMAND = {"}", ")", "done", "fi"}
#: What a shell ends with that becomes its own arguments.
_OWN_ARGUMENTS = ' && exec "$0" "$@"'
_OPERATORS = "();<>|&"
#: Of a command's output, within double quotes.
_SUBSTITUTION = re.compile(r"\$\((.*?)\)")


def programs_of(argv: Sequence[str]) -> set[str]:
    """Return the names of all programs behind ``argv``, those behind shells and wrappers too."""
    return set(_yield_programs(list(argv)))


def _yield_programs(argv: list[str]) -> Iterator[str]:
    name, rest = argv[0], argv[1:]
    yield name
    if name == "sh":
        line, *arguments = rest[rest.index("-c") + 1 :]
        if line.endswith(_OWN_ARGUMENTS):
            yield from _yield_programs(arguments)
        yield from _simple_commands(line.removesuffix(_OWN_ARGUMENTS))
    elif name == "mptcpize":
        yield from _yield_programs(rest[1:])
    elif name == "mptcplab-flow" and rest[0] == "with":
        yield from _yield_programs(_skip_options(rest[1:], values=False))
    elif name == "setsid":
        yield from _yield_programs(rest)
    elif name == "timeout":
        yield from _yield_programs(rest[1:])
    elif name == "xargs":
        yield from _yield_programs(_skip_options(rest, values=True))
    elif name == "socat":
        for word in rest:
            if word.startswith("EXEC:"):
                yield from _yield_programs(shlex.split(word.removeprefix("EXEC:")))


def _skip_options(words: list[str], *, values: bool) -> list[str]:
    while words[0].startswith("-"):
        words = words[2 if values else 1 :]
    return words


def _simple_commands(line: str) -> Iterator[str]:
    """Every simple command of a line of shell, without its assignments and redirections."""
    command: list[str] = []
    line = re.sub(r"\$\(\(.*?\)\)", "0", line)  # arithmetic starts nothing
    tokens = shlex.shlex(line, posix=True, punctuation_chars=_OPERATORS)
    tokens.whitespace_split = True
    tokens.commenters = "#"
    words = iter([*tokens, ";"])
    for word in words:
        for inner in _SUBSTITUTION.findall(word):
            yield from _simple_commands(inner)
        if word in _BEFORE_A_COMMAND or word in _NO_COMMAND:
            if command:
                yield from _simple(command)
            command = []
        elif set(word) <= {"<", ">", "&"}:
            next(words)
            if command and command[-1].isdigit():
                command.pop()
        elif command or "=" not in word:
            command.append(word)


def _simple(command: list[str]) -> Iterator[str]:
    if command[0] == "trap":
        yield from _simple_commands(command[1])
    elif command[0] not in _BUILT_IN and command[0] != "for":
        yield from _yield_programs(command)
