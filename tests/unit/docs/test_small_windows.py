# SPDX-License-Identifier: MIT
"""The Monte Carlo of tools/docs/figures/small_windows.py against known results, and the directions of its parts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tools.docs.figures import fixed_loss
from tools.docs.figures.small_windows import NONE, Algorithm, Silence, simulate
from tools.docs.making.sources import SOURCES

from mptcplab.scenario.load import load

_TIMEOUT = Silence(6)
_BELOW_FOUR = Silence(6, below=4)


def _rates(
    algorithm: Algorithm, *loss: float, floor: int = 1, silence: Silence = NONE, connections: int = 100
) -> list[float]:
    means = simulate(algorithm, np.array(loss), floor=floor, silence=silence, connections=connections)
    return [float(rate) for rate in means.rates]


def _ratio(algorithm: Algorithm, floor: int, silence: Silence = NONE) -> float:
    """Return the rate of a path that loses 1 %, divided by the rate of a path that loses 8 %."""
    first, second = _rates(algorithm, 0.01, 0.08, floor=floor, silence=silence)
    return first / second


@pytest.mark.slow
@pytest.mark.parametrize("loss", [0.0005, 0.002])
def test_one_path_follows_the_square_root_law(loss: float) -> None:
    """Ott, Kemperman and Mathis: with random losses Reno's mean window is 1.31 / sqrt(p).

    Here a window is truncated to a segment, and a loss discards the fraction: half a segment or more is missing, 3 % of
    a window of 29. Chance adds less than 1 %: 100 connections see at least 7000 losses.
    """
    (rate,) = _rates("uncoupled", loss, floor=2)
    assert rate == pytest.approx(1.31 / math.sqrt(loss), rel=0.04)


@pytest.mark.slow
def test_one_path_of_olia_is_reno() -> None:
    """With one path there is nothing to shift, and the growth is 1 / w: the same numbers, not almost."""
    assert _rates("olia", 0.01, floor=2) == pytest.approx(_rates("uncoupled", 0.01, floor=2), rel=1e-9)


@pytest.mark.slow
def test_path_stuck_at_one_segment_sends_one_per_round() -> None:
    """Half of the segments lost: one arrives for each loss, in two rounds without silence, and in 2 + 5 with it.

    Beside a window of ten, one of one grows by less than 0.01 per segment, and half of the losses come at once: it
    never becomes two. Chance adds 1 %: 100 connections have at least 35000 losses.
    """
    for silence, rounds in ((NONE, 2), (Silence(1.5), 2.5), (_TIMEOUT, 7)):
        means = simulate("olia", np.array([0.01, 0.5]), floor=1, silence=silence, connections=100)
        assert means.at_one[1] > 0.99
        assert means.rates[1] == pytest.approx(1 / rounds, rel=0.02)


@pytest.mark.slow
def test_lower_floor_takes_data_from_the_worse_path() -> None:
    """A path that is at its floor nearly always carries half as much with a floor of one segment as of two."""
    two, single = _ratio("olia", 2), _ratio("olia", 1)
    assert 1.8 < single / two < 2.6, (
        "twice, and more from the windows above the floor that two segments reach more often"
    )


@pytest.mark.slow
def test_each_silence_takes_more_from_the_worse_path() -> None:
    """From one segment the path is silent for 5 rounds per loss: of 1 / 0.08 rounds without it, 40 % more."""
    never, whole, below_four = (_ratio("olia", 1, silence) for silence in (NONE, _TIMEOUT, _BELOW_FOUR))
    assert whole / never == pytest.approx(1.4, abs=0.1)
    assert below_four == pytest.approx(whole, rel=0.06), "OLIA seldom has two or three segments"


@pytest.mark.slow
def test_reno_tells_the_rules_of_silence_apart() -> None:
    """Reno is at two or three segments often, but seldom loses all of them."""
    never, whole, below_four = (_ratio("uncoupled", 2, silence) for silence in (NONE, _TIMEOUT, _BELOW_FOUR))
    assert whole == pytest.approx(never, rel=0.04)
    assert below_four > 1.3 * whole


@pytest.mark.slow
def test_floor_and_silence_do_not_matter_to_large_windows() -> None:
    """At 0.05 % windows are near 58 and never below four: the same numbers, not almost."""
    expected = _rates("uncoupled", 0.0005, 0.0005, floor=2)
    assert min(expected) > 50
    for floor, silence in ((1, NONE), (2, _BELOW_FOUR)):
        assert _rates("uncoupled", 0.0005, 0.0005, floor=floor, silence=silence) == pytest.approx(expected, rel=1e-9)


def test_every_point_of_the_scenario_has_a_column_and_a_model() -> None:
    scenario = SOURCES["olia-fixed-loss"].scenario
    assert scenario is not None
    points = load(scenario).points
    senders = {fixed_loss.sender(point.settings) for point in points}
    assert senders == set(fixed_loss.MODELS)
    assert len(points) == 4 * len(senders)
