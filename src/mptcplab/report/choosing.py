# SPDX-License-Identifier: MIT
"""Columns and order of a printed table: what the user chooses, and what a terminal has room for."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mptcplab.errors import InputError
from mptcplab.metrics.points import natural_order
from mptcplab.report.table import Note, Table
from mptcplab.units import Duration, Packets, Probability, Quantity, Rate, Size, UnitError

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
        table = table.with_rows(_order(table, _place(table, sort.removeprefix("-")), descending=sort.startswith("-")))
    if not columns:
        return table
    places = list(dict.fromkeys(_place(table, name) for name in columns))
    places = [*_distinguishing_keys(table, places), *places]
    return _drop_idle_notes(table.with_columns([*places, *_columns_with_notes(table, places)]))


def sorted_tables(tables: Sequence[Table], sort: str | None) -> list[Table]:
    """Return tables of one result, each that has the column ``sort`` in its order.

    :raises InputError: if none has it.
    """
    if sort is None:
        return list(tables)
    flags = [_find(table, sort.removeprefix("-")) is not None for table in tables]
    if not any(flags):
        _place(tables[0], sort.removeprefix("-"))
    return [choose(table, (), sort) if has else table for table, has in zip(tables, flags, strict=True)]


def _distinguishing_keys(table: Table, places: Sequence[int]) -> list[int]:
    """Return the columns of keys to add: none if those in ``places`` distinguish the rows."""
    chosen = [place for place in places if table.columns[place].is_key]
    if len({tuple(row[place] for place in chosen) for row in table.rows}) == len(table.rows):
        return []
    others = [place for place in table.keys if place not in places]
    return [place for place in others if len({row[place] for row in table.rows}) > 1]


def _columns_with_notes(table: Table, places: Sequence[int]) -> list[int]:
    """Return the other columns that refer to notes: a warning has to stay beside its row."""
    others = [place for place in range(len(table.columns)) if place not in places]
    marks = [mark[0] for note in table.notes if (mark := _MARK.match(note))]
    return [place for place in others if any(mark in row[place] for row in table.rows for mark in marks)]


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
    for place, heading in enumerate(table.headings):
        if heading.casefold() == wanted:
            return place
    places = [place for place, column in enumerate(table.columns) if wanted in map(str.casefold, column.names)] or [
        place for place in table.keys if any(wanted == _last_part(key) for key in table.columns[place].names)
    ]
    if len(places) > 1:
        heads = ", ".join(table.headings[place] for place in places)
        raise InputError(f"'{name}' is the name of several columns", hint=f"use one of {heads}")
    return places[0] if places else None


def _last_part(key: str) -> str:
    return key.rpartition(".")[2].casefold()


def _place(table: Table, name: str) -> int:
    place = _find(table, name)
    if place is not None:
        return place
    heads = dict.fromkeys(_hint_name(column.heading, column.names) for column in table.columns)
    raise InputError(f"the table has no column '{name}'", hint=f"use one of {', '.join(filter(None, heads))}")


def _hint_name(head: str, others: Sequence[str]) -> str:
    """Return the name for a hint: the beginning of the head that is a name, or the head, as it is on the screen."""
    return next((text for text in others if f"{head} ".startswith(f"{text} ")), head)


def _order(table: Table, place: int, *, descending: bool) -> list[int]:
    """Return the rows' numbers in the order of a column: by its values if cells keep them; rows without one last."""
    cells = [row[place] for row in table.rows]
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
    same = [place for place, name in headings if name not in kept and len({row[place] for row in rows}) == 1]
    if counted < len(table.rows):
        same = [place for place in same if not any(row[place] for row in table.rows[counted:])]
    if len(rows) < 2 or not same:
        return table, []
    texts = [f"{table.headings[place]} {table.rows[0][place]}" for place in same if table.rows[0][place]]
    others = [place for place in range(len(table.columns)) if place not in same]
    note = [f"The same in all rows: {'; '.join(texts)}."] if texts else []
    return table.with_columns(others), note
