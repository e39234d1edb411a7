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
from mptcplab.study.notes import describe_comparison
from mptcplab.study.parameters import parameters_of
from mptcplab.study.parts import Reason
from mptcplab.study.verdict import JudgedCell


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
        own_texts = {
            "name": parameter.name,
            "key": ", ".join(parameter.key),
            "says": parameter.says,
            "place": parameter.place,
            "value": choice.value,
        }
        fitted = [cells.model_dump() for cells in choice.fitted_to]
        texts.append(own_texts | {"origin": choice.origin, "why": choice.why, "fitted_to": fitted})
    return texts
