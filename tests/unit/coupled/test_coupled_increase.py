# SPDX-License-Identifier: MIT
"""The increases and decreases that the kernel computes, against the reference, over the whole range.

The heads of the headers state these bounds: a relative error of 2^-25 for each term, and rounding to the unit of
2^-48 segments.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.unit.coupled.connections import PATIENT, RTT_US, connections, draw_connections, log_integers, windows
from tests.unit.coupled.library import ONE, Library, c_paths
from tests.unit.coupled.reference import (
    Path,
    balia_decrease,
    balia_increase,
    lia_increase,
    olia_best,
    olia_coupled_term,
    olia_epsilon,
    olia_largest,
)

pytestmark = pytest.mark.slow

Connection = tuple[list[Path], int]
RELATIVE = 2.0**-25
#: Rounding to nearest may be off by half a unit; the reference itself is a float64.
UNIT = 0.501 / ONE
CONGESTION_CONTROLS = ["lia", "olia", "olia_draft", "balia"]


def _olia(paths: list[Path], r: int, *, draft: bool) -> tuple[float, float]:
    """OLIA's increase, windows within one segment as equal, and the size of its terms without their signs."""
    coupled, moved = olia_coupled_term(paths, r), olia_epsilon(paths, r, slack=1, draft=draft) / paths[r].window
    return coupled + moved, coupled + abs(moved)


def _expected_increase(control: str, paths: list[Path], r: int) -> tuple[float, float]:
    """The increase, and what its relative error is relative to."""
    if control.startswith("olia"):
        return _olia(paths, r, draft=control == "olia_draft")
    increase = {"lia": lia_increase, "balia": balia_increase}[control](paths, r)
    return increase, increase


def _clear(paths: list[Path]) -> bool:
    """Whether no two paths' l/rtt^2 or l^2/rtt are nearly, but not exactly, the same: 32 bits cannot tell."""
    kernel = [Fraction(int(p.loss_gap), int(p.rtt) ** 2) for p in paths]
    draft = [Fraction(int(p.loss_gap) ** 2, int(p.rtt)) for p in paths]
    return _are_apart(paths, kernel) and _are_apart(paths, draft)


def _are_apart(paths: list[Path], values: list[Fraction]) -> bool:
    alike = {(p.loss_gap, p.rtt): value for p, value in zip(paths, values, strict=True) if value}
    ordered = sorted(alike.values())
    return all(b - a > a / 2**28 for a, b in pairwise(ordered))


def _error(library: Library, control: str, paths: list[Path], r: int) -> float:
    """Of the increase, as a fraction of the bound: 1 is the largest allowed."""
    expected, scale = _expected_increase(control, paths, r)
    terms = 2 if control.startswith("olia") else 1
    return abs(library.increase(control, paths, r) - expected) / (scale * RELATIVE + terms * UNIT)


@pytest.mark.parametrize("bits", [20, 30])
@pytest.mark.parametrize("control", CONGESTION_CONTROLS)
def test_increase_in_bulk(library: Library, control: str, bits: int) -> None:
    """1,500 connections; windows up to 2^20 segments, and beyond to 2^30."""
    worst = largest = 0.0
    for paths in filter(_clear, draw_connections(1500, bits, seed=bits)):
        for r in range(len(paths)):
            worst = max(worst, _error(library, control, paths, r))
            expected, scale = _expected_increase(control, paths, r)
            if scale > 2**34 / ONE:  # so large that rounding to the unit does not matter
                largest = max(largest, abs(library.increase(control, paths, r) - expected) / scale)
    print(f"{control}, windows to 2^{bits}: worst relative error {largest:.2e}, bound {RELATIVE:.2e}")
    assert worst <= 1
    assert largest <= RELATIVE


@pytest.mark.parametrize("control", CONGESTION_CONTROLS)
@PATIENT
@given(connection=connections() | connections(bits=30) | connections(bits=32))
def test_increase(library: Library, control: str, connection: Connection) -> None:
    assume(_clear(connection[0]))
    assert _error(library, control, *connection) <= 1


@PATIENT
@given(connections())
def test_growth_is_never_lost(library: Library, connection: Connection) -> None:
    """LIA grows by 1/(64 w) of the fastest path, BALIA by 1/(640 w) of any; OLIA, if by more than its unit."""
    paths, r = connection
    assert library.compute("lia", paths, r) >= (ONE >> 26) * (1 - RELATIVE)
    assert library.compute("balia", paths, r) >= ONE / (640 << 20) * (1 - RELATIVE) - 1
    assume(_clear(paths))
    if olia_epsilon(paths, r, slack=1) >= 0 and olia_coupled_term(paths, r) > 1 / ONE:
        assert library.compute("olia", paths, r) > 0


@PATIENT
@given(connections(bits=30))
def test_lia_and_balia_never_above_reno(library: Library, connection: Connection) -> None:
    """RFC 6356's second goal holds exactly for LIA; for BALIA it follows from its equations, within its error."""
    paths, r = connection
    reno = library.compute("lia", [paths[r]], 0)
    assert 0 < library.compute("lia", paths, r) <= reno
    assert library.compute("balia", paths, r) <= reno * (1 + RELATIVE) + 1


@pytest.mark.parametrize("control", CONGESTION_CONTROLS)
@PATIENT
@given(window=windows(30), rtt=st.integers(*RTT_US))
def test_one_path_is_reno(library: Library, control: str, window: int, rtt: int) -> None:
    path = [Path(window, rtt, 1000)]
    assert abs(library.increase(control, path, 0) - 1 / window) <= RELATIVE / window + UNIT
    assert library.compute("balia_ssthresh", path, 0) == max(2, window // 2)


@pytest.mark.parametrize("control", CONGESTION_CONTROLS)
@PATIENT
@given(connection=connections(), data=st.data())
def test_order_of_siblings_means_nothing(
    library: Library, control: str, connection: Connection, data: st.DataObject
) -> None:
    """Only the order of summation differs: less than the error of one increase."""
    paths, r = connection
    assume(_clear(paths))
    order = data.draw(st.permutations(range(len(paths))))
    shuffled = [paths[at] for at in order]
    _, scale = _expected_increase(control, paths, r)
    difference = library.increase(control, shuffled, order.index(r)) - library.increase(control, paths, r)
    assert abs(difference) <= scale * RELATIVE + 2.01 / ONE


@pytest.mark.parametrize("control", CONGESTION_CONTROLS)
@PATIENT
@given(connection=connections(), factor=log_integers(2, 1000))
def test_unit_of_time_means_nothing(library: Library, control: str, connection: Connection, factor: int) -> None:
    """All RTTs times a factor, as long as they fit into 32 bits of microseconds: the same increases."""
    paths, r = connection
    assume(_clear(paths) and max(path.rtt for path in paths) * factor < 1 << 32)
    slower = [Path(path.window, path.rtt * factor, path.loss_gap) for path in paths]
    _, scale = _expected_increase(control, paths, r)
    difference = library.increase(control, slower, r) - library.increase(control, paths, r)
    assert abs(difference) <= scale * RELATIVE + 2.01 / ONE


@pytest.mark.parametrize("control", ["lia", "balia"])
@PATIENT
@given(connection=connections(), factor=st.integers(2, 1000))
def test_larger_windows_grow_in_proportion_slower(
    library: Library, control: str, connection: Connection, factor: int
) -> None:
    """All windows times a factor: increases divided by it. (OLIA's would too, but for its slack of one segment.)"""
    paths, r = connection
    larger = [Path(path.window * factor, path.rtt, path.loss_gap) for path in paths]
    _, scale = _expected_increase(control, paths, r)
    difference = library.increase(control, larger, r) - library.increase(control, paths, r) / factor
    assert abs(difference) <= scale * RELATIVE / factor + 2.01 / ONE


@PATIENT
@given(connections())
def test_olia_sets(library: Library, connection: Connection) -> None:
    paths, _ = connection
    assume(_clear(paths))
    made = c_paths(paths)
    for slack in (0, 1):
        largest = library("olia_largest", made, len(paths), slack)
        assert largest == sum(1 << r for r in olia_largest(paths, slack))
    for name, draft in (("olia_best", False), ("olia_draft_best", True)):
        assert library(name, made, len(paths)) == sum(1 << r for r in olia_best(paths, draft=draft))


@PATIENT
@given(st.integers(1, 8), st.integers(0, 255), st.integers(0, 255))
def test_olia_epsilons_sum_to_zero(library: Library, n: int, best: int, largest: int) -> None:
    """For any sets, if M is not empty: what the better paths gain is what the largest lose."""
    mask = (1 << n) - 1
    epsilons = [library("olia_eps", best & mask, largest & mask, n, r) for r in range(n)]
    total = sum(Fraction(each.sign, each.den) for each in epsilons)
    better = best & ~largest & mask
    assert sum(each.sign > 0 for each in epsilons) == better.bit_count()
    if largest & mask:
        assert total == 0
        assert sum(each.sign < 0 for each in epsilons) == (largest & mask).bit_count() * bool(better)


@PATIENT
@given(st.integers(4, 1 << 20), st.integers(4, 1 << 20), st.integers(*RTT_US))
def test_olia_moves_only_to_better_paths(library: Library, first: int, second: int, rtt: int) -> None:
    """Two paths with one RTT, the first with three times fewer losses: it never loses by epsilon."""
    paths = [Path(first, rtt, 30000), Path(second, rtt, 10000)]
    coupled = [olia_coupled_term(paths, r) for r in (0, 1)]
    moved = [library.increase("olia", paths, r) - coupled[r] for r in (0, 1)]
    expected = (0.5 / first, -0.5 / second) if second > first + 1 else (0, 0)
    assert moved[0] == pytest.approx(expected[0], rel=1e-6, abs=coupled[0] * RELATIVE + 2 / ONE)
    assert moved[1] == pytest.approx(expected[1], rel=1e-6, abs=coupled[1] * RELATIVE + 2 / ONE)


@PATIENT
@given(connections() | connections(bits=32))
def test_balia_decrease(library: Library, connection: Connection) -> None:
    """What remains is the reference's, rounded down, and between a quarter and a half of the window.

    At least it is 2 segments on one path, and 1 where there are several, as in the draft.
    """
    paths, r = connection
    window, smallest = int(paths[r].window), 1 if len(paths) > 1 else 2
    remains = window - balia_decrease(paths, r)
    ssthresh = library.compute("balia_ssthresh", paths, r)
    error = window * RELATIVE
    assert max(smallest, remains - 1 - error) <= ssthresh <= max(smallest, remains + error)
    assert max(smallest, window // 4) <= ssthresh <= max(smallest, window // 2)


@pytest.mark.parametrize(("other", "kept"), [(100, 50), (110, 45), (140, 30), (150, 25), (400, 25)])
def test_balia_decrease_is_a_ramp(library: Library, other: int, kept: int) -> None:
    """Of a window of 100 beside one of `other`, the same RTT: 50 if they are equal, 25 from half as much again."""
    ssthresh = library.compute("balia_ssthresh", [Path(100, 20000), Path(other, 20000)], 0)
    print(f"beside {other}: {ssthresh}")
    assert kept - 1 <= ssthresh <= kept
