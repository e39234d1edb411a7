# SPDX-License-Identifier: MIT
"""Parts that the commands share: the console, tables on it, and errors of files that cannot be written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from mptcplab.errors import LabError, reason
from mptcplab.report.choosing import split_to_width
from mptcplab.report.table import Table

#: Wider than any line: what is not a terminal gets whole lines.
_PLAIN_WIDTH = 100_000


def console(*, stderr: bool = False) -> Console:
    """Return a console: on a terminal with its colours and width, elsewhere plain and without line breaks."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PLAIN_WIDTH
    return Console(stderr=stderr, highlight=False, width=width)


def print_table(table: Table) -> None:
    """Print a table and its notes on standard output. On a terminal, it is arranged to fit."""
    out = console()
    parts, moved = split_to_width(table, out.width)
    for part in parts:
        out.print(part.to_rich(out.width))
    for note in (*moved, *table.notes):
        out.print(f"  {note}", style="dim" if not note.startswith("[") else "yellow", markup=False)


def default_jobs() -> int:
    """Return the number of CPUs that this process may use: one lab on each."""
    return len(os.sched_getaffinity(0))


@contextmanager
def report_write_errors(folder: Path) -> Iterator[None]:
    """Turn an error that prevents results from being written into one sentence.

    :raises LabError: for every OSError inside.
    """
    try:
        yield
    except OSError as error:
        hint = "see `df` and `ls -ld`; the same command continues and keeps the recorded runs"
        raise LabError(f"{folder} cannot be written: {reason(error)}", hint=hint) from error
