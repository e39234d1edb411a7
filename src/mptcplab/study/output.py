# SPDX-License-Identifier: MIT
"""A judged table as text, and as JSON data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mptcplab.report.table import Cell, Table, number_columns
from mptcplab.stats import Interval
from mptcplab.study.cloud import CloudValue
from mptcplab.study.judgement import VALUE_EMPHASES, ClaimVerdict
from mptcplab.study.library import SelectedTable
from mptcplab.study.measurement import excludes, shipped_values
from mptcplab.study.notes import (
    NONE,
    Marks,
    cell_text,
    describe_comparison,
    mark_of,
    notes_of,
    published_text,
    reasons_of,
    runs_text,
    value_text,
    verdict_text,
    with_unit,
)
from mptcplab.study.parameters import parameters_of
from mptcplab.study.parts import Reason
from mptcplab.study.schema import PublishedTable
from mptcplab.study.verdict import JudgedCell, JudgedTable

# A judged table as text. :mod:`mptcplab.study.figures` makes figures of it.

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
    table = judged.selected.table
    again = [f"in Table {table.again}"] if table.again else []
    columns = (
        *(table.along_label, table.across_label),
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
    table = judged.selected.table
    return (
        cell.row,
        table.columns[cell.column].title,
        with_unit(published_text(cell.published), table, cell.column),
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
    table = judged.selected.table
    names = list(table.columns)
    rows: list[tuple[str, ...]] = []
    for row in table.all_rows:
        values = {name: judged.measured[row, name] for name in names if (row, name) in judged.measured}
        if values:
            texts = (cell_text(table.value_of(name), values[name]) if name in values else NONE for name in names)
            cells = (_with_full(judged, row, name, text) for name, text in zip(names, texts, strict=True))
            n = str(max(value.interval.n + value.missing for value in values.values()))
            rows.append((row, *cells, n, *_full_form_cell(judged, row, names)))
    numbers = number_columns(*(_column_heading(table, name) for name in names), "n")
    return Table.build("", (table.along_label, *numbers, *([_OUTSIDE] if judged.beside else [])), rows)


def _column_heading(table: PublishedTable, column: str) -> str:
    """Return the column's title, with its unit if that is not the one in the table's title."""
    title, unit = table.columns[column].title, table.unit_of(column)
    return title if unit in ("", table.unit) else f"{title} ({unit})"


# A judged table as JSON data.


def study_document(judged: JudgedTable, *, quick: bool = False) -> dict[str, Any]:
    """Return all values and verdicts of the table, in full precision."""
    selected = judged.selected
    return {
        "study": selected.folder.name,
        "table": selected.number,
        "title": selected.table.title,
        "unit": selected.table.unit,
        "place": selected.table.place,
        "tolerance_percent": selected.table.tolerance,
        "why_tolerance": " ".join(selected.table.why_tolerance.split()),
        "quick": quick,
        "changed": list(judged.changes),
        "note": judged.fill_quotes(selected.table.note),
        "measured": [
            {"row": row, "column": column, "unit": selected.table.unit_of(column), "sockets": value.sockets}
            | {**value.interval.to_json(), "runs_without": value.missing}
            | _full_document(judged, row, column, value.interval)
            | {"by_seed": {str(seed): number for seed, number in value.by_seed.items()}}
            for (row, column), value in judged.measured.items()
        ],
        "cells": [_cell_document(cell, judged) for cell in judged.cells],
        "shapes": [
            {"column": shape.column, "same": shape.is_same, "factor": shape.factor, "why": shape.why}
            for shape in judged.shapes
        ],
        "parameters": parameters_document(selected),
        "claims": [_claim_document(claim, judged) for claim in judged.claims],
    }


def _full_document(judged: JudgedTable, row: str, column: str, value: Interval) -> dict[str, Any]:
    """Return, for a short form, the full form's value or None, and whether this one is outside its interval."""
    if judged.full is None:
        return {}
    full = judged.full.interval_of(row, column)
    return {"full": full.to_json() if full else None, "outside_full": bool(full and excludes(full, value))}


def _difference_document(because: Reason | None, judged: JudgedTable) -> dict[str, str | None]:
    """Return the reason, or what was tried, and the description of the evidence."""
    if because is None:
        return {"because": None, "open": None, "evidence": None}
    return {
        "because": judged.fill_quotes(because.reason) or None,
        "open": judged.fill_quotes(because.open) or None,
        "evidence": judged.fill_quotes(because.evidence),
    }


def _cell_document(cell: JudgedCell, judged: JudgedTable) -> dict[str, Any]:
    return {
        "row": cell.row,
        "column": cell.column,
        "unit": judged.selected.table.unit_of(cell.column),
        "published": cell.published.mean,
        "published_half_width": cell.published.half_width,
        "measured": cell.measured.to_json() if cell.measured else None,
        "difference_percent": cell.difference_percent,
        "verdict": cell.verdict,
        "at_half_tolerance": cell.at_half or None,
        "outside_tolerance": cell.outside,
        "fitted_by": [parameter.name for parameter in cell.fitted],
        "counted_at": list(cell.first) if cell.first else None,
        "shown_by": _evidence_document(cell),
        **_difference_document(cell.because, judged),
        "over_beds": _beds_document(cell.over_beds),
        "mptcp": cell.mptcp,
        "warnings": list(cell.warnings),
    }


def _beds_document(value: CloudValue | None) -> dict[str, Any] | None:
    """Return in how many test beds a value agrees, and what moves it."""
    if value is None:
        return None
    return {"beds": len(value.within), "agrees": sum(value.within), "moved_by": list(value.moved_by)}


def _evidence_document(cell: JudgedCell) -> dict[str, Any] | None:
    """Return the evidence cell, its value, and the share of the difference that it removes."""
    evidence = cell.evidence
    if evidence is None:
        return None
    place = {"table": evidence.table, "row": evidence.row, "column": evidence.column}
    return place | {
        "value": evidence.value.to_json() if evidence.value else None,
        "moved": evidence.moved,
        "proof": evidence.proof,
    }


def _claim_document(verdict: ClaimVerdict, judged: JudgedTable) -> dict[str, Any]:
    return {
        "text": verdict.claim.text,
        "place": verdict.claim.place or judged.selected.table.place,
        "verdict": verdict.counted_as,
        "asked": describe_comparison(verdict, judged.selected.table),
        "fitted_columns": list(verdict.fitted),
        "quantities": _quantities(verdict),
        **_difference_document(verdict.why, judged),
        "shown_by": verdict.evidence
        and {"verdict": verdict.evidence.verdict, "quantities": _quantities(verdict.evidence)},
    }


def _quantities(verdict: ClaimVerdict) -> list[dict[str, Any]]:
    return [{"row": q.row, "to": q.to, **q.interval.to_json()} for q in verdict.quantities]


def parameters_document(selected: SelectedTable) -> list[dict[str, Any]]:
    """Return the parameters of a table: the statement of the study, its place, and the value that the table has."""
    texts = []
    for parameter in parameters_of(selected):
        choice = parameter.choice(selected.number)
        texts_of_parameter = {
            "name": parameter.name,
            "key": ", ".join(parameter.key),
            "says": parameter.says,
            "place": parameter.place,
            "value": choice.value,
        }
        fitted = [cells.model_dump() for cells in choice.fitted_to]
        texts.append(texts_of_parameter | {"origin": choice.origin, "why": choice.why, "fitted_to": fitted})
    return texts
