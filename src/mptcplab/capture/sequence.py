# SPDX-License-Identifier: MIT
"""Sequence spaces: numbers that wrap around, the parts that were seen, and the mappings of a subflow."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

# Sequence spaces: numbers that wrap around, and the parts of a space that were seen.

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
    def missing_bytes(self) -> int:
        """The count of numbers in the span that were never added."""
        return self._ends[-1] - self._starts[0] - self.total if self._starts else 0


# The mappings of one direction of a subflow: which data each of its bytes carries.
#
# A mapping may cover several segments, and may be seen after the payload that it maps (RFC 8684, 3.3.1). So mappings
# are kept, and neighbours that continue each other are one.


class Piece(NamedTuple):
    """Subflow positions ``start`` to ``end``, whose data begins at position ``data``; None if no mapping is known."""

    start: int
    end: int
    data: int | None


class MappingTable:
    """Mappings that do not overlap, at most ``max_mappings``: beyond that, the lowest ones are forgotten."""

    __slots__ = ("_ends", "_max_mappings", "_shifts", "_starts")

    def __init__(self, max_mappings: int = 4096) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._shifts: list[int] = []  # from subflow position to data position
        self._max_mappings = max_mappings

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, start: int, end: int, data: int) -> None:
        """Map subflow positions ``start`` to ``end`` to data from ``data`` on, instead of older mappings."""
        if start >= end:
            return
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)  # also ranges that only touch
        pieces = [(start, end, data - start)]
        if first < last and self._starts[first] < start:
            pieces.insert(0, (self._starts[first], start, self._shifts[first]))
        if first < last and self._ends[last - 1] > end:
            pieces.append((end, self._ends[last - 1], self._shifts[last - 1]))
        merged = pieces[:1]
        for piece in pieces[1:]:
            if piece[2] == merged[-1][2]:
                merged[-1] = (merged[-1][0], piece[1], piece[2])
            else:
                merged.append(piece)
        self._starts[first:last] = [piece[0] for piece in merged]
        self._ends[first:last] = [piece[1] for piece in merged]
        self._shifts[first:last] = [piece[2] for piece in merged]
        excess = len(self._starts) - self._max_mappings
        if excess > 0:
            del self._starts[:excess], self._ends[:excess], self._shifts[:excess]

    def pieces(self, start: int, end: int) -> Iterator[Piece]:
        """Yield subflow positions ``start`` to ``end`` in order, cut where mappings begin and end."""
        index = bisect_right(self._ends, start)
        while start < end:
            if index == len(self._starts) or self._starts[index] >= end:
                yield Piece(start, end, None)
                return
            if start < self._starts[index]:
                yield Piece(start, self._starts[index], None)
                start = self._starts[index]
            stop = min(end, self._ends[index])
            yield Piece(start, stop, start + self._shifts[index])
            start, index = stop, index + 1
