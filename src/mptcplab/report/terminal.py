# SPDX-License-Identifier: MIT
"""Tables on a terminal: arranged to fit, in as few parts as its width allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from mptcplab.report.choosing import drop_constants
from mptcplab.report.table import Emphasis, Table

#: Characters that rich adds between columns, and around the table.
_BETWEEN, _FRAME = 3, 2
_STYLES: dict[Emphasis, str] = {
    "": "",
    "good": "green",
    "fair": "yellow",
    "bad": "bold red",
    "notable": "bold yellow",
    "sum": "bold",
}


def to_rich(table: Table, width: int) -> Group:
    """Return a table for a terminal of this width. Words are broken only if whole ones do not fit."""
    # rich would wrap a title at the width of its table.
    title = [Text(table.title, style="bold")] if table.title else []
    made = RichTable(box=box.SIMPLE_HEAD)
    for column, column_width in zip(table.columns, _shrink_columns(table, width), strict=True):
        justify: Literal["left", "right"] = "right" if column.is_numeric else "left"
        made.add_column(column.heading, justify=justify, overflow="fold", width=column_width)
    for row in table.rows:
        made.add_row(*(Text(cell, style=_STYLES[cell.emphasis]) for cell in row))
    return Group(*title, made)


def fits(table: Table, width: int, *, wrapped: bool = False) -> bool:
    """Return whether a table is at most this wide, with cells ``wrapped`` to a word per line or in one line each."""
    return _total(_widths(table, wrapped=wrapped)) <= width


def split_to_width(table: Table, width: int) -> tuple[list[Table], list[str]]:
    """Return the table as parts that fit into ``width`` without breaking a word, and what moved into notes.

    Columns with the same cell in all rows become notes. If that does not suffice, other columns continue in further
    parts, each with the columns that tell the rows apart.
    """
    if fits(table, width):
        return [table], []
    table, notes = drop_constants(table, len(table.rows))
    if fits(table, width, wrapped=True):
        return [table], notes
    keys = table.keys
    others = [place for place in range(len(table.columns)) if place not in keys]
    parts: list[list[int]] = []
    for place in others:
        if parts and fits(table.with_columns([*keys, *parts[-1], place]), width, wrapped=True):
            parts[-1].append(place)
        else:
            parts.append([place])
    return [_part(table.with_columns([*keys, *part]), number) for number, part in enumerate(parts)], notes


def _part(table: Table, number: int) -> Table:
    return replace(table, title="") if number else table


def _widths(table: Table, *, wrapped: bool = False) -> list[int]:
    """Return the widths of the columns. A cell of a numeric column stays in one line."""
    return [_width(table, place, wrapped=wrapped) for place in range(len(table.columns))]


def _width(table: Table, place: int, *, wrapped: bool) -> int:
    column, cells = table.columns[place], [row[place] for row in table.rows]
    words = [*column.heading.split(), *(cells if column.is_numeric else " ".join(cells).split())]
    return max(map(cell_len, words if wrapped else [column.heading, *cells]), default=0)


def _shrink_columns(table: Table, width: int) -> list[int | None]:
    """Return the columns' widths: the widest shrink first, to the longest word; None if rich has to break words."""
    widths, minimums = _widths(table), _widths(table, wrapped=True)
    for _ in range(_total(widths) - width):
        shrinkable = [number for number, width in enumerate(widths) if width > minimums[number]]
        if not shrinkable:
            return [None] * len(widths)
        widths[max(shrinkable, key=lambda number: widths[number])] -= 1
    return list(widths)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _BETWEEN * len(widths) + _FRAME
