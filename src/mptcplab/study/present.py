# SPDX-License-Identifier: MIT
"""A judged table as text. :mod:`mptcplab.study.document` makes data of it, :mod:`mptcplab.study.figures` figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mptcplab.report.table import Cell, Table, number_columns
from mptcplab.study.classes import VALUE_EMPHASES
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
    return replace(table, title=title, notes=tuple(notes_of(judged, reasons)))


def places_of(judged: JudgedTable) -> list[tuple[str, str]]:
    """Return row and column of every line of a table with published values."""
    cells = {(cell.row, cell.column) for cell in judged.cells if cell.row_is_there}
    places = [(row, name) for row in judged.selected.table.all_rows for name in judged.selected.table.columns]
    return [place for place in places if place in cells or place in judged.measured]


def _with_published(judged: JudgedTable, marks: Marks) -> Table:
    """Return a line per published value of the rows that were measured, and per further measured value."""
    described = judged.selected.table
    again = [f"in Table {described.again}"] if described.again else []
    columns = (
        *(described.along_label, described.across_label),
        *number_columns("published", "measured", *again, "difference"),
        *(VERDICT, AT_HALF, "MPTCP in use", "on the sockets"),
        *number_columns("n"),
        *([_OUTSIDE] if judged.beside else []),
    )
    cells = {(cell.row, cell.column): cell for cell in judged.cells if cell.row_is_there}
    places = places_of(judged)
    rows = (
        (
            *(_line(judged, cells[place], marks) if place in cells else _unpublished_row(judged, *place)),
            *_full_form_cell(judged, place[0], [place[1]]),
        )
        for place in places
    )
    return Table.build("", columns, rows)


def _line(judged: JudgedTable, cell: JudgedCell, marks: Marks) -> tuple[str, ...]:
    described = judged.selected.table
    return (
        cell.row,
        described.columns[cell.column].title,
        with_unit(published_text(cell.published), described, cell.column),
        _measured_cell(judged, cell.row, cell.column) if cell.measured else NONE,
        *_first_cells(judged, cell.row, cell.column),
        NONE if cell.difference_percent is None else f"{cell.difference_percent:+.1f} %",
        Cell(f"{verdict_text(cell)}{mark_of(cell.because, marks)}", emphasis=VALUE_EMPHASES[cell.verdict]),
        cell.at_half,
        cell.mptcp,
        cell.sockets,
        runs_text(cell.measured.n, cell.missing) if cell.measured else NONE,
    )


def _unpublished_row(judged: JudgedTable, row: str, column: str) -> tuple[str, ...]:
    value = judged.measured[row, column]
    title, runs = judged.selected.table.columns[column].title, runs_text(value.interval.n, value.missing)
    cells = (_measured_cell(judged, row, column), *_first_cells(judged, row, column))
    return (row, title, NONE, *cells, NONE, "", "", value.mptcp, value.sockets, runs)


def _measured_cell(judged: JudgedTable, row: str, column: str) -> Cell:
    table = judged.selected.table
    text = value_text(table.value_of(column), judged.measured[row, column].interval)
    return _with_full(judged, row, column, with_unit(text, table, column))


def _with_full(judged: JudgedTable, row: str, column: str, text: str) -> Cell:
    """Return a cell with the full form's value if the measured one is outside its interval."""
    full = _full_text(judged, row, column)
    return Cell(f"{text}{full}", emphasis="fair" if full else "")


def _first_cells(judged: JudgedTable, row: str, column: str) -> tuple[str, ...]:
    """Return the cell of the table that measures the same values for the first time, if there is one."""
    return (_first_text(judged, row, column),) if judged.selected.table.again else ()


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
    for row in described.all_rows:
        values = {name: judged.measured[row, name] for name in names if (row, name) in judged.measured}
        if values:
            texts = (cell_text(described.value_of(name), values[name]) if name in values else NONE for name in names)
            cells = (_with_full(judged, row, name, text) for name, text in zip(names, texts, strict=True))
            n = str(max(value.interval.n + value.missing for value in values.values()))
            rows.append((row, *cells, n, *_full_form_cell(judged, row, names)))
    numbers = number_columns(*(_column_heading(described, name) for name in names), "n")
    return Table.build("", (described.along_label, *numbers, *([_OUTSIDE] if judged.beside else [])), rows)


def _column_heading(table: PublishedTable, column: str) -> str:
    """Return the column's title, with its unit if that is not the one in the table's title."""
    title, unit = table.columns[column].title, table.unit_of(column)
    return title if unit in ("", table.unit) else f"{title} ({unit})"
