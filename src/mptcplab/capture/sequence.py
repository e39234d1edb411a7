# SPDX-License-Identifier: MIT
"""Sequence spaces: numbers that wrap around, and the parts of a space that were seen."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

Span = tuple[int, int]


def unwrap(value: int, near: int, bits: int) -> int:
    """Return the number nearest to ``near`` that equals ``value`` modulo 2^bits: at most 2^(bits-1) away."""
    half = 1 << (bits - 1)
    return near + ((value - near + half) & ((1 << bits) - 1)) - half


class IntervalSet:
    """A set of half-open intervals of integers, at most ``max_intervals``: beyond that, the lowest gaps count as seen.

    ``total`` is the number of integers added; those in closed gaps are not included.
    """

    __slots__ = ("_ends", "_max_intervals", "_starts", "total")

    def __init__(self, max_intervals: int = 4096) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._max_intervals = max_intervals
        self.total = 0

    def __iter__(self) -> Iterator[Span]:
        return iter(zip(self._starts, self._ends, strict=True))

    def begin_of(self, number: int) -> int | None:
        """Return the begin of the interval that has ``number``; None if no interval has it."""
        index = bisect_right(self._starts, number) - 1
        return self._starts[index] if index >= 0 and number < self._ends[index] else None

    def add(self, start: int, end: int) -> list[Span]:
        """Add ``start`` to ``end``. Return the parts that were not in the set before, in order."""
        starts, ends = self._starts, self._ends
        if ends and start == ends[-1] and start < end:  # by far the most frequent case
            ends[-1] = end
            self.total += end - start
            return [(start, end)]
        if start >= end:
            return []
        first = bisect_left(ends, start)
        last = bisect_right(starts, end)
        fresh: list[Span] = []
        at = start
        for index in range(first, last):
            if at < starts[index]:
                fresh.append((at, min(starts[index], end)))
            at = max(at, ends[index])
        if at < end:
            fresh.append((at, end))
        if first < last:
            start, end = min(start, starts[first]), max(end, ends[last - 1])
        starts[first:last], ends[first:last] = [start], [end]
        self.total += sum(stop - begin for begin, stop in fresh)
        if len(starts) > self._max_intervals:
            self._close_gaps()
        return fresh

    def _close_gaps(self) -> None:
        """Merge the lower half of the intervals, at least two, into one."""
        middle = len(self._starts) // 2 + 1
        del self._starts[1:middle], self._ends[: middle - 1]

    def copy(self) -> IntervalSet:
        """Return an independent copy."""
        other = IntervalSet(self._max_intervals)
        other._starts, other._ends, other.total = self._starts.copy(), self._ends.copy(), self.total
        return other

    @property
    def span(self) -> Span | None:
        """The half-open interval from the lowest to the highest number; None if the set is empty."""
        return (self._starts[0], self._ends[-1]) if self._starts else None

    @property
    def missing(self) -> int:
        """The count of numbers in the span that were never added."""
        return self._ends[-1] - self._starts[0] - self.total if self._starts else 0
