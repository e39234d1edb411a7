# SPDX-License-Identifier: MIT
"""Check that the commands, options and files of command lines on pages exist. Nothing is run."""

from __future__ import annotations

import importlib.util
import re
import shlex

import click
from tools.docs.making.pages import ROOT, Page

from mptcplab.cli.main import commands

#: Words that separate commands in a shell line, and assignments before one.
_SEPARATORS = {"|", "||", "&&", ";", "do", "then"}
_FOLDERS = ("examples/", "docs/", "kernel/", "tests/", "scripts/", "bench/", "src/")


def problem(line: str, page: Page) -> str | None:
    """Return a sentence about the first part that does not exist, or None."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None  # a part of a command with quotes over several lines
    made = [word for other in page.commands for word in re.findall(r"(?:cp|>>) .*?(\S+)$", other)]
    for word in words:
        path = word.rstrip(";")
        if path.startswith(_FOLDERS) and not re.search(r"[*$\[{]|[A-Z]{4}", path):
            created = any(path == target or path.startswith(target.rstrip("/") + "/") for target in made)
            if not (ROOT / path).exists() and not created:
                return f"there is no {path}"
    for start, word in enumerate(words):
        if start and words[start - 1] not in _SEPARATORS and not re.fullmatch(r"\w+=.*|exec|time", words[start - 1]):
            continue
        problem = None
        if word == "mptcplab" or word.endswith("/mptcplab"):
            problem = _mptcplab(words[start + 1 :])
        elif word == "make":
            problem = _make(words[start + 1 :])
        elif word.startswith("python") and words[start + 1 : start + 2] == ["-m"]:
            module = words[start + 2]
            problem = None if importlib.util.find_spec(module) else f"there is no module {module}"
        if problem:
            return problem
    return None


def _mptcplab(words: list[str]) -> str | None:
    command: click.Command = commands
    context = click.Context(commands)
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        inner = command.get_command(context, name)
        if inner is None:
            return f"mptcplab has no command {name}"
        command = inner
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"--help", "-h"}
    for word in rest:
        if word == "--" or word in _SEPARATORS:
            break
        option = word.partition("=")[0]
        if re.match(r"--?[a-z]", word) and option not in known:
            return f"{command.name} has no option {option}"
    return None


def _make(words: list[str]) -> str | None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for word in words:
        if word in _SEPARATORS:
            break
        if "=" not in word and not word.startswith("-") and word not in targets:
            return f"there is no target {word}"
    return None
