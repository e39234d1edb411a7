# SPDX-License-Identifier: MIT
"""The table of docs/add-a-congestion-control.md: the functions of coupled.h, from the comments at their definitions."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "kernel" / "net" / "mptcp"
HEADER = FOLDER / "coupled.h"
_DECLARED = re.compile(r"^(?!static)[a-z][\w ]*[ *](coupled_\w+)\(", re.MULTILINE)


def files() -> tuple[Path, ...]:
    """Return the header and the files that define its functions."""
    return (HEADER, *sorted(FOLDER.glob("coupled*.c")))


def list_functions() -> list[str]:
    """Return the functions that coupled.h declares, in its order."""
    return _DECLARED.findall(HEADER.read_text())


def table_of(_: Path) -> str:
    """Return a row for each function: its name, the first line of its comment, and its return value."""
    sources = "\n".join(file.read_text() for file in files()[1:])
    rows = [f"| `{name}` | {_comment(name, sources)} |" for name in list_functions()]
    return "\n".join(["| function | what it does |", "| --- | --- |", *rows]) + "\n"


def _comment(name: str, sources: str) -> str:
    comment = re.search(rf"/\*\*\n \* {name}\(\) - (.*?) \*/", sources, re.DOTALL)
    if comment:
        lines = [line.strip().removeprefix("*").strip() for line in comment[1].splitlines()]
        text, _, rest = "\n".join(lines).partition("\n@")
        returned = re.search(r"^Return: (.*?)(?:\n\n|\Z)", rest, re.MULTILINE | re.DOTALL)
        parts = [text, f"returns {returned[1]}"] if returned else [text]
        return "; ".join(" ".join(part.split()).rstrip(".") for part in parts)
    above = rf"/\* ((?:(?!\*/).)*?)\s*\*/\n[\w ]+[ *]{name}\("
    plain = re.search(above, sources, re.DOTALL)
    if plain is not None:
        return " ".join(re.sub(r"\n \* ?", " ", plain[1]).split()).rstrip(".")
    if f"net.mptcp.{name}" in sources:
        return f"the setting `net.mptcp.{name}`"
    raise ValueError(f"{name} has no comment at its definition")
