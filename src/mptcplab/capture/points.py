# SPDX-License-Identifier: MIT
"""Points of a figure, thinned as they come: however many there are, few are kept, spread as all of them are."""

from __future__ import annotations

#: Added to every number: cells then meet across zero as well, and soon, since its bits alternate.
_OFFSET = 0x5555_5555_5555_5555_5555


class ThinnedPoints:
    """At most ``most`` points, one for each cell of a grid whose cells grow when too many are taken.

    Of a cell, the first point stays. So what is kept depends on the points only, and outliers stay.
    """

    __slots__ = ("_cells", "_height", "_most", "_width")

    def __init__(self, most: int) -> None:
        self._most = most
        self._width = self._height = 0  # cells of one number each: as powers of two
        self._cells: dict[tuple[int, int], tuple[int, int]] = {}

    def add(self, x: int, y: int) -> None:
        """One point."""
        self._put(x, y)
        while len(self._cells) > self._most:
            self._grow()

    def _grow(self) -> None:
        """Larger cells in the direction in which the points spread over more of them."""
        columns = {column for column, _ in self._cells}
        rows = {row for _, row in self._cells}
        wide = max(columns) - min(columns) >= max(rows) - min(rows)
        self._width, self._height = self._width + wide, self._height + (not wide)
        points = self._cells.values()
        self._cells = {}
        for x, y in points:
            self._put(x, y)

    def _put(self, x: int, y: int) -> None:
        cell = (x + _OFFSET) >> self._width, (y + _OFFSET) >> self._height
        self._cells.setdefault(cell, (x, y))

    @property
    def points(self) -> list[tuple[int, int]]:
        """What is kept, in the order of coming."""
        return list(self._cells.values())
