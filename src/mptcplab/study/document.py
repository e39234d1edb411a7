# SPDX-License-Identifier: MIT
"""A judged table as plain data."""

from __future__ import annotations

from typing import Any

from mptcplab.stats import Interval
from mptcplab.study.claims import FAILS, ClaimVerdict
from mptcplab.study.full import excludes
from mptcplab.study.present import Judged, asked
from mptcplab.study.schema import Because
from mptcplab.study.verdict import Cell


def study_document(judged: Judged, *, quick: bool = False) -> dict[str, Any]:
    """All that is said of the table, in full precision."""
    selected = judged.selected
    return {
        "study": selected.folder.name,
        "table": selected.number,
        "title": selected.table.title,
        "unit": selected.table.unit,
        "tolerance_percent": selected.table.tolerance,
        "quick": quick,
        "changed": list(judged.changes),
        "note": judged.filled(selected.table.note),
        "measured": [
            {"row": row, "column": column, "unit": selected.table.unit_of(column), "sockets": value.sockets}
            | {**_interval(value.interval), "runs_without": value.missing}
            | _full_document(judged, row, column, value.interval)
            | {"by_seed": {str(seed): one for seed, one in value.by_seed.items()}}
            for (row, column), value in judged.measured.items()
        ],
        "cells": [_cell_document(cell, judged) for cell in judged.cells],
        "claims": [_claim_document(one, judged) for one in judged.claims],
    }


def _full_document(judged: Judged, row: str, column: str, value: Interval) -> dict[str, Any]:
    """Of a short form: the full form's value, or None, and whether this one is outside its interval."""
    if judged.full is None:
        return {}
    full = judged.full.of(row, column)
    return {"full": _interval(full) if full else None, "outside_full": bool(full and excludes(full, value))}


def _interval(value: Interval) -> dict[str, Any]:
    return {"mean": value.mean, "ci95_half_width": value.half_width, "n": value.n}


def _why(because: Because | None, judged: Judged) -> dict[str, str | None]:
    if because is None:
        return {"because": None, "evidence": None}
    return {"because": judged.filled(because.reason), "evidence": judged.filled(because.evidence)}


def _cell_document(cell: Cell, judged: Judged) -> dict[str, Any]:
    return {
        "row": cell.row,
        "column": cell.column,
        "unit": judged.selected.table.unit_of(cell.column),
        "published": cell.published.mean,
        "published_half_width": cell.published.half_width,
        "measured": _interval(cell.measured) if cell.measured else None,
        "difference_percent": cell.difference_percent,
        "verdict": cell.verdict,
        **_why(cell.because, judged),
        "mptcp": cell.mptcp,
        "warnings": list(cell.warnings),
    }


def _claim_document(one: ClaimVerdict, judged: Judged) -> dict[str, Any]:
    return {
        "text": one.claim.text,
        "verdict": one.verdict,
        "asked": asked(one, judged.selected.table),
        "quantities": [{"row": q.row, "to": q.to, **_interval(q.interval)} for q in one.quantities],
        **_why(one.claim.because if one.verdict == FAILS else None, judged),
    }
