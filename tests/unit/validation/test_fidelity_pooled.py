# SPDX-License-Identifier: MIT
"""The pooled difference of all scenarios of docs/fidelity.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from validation.fidelity.all_scenarios import ALL, DRAWN, NOT_DRAWN, difference_of, is_drawn, pool
from validation.fidelity.classes import SLOWER, SLOWEST

from mptcplab.scenario.load import load

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "two-paths.toml"


def _row(percent: float, workload: str = "bulk", verdict: str = "not shown") -> dict[str, Any]:
    return {
        "metric": "goodput_mbps",
        "settings": {},
        "workload": workload,
        "percent": percent,
        "percent_half_width": 0.5,
        "verdict": verdict,
    }


def _sides(ran: str, *rows: dict[str, Any]) -> dict[str, Any]:
    return {SLOWER: {"rows": list(rows), "ran": [ran, ran]}}


#: Where no CPU limits, nothing differs.
_NO_CPU = {SLOWEST: {"rows": [_row(0.1, verdict="equivalent")]}}


def test_flows_that_compete_count_as_one_value() -> None:
    rows = [_row(-20.0, "one"), _row(30.0, "two"), _row(1.0, "all together")]
    assert difference_of(rows) == 1.0
    assert difference_of(rows[:2]) == 5.0
    assert difference_of([]) is None


def test_each_execution_counts_once_and_what_a_cpu_limits_not_at_all() -> None:
    scenarios = {
        "lossy": _sides("a", _row(2.0)),
        "clean": _sides("b", _row(-0.1)),
        "the same as clean": _sides("b", _row(-0.1)),
        "a CPU too slow": _sides("c", _row(-65.0, verdict="differs")) | _NO_CPU,
        "for no known reason": _sides("d", _row(-9.0, verdict="differs")),
        "not measured": {},
    }
    assert pool(scenarios, ["lossy"]) == {ALL: [2.0, -0.1, -9.0], DRAWN: [2.0], NOT_DRAWN: [-0.1, -9.0]}


@pytest.mark.parametrize(
    ("change", "expected"),
    [("delay='5 ms'", False), ("loss='1 %'", True), ("jitter='1 ms'", True), ("backward.loss='1 %'", True)],
)
def test_a_network_draws_losses_or_delays(change: str, expected: bool) -> None:
    (scenario, *_) = (point.scenario for point in load(EXAMPLE, overrides=[f"links.link1.{change}"]).points)
    assert is_drawn(scenario) == expected


def test_an_older_kernel_is_pooled_over_the_scenarios_of_the_newest() -> None:
    """A scenario that only the older kernel puts outside stays in its median: years of Linux are the difference."""
    older = {"rows": [_row(-19.0, verdict="differs")], "ran": ["a", "old"]}
    scenarios = {
        "of years": _sides("a", _row(0.1)) | {"old": older},
        "a CPU too slow": _sides("c", _row(-65.0, verdict="differs"))
        | _NO_CPU
        | {"old": older | {"ran": ["c", "old"]}},
    }
    assert pool(scenarios, [], "old")[ALL] == [-19.0]
