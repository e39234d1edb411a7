# SPDX-License-Identifier: MIT
"""The deviations of the out-of-tree kernel 0.9x, each with a figure beside the specification's.

wVegas's are in `test_coupled_wvegas`. That growth there is counted per acknowledgement, not per acknowledged segment,
is not arithmetic of the headers but of who calls them; what it costs is shown here on the fluid model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.coupled.connections import PATIENT, many
from tests.unit.coupled.fluid import rest_with_losses
from tests.unit.coupled.library import ONE, Library, c_paths
from tests.unit.coupled.reference import Path, lia_increase, reno_decrease
from tests.unit.coupled.reference_v09 import (
    IntegerPath,
    balia_decrease,
    lia_acks_per_segment,
    olia_per_ack,
    wvegas_target,
)

RTT_US = 100_000


def _equal(window: int, n: int = 2) -> list[Path]:
    return [Path(window, RTT_US, 1000)] * n


def _whole(paths: Sequence[Path]) -> list[IntegerPath]:
    """RTTs in eighths of a microsecond, as that kernel keeps them."""
    return [IntegerPath(int(p.window), 8 * int(p.rtt), int(p.between_losses)) for p in paths]


def test_growth_per_ack_costs_three_tenths(library: Library) -> None:
    """Two segments per acknowledgement: half of the increase, hence 1/sqrt(2) of the window at equal loss."""

    def per_ack(paths: Sequence[Path], r: int) -> float:
        return lia_increase(paths, r) / 2

    windows = [float(rest_with_losses(rule, reno_decrease, [0.001]).sum()) for rule in (lia_increase, per_ack)]
    print(f"{windows[0]:.1f} segments, by acknowledgements {windows[1]:.1f}: {windows[1] / windows[0]:.3f}")
    assert windows[1] / windows[0] == pytest.approx(math.sqrt(0.5), rel=0.001)
    assert library.of("lia_v09", _equal(100, 1), 0) == library.of("lia", _equal(100, 1), 0), "one unit for one path"


@pytest.mark.parametrize(
    ("window", "factor"),
    [
        (100, 0.98),
        (340, 1.00),
        (510, 1.00),
        (514, 0.50),
        (700, 0.68),
        (1000, 0.98),
        (2000, 1.95),
        (4000, 3.91),
        (8000, 4),
    ],
)
def test_lia_alpha_in_steps(library: Library, window: int, factor: float) -> None:
    """Two equal subflows: half of the growth just above 512 segments, too much beyond 1024, and at last TCP's own."""
    spec, v09 = (library.increase(name, _equal(window), 0) for name in ("lia", "lia_v09"))
    print(
        f"window {window}: one segment per {1 / spec:.0f} ACKs, v0.9 per {1 / v09:.0f}: {v09 / spec:.2f} times as fast"
    )
    assert v09 / spec == pytest.approx(factor, abs=0.015)
    assert 1 / v09 == pytest.approx(lia_acks_per_segment(_whole(_equal(window)), 0), rel=1e-6)


@pytest.mark.parametrize(("window", "steps"), [(10, 25), (100, 2), (200, 1), (255, 1), (257, 0), (1000, 0)])
def test_olia_stops_growing(library: Library, window: int, steps: int) -> None:
    """Two equal paths, epsilon 0: the increase of 1/(4 w), in 1/1024 segment truncated, is nothing from w = 256 on."""
    spec, v09 = (library.increase(name, _equal(window), 0) * 1024 for name in ("olia", "olia_v09"))
    print(f"window {window}: {spec:.3f}/1024 segment, v0.9 {v09:.0f}/1024")
    assert spec == pytest.approx(256 / window, rel=1e-6)
    assert v09 == steps == olia_per_ack(_whole(_equal(window)), 0)


def test_olia_largest_window_flips_on_one_packet(library: Library) -> None:
    """Windows of 100 and 101, the smaller one on the better path. Ours: they are equal. v0.9: shift to the smaller."""
    paths = [Path(100, RTT_US, 2000), Path(101, RTT_US, 1000)]
    spec = [library.increase("olia", paths, r) * 1024 for r in (0, 1)]
    v09 = [library.increase("olia_v09", paths, r) * 1024 for r in (0, 1)]
    print(f"in 1/1024 segment: {spec[0]:.2f} and {spec[1]:.2f}, v0.9 {v09[0]:.0f} and {v09[1]:.0f}")
    assert spec == pytest.approx([1024 * 100 / 201**2, 1024 * 101 / 201**2], rel=1e-6)
    assert v09 == [7, -2]


@pytest.mark.parametrize(("bytes_between", "best"), [(28_000_000, 1), (29_000_000, 2)])
def test_olia_best_path_overflows(library: Library, bytes_between: int, best: int) -> None:
    """At 100 ms, beside a path that loses every 1 MB: the better one is path 0 (bit 1) until 29 MB, then not."""
    paths = c_paths([Path(100, RTT_US, bytes_between), Path(100, RTT_US, 1_000_000)])
    found = library("olia_v09_best", paths, 2)
    print(
        f"{bytes_between / 1e6:.0f} MB: v0.9 takes path {found - 1} for the best, product / 2^64 = "
        f"{bytes_between * (8 * RTT_US) ** 2 / 2**64:.3f}"
    )
    assert found == best
    assert library("olia_best", paths, 2) == 1


@pytest.mark.parametrize(
    ("other", "spec", "v09"), [(1000, 500, 500), (1250, 375, 500), (1499, 251, 500), (1999, 250, 500), (2000, 250, 250)]
)
def test_balia_loses_its_ramp(library: Library, other: int, spec: int, v09: int) -> None:
    """What a loss leaves of a window of 1000 beside a larger one: a half below twice the rate, else a quarter."""
    paths = [Path(1000, RTT_US), Path(other, RTT_US)]
    kept = library.of("balia_ssthresh", paths, 0)
    kept_v09 = 1000 - library.of("balia_v09_decrease", paths, 0)
    print(f"beside {other}: {kept} segments left, v0.9 {kept_v09}")
    assert abs(kept - spec) <= 1
    assert kept_v09 == v09


def test_lia_against_whole_numbers(library: Library) -> None:
    """Where nothing that is truncated on the way there decides between two steps; RTTs up to 1 : 1000."""
    compared = 0
    for paths in many(3000, 12, seed=9):
        linked = 4096 * max(p.window / p.rtt**2 for p in paths) / sum(p.rate for p in paths) ** 2
        if abs(linked - round(linked)) < 0.01 * linked or max(p.rtt for p in paths) > 1000 * min(p.rtt for p in paths):
            continue
        if max((p.window * 2**32) / (8 * p.rtt) ** 2 for p in paths) < 1000 or len(paths) < 2:
            continue
        for r in range(len(paths)):
            acks = lia_acks_per_segment(_whole(paths), r)
            assert library.of("lia_v09", paths, r) == pytest.approx(ONE / acks, rel=1e-6)
            compared += 1
    print(f"{compared} increases compared")
    assert compared > 1000


def test_olia_against_whole_numbers(library: Library) -> None:
    """The coupled term, of equal amounts between losses and windows so near that no set decides; RTTs up to 1 : 30."""
    compared = 0
    for paths in many(3000, 8, seed=10):
        rtts = [path.rtt for path in paths]
        if max(rtts) > 30 * min(rtts) or len(paths) < 2:
            continue
        alike = [Path(200, path.rtt, 0) for path in paths]
        for r in range(len(paths)):
            found = library.increase("olia_v09", alike, r) * 1024
            exact = library.increase("olia", alike, r) * 1024
            if abs(exact - round(exact)) < 0.01:
                continue
            assert found == olia_per_ack(_whole(alike), r)
            compared += 1
    print(f"{compared} increases compared")
    assert compared > 100


def test_balia_against_whole_numbers(library: Library) -> None:
    """But for rates of twice another's, where rounding decides."""
    compared = 0
    for paths in many(1000, 12, seed=11):
        fastest = max(path.rate for path in paths)
        for r, path in enumerate(paths):
            if abs(fastest / path.rate - 2) > 0.001 and path.rate > 0.01:
                assert library.of("balia_v09_decrease", paths, r) == balia_decrease(_whole(paths), r)
                compared += 1
    print(f"{compared} decreases compared")
    assert compared > 1000


@PATIENT
@given(st.lists(st.integers(1, 1 << 20), min_size=1, max_size=8))
def test_wvegas_targets_against_whole_numbers(library: Library, rates: list[int]) -> None:
    paths = [Path(rate, 1) for rate in rates]
    for r in range(len(paths)):
        exact = 10 * rates[r] / sum(rates)
        if abs(exact - round(exact)) > 0.001:
            assert library.of("wvegas_v09_alpha", paths, r) >> 16 == wvegas_target(rates, r)
