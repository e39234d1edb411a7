# SPDX-License-Identifier: MIT
"""Compare the short form with the full form: which of its values are outside the full form's intervals.

The full form's values come from the same results folder, if it was measured there, else from ``full.json`` beside
``study.toml`` (:mod:`mptcplab.study.reference` writes it).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mptcplab.stats import Interval
from mptcplab.study.forms import Documents, digest, short_changes
from mptcplab.study.load import SelectedTable
from mptcplab.study.measured import TableValues, Value

REFERENCE = "full.json"
#: The largest relative difference of means that may come from rounding.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class FullResult:
    """The full form's values of one table, by row and column, and their origin; no cells if they are unknown."""

    cells: Mapping[tuple[str, str], Interval] = field(default_factory=dict)
    origin: str = ""

    def interval_of(self, row: str, column: str) -> Interval | None:
        """Return the full form's value, if it has an interval."""
        cell = self.cells.get((row, column))
        return cell if cell is not None and cell.half_width is not None else None


def excludes(full: Interval, value: Interval) -> bool:
    """Return whether the mean of ``value`` is outside the 95 % interval of the full form's value, which has one."""
    assert full.half_width is not None, "FullResult.of() returns values with an interval only"
    return abs(value.mean - full.mean) > full.half_width + _ROUNDING * abs(full.mean)


def full_form(selected: SelectedTable, documents: Documents) -> FullResult:
    """Return the full form of the present table. ``documents`` are from the study's results folder."""
    wanted = digest(selected)
    document = documents.get((selected.name, False))
    if document is not None and document.get("form") == wanted and not (document["changed"] or document.get("failed")):
        cells = {(entry["row"], entry["column"]): Interval.from_json(entry) for entry in document["measured"]}
        return FullResult(cells, "measured in this folder")
    table = read_reference(selected).get("tables", {}).get(selected.number, {})
    if table.get("form") != wanted:
        return FullResult()
    cells = {place: value.interval for place, value in shipped_values(selected).items()}
    return FullResult(cells, f"shipped with the study, from kernel {', '.join(table['kernels'])}")


def shipped_values(selected: SelectedTable) -> TableValues:
    """Return the values that are shipped with the study, seed by seed, also if the table has another form by now."""
    table = read_reference(selected).get("tables", {}).get(selected.number, {"cells": {}})
    rows = table["cells"].items()
    return {(row, name): _parse_value(cell) for row, columns in rows for name, cell in columns.items()}


def _parse_value(cell: Mapping[str, Any]) -> Value:
    by_seed = {int(seed): value for seed, value in cell.get("by_seed", {}).items()}
    value = Value(Interval(cell["mean"], cell["half_width"], cell["n"]), by_seed)
    # The key is there only if runs lack the value.
    return replace(value, missing=cell["missing"]) if "missing" in cell else value


def read_reference(selected: SelectedTable) -> dict[str, Any]:
    """Return the reference that is shipped with the table's study; empty if there is none."""
    try:
        loads: dict[str, Any] = json.loads((selected.folder / REFERENCE).read_text())
    except (OSError, ValueError):
        return {}
    return loads


def count_outside(measured: TableValues, full: FullResult | None) -> tuple[int, int]:
    """Return how many means are outside the full form's intervals, and how many could be compared."""
    pairs = (
        [(full.interval_of(*place), value.interval) for place, value in measured.items()] if full is not None else []
    )
    known = [(there, value) for there, value in pairs if there is not None]
    return sum(excludes(there, value) for there, value in known), len(known)


def outside_note(selected: SelectedTable, measured: TableValues, full: FullResult) -> str:
    """Return the note of a short form: how many of its values are outside, and possible reasons."""
    if not full.cells:
        return f"There are no values of the full form to compare with (measure it: mptcplab reproduce {selected.name})."
    count, of = count_outside(measured, full)
    unknown = f"; {len(measured) - of} more have no full value" if of < len(measured) else ""
    return f"{count} of {of} values lie outside the full form's 95 % interval ({full.origin}){unknown}." + (
        f" A possible reason: {_short_form_changes(selected, measured, full)}." if count else ""
    )


def _short_form_changes(selected: SelectedTable, measured: TableValues, full: FullResult) -> str:
    """Return the differences of the short form."""
    seeds = max((cell.n for cell in full.cells.values()), default=1)
    taken = max((value.interval.n for value in measured.values()), default=1)
    changes = ", ".join(short_changes(selected.table))
    parts = [f"has {taken} instead of {seeds} seeds"] if taken < seeds else []
    parts += [f"is shorter ({changes})"] if changes else []
    return f"the short form {' and '.join(parts) or 'was recorded with another kernel or other programs'}"
