# SPDX-License-Identifier: MIT
"""Columns and order of a printed table, and its arrangement on a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from mptcplab.errors import InputError
from mptcplab.metrics.values import natural_order
from mptcplab.report.table import Emphasis, Note, Table
from mptcplab.units import Duration, Packets, Probability, Quantity, Rate, Size, UnitError

# Columns and order of a printed table: what the user chooses, and what a terminal has room for.

#: Kinds of quantities that swept keys have.
_QUANTITIES: tuple[type[Quantity], ...] = (Rate, Duration, Size, Probability, Packets)
#: The beginning of a note to which cells refer.
_MARK = re.compile(r"\[\d+\]")


def choose(table: Table, columns: Sequence[str], sort: str | None) -> Table:
    """Return the table with the named columns, in the order of the column ``sort``; ``-NAME`` is descending.

    A name is a column head, its beginning up to the unit, a swept key or its last part, or the name of a metric in
    JSON. Columns that are needed to distinguish the rows come first, and columns that refer to notes last, even if they
    are not named.
    :raises InputError: for a name of no column, or of several.
    """
    if sort is not None:
        table = table.with_rows(
            _order(table, _index_of(table, sort.removeprefix("-")), descending=sort.startswith("-"))
        )
    if not columns:
        return table
    indices = list(dict.fromkeys(_index_of(table, name) for name in columns))
    indices = [*_distinguishing_keys(table, indices), *indices]
    return _drop_idle_notes(table.with_columns([*indices, *_columns_with_notes(table, indices)]))


def sorted_tables(tables: Sequence[Table], sort: str | None) -> list[Table]:
    """Return tables of one result, each that has the column ``sort`` in its order.

    :raises InputError: if none has it.
    """
    if sort is None:
        return list(tables)
    flags = [_find(table, sort.removeprefix("-")) is not None for table in tables]
    if not any(flags):
        _index_of(tables[0], sort.removeprefix("-"))
    return [choose(table, (), sort) if has else table for table, has in zip(tables, flags, strict=True)]


def _distinguishing_keys(table: Table, indices: Sequence[int]) -> list[int]:
    """Return the columns of keys to add: none if those in ``indices`` distinguish the rows."""
    chosen = [index for index in indices if table.columns[index].is_key]
    if len({tuple(row[index] for index in chosen) for row in table.rows}) == len(table.rows):
        return []
    others = [index for index in table.keys if index not in indices]
    return [index for index in others if len({row[index] for row in table.rows}) > 1]


def _columns_with_notes(table: Table, indices: Sequence[int]) -> list[int]:
    """Return the other columns that refer to notes: a warning has to stay beside its row."""
    others = [index for index in range(len(table.columns)) if index not in indices]
    marks = [mark[0] for note in table.notes if (mark := _MARK.match(note))]
    return [index for index in others if any(mark in row[index] for row in table.rows for mark in marks)]


def _drop_idle_notes(table: Table) -> Table:
    """Return the table without the notes that are about other columns, or about cells of these."""
    texts = [*table.headings, *(cell for row in table.rows for cell in row)]
    idle = {note for note in table.notes if isinstance(note, Note) and not any(map(note.about.search, texts))}
    return replace(table, notes=tuple(note for note in table.notes if note not in idle))


def _find(table: Table, name: str) -> int | None:
    """Return the column with a head or, if none has it, with another name; None for none.

    :raises InputError: for another name of several columns.
    """
    wanted = name.casefold()
    for index, heading in enumerate(table.headings):
        if heading.casefold() == wanted:
            return index
    indices = [index for index, column in enumerate(table.columns) if wanted in map(str.casefold, column.names)] or [
        index
        for index in table.keys
        if any(wanted == key.rpartition(".")[2].casefold() for key in table.columns[index].names)
    ]
    if len(indices) > 1:
        heads = ", ".join(table.headings[index] for index in indices)
        raise InputError(f"'{name}' is the name of several columns", hint=f"use one of {heads}")
    return indices[0] if indices else None


def _index_of(table: Table, name: str) -> int:
    index = _find(table, name)
    if index is not None:
        return index
    heads = dict.fromkeys(_hint_name(column.heading, column.names) for column in table.columns)
    raise InputError(f"the table has no column '{name}'", hint=f"use one of {', '.join(filter(None, heads))}")


def _hint_name(head: str, others: Sequence[str]) -> str:
    """Return the name for a hint: the beginning of the head that is a name, or the head, as it is on the screen."""
    return next((text for text in others if f"{head} ".startswith(f"{text} ")), head)


def _order(table: Table, index: int, *, descending: bool) -> list[int]:
    """Return the rows' numbers in the order of a column: by its values if cells keep them; rows without one last."""
    cells = [row[index] for row in table.rows]
    keys: dict[int, Any] = {at: cell.number for at, cell in enumerate(cells) if cell.number is not None}
    if not keys:
        filled = [at for at, cell in enumerate(cells) if cell]
        keys = dict(zip(filled, _keys_of([cells[at] for at in filled]), strict=True))
    return [
        *sorted(keys, key=keys.__getitem__, reverse=descending),
        *(at for at in range(len(cells)) if at not in keys),
    ]


def _keys_of(cells: Sequence[str]) -> Sequence[Any]:
    """Return what orders texts: the quantities that all of them are, or the numbers inside them."""
    for kind in _QUANTITIES:
        try:
            return [_parse_quantities(cell, kind) for cell in cells]
        except UnitError:
            continue
    return [natural_order(cell) for cell in cells]


def _parse_quantities(cell: str, kind: type[Quantity]) -> tuple[Quantity, ...]:
    """Return the quantity in a cell, or those in its list. :raises UnitError: if they are not of this kind."""
    try:
        listed = json.loads(cell)
    except ValueError:
        listed = cell
    return tuple(kind.parse(str(text)) for text in (listed if isinstance(listed, list) else [cell]))


def drop_constants(table: Table, counted: int, kept: Sequence[str] = ()) -> tuple[Table, list[str]]:
    """Return the table without columns that have the same cell in all of several rows, and these as a note.

    Only the first ``counted`` rows count: the others are about points that were not run, and have only keys. Columns
    whose heads are ``kept`` stay.
    """
    rows = table.rows[:counted]
    headings = enumerate(table.headings)
    same = [index for index, name in headings if name not in kept and len({row[index] for row in rows}) == 1]
    if counted < len(table.rows):
        same = [index for index in same if not any(row[index] for row in table.rows[counted:])]
    if len(rows) < 2 or not same:
        return table, []
    texts = [f"{table.headings[index]} {table.rows[0][index]}" for index in same if table.rows[0][index]]
    others = [index for index in range(len(table.columns)) if index not in same]
    note = [f"The same in all rows: {'; '.join(texts)}."] if texts else []
    return table.with_columns(others), note


# Tables on a terminal: arranged to fit, in as few parts as its width allows.

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
    parts, each with the columns that distinguish the rows.
    """
    if fits(table, width):
        return [table], []
    table, notes = drop_constants(table, len(table.rows))
    if fits(table, width, wrapped=True):
        return [table], notes
    keys = table.keys
    others = [index for index in range(len(table.columns)) if index not in keys]
    parts: list[list[int]] = []
    for index in others:
        if parts and fits(table.with_columns([*keys, *parts[-1], index]), width, wrapped=True):
            parts[-1].append(index)
        else:
            parts.append([index])
    return [_part(table.with_columns([*keys, *part]), number) for number, part in enumerate(parts)], notes


def _part(table: Table, number: int) -> Table:
    return replace(table, title="") if number else table


def _widths(table: Table, *, wrapped: bool = False) -> list[int]:
    """Return the widths of the columns. A cell of a numeric column stays in one line."""
    return [_width(table, index, wrapped=wrapped) for index in range(len(table.columns))]


def _width(table: Table, index: int, *, wrapped: bool) -> int:
    column, cells = table.columns[index], [row[index] for row in table.rows]
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
