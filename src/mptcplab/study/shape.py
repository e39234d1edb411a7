# SPDX-License-Identifier: MIT
"""Same shape: a mark of a column, beside the verdicts of its cells and independent of them.

A column has the shape that was published if it rises, falls or stays level from row to row as published and every
measured mean is within a factor of its published value. The factor is printed with the mark, and is at most
:data:`LARGEST_FACTOR`. Only rows that are quantities have an order, and it takes three of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from mptcplab.study.load import SelectedTable
from mptcplab.study.measured import TableValues

#: Beyond this factor nothing has the same shape.
LARGEST_FACTOR = 2.0
#: Neighbours closer than this, relative to the larger one, are level: noise decides which is larger.
_PLATEAU = 0.02
_FEWEST_ROWS = 3


@dataclass(frozen=True)
class Shape:
    """The shape of one column. ``why`` says what is not as published; empty if it has the same shape."""

    column: str
    factor: float
    why: str

    @property
    def is_same(self) -> bool:
        """Whether the column has the published shape."""
        return not self.why

    @property
    def text(self) -> str:
        """The mark with its factor, rounded up."""
        factor = f"{math.ceil(self.factor * 100) / 100:.2f}" if math.isfinite(self.factor) else "∞"
        if self.is_same:
            return f"same shape within a factor {factor}"
        return f"another shape ({self.why}), within a factor {factor}"


def shapes_of(selected: SelectedTable, measured: TableValues) -> list[Shape]:
    """Return the shapes of the columns that have one."""
    table = selected.table
    if not all(row[:1].isdigit() for row in table.all_rows):
        return []
    shapes = []
    for column in table.columns:
        rows = [row for row, values in table.published.items() if column in values and (row, column) in measured]
        if len(rows) >= _FEWEST_ROWS:
            pairs = [(table.published[row][column].mean, measured[row, column].interval.mean) for row in rows]
            shapes.append(Shape(column, max(_factor(*pair) for pair in pairs), "; ".join(_faults(rows, pairs))))
    return shapes


def _factor(published: float, measured: float) -> float:
    if published * measured <= 0:
        return 1.0 if published == measured else math.inf
    return max(published / measured, measured / published)


def _faults(rows: list[str], pairs: list[tuple[float, float]]) -> Iterator[str]:
    for (before, after), (left, right) in zip(pairwise(rows), pairwise(pairs), strict=True):
        wanted, step = _step(left[0], right[0]), _step(left[1], right[1])
        if wanted != step:
            yield f"it {step} from {before} to {after}, published it {wanted}"
    factor = max(_factor(*pair) for pair in pairs)
    if factor > LARGEST_FACTOR:
        yield f"more than a factor {LARGEST_FACTOR:g} apart"


def _step(left: float, right: float) -> str:
    if abs(right - left) <= _PLATEAU * max(abs(left), abs(right)):
        return "stays level"
    return "rises" if right > left else "falls"
