# SPDX-License-Identifier: MIT
"""From increases to windows: nothing is lost or gained by rounding, however acknowledgements come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.coupled.connections import PATIENT, connections
from tests.unit.coupled.library import ONE, CWindow, Library
from tests.unit.coupled.reference import Path

pytestmark = pytest.mark.slow

#: OLIA's range, the widest; small ones often.
_INCREASES = st.integers(-ONE // 2, 3 * ONE // 2) | st.integers(-ONE // 1000, ONE // 1000)
_CLAMP = (1 << 31) - 1


def _window(cwnd: int) -> CWindow:
    return CWindow(0, cwnd, 2, _CLAMP)


def _exact(window: CWindow) -> int:
    """Window and credit together, in units of an increase."""
    return int(window.snd_cwnd) * ONE + int(window.credit)


@PATIENT
@given(st.lists(st.tuples(_INCREASES, st.integers(1, 100)), max_size=60))
def test_nothing_is_lost(library: Library, acks: list[tuple[int, int]]) -> None:
    """The window and its credit together have grown by exactly the sum of all increases."""
    window = _window(100_000)
    expected = _exact(window)
    for increase, acked in acks:
        library("grow", window, increase, acked)
        expected += increase * acked
        assert _exact(window) == expected
        assert -ONE < window.credit < ONE, "a whole segment is never kept back"


@PATIENT
@given(connections(fewest=2), st.sampled_from(["lia", "olia", "balia"]), st.integers(1, 3000))
def test_acks_one_by_one_or_at_once(
    library: Library, connection: tuple[list[Path], int], control: str, acked: int
) -> None:
    """At the same windows, many segments in one acknowledgement count as in as many acknowledgements."""
    paths, r = connection
    increase = library.compute(control, paths, r)
    one_by_one, at_once = _window(10_000), _window(10_000)
    for _ in range(acked):
        library("grow", one_by_one, increase, 1)
    library("grow", at_once, increase, acked)
    assert _exact(one_by_one) == _exact(at_once)
    assert abs(int(one_by_one.snd_cwnd) - int(at_once.snd_cwnd)) <= 1


@pytest.mark.parametrize("increase", [-ONE // 2, 3 * ONE // 2])
def test_largest_acknowledgement_does_not_overflow(library: Library, increase: int) -> None:
    """On top of a whole segment of credit, by the largest increase; more segments than the limit earn no more."""
    most = library("max_acked")
    for acked in (most, most + 1, (1 << 32) - 1):
        window = CWindow(ONE - 1 if increase > 0 else 1 - ONE, 1_000_000, 1_000_000, _CLAMP)
        before = _exact(window)
        library("grow", window, increase, acked)
        assert _exact(window) == before + increase * most
        assert window.snd_ssthresh <= window.snd_cwnd, "a shrinking window is not back in slow start"


@PATIENT
@given(st.integers(1, 10), st.integers(1, 1000))
def test_window_does_not_shrink_below_one(library: Library, cwnd: int, acked: int) -> None:
    """As in the authors' OLIA, the only control that shrinks a window by its increase."""
    window = CWindow(0, cwnd, 100, _CLAMP)
    library("grow", window, -ONE // 2, acked)
    assert window.snd_cwnd == max(1, cwnd - acked // 2)


def test_window_stops_at_its_clamp(library: Library) -> None:
    window = CWindow(0, 90, 2, 100)
    library("grow", window, ONE, 50)
    assert window.snd_cwnd == 100
