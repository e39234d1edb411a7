# SPDX-License-Identifier: MIT
"""Points of a figure, thinned as they arrive: a bounded number is kept, distributed like all of them."""

from __future__ import annotations

#: Added to every number, so that cells on both sides of zero can merge. Its bits alternate, so they merge early.
_OFFSET = 0x5555_5555_5555_5555_5555


class ThinnedPoints:
    """At most ``max_points`` points, one per cell of a grid whose cells grow when too many are occupied.

    Each cell keeps its first point. The result therefore depends on the points only, and outliers are kept.
    """

    __slots__ = ("_cells", "_height", "_max_points", "_width")

    def __init__(self, max_points: int) -> None:
        self._max_points = max_points
        self._width = self._height = 0  # powers of two: at first a cell is one number wide and high
        self._cells: dict[tuple[int, int], tuple[int, int]] = {}

    def add(self, x: int, y: int) -> None:
        """Add a point."""
        self._keep_first(x, y)
        while len(self._cells) > self._max_points:
            self._grow()

    def _grow(self) -> None:
        """Double the cells' width or height, whichever way the points span more cells."""
        columns = {column for column, _ in self._cells}
        rows = {row for _, row in self._cells}
        wide = max(columns) - min(columns) >= max(rows) - min(rows)
        self._width, self._height = self._width + wide, self._height + (not wide)
        points = self._cells.values()
        self._cells = {}
        for x, y in points:
            self._keep_first(x, y)

    def _keep_first(self, x: int, y: int) -> None:
        cell = (x + _OFFSET) >> self._width, (y + _OFFSET) >> self._height
        self._cells.setdefault(cell, (x, y))

    @property
    def points(self) -> list[tuple[int, int]]:
        """The points kept, in the order of arrival."""
        return list(self._cells.values())
