# SPDX-License-Identifier: MIT
"""What the `_v09` variants do differently from the specifications: each number of `docs/congestion-controls.md`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from tests.unit.coupled.fluid import rest_with_losses
from tests.unit.coupled.reference import Path, lia_increase, reno_decrease
from tests.unit.coupled_v09.driver import COMPLETE_CWR, EVENT_LOSS, INFINITE_SSTHRESH, OPEN, RECOVERY, Driver, Event

pytestmark = pytest.mark.slow

SIZE = 1448


def _settle(driver: Driver, windows: Sequence[int], rtt_us: int = 100_000) -> None:
    """Subflows in congestion avoidance, with all that is computed now and then computed from these windows."""
    for path, window in enumerate(windows):
        driver.step(Event("join", path, (SIZE, window, 0)))
        driver.step(Event("rtt", path, (8 * rtt_us,)))
        assert driver.step(Event("ssthresh", path)).ssthresh <= window
    for path in range(len(windows)):
        driver.step(Event("event", path, (EVENT_LOSS,)))
        driver.step(Event("ca-state", path, (OPEN,)))


def _acks_for_a_segment(driver: Driver, path: int = 0, segments: int = 2, limit: int = 20_000) -> int | None:
    """Acknowledgements of this number of segments each until the window changes; None beyond the limit."""
    ack = Event("ack", path, (SIZE * segments, segments, 1))
    before = driver.step(Event("retransmits", path, (0,))).cwnd
    for count in range(1, limit):
        if driver.step(ack).cwnd != before:
            return count
    return None


def test_growth_per_ack_costs_three_tenths() -> None:
    """Two segments per acknowledgement: half of the increase, hence 1/sqrt(2) of the window at equal loss."""

    def per_ack(paths: Sequence[Path], r: int) -> float:
        return lia_increase(paths, r) / 2

    windows = [float(rest_with_losses(rule, reno_decrease, [0.001]).sum()) for rule in (lia_increase, per_ack)]
    print(f"{windows[0]:.1f} segments, by acknowledgements {windows[1]:.1f}: {windows[1] / windows[0]:.3f}")
    assert windows[1] / windows[0] == pytest.approx(math.sqrt(0.5), rel=0.001)


@pytest.mark.parametrize("segments", [1, 2, 8])
@pytest.mark.parametrize(
    ("control", "windows", "acks"),
    [
        # One subflow: Reno's window, and one more; LIA in steps of its increase.
        ("lia_v09", (10,), 11),
        ("lia_v09", (600,), 683),
        ("balia_v09", (10,), 11),
        # Two equal ones: by the specifications four windows.
        ("lia_v09", (100, 100), 410),
        ("balia_v09", (100, 100), 401),
        # LIA: half as fast just above 512 segments, twice at 2000.
        ("lia_v09", (510, 510), 2049),
        ("lia_v09", (514, 514), 4097),
        ("lia_v09", (1000, 1000), 4097),
        ("lia_v09", (2000, 2000), 4097),
        # OLIA: nothing from 256 segments on.
        ("olia_v09", (255, 255), 1023),
        ("olia_v09", (257, 257), None),
    ],
)
def test_acks_for_a_segment(
    driver: Driver, control: str, windows: tuple[int, ...], acks: int | None, segments: int
) -> None:
    """Whatever an acknowledgement acknowledges."""
    driver.open(control)
    _settle(driver, windows)
    assert _acks_for_a_segment(driver, segments=segments) == acks


def test_olia_falls_into_slow_start(driver: Driver) -> None:
    """The larger of two windows, on the path that has lost more, shrinks to one below ssthresh and then doubles."""
    driver.open("olia_v09")
    _settle(driver, (40, 41))
    driver.step(Event("ack", 0, (10_000_000, 2, 1)))
    driver.step(Event("cwnd", 1, (82,)))
    threshold = driver.step(Event("ssthresh", 1)).ssthresh
    driver.step(Event("settle", 1))
    assert threshold == 41
    acks = _acks_for_a_segment(driver, 1)
    shrunk = driver.step(Event("retransmits", 1, (0,)))
    print(f"{shrunk} after {acks} acknowledgements")
    assert (shrunk.cwnd, shrunk.ssthresh) == (40, 41)
    assert driver.step(Event("ack", 1, (SIZE, 1, 1))).cwnd == 41, "one segment for one acknowledgement"


@pytest.mark.parametrize(
    ("other", "kept"), [(1000, 500), (1250, 500), (1499, 500), (1999, 500), (2000, 250), (10_000, 250)]
)
def test_balia_has_no_ramp(driver: Driver, other: int, kept: int) -> None:
    """A loss takes half below twice the rate of a window of 1000, and three quarters from there on."""
    driver.open("balia_v09")
    _settle(driver, (1000, other))
    assert driver.step(Event("ssthresh", 0)).ssthresh == kept


def test_balia_decrease_is_of_the_last_computation(driver: Driver) -> None:
    """A timeout in fast recovery takes as much again; the end of recovery computes anew; and one may be too much."""
    driver.open("balia_v09")
    _settle(driver, (100,))
    assert driver.step(Event("ssthresh", 0)).ssthresh == 50
    driver.step(Event("ca-state", 0, (RECOVERY,)))
    driver.step(Event("settle", 0))
    assert driver.step(Event("ssthresh", 0)).ssthresh == 1, "100 / 2 of 50, and not 25"
    driver.step(Event("cwnd", 0, (40,)))
    assert driver.step(Event("ssthresh", 0)).ssthresh == INFINITE_SSTHRESH, "50 of 40"
    driver.step(Event("event", 0, (COMPLETE_CWR,)))
    assert driver.step(Event("ssthresh", 0)).ssthresh == 20


def _vegas_round(driver: Driver, path: int, rtts_us: Sequence[int]) -> int:
    """The window after a round with these samples."""
    driver.step(Event("send", path, (SIZE,)))
    for rtt_us in rtts_us:
        driver.step(Event("sample", path, (rtt_us,)))
    return driver.step(Event("ack", path, (SIZE, 1, 1))).cwnd


def test_wvegas_divides_without_a_queue(driver: Driver) -> None:
    """No delay is twice no delay. ssthresh stays, and slow start takes the window back."""
    driver.open("wvegas_v09")
    _settle(driver, (40,), 1000)
    driver.step(Event("cwnd", 0, (80,)))
    driver.step(Event("ssthresh", 0))
    driver.step(Event("settle", 0))
    assert _vegas_round(driver, 0, [999, 999, 999]) == 20
    after = driver.step(Event("ack", 0, (0, 3, 1)))
    assert (after.cwnd, after.ssthresh) == (23, 40)


@pytest.mark.parametrize(("paths", "after"), [(1, 41), (4, 40), (8, 40)])
def test_wvegas_wants_two_packets_on_each_path(driver: Driver, paths: int, after: int) -> None:
    """2.26 packets in queues: fewer than 10, but one path of eight should have 1.25. Here that is 2 and 2.

    The first path asked when no other had a rate. It keeps its 10 packets until it has as many.
    """
    driver.open("wvegas_v09")
    _settle(driver, (40,) * paths, 1000)
    windows = []
    for path in range(paths):
        windows.append(_vegas_round(driver, path, [999, 1090, 1090]))
        driver.step(Event("cwnd", path, (40,)))
        driver.step(Event("sample", path, (1060,)))
    assert windows[-1] == after
    assert windows[0] == 41
    assert _vegas_round(driver, 0, [1060, 1060]) == 41


def test_wvegas_rate_of_a_slow_path_is_zero(driver: Driver) -> None:
    """65536 w / rtt, in us: none at 40 segments and 3 s, so that its share stays 10 packets, beside others."""
    driver.open("wvegas_v09")
    _settle(driver, (40, 40), 3_000_000)
    for path in (0, 1):
        _vegas_round(driver, path, [2_600_000, 3_200_000, 3_200_000])
        driver.step(Event("sample", path, (2_900_000,)))
    driver.step(Event("cwnd", 0, (40,)))
    assert _vegas_round(driver, 0, [3_200_000, 3_200_000]) == 41, "7.2 packets, and 10 wanted"
