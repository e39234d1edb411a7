# SPDX-License-Identifier: MIT
"""A judged table as table, figure and document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mptcplab.report.figure import Figure, Series
from mptcplab.report.table import Table, interval_text, number
from mptcplab.study.load import Selected
from mptcplab.study.verdict import AGREES, DIFFERS, SAME_SHAPE, UNEXPLAINED, Cell, ClaimVerdict

_STYLES = {AGREES: "green", SAME_SHAPE: "yellow", DIFFERS: "yellow", UNEXPLAINED: "bold red"}


def study_table(selected: Selected, cells: Sequence[Cell], claims: Sequence[ClaimVerdict]) -> Table:
    """Published, measured, difference and verdict, one line per published value."""
    described = selected.table
    reasons = {cell.because: None for cell in cells if cell.because is not None}
    marks = {reason: f"[{count}]" for count, reason in enumerate(reasons, start=1)}
    columns = (described.along_label, "protocol", "published", "measured", "difference", "verdict", "MPTCP in use", "n")
    rows = tuple(
        (
            cell.row,
            described.columns[cell.column],
            number(cell.published),
            interval_text(cell.measured),
            f"{cell.difference_percent:+.1f} %",
            f"{cell.verdict} {marks[cell.because]}" if cell.because in marks else cell.verdict,
            cell.mptcp,
            str(cell.measured.n),
        )
        for cell in cells
    )
    styles = tuple((line, 5, _STYLES[cell.verdict]) for line, cell in enumerate(cells))
    title = f"{selected.study.name}, Table {selected.number}: {described.title} ({described.unit})"
    notes = (*_reasons(marks), *_warnings(cells), *_claims(claims), *_footer(selected, cells))
    return Table(title, columns, rows, frozenset({"published", "measured", "difference", "n"}), notes, styles)


def _reasons(marks: dict[Any, str]) -> list[str]:
    return [f"{mark} {reason.reason} {reason.evidence}".rstrip() for reason, mark in marks.items()]


def _warnings(cells: Sequence[Cell]) -> list[str]:
    return [f"Warning: {warning}." for warning in dict.fromkeys(w for cell in cells for w in cell.warnings)]


def _claims(claims: Sequence[ClaimVerdict]) -> list[str]:
    return [f'Claim "{one.claim.text}": {one.verdict}{_span(one)}' for one in claims]


def _span(one: ClaimVerdict) -> str:
    if not one.ratios:
        return ""
    values = [ratio for _, ratio in one.ratios]
    return f" (ratio {min(values):.2f} to {max(values):.2f}; bounds {one.claim.least:g} to {one.claim.most:g})"


def _footer(selected: Selected, cells: Sequence[Cell]) -> list[str]:
    several = any(cell.measured.half_width is not None for cell in cells)
    spread = "mean ± half width of the 95 % confidence interval (Student's t)" if several else "one run each"
    lines = [f"Tolerance {selected.table.tolerance:g} %. Measured: {spread}; payload at the receiver."]
    return [*lines, selected.table.note] if selected.table.note else lines


def study_figure(selected: Selected, cells: Sequence[Cell]) -> Figure:
    """Published points beside our line, one colour per protocol."""
    described = selected.table
    positions = tuple(row for row in described.published if any(cell.row == row for cell in cells))
    by_place = {(cell.row, cell.column): cell for cell in cells}
    series = []
    for column, name in described.columns.items():
        found = [by_place.get((row, column)) for row in positions]
        measured = tuple(cell.measured if cell else None for cell in found)
        series.append(Series(name, measured, tuple(cell.published if cell else None for cell in found)))
    title = f"{selected.study.authors} {selected.study.year}, Table {selected.number}: {described.title}"
    n = max((cell.measured.n for cell in cells), default=0)
    note = f"measured: mainline kernel in virtual time, n = {n}" + (", bars: 95 % interval" if n > 1 else "")
    value = "goodput" if described.value == "goodput_mbps" else "duration"
    return Figure(title, described.along_label, f"{value}, {described.unit}", positions, tuple(series), note)


def study_document(selected: Selected, cells: Sequence[Cell], claims: Sequence[ClaimVerdict]) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "study": selected.study.name,
        "table": selected.number,
        "title": selected.table.title,
        "unit": selected.table.unit,
        "tolerance_percent": selected.table.tolerance,
        "cells": [
            {
                "row": cell.row,
                "column": cell.column,
                "published": cell.published,
                "measured": {
                    "mean": cell.measured.mean,
                    "ci95_half_width": cell.measured.half_width,
                    "n": cell.measured.n,
                },
                "difference_percent": cell.difference_percent,
                "verdict": cell.verdict,
                "because": cell.because.reason if cell.because else None,
                "mptcp": cell.mptcp,
                "warnings": list(cell.warnings),
            }
            for cell in cells
        ],
        "claims": [{"text": one.claim.text, "verdict": one.verdict, "ratios": dict(one.ratios)} for one in claims],
    }
