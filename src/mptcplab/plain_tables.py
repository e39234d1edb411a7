# SPDX-License-Identifier: MIT
"""Tables in plain text: Markdown, and aligned columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool] = ()) -> str:
    """Return a table without a newline at its end; the columns that are ``numeric`` are aligned on the right.

    A bar in a cell is escaped.
    """
    rule = ["---:" if is_numeric else "---" for is_numeric in numeric or [False] * len(headings)]
    return "\n".join(map(_line, (headings, rule, *rows)))


def align_columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a line for each row, with columns as wide as their longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
