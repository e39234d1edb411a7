# SPDX-License-Identifier: MIT
"""Run the commands of console blocks again and update the output that a page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.docs.making.pages import ROOT, Block, Command, Page, is_volatile

_LEFT_OUT = "..."
#: A number with its sign or half width; or a word of eight hexadecimal digits, such as a token.
_NUMBER = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{8}\b|[-+<±]*\s*\d[\d,]*(?:\.\d+)?")


class ChangedOutputError(Exception):
    """The output of a command no longer has a line that the page shows."""


def prepare(page: Page, folder: Path) -> None:
    """Make the folder in which a page's commands run: the project's examples and data, and the page's own files.

    A scenario of a page may extend an example by its name alone, so they are in the folder itself, too.
    """
    (folder / "docs").mkdir(parents=True, exist_ok=True)
    for target in (ROOT / "examples", *(ROOT / "examples").glob("*.toml"), ROOT / "docs" / "data"):
        link = folder / ("docs" if target.parent.name == "docs" else "") / target.name
        if not link.is_symlink():
            link.symlink_to(target)
    for name, text in page.files.items():
        (folder / name).write_text(text)


def run(command: Command, folder: Path) -> str:
    """Run the command and return its standard error followed by its output, as on a terminal.

    :raises ChangedOutputError: when it fails, unless the page shows an error.
    """
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "160"}
    done = subprocess.run(
        ["sh", "-c", command.text], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if bool(done.returncode) != command.is_refused:
        raise ChangedOutputError(f"`{command.line}` ended with status {done.returncode}: {done.stderr.strip()}")
    return done.stderr + done.stdout


def refresh(block: Block, folder: Path, *, accept: bool = False) -> str:
    """Return the block with numbers from running its commands.

    With ``accept``, insert the whole output of a command that no longer has a line of the page; the author shortens
    it. :raises ChangedOutputError: without ``accept``.
    """
    text = ""
    for command in block.commands:
        output = run(command, folder).splitlines()
        try:
            shown = update(command.shown, output, command.line)
        except ChangedOutputError:
            if not accept:
                raise
            shown = [line.rstrip() for line in output if not is_volatile(line)]
        text += "".join(f"{line}\n" for line in (f"$ {command.text}", *shown))
    return text


def run_python(script: str, folder: Path) -> str:
    """Return the output of a page's Python. :raises ChangedOutputError: when it fails."""
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ChangedOutputError(f"the page's Python failed: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def update(shown: Sequence[str], output: Sequence[str], what: str) -> list[str]:
    """Return ``shown`` with each line replaced by the line of ``output`` that differs in numbers only.

    Lines between two ``...`` must match together and in order; a line with another number of columns does not match.
    :raises ChangedOutputError: naming a line without a match.
    """
    changes: list[str] = []
    rest = [line.rstrip() for line in output if not is_volatile(line)]
    for stretch in _stretches(shown):
        if stretch == [_LEFT_OUT] or is_volatile(stretch[0]):
            changes += stretch
            continue
        shapes = [_shape(line) for line in stretch]
        there = [_shape(line) for line in rest]
        starts = (at for at in range(len(rest)) if there[at : at + len(shapes)] == shapes)
        at = next(starts, None)
        if at is None:
            missing = next((line for line in stretch if _shape(line) not in there), stretch[0])
            raise ChangedOutputError(f"the output of `{what}` has no line like {missing.strip()!r} there any more")
        changes += rest[at : at + len(shapes)]
        rest = rest[at + len(shapes) :]
    return changes


def _stretches(shown: Sequence[str]) -> list[list[str]]:
    """Group adjacent lines; a ``...`` and a volatile line form groups of their own."""
    stretches: list[list[str]] = []
    alone = True
    for line in shown:
        single = line.strip() == _LEFT_OUT or is_volatile(line)
        if single or alone or not stretches:
            stretches.append([line])
        else:
            stretches[-1].append(line)
        alone = single
    return stretches


def _shape(line: str) -> str:
    """Return the line without its numbers, blanks and rules."""
    return " ".join(re.sub(r"[─┄]+", "─", _NUMBER.sub(" # ", line)).split())
