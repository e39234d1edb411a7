# SPDX-License-Identifier: MIT
"""A judged table as JSON data."""

from __future__ import annotations

from typing import Any

from mptcplab.stats import Interval
from mptcplab.study.claims import ClaimVerdict
from mptcplab.study.cloud import CloudValue
from mptcplab.study.full import excludes
from mptcplab.study.judged import JudgedTable
from mptcplab.study.load import SelectedTable
from mptcplab.study.notes import asked
from mptcplab.study.parameters import parameters_of
from mptcplab.study.parts import Reason
from mptcplab.study.verdict import Cell


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
        "note": judged.filled(selected.table.note),
        "measured": [
            {"row": row, "column": column, "unit": selected.table.unit_of(column), "sockets": value.sockets}
            | {**value.interval.to_json(), "runs_without": value.missing}
            | _full_document(judged, row, column, value.interval)
            | {"by_seed": {str(seed): one for seed, one in value.by_seed.items()}}
            for (row, column), value in judged.measured.items()
        ],
        "cells": [_cell_document(cell, judged) for cell in judged.cells],
        "shapes": [
            {"column": one.column, "same": one.is_same, "factor": one.factor, "why": one.why} for one in judged.shapes
        ],
        "parameters": parameters_document(selected),
        "claims": [_claim_document(one, judged) for one in judged.claims],
    }


def _full_document(judged: JudgedTable, row: str, column: str, value: Interval) -> dict[str, Any]:
    """Return, for a short form, the full form's value or None, and whether this one is outside its interval."""
    if judged.full is None:
        return {}
    full = judged.full.of(row, column)
    return {"full": full.to_json() if full else None, "outside_full": bool(full and excludes(full, value))}


def _why(because: Reason | None, judged: JudgedTable) -> dict[str, str | None]:
    """Return the reason, or what was tried, and the description of the evidence."""
    if because is None:
        return {"because": None, "open": None, "evidence": None}
    return {
        "because": judged.filled(because.reason) or None,
        "open": judged.filled(because.open) or None,
        "evidence": judged.filled(because.evidence),
    }


def _cell_document(cell: Cell, judged: JudgedTable) -> dict[str, Any]:
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
        "fitted_by": [one.name for one in cell.fitted],
        "counted_at": list(cell.first) if cell.first else None,
        "shown_by": _evidence_document(cell),
        **_why(cell.because, judged),
        "over_beds": _beds_document(cell.over_beds),
        "mptcp": cell.mptcp,
        "warnings": list(cell.warnings),
    }


def _beds_document(value: CloudValue | None) -> dict[str, Any] | None:
    """Return in how many test beds a value agrees, and what moves it."""
    if value is None:
        return None
    return {"beds": len(value.within), "agrees": sum(value.within), "moved_by": list(value.moved_by)}


def _evidence_document(cell: Cell) -> dict[str, Any] | None:
    """Return the evidence cell, its value, and the share of the difference that it removes."""
    one = cell.evidence
    if one is None:
        return None
    place = {"table": one.table, "row": one.row, "column": one.column}
    return place | {"value": one.value.to_json() if one.value else None, "moved": one.moved, "proof": one.proof}


def _claim_document(one: ClaimVerdict, judged: JudgedTable) -> dict[str, Any]:
    return {
        "text": one.claim.text,
        "place": one.claim.place or judged.selected.table.place,
        "verdict": one.counted_as,
        "asked": asked(one, judged.selected.table),
        "fitted_columns": list(one.fitted),
        "quantities": _quantities(one),
        **_why(one.why, judged),
        "shown_by": one.evidence and {"verdict": one.evidence.verdict, "quantities": _quantities(one.evidence)},
    }


def _quantities(one: ClaimVerdict) -> list[dict[str, Any]]:
    return [{"row": q.row, "to": q.to, **q.interval.to_json()} for q in one.quantities]


def parameters_document(selected: SelectedTable) -> list[dict[str, Any]]:
    """Return the parameters of a table: the statement of the study, its place, and the value that the table has."""
    found = []
    for one in parameters_of(selected):
        choice = one.choice(selected.number)
        own = {"name": one.name, "key": ", ".join(one.key), "says": one.says, "place": one.place, "value": choice.value}
        fitted = [cells.model_dump() for cells in choice.fitted_to]
        found.append(own | {"origin": choice.origin, "why": choice.why, "fitted_to": fitted})
    return found
