# SPDX-License-Identifier: MIT
"""Sequence numbers that wrap, interval sets and thinned points."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.capture.connection import ThinnedPoints
from mptcplab.capture.sequence import IntervalSet, unwrap

SPANS = st.lists(st.tuples(st.integers(-60, 60), st.integers(0, 12)), max_size=40)


@given(st.integers(-(2**70), 2**70), st.sampled_from([32, 64]), st.data())
def test_unwrapping_is_the_inverse_of_wrapping(number: int, bits: int, data: st.DataObject) -> None:
    half = 1 << (bits - 1)
    distance = data.draw(st.integers(-half, half - 1))
    near = number - distance
    assert unwrap(number % 2**bits, near, bits) == number


@given(st.integers(0, 2**32 - 1), st.integers(-(2**40), 2**40))
def test_unwrapped_is_congruent_and_near(value: int, near: int) -> None:
    unwrapped = unwrap(value, near, 32)
    assert unwrapped % 2**32 == value
    assert -(2**31) <= unwrapped - near < 2**31


@given(SPANS)
def test_an_interval_set_is_a_set(spans: list[tuple[int, int]]) -> None:
    model: set[int] = set()
    intervals = IntervalSet()
    for start, length in spans:
        added = set(range(start, start + length))
        fresh = intervals.add(start, start + length)
        described = [number for begin, end in fresh for number in range(begin, end)]
        assert described == sorted(added - model), "what is new, in order, each once"
        model |= added
        assert intervals.total == len(model)
        kept = list(intervals)
        assert [number for begin, end in kept for number in range(begin, end)] == sorted(model)
        assert all(left[1] < right[0] for left, right in itertools.pairwise(kept)), "joined where they touch"
    if model:
        assert intervals.span == (min(model), max(model) + 1)
        assert intervals.missing_bytes == max(model) + 1 - min(model) - len(model)


@given(SPANS)
def test_the_order_does_not_matter(spans: list[tuple[int, int]]) -> None:
    sets = [IntervalSet(), IntervalSet()]
    for intervals, order in zip(sets, (spans, spans[::-1]), strict=True):
        for start, length in order:
            intervals.add(start, start + length)
    assert list(sets[0]) == list(sets[1])


@given(SPANS, st.integers(2, 6))
def test_a_bounded_set_stays_small_and_never_counts_twice(spans: list[tuple[int, int]], bound: int) -> None:
    bounded, whole = IntervalSet(bound), IntervalSet()
    for start, length in spans:
        bounded.add(start, start + length)
        whole.add(start, start + length)
        assert len(list(bounded)) <= bound
        assert bounded.total <= whole.total
        assert bounded.span == whole.span


def test_a_copy_is_independent() -> None:
    intervals = IntervalSet()
    intervals.add(0, 5)
    other = intervals.copy()
    other.add(10, 12)
    assert (list(intervals), intervals.total) == ([(0, 5)], 5)
    assert (list(other), other.total) == ([(0, 5), (10, 12)], 7)


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(-(10**9), 10**9)), max_size=300), st.integers(1, 40))
def test_thinned_points_are_few_and_real(points: list[tuple[int, int]], bound: int) -> None:
    thinned = ThinnedPoints(bound)
    for x, y in points:
        thinned.add(x, y)
    kept = thinned.points
    assert len(kept) <= bound
    assert set(kept) <= set(points)
    assert bool(kept) == bool(points)
    if len(set(points)) <= bound:
        assert set(kept) == set(points), "nothing is dropped before it must be"


def test_thinning_keeps_the_shape() -> None:
    """Of a million points of a straight line, the kept ones cover all of it, with no gap of more than some percent."""
    thinned = ThinnedPoints(1000)
    for number in range(200_000):
        thinned.add(number * 5000, number * 1448)
    xs = sorted(x for x, _ in thinned.points)
    widest = max(right - left for left, right in itertools.pairwise(xs))
    print(f"{len(xs)} points kept, widest gap {widest / (200_000 * 5000):.2%}")
    assert 100 <= len(xs) <= 1000
    assert widest < 0.03 * 200_000 * 5000


def test_the_first_call_of_unwrap_needs_no_past() -> None:
    assert unwrap(5, 5, 32) == 5
    with pytest.raises(TypeError):
        unwrap(5, None, 32)  # type: ignore[arg-type]
