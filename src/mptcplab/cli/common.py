# SPDX-License-Identifier: MIT
"""Parts that the commands share: the console and tables on it."""

from __future__ import annotations

import sys

from rich.console import Console

from mptcplab.report.choosing import split_to_width, to_rich
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
        out.print(to_rich(part, out.width))
    for note in (*moved, *table.notes):
        out.print(f"  {note}", style="dim" if not note.startswith("[") else "yellow", markup=False)
