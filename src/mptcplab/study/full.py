# SPDX-License-Identifier: MIT
"""The full form beside the short one: does what the short form measured lie where the full form says?

The full form's values come from the same results folder, if it was measured there, else from ``full.json`` beside
``study.toml`` (:mod:`mptcplab.study.reference` writes it).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mptcplab.stats import Interval
from mptcplab.study.forms import Documents, digest, short_changes
from mptcplab.study.load import SelectedTable
from mptcplab.study.measured import TableValues

REFERENCE = "full.json"
#: Means that differ less than this, relative to their size, were only rounded.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class FullResult:
    """What the full form of one table measured, by row and column, and whence that is known; no cells: it is not."""

    cells: Mapping[tuple[str, str], Interval] = field(default_factory=dict)
    origin: str = ""

    def of(self, row: str, column: str) -> Interval | None:
        """The full form's value, if it has an interval."""
        found = self.cells.get((row, column))
        return found if found is not None and found.half_width is not None else None


def excludes(full: Interval, value: Interval) -> bool:
    """Return whether the mean of ``value`` lies outside the 95 % interval of the full form's, which has one."""
    assert full.half_width is not None, "Full.of() leaves out what has no interval"
    return abs(value.mean - full.mean) > full.half_width + _ROUNDING * abs(full.mean)


def full_form(selected: SelectedTable, documents: Documents) -> FullResult:
    """The full form of the table as it is now. ``documents`` are those of the study's results folder."""
    wanted = digest(selected)
    document = documents.get((selected.name, False))
    if document is not None and document.get("form") == wanted and not (document["changed"] or document.get("failed")):
        cells = {(one["row"], one["column"]): Interval.from_json(one) for one in document["measured"]}
        return FullResult(cells, "measured in this folder")
    table = read_reference(selected).get("tables", {}).get(selected.number, {})
    if table.get("form") != wanted:
        return FullResult()
    cells = {
        (row, column): Interval(mean, half_width, n)
        for row, columns in table["cells"].items()
        for column, (mean, half_width, n) in columns.items()
    }
    return FullResult(cells, f"shipped with the study, from kernel {', '.join(table['kernels'])}")


def read_reference(selected: SelectedTable) -> dict[str, Any]:
    """The reference that is shipped with the table's study; empty when there is none."""
    try:
        found: dict[str, Any] = json.loads((selected.folder / REFERENCE).read_text())
    except (OSError, ValueError):
        return {}
    return found


def outside(measured: TableValues, full: FullResult | None) -> tuple[int, int]:
    """How many measured means are not where the full form says, and how many could be compared with it."""
    pairs = [(full.of(*place), value.interval) for place, value in measured.items()] if full is not None else []
    known = [(there, value) for there, value in pairs if there is not None]
    return sum(excludes(there, value) for there, value in known), len(known)


def beside_note(selected: SelectedTable, measured: TableValues, full: FullResult) -> str:
    """What is to be said below a short form: how many of its values are outside, and why this can be."""
    if not full.cells:
        return f"No full value to compare with: the full form was not recorded (mptcplab reproduce {selected.name})."
    count, of = outside(measured, full)
    unknown = f"; {len(measured) - of} more have no full value" if of < len(measured) else ""
    return f"{count} of {of} values lie outside the full form's 95 % interval ({full.origin}){unknown}." + (
        f" This can be: {_shorter(selected, measured, full)}." if count else ""
    )


def _shorter(selected: SelectedTable, measured: TableValues, full: FullResult) -> str:
    """What the short form saves."""
    seeds = max((one.n for one in full.cells.values()), default=1)
    taken = max((one.interval.n for one in measured.values()), default=1)
    changes = ", ".join(short_changes(selected.table))
    said = [f"has {taken} instead of {seeds} seeds"] if taken < seeds else []
    said += [f"is shorter ({changes})"] if changes else []
    return f"the short form {' and '.join(said) or 'was recorded with another kernel or other programs'}"
