# SPDX-License-Identifier: MIT
"""The mappings of one direction of a subflow: which data each of its bytes carries.

A mapping may cover several segments, and may be seen after the payload that it maps (RFC 8684, 3.3.1). So mappings are
kept, and neighbours that continue each other are one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple


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
