# SPDX-License-Identifier: MIT
"""CSV files with tables that others made."""

from __future__ import annotations

import csv
from pathlib import Path

from mptcplab.errors import InputError, reason
from mptcplab.lazy import pl

_OTHER_MARKS = {";": "semicolons", "\t": "tabs"}


def read_table(file: Path) -> pl.DataFrame:
    """Return a CSV file with all cells as text, null for empty ones; lines with ``#`` above the head are comments.

    :raises InputError: if it cannot be read as such.
    """
    lines = _lines(file)
    if not lines:
        raise InputError(f"{file} is empty", hint="a table begins with a line with the names of its columns")
    (_, head), *rows = lines
    _check_head(file, head)
    if not rows:
        raise InputError(
            f"{file} has no lines below the names of its columns", hint="write a line for each run, or for each point"
        )
    for number, row in rows:
        if len(row) != len(head):
            raise InputError(
                f"line {number} of {file} has {len(row)} cells, and its head {len(head)}",
                hint='separate cells by commas, and put a cell with commas in quotes: "10 ms, 0.1 %"',
            )
    return pl.DataFrame(
        [[text.strip() or None for text in row] for _, row in rows],
        schema=dict.fromkeys(head, pl.String),
        orient="row",
    )


def _lines(file: Path) -> list[tuple[int, list[str]]]:
    """Return the lines with something in them, each with its number in the file."""
    if not file.is_file():
        raise InputError(f"there is no table {file}", hint="name a .csv file, or a results folder")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {reason(error)}", hint="name another file") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not text in UTF-8", hint="save the table as CSV in UTF-8") from error
    above = next((at for at, line in enumerate(text.splitlines()) if not line.startswith("#")), 0)
    reader = csv.reader(text.splitlines(keepends=True)[above:])
    try:
        return [(above + reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"{file} is not a table of comma-separated values: {error}", hint="write it as CSV") from error


def _check_head(file: Path, head: list[str]) -> None:
    head[:] = [name.strip() for name in head]
    for mark, words in _OTHER_MARKS.items():
        if len(head) == 1 and mark in head[0]:
            raise InputError(f"the cells of {file} are separated by {words}", hint="write it with commas")
    for name in head:
        if not name:
            raise InputError(f"a column of {file} has no name", hint="give every column a name in the first line")
        if head.count(name) > 1:
            raise InputError(f"two columns of {file} have the name '{name}'", hint="give each a name of its own")
