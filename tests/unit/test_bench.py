# SPDX-License-Identifier: MIT
"""The pure parts of the benchmark. Nothing is timed here: a test that depends on speed fails on a busy machine."""

from __future__ import annotations

import os

import pytest
from bench import algorithms, curves, lab, overhead, present, scenarios
from bench.ratios import Ratio
from bench.usage import Usage, measured


def curve_of(costs: list[float], work: list[int]) -> curves.Curve:
    points = tuple(
        curves.Point(str(hops), cpu=[cost + 0.5], empty=[0.5], packet_hops=hops)
        for cost, hops in zip(costs, work, strict=True)
    )
    return curves.Curve("hops", "routers", points)


def test_proportional_cost_has_exponent_one_and_no_spread() -> None:
    curve = curve_of([0.1, 0.2, 0.4, 1.6], [100_000, 200_000, 400_000, 1_600_000])
    assert curve.exponent == pytest.approx(1.0)
    assert curve.spread == pytest.approx(1.0)


def test_quadratic_cost_is_seen() -> None:
    curve = curve_of([0.1, 0.4, 1.6], [100_000, 200_000, 400_000])
    assert curve.exponent == pytest.approx(2.0)
    assert curve.spread == pytest.approx(4.0)


def test_no_exponent_is_claimed_where_the_work_hardly_differs() -> None:
    assert curve_of([0.1, 0.2], [100_000, 110_000]).exponent is None


@pytest.mark.parametrize(
    "text",
    [
        scenarios.two_lines("flow", "60 s"),
        scenarios.two_lines("iperf3", "60 s"),
        scenarios.one_line("2 Gbit/s", "5 s", routers=16, connections=128),
        scenarios.unshaped("2 s", delay="1 ms", quantum="0 us"),
    ],
)
def test_scenarios_compile_to_plans(text: str) -> None:
    plan = lab.plan_of(text)
    assert plan.programs
    assert plan.setup


def test_usage_of_children_is_counted_even_when_nobody_waits_for_them() -> None:
    def work() -> str:
        if os.fork() == 0:
            if os.fork() == 0:
                while os.times().user + os.times().system < 0.05:
                    pass
            os._exit(0)
        return "done"

    result, usage = measured(work)
    assert result == "done"
    assert usage.cpu >= 0.04


def test_error_of_the_measured_work_is_raised() -> None:
    def work() -> None:
        raise ValueError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        measured(work)


def test_table_says_what_was_left_out_and_why() -> None:
    ratios = [Ratio("a", 2.0, [3.0, 2.5, 9.0], ["x", "y", "z"]), Ratio("b", 1.0, left_out="needs root")]
    text = present.ratio_table(ratios, (0.1, 0.2)).to_markdown()
    assert "3.00 (2.50 to 9.00) | 2.00 | yes | 3 | x" in text
    assert "left out" in text
    assert "needs root" in text


def test_stages_of_the_overhead_add_up() -> None:
    results = {stage: [Usage(0.1 * n, 0.05 * n, 0.05 * n)] for n, stage in enumerate(overhead.STAGES, start=1)}
    table = present.overhead_table(results)
    assert [row[2] for row in table.rows[:-1]] == ["0.100"] * len(overhead.STAGES)
    assert table.rows[-1][3].endswith("yes")


def test_dear_algorithm_is_told_from_a_cheap_one() -> None:
    level = [1.0, 1.0, 1.0]
    costs = [
        algorithms.Cost("cheap", one=level, two=[1.0, 1.2, 1.05], whole_one=level, whole_two=[2.0, 2.0, 2.0]),
        algorithms.Cost("dear", one=level, two=[1.0, 1.2, 1.15], whole_one=level, whole_two=level),
        algorithms.Cost("dear on one line", one=[1.0, 1.2, 1.15], two=level, whole_one=level, whole_two=level),
    ]
    table = present.algorithm_table(costs)
    assert [row[-1] for row in table.rows] == ["yes", "no", "no"], table.rows
    assert table.rows[0][2] == "1.05 (1.00 to 1.20)"
