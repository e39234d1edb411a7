# SPDX-License-Identifier: MIT
"""Outages and times until a network is usable, from curves whose answers are known by construction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.metrics.catalog.outages import (
    FailureInterval,
    compute_interruption_s,
    compute_outage_after_s,
    compute_outage_s,
    compute_usable_s,
    list_failure_intervals,
    longest_outage,
    read_usable_curve,
)
from mptcplab.metrics.column import Subject
from mptcplab.metrics.delivery import Delivery, compute_gap_s, compute_recovery_s
from mptcplab.metrics.instants import Instant
from mptcplab.metrics.warnings import _sampling_warnings, failure_interval_warnings

_BYTE = 8
_STEP_S, _ROUNDING_S = 0.1, 1e-9
#: A window that is full for less than a tenth still counts as low, at both ends, and begins at a sample.
_SLACK_S = 2 * (0.1 * 0.5 + _STEP_S)


def _curve(pieces: Sequence[tuple[float, float]]) -> Delivery:
    """``pieces``: how long, and how many bytes per second."""
    times, total = [0.0], [0.0]
    for seconds, speed in pieces:
        for _ in range(round(seconds / _STEP_S)):
            times.append(times[-1] + _STEP_S)
            total.append(total[-1] + speed * _STEP_S)
    return Delivery(np.array(times), np.array(total))


def _interval(until_s: float, bytes_per_second: float = 1000) -> FailureInterval:
    return FailureInterval(Instant(10.0, is_failure=True, place="a"), until_s, _BYTE * bytes_per_second)


def test_a_low_rate_is_an_outage() -> None:
    """Nothing for 1 s, then 5 % of the rate for 2 s: the gap is 1 s, and the outage 3 s."""
    curve = _curve([(10, 1000), (1, 0), (2, 50), (5, 400)])
    outage = compute_outage_s(curve, _interval(curve.end_s))
    assert outage is not None
    assert 3 - _ROUNDING_S <= outage <= 3 + _SLACK_S, outage


def test_a_short_interruption_is_as_long_as_it_is() -> None:
    """0.3 s without data are less than a window. They were an outage of zero: no interruption at all."""
    curve = _curve([(10, 1000), (0.3, 0), (5, 400)])
    # From the last sample with new data to the next.
    assert compute_outage_s(curve, _interval(curve.end_s)) == pytest.approx(0.3 + _STEP_S)


def test_without_an_interruption_it_is_the_time_between_two_reads() -> None:
    curve = _curve([(10, 1000), (5, 400)])
    assert compute_outage_s(curve, _interval(curve.end_s)) == pytest.approx(_STEP_S)


def test_an_exact_pause_is_taken_as_it_is() -> None:
    """A receiver of one connection reports its pauses; that before the failure is none of it."""
    curve = _curve([(10, 1000), (0.3, 0), (5, 400)])
    pauses = np.array([[3.0, 3.4], [9.98, 10.31]])
    assert compute_outage_s(replace(curve, pauses=pauses), _interval(curve.end_s)) == pytest.approx(0.33)


def test_two_outages_are_not_one() -> None:
    curve = _curve([(10, 1000), (2, 0), (2, 1000), (3, 0), (5, 1000)])
    outage = compute_outage_s(curve, _interval(curve.end_s))
    assert outage is not None
    assert 3 - _ROUNDING_S <= outage <= 3 + _SLACK_S, outage


def test_data_in_pieces_has_no_outage() -> None:
    """Every other second without data, before the failure as after it."""
    curve = _curve([(1, 1000), (1, 0)] * 12)
    assert compute_outage_s(curve, _interval(curve.end_s)) is None


def test_half_of_the_rate_to_expect_is_usable() -> None:
    """400 B/s are 90 % of neither path's 1000 B/s, and half of 800 B/s."""
    curve = _curve([(10, 1000), (3, 0), (5, 400)])
    assert compute_usable_s(curve, _interval(curve.end_s, 800)) == pytest.approx(3.0)
    assert compute_usable_s(curve, _interval(curve.end_s, 1000)) is None
    assert compute_usable_s(curve, _interval(13.5, 800)) is None, "not before the next failure"


def test_it_is_usable_only_after_the_interruption() -> None:
    """What had arrived already gives the first second its rate; then 5 s have nothing. It was usable after 0 s."""
    curve = _curve([(10, 1000), (0.6, 1000), (5, 0), (5, 1000)])
    usable = compute_usable_s(curve, _interval(curve.end_s))
    assert usable is not None
    # The first second with half of the rate that ends after the gap begins half a second before its end.
    assert 5.6 - 0.5 - _STEP_S <= usable <= 5.6, usable


def test_an_interruption_within_a_second_leaves_it_usable() -> None:
    """TCP's own recovery after a full queue: the second that has it still has most of its rate."""
    curve = _curve([(10, 1000), (0.3, 1000), (0.2, 0), (5, 1000)])
    assert compute_usable_s(curve, _interval(curve.end_s)) == 0


def test_an_interruption_by_the_restoration_is_none_of_the_failure() -> None:
    curve = _curve([(10, 1000), (5.3, 1000), (3, 0), (5, 1000)])
    assert compute_usable_s(curve, replace(_interval(curve.end_s), restored_s=15.0)) == 0
    alone = compute_usable_s(curve, _interval(curve.end_s))
    assert alone is not None
    assert 8.3 - 0.5 - _STEP_S <= alone <= 8.3, alone


def test_half_a_second_of_low_rate_before_the_rate_is_usable_at_once() -> None:
    """The beginning of the first second with half of the rate may belong to the outage, as docs/metrics.md says."""
    curve = _curve([(10, 1000), (1, 0), (0.4, 50), (5, 1000)])
    usable = compute_usable_s(curve, _interval(curve.end_s))
    assert usable == pytest.approx(compute_recovery_s(curve, 10.0, 4000, curve.end_s)), (
        "an ordinary failure has the same"
    )


def _lossy(mean: float, seconds: float) -> list[tuple[float, float]]:
    """A flow whose rate doubles and halves around a mean, for 0.5 s each, as the rate of TCP with losses does."""
    return [(0.5, mean * (2 / 3 if half % 2 else 4 / 3)) for half in range(round(2 * seconds))]


def _texts(pieces: Sequence[tuple[float, float]], restored_s: float = 20.0) -> list[str]:
    curve = _curve(pieces)
    return list(failure_interval_warnings(curve, replace(_interval(curve.end_s), restored_s=restored_s)))


def test_a_line_that_carries_a_tenth_of_its_capacity_is_no_interruption() -> None:
    """Losses leave 60 % of the threshold, or 120 %: data comes all the time, and the outage is long."""
    (text,) = _texts([(10, 1000), (0.3, 0), *_lossy(60, 9.5), (5, 1000)])
    assert "nothing for 0.4 s at most, and 0.000512 Mbit/s is usual in this failure" in text, text
    near = [(2, 80), (2, 160), (3, 80), (3, 160)]
    (text,) = _texts([(10, 1000), (0.3, 0), *near, (5, 1000)])
    assert "for 3.2 s less than 0.0008 Mbit/s came" in text, text


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ([(5, 0), (5, 800)], "an interruption"),
        ([(0.6, 0), (1.5, 60), (8, 600)], "a low rate before the other path carries all: its rate is usual"),
        ([(10, 0)], "the failure of the only path"),
        ([(0.3, 0), (9.7, 230)], "a rate that is low, but more than two thresholds"),
        ([(10, 1000)], "no interruption"),
        # Retransmissions of one segment, at intervals that double: 0.4, 0.8, 1.6, 3.2 s.
        (
            [(0.3, 0), (0.1, 50), (0.7, 0), (0.1, 50), (1.5, 0), (0.1, 50), (3.1, 0), (0.1, 50), (4, 700)],
            "retransmissions whose timer doubles",
        ),
    ],
)
def test_an_outage_that_is_one_has_no_warning(after: list[tuple[float, float]], why: str) -> None:
    assert not _texts([(10, 1000), *after, (5, 1000)]), why


DOWN_FAST, UP_FAST = Instant(10.0, is_failure=True, place="fast"), Instant(14.0, is_failure=False, place="fast")
CAPACITIES, LINKS = {"fast": 8000.0, "slow": 800.0}, {"fast": {"fast"}, "slow": {"slow"}}


def test_what_can_be_expected_is_what_the_remaining_path_carries() -> None:
    curve = _curve([(10, 1100), (4, 100), (6, 1100)])
    (lost,) = list_failure_intervals(curve, [DOWN_FAST, UP_FAST], CAPACITIES, LINKS)
    assert lost.expected_bps == 800
    assert lost.until_s == curve.end_s, "a restoration does not end it"
    assert lost.restored_s == 14.0
    (call,) = list_failure_intervals(_curve([(20, 50)]), [DOWN_FAST], CAPACITIES, LINKS)
    assert call.expected_bps == pytest.approx(400), "a workload that sends less is not measured against the path"
    (unknown,) = list_failure_intervals(curve, [DOWN_FAST], {}, LINKS)
    assert unknown.expected_bps == pytest.approx(8800)


def test_without_any_path_the_best_one_is_expected_back() -> None:
    curve = _curve([(10, 1100), (1, 0), (9, 1100)])
    both = [DOWN_FAST, Instant(10.0, is_failure=True, place="slow"), UP_FAST]
    assert {interval.expected_bps for interval in list_failure_intervals(curve, both, CAPACITIES, LINKS)} == {8000}
    later = [DOWN_FAST, UP_FAST, Instant(16.0, is_failure=True, place="slow")]
    first, second = list_failure_intervals(curve, later, CAPACITIES, LINKS)
    assert (first.until_s, second.expected_bps) == (16.0, 8000)


@given(st.integers(6, 40), st.integers(0, 9), st.integers(2, 9))
def test_an_outage_is_as_long_as_the_low_rate(tenths: int, percent: int, tens: int) -> None:
    """Whatever the low rate carries below 10 %, and whatever above 10 % follows."""
    seconds = tenths / 10
    curve = _curve([(10, 1000), (seconds, 10 * percent), (5, 100 * tens)])
    outage = compute_outage_s(curve, _interval(curve.end_s))
    assert outage is not None
    # A window with a low rate of 9 % is low until it has 1/11 of 20 % in it.
    assert seconds - _STEP_S <= outage <= seconds + _SLACK_S + 0.5, (seconds, percent, tens, outage)
    gap = compute_gap_s(curve, 10.0, curve.end_s)
    assert gap is not None
    assert outage >= gap


def test_an_outage_that_has_not_ended_is_as_unknown_as_its_gap() -> None:
    """The sender went on for 10 s after the last data that arrived: no run says how long the outage would be."""
    curve = replace(_curve([(10, 1000), (3, 0)]), sent_until_s=20.0)
    assert compute_gap_s(curve, 10.0, curve.end_s) == float("inf")
    assert compute_outage_s(curve, _interval(curve.end_s)) == float("inf")
    assert not list(failure_interval_warnings(curve, _interval(curve.end_s)))


@pytest.mark.parametrize(
    ("after", "interruption", "begins", "why"),
    [
        # From the last sample with data to the next, as without pauses that the receiver reports.
        ([(0.3, 0), (5, 1000), (2, 0), (3, 1000)], 0.4, 5.3, "a longer one when the link is back"),
        ([(2, 0), (5, 1000), (1, 0), (3, 1000)], 2.1, 0.0, "the failure's own is the longest"),
        ([(0.7, 1000), (3, 0), (5, 1000)], 3.1, 0.7, "data in transit still arrives"),
        ([(9, 1000)], _STEP_S, 0.0, "none but the time between two reads"),
    ],
)
def test_an_interruption_begins_with_the_failure(
    after: list[tuple[float, float]], interruption: float, begins: float, why: str
) -> None:
    curve = _curve([(10, 1000), *after])
    interval = _interval(curve.end_s)
    times = compute_interruption_s(curve, interval), compute_outage_after_s(curve, interval)
    # Windows with a low rate are wrong by less than the slack; reads without an interruption have no longest one.
    assert times[0] == pytest.approx(interruption, abs=_SLACK_S), f"{why}: {times}"
    assert why.startswith("none") or times[1] == pytest.approx(begins, abs=_SLACK_S), f"{why}: {times}"


@pytest.mark.parametrize(("later_s", "interruption"), [(0.0, float("inf")), (3.0, _STEP_S)])
def test_an_interruption_without_an_end(later_s: float, interruption: float) -> None:
    """All that was sent after the failure, or after 3 s more, never arrives."""
    curve = replace(_curve([(10 + later_s, 1000), (3, 0)]), sent_until_s=20.0)
    interval = _interval(curve.end_s)
    assert compute_outage_s(curve, interval) == float("inf")
    assert compute_interruption_s(curve, interval) == pytest.approx(interruption), "the endless one begins later"
    assert compute_outage_after_s(curve, interval) == pytest.approx(later_s)


@pytest.mark.parametrize(
    ("step_s", "outage", "is_told"), [(1.0, 1.0, True), (1.0, 2.0, True), (1.0, 5.0, False), (0.1, 0.2, False)]
)
def test_an_outage_between_two_samples_may_be_none(step_s: float, outage: float, is_told: bool) -> None:
    """A newcomer took 0.99989 +- 0.00006 s for an outage that no mode avoids: it was the interval of samples."""
    # Three connections are sampled at nearly the same instants.
    times = np.sort(np.concatenate([np.arange(0.0, 20.0, step_s) + 1e-6 * number for number in range(3)]))
    known = {read_usable_curve: Delivery(times, 1000 * times), longest_outage: outage}
    none: Any = None
    told = list(_sampling_warnings(Subject(none, none, none, none, none, none, known)))
    assert bool(told) == is_told, told
    exact = {read_usable_curve: Delivery(times, 1000 * times, np.zeros((0, 2))), longest_outage: outage}
    assert list(_sampling_warnings(Subject(none, none, none, none, none, none, exact))) == [], (
        "the receiver reports pauses"
    )
