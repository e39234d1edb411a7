# SPDX-License-Identifier: MIT
"""The note about outages that begin long after the failure: which rows it names, and in how many of their runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.unit.comparisons import row_of

from mptcplab.figure.sweep import sweep_figure
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow
from mptcplab.report.notes import later_outage_notes
from mptcplab.stats import mean_interval


def _row(mode: str, values: Mapping[int, tuple[float, float, float]], workload: str = "bulk") -> ResultRow:
    """Return a row with the outage, the time from the failure to it, and the interruption of each seed, all in s."""
    row = row_of({"mode": mode}, dict.fromkeys(values, 10.0), workload=workload)
    names = ("outage_s", "outage_after_s", "interruption_s")
    samples = {name: tuple(value[at] for value in values.values()) for at, name in enumerate(names)}
    return replace(row, samples={**row.samples, **samples}, metric_seeds=dict.fromkeys(names, tuple(values)))


def test_rows_are_named_with_runs_and_times() -> None:
    late = _row("down", {1: (2.5, 11.0, 1.2), 2: (1.2, 0.1, 1.2), 3: (4.9, 11.25, 1.3)})
    early = _row("silent", {1: (1.2, 0.1, 1.2), 2: (1.2, 0.1, 1.2)})
    (note,) = later_outage_notes([early, late])
    assert "not what the failure interrupts: down (2 of 3 runs, 11.0 to 11.2 s after it). " in note, note
    assert "--metric interruption" in note, note
    (note,) = later_outage_notes([late, _row("silent", {1: (1.0, 5.0, 0.1)}, workload="call")])
    assert "down, bulk (2 of 3 runs, 11.0 to 11.2 s after it); silent, call (1 of 1 runs, 5.0 s after it)." in note, (
        note
    )


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ((0.05, 3.0, 0.0), "too short for anybody to call it an outage"),
        ((1.4, 3.0, 1.0), "hardly longer than what the failure interrupts"),
        ((2.0, 0.9, 0.0), "the data in transit arrived first"),
    ],
)
def test_no_note(values: tuple[float, float, float], why: str) -> None:
    assert not list(later_outage_notes([_row("down", {1: values})])), why


def test_runs_whose_outage_has_no_end_are_not_counted() -> None:
    """Their seeds are in ``never``, and not among the seeds of the metric."""
    row = _row("down", {1: (2.5, 11.0, 1.2), 2: (2.5, 11.0, 1.2)})
    row = replace(row, samples={**row.samples, "outage_s": (2.5,)}, metric_seeds={**row.metric_seeds, "outage_s": (2,)})
    (note,) = later_outage_notes([row])
    assert "down (1 of 2 runs, 11.0 s after it)" in note, note


def test_many_rows_are_not_all_named() -> None:
    rows = [_row(f"mode{number}", {1: (2.5, 11.0, 1.2)}) for number in range(9)]
    (note,) = later_outage_notes(rows)
    assert "mode5 (1 of 1 runs, 11.0 s after it); and 3 more. " in note, note


def test_figures_of_outages_say_so_shortly() -> None:
    late, early = _row("down", {1: (2.5, 11.0, 1.2)}), _row("silent", {1: (1.2, 0.1, 1.2)})
    text = "some outages begin long after the failure; --metric interruption is what begins with it"
    for name, rows, has in (
        ("outage_s", [late, early], True),
        ("outage_s", [early], False),
        ("interruption_s", [late, early], False),
    ):
        drawn = [replace(row, metrics={**row.metrics, name: mean_interval(row.samples[name])}) for row in rows]
        note = sweep_figure("t", drawn, METRICS[name], "mode").note
        assert (text in note.split("\n")) == has, note
