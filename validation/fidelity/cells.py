# SPDX-License-Identifier: MIT
"""The measurements of docs/fidelity.md, and how its tables write a scenario and a difference."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from validation.fidelity.earlier_results import is_of_other_build
from validation.fidelity.place import place, units_of
from validation.fidelity.store import read_measurements

from mptcplab.metrics.values import short_names

#: A row of a comparison, as :func:`validation.fidelity.gather.rows_of` yields it.
Row = dict[str, Any]
#: The marks of a difference from a single run, with its interval from validation/fidelity/single_runs.py, and of a
#: difference that was measured with another build of a kernel than most.
_MARKS = {"single": "¹", "other_build": "†"}
_RETRANSMITTED = "retransmitted_percent"


@cache
def document() -> dict[str, Any]:
    """Return the measurements."""
    return read_measurements().to_document()


def scenarios() -> dict[str, dict[str, Any]]:
    """Return the compared sides of each scenario, whose rows know whether they are of another build."""
    written = document()
    return {
        name: {side: _mark(entry, side, written["kernels"]) for side, entry in scenario["sides"].items()}
        for name, scenario in written["scenarios"].items()
    }


def _mark(entry: dict[str, Any], side: str, kernels: dict[str, Any]) -> dict[str, Any]:
    if not is_of_other_build(entry, side, kernels):
        return entry
    return entry | {"rows": [row | {"other_build": True} for row in entry["rows"]]}


def label(settings: Mapping[str, str]) -> str:
    """Return the settings of a point in words."""
    names = short_names(list(settings))
    return ", ".join(f"{names[key]} {value}" for key, value in settings.items())


def scenario_text(name: str, settings: str) -> str:
    """Return a scenario with its settings in words, which may be empty."""
    return f"`{name}`{f': {settings}' if settings else ''}"


def lab_text(row: Row) -> str:
    """Return the lab's value of a row."""
    form = {"share_percent": ".1f", _RETRANSMITTED: ".3f"}.get(row["metric"], "#.4g")
    return format(row["a"], form)


def cell(row: Row) -> str:
    """Return the difference of a row with its interval and its marks; of retransmissions the value as well.

    Margins are for goodputs, shares and times: retransmissions have no marks of these.
    """
    value, half = (row[key] for key in units_of(row))
    if value is None:
        return "0" if not row["b"] else ""
    if row["metric"] == _RETRANSMITTED:
        spread = "" if half is None else f" ± {half:.3f}"
        parts = [f"{row['b']:.3f} ({value:+.3f}{spread})"]
    else:
        spread = "" if half is None else f" ± {half:.1f}"
        parts = [f"{value:+.1f}{spread}", place(row)]
    marks = [mark for key, mark in _MARKS.items() if row.get(key)]
    return " ".join(filter(None, (*parts, *marks)))
