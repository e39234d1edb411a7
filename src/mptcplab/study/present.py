# SPDX-License-Identifier: MIT
"""A judged table as text. :mod:`mptcplab.study.document` makes data of it, :mod:`mptcplab.study.figures` figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mptcplab.report.table import Table
from mptcplab.study.classes import VALUE_STYLES
from mptcplab.study.full import excludes, shipped_values
from mptcplab.study.judged import JudgedTable
from mptcplab.study.notes import notes_of
from mptcplab.study.schema import PublishedTable
from mptcplab.study.verdict import JudgedCell
from mptcplab.study.words import (
    NONE,
    Marks,
    cell_text,
    mark_of,
    published_text,
    reasons_of,
    runs_text,
    value_text,
    verdict_text,
    with_unit,
)

#: The head of a short form's column: which values are outside the full form's interval.
_OUTSIDE = "outside the full form"
VERDICT = "verdict"
AT_HALF = "at half the tolerance"


def study_table(judged: JudgedTable) -> Table:
    """Return a line per published value, with measured value, difference and verdict; else the measured values."""
    reasons = reasons_of(judged)
    table = _with_published(judged, reasons) if judged.selected.table.published else _measured_table(judged)
    title = f"{judged.selected.study.name}, {judged.title} ({judged.selected.table.unit})"
    return Table(title, table.columns, table.rows, table.numeric, tuple(notes_of(judged, reasons)), table.styles)


def places_of(judged: JudgedTable) -> list[tuple[str, str]]:
    """Return row and column of every line of a table with published values."""
    cells = {(cell.row, cell.column) for cell in judged.cells if cell.row_is_there}
    places = [(row, name) for row in judged.selected.table.all_rows for name in judged.selected.table.columns]
    return [place for place in places if place in cells or place in judged.measured]


def _with_published(judged: JudgedTable, marks: Marks) -> Table:
    """Return a line per published value of the rows that were measured, and per further measured value."""
    described = judged.selected.table
    columns = (described.along_label, described.across_label, "published", "measured", "difference", VERDICT)
    cells = {(cell.row, cell.column): cell for cell in judged.cells if cell.row_is_there}
    places = places_of(judged)
    rows = tuple(
        (
            *(_line(judged, cells[place], marks) if place in cells else _unpublished_row(judged, *place)),
            *_full_form_cell(judged, place[0], [place[1]]),
        )
        for place in places
    )
    verdicts = [(line, cells[place].verdict) for line, place in enumerate(places) if place in cells]
    styles = [(line, 5, VALUE_STYLES[verdict]) for line, verdict in verdicts]
    styles += [(line, 3, "yellow") for line, place in enumerate(places) if _full_text(judged, *place)]
    numeric = frozenset({"published", "measured", "difference", "n"})
    last = (AT_HALF, "MPTCP in use", "on the sockets", "n", *([_OUTSIDE] if judged.beside else []))
    if described.again:
        return _with_first(judged, places, Table("", (*columns, *last), rows, numeric, (), tuple(styles)))
    return Table("", (*columns, *last), rows, numeric, (), tuple(styles))


def _line(judged: JudgedTable, cell: JudgedCell, marks: Marks) -> tuple[str, ...]:
    described = judged.selected.table
    return (
        cell.row,
        described.columns[cell.column].title,
        with_unit(published_text(cell.published), described, cell.column),
        _measured_text(judged, cell.row, cell.column) if cell.measured else NONE,
        NONE if cell.difference_percent is None else f"{cell.difference_percent:+.1f} %",
        f"{verdict_text(cell)}{mark_of(cell.because, marks)}",
        cell.at_half,
        cell.mptcp,
        cell.sockets,
        runs_text(cell.measured.n, cell.missing) if cell.measured else NONE,
    )


def _unpublished_row(judged: JudgedTable, row: str, column: str) -> tuple[str, ...]:
    value = judged.measured[row, column]
    title, runs = judged.selected.table.columns[column].title, runs_text(value.interval.n, value.missing)
    text = _measured_text(judged, row, column)
    return (row, title, NONE, text, NONE, "", "", value.mptcp, value.sockets, runs)


def _measured_text(judged: JudgedTable, row: str, column: str) -> str:
    table = judged.selected.table
    text = value_text(table.value_of(column), judged.measured[row, column].interval)
    return f"{with_unit(text, table, column)}{_full_text(judged, row, column)}"


def _with_first(judged: JudgedTable, places: Sequence[tuple[str, str]], table: Table) -> Table:
    """Return the table with a column of what the table has that measures the same values for the first time."""
    at, head = table.columns.index("measured") + 1, f"in Table {judged.selected.table.again}"
    return replace(
        table,
        columns=(*table.columns[:at], head, *table.columns[at:]),
        rows=tuple(
            (*row[:at], _first_text(judged, *place), *row[at:]) for row, place in zip(table.rows, places, strict=True)
        ),
        numeric=table.numeric | {head},
        styles=tuple((line, column + (column >= at), style) for line, column, style in table.styles),
    )


def _first_text(judged: JudgedTable, row: str, column: str) -> str:
    """Return the value that the table has which measures the same published value for the first time.

    Where that was not measured, it is shipped with the study.
    """
    selected = judged.selected
    source = judged.sources.get(f"{selected.folder.name}/{selected.table.again}")
    if source is not None:
        value = source.measured.get((row, column))
        interval, mark = (value.interval if value is not None else None), ""
    else:
        known = shipped_values(replace(selected, number=selected.table.again)).get((row, column))
        interval, mark = (known.interval if known is not None else None), " (shipped)"
    if interval is None:
        return NONE
    text = value_text(selected.table.value_of(column), interval)
    return f"{with_unit(text, selected.table, column)}{mark}"


def _full_text(judged: JudgedTable, row: str, column: str) -> str:
    """Return `` (full: 16.70 ± 0.30)`` after a value outside the full form's interval; else empty."""
    value, full = judged.measured.get((row, column)), judged.beside.interval_of(row, column) if judged.beside else None
    if value is None or full is None or not excludes(full, value.interval):
        return ""
    return f" (full: {value_text(judged.selected.table.value_of(column), full)})"


def _full_form_cell(judged: JudgedTable, row: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the last cell of a row that is compared with the full form."""
    if not judged.beside:
        return ()
    known = [name for name in columns if (row, name) in judged.measured and judged.beside.interval_of(row, name)]
    texts = [name for name in known if _full_text(judged, row, name)]
    if not known:
        return ("no full value",)
    return (f"{len(texts)} of {len(known)}",) if len(columns) > 1 else ("yes" if texts else "no",)


def _measured_table(judged: JudgedTable) -> Table:
    described = judged.selected.table
    names = list(described.columns)
    rows: list[tuple[str, ...]] = []
    styles: list[tuple[int, int, str]] = []
    for row in described.all_rows:
        values = [judged.measured.get((row, name)) for name in names]
        there = [value for value in values if value is not None]
        if there:
            kinds = [described.value_of(name) for name in names]
            texts = [cell_text(kind, value) if value else NONE for kind, value in zip(kinds, values, strict=True)]
            marked = [f"{text}{_full_text(judged, row, name)}" for text, name in zip(texts, names, strict=True)]
            n = str(max(value.interval.n + value.missing for value in there))
            styles += [(len(rows), at, "yellow") for at, name in enumerate(names, 1) if _full_text(judged, row, name)]
            rows.append((row, *marked, n, *_full_form_cell(judged, row, names)))
    titles = [_column_heading(described, name) for name in names]
    columns = (described.along_label, *titles, "n", *([_OUTSIDE] if judged.beside else []))
    return Table("", columns, tuple(rows), frozenset({*titles, "n"}), (), tuple(styles))


def _column_heading(table: PublishedTable, column: str) -> str:
    """Return the column's title, with its unit if that is not the one in the table's title."""
    title, unit = table.columns[column].title, table.unit_of(column)
    return title if unit in ("", table.unit) else f"{title} ({unit})"
