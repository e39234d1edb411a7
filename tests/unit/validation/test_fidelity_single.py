# SPDX-License-Identifier: MIT
"""The interval of a difference where the other side has a single run (validation/fidelity/single_runs.py)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from validation.fidelity.cells import cell
from validation.fidelity.single_runs import with_single_runs


def _row(lab: list[float], other: list[float], **more: Any) -> dict[str, Any]:
    verdict = "too few runs" if min(len(lab), len(other)) == 1 else "not shown"
    empty = dict.fromkeys(("a", "b", "difference", "half_width", "percent", "percent_half_width"))
    return {"metric": "goodput_mbps", "verdict": verdict, "values": [lab, other]} | empty | more


def test_the_interval_is_that_of_a_second_value() -> None:
    """Student's t with two degrees of freedom is 4.303; one run and the mean of three differ by 1.1547 deviations."""
    (row,) = with_single_runs([_row([9.0, 10.0, 11.0], [10.5])], 2)
    assert row["half_width"] == pytest.approx(4.3027 * 1.1547, abs=0.001)
    assert (row["a"], row["b"], row["percent"], row["verdict"]) == (10.0, 10.5, 5.0, "not shown")
    assert cell(row) == "+5.0 ± 49.7 ? ¹"


@pytest.mark.parametrize(
    ("other", "metric", "verdict"),
    [(10.01, "goodput_mbps", "equivalent"), (12.0, "goodput_mbps", "differs"), (12.0, "share_percent", "negligible")],
)
def test_the_margin_is_that_of_the_metric(other: float, metric: str, verdict: str) -> None:
    """2 of 10 are 20 % of a goodput, and two points of a share, whose margin is three."""
    (row,) = with_single_runs([_row([9.99, 10.0, 10.01], [other], metric=metric)], 3)
    assert row["verdict"].endswith(verdict)


@pytest.mark.parametrize("values", [([9.0], [10.0]), ([10.0] * 3, [10.5]), ([9.0, 10.0, 11.0], [9.0, 10.0])])
def test_other_rows_stay(values: tuple[list[float], list[float]]) -> None:
    """One run of the lab, or three that are all alike, do not show how much runs vary; two runs are compared."""
    row = _row(*values)
    assert with_single_runs([row], 2) == [row]


@pytest.mark.slow
def test_the_true_difference_is_in_all_intervals_of_a_family_as_often_as_promised() -> None:
    """Bonferroni's intervals miss at least one of four in at most 5 % of families; 6.5 % is three deviations above."""
    drawn = random.Random(7)
    families, missed = 2000, 0
    for _ in range(families):
        rows = [_row([drawn.gauss(10, 1) for _ in range(4)], [drawn.gauss(10, 1)]) for _ in range(4)]
        missed += any(abs(row["difference"]) > row["half_width"] for row in with_single_runs(rows, 2))
    print(missed, "of", families)
    assert 0 < missed / families < 0.065
