# SPDX-License-Identifier: MIT
"""How long a sweep will still take: by what runs cost, not by how many there are."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.metrics.values import duration_text
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.plan.forecast import Forecast
from mptcplab.scenario.load import load

_COSTS = st.lists(st.floats(0.1, 1000), min_size=1, max_size=6)


def _simulate(costs: list[float], guesses: list[float], repeats: int, jobs: int) -> list[tuple[float, float, float]]:
    """Work off a sweep: (when a run ended, the remaining time then foretold, the real one), by list scheduling."""
    forecast = Forecast(dict(enumerate(guesses)), jobs=jobs)
    todo = [kind for _ in range(repeats) for kind in range(len(costs))]
    for kind in todo:
        forecast.add(kind)
    free, ends = [0.0] * jobs, []
    for kind in todo:
        free.sort()
        free[0] += costs[kind]
        ends.append((free[0], kind))
    described = []
    for at, kind in sorted(ends):
        forecast.count_done(kind, costs[kind])
        described.append((at, forecast.remaining_seconds, max(free) - at))
    return described


@given(_COSTS, st.integers(1, 4), st.floats(0.1, 10))
def test_wrong_guesses_are_forgotten(costs: list[float], jobs: int, wrong: float) -> None:
    """Once every point has been run, at most the runs under way are counted twice or left out."""
    for at, left, real in _simulate(costs, [wrong * cost for cost in costs], 6, jobs)[2 * len(costs) * jobs :]:
        slack = (jobs + 1) * max(costs)
        assert real - slack <= left <= real + slack, f"at {at}: foretold {left}, it was {real}"


def test_a_mixed_sweep_is_foretold_within_a_third() -> None:
    """Costs from 0.5 to 60 s, guesses wrong by up to a factor of two each way: from a fifth to four fifths."""
    generator = random.Random(1)
    worst = 0.0
    for _ in range(200):
        costs = [generator.choice([0.5, 1, 5, 20, 60]) for _ in range(8)]
        guesses = [cost * 2 ** generator.uniform(-1, 1) for cost in costs]
        described = _simulate(costs, guesses, 20, 2)
        end = described[-1][0]
        middle = [(left, real) for at, left, real in described if 0.2 * end <= at <= 0.8 * end]
        worst = max(worst, *(max(left / real, real / left) for left, real in middle))
    print(f"the worst estimate of 200 sweeps was wrong by a factor of {worst:.2f}")
    assert worst < 1.33


def test_guesses_of_other_points_are_scaled() -> None:
    forecast = Forecast({0: 1.0, 1: 10.0}, jobs=1)
    forecast.add(0, 2)
    forecast.add(1, 3)
    assert forecast.remaining_seconds == 32
    forecast.count_done(0, 2.0)
    assert forecast.remaining_seconds == 2 + 3 * 20
    assert forecast.share_done == pytest.approx(2 / 64)


def test_what_is_there_already_says_nothing_of_costs() -> None:
    forecast = Forecast({0: 5.0}, jobs=4)
    forecast.add(0, 10)
    for _ in range(9):
        forecast.count_done(0, None)
    assert forecast.remaining_seconds == 5.0, "one run is not spread over four jobs"
    forecast.count_done(0, None)
    assert (forecast.remaining_seconds, forecast.share_done) == (0.0, 1.0)


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (89.4, "89 s"), (600, "10 min"), (12600, "3.5 h")])
def test_durations_for_people(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


_SHARED = """
title = "shared"
topology = { preset = "shared-bottleneck" }
links.bottleneck.rate = "10 Mbit/s"
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "100 s" }
"""
_LINES = """
title = "lines"
topology = { preset = "disjoint-paths" }
links."link1" = { rate = "10 Mbit/s" }
links."link2" = { rate = "10 Mbit/s" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "100 s" }
"""


def _estimate(folder: Path, text: str, *changes: str) -> float:
    file = folder / "scenario.toml"
    file.write_text(text)
    return estimate_seconds(load(file, overrides=changes).points[0].scenario)


def test_estimate_knows_bottlenecks(tmp_path: Path) -> None:
    """Two lines carry twice as much by MPTCP as one by TCP; two access links behind one bottleneck do not."""
    mptcp = _estimate(tmp_path, _LINES)
    tcp = _estimate(tmp_path, _LINES, "transport.protocol=tcp")
    shared = _estimate(tmp_path, _SHARED)
    assert mptcp - 0.2 == pytest.approx(2 * (tcp - 0.2)), "beside the 0.2 s of a lab that does nothing"
    assert shared == pytest.approx(tcp)


def test_estimate_knows_what_wakes_the_receiver(tmp_path: Path) -> None:
    quiet = _estimate(tmp_path, _LINES, "workloads.bulk.read_quantum=5 ms")
    busy = _estimate(tmp_path, _LINES)
    asking = _estimate(tmp_path, _LINES.replace('"flow"', '"iperf3"'))
    assert quiet < busy < asking
