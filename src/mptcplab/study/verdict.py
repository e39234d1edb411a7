# SPDX-License-Identifier: MIT
"""Published values beside measured ones, and what to say of each.

A cell *agrees* when it is within the table's stated tolerance of the published value. Otherwise, if the study's data
explains the cell, it is *same shape* when its column still rises and falls as published, else *differs*; the reason is
printed with it. A cell outside the tolerance without a reason is *unexplained*, and makes the command fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from mptcplab.stats import Interval
from mptcplab.study.claims import FAILS, ClaimVerdict
from mptcplab.study.load import Selected
from mptcplab.study.measured import Measured
from mptcplab.study.schema import Because, Published

AGREES, SAME_SHAPE, DIFFERS, UNEXPLAINED = "agrees", "same shape", "differs", "unexplained"
#: Neighbours closer than this are a plateau, where noise decides which is larger.
_PLATEAU = 0.02


@dataclass(frozen=True)
class Cell:
    """One published value and ours. ``because`` explains a difference."""

    row: str
    column: str
    published: Published
    measured: Interval
    verdict: str
    because: Because | None
    mptcp: str
    sockets: str
    warnings: tuple[str, ...]

    @property
    def difference_percent(self) -> float:
        """Ours against the published value."""
        return 100 * (self.measured.mean / self.published.mean - 1)


def judge_cells(selected: Selected, measured: Measured) -> list[Cell]:
    """Every published cell that was measured, in the table's order."""
    table = selected.table
    cells = []
    for row, values in table.published.items():
        for column, published in values.items():
            found = measured.get((row, column))
            if found is None:
                continue
            because = next((reason for reason in table.because if reason.covers(row, column)), None)
            verdict = _verdict(selected, measured, column, published, found.interval, because)
            kept = because if verdict != AGREES else None
            about = (found.mptcp, found.sockets, found.warnings)
            cells.append(Cell(row, column, published, found.interval, verdict, kept, *about))
    return cells


def _verdict(
    selected: Selected, measured: Measured, column: str, published: Published, value: Interval, because: Because | None
) -> str:
    if abs(value.mean / published.mean - 1) * 100 <= selected.table.tolerance:
        return AGREES
    if because is None:
        return UNEXPLAINED
    return SAME_SHAPE if _same_shape(selected, measured, column) else DIFFERS


def _same_shape(selected: Selected, measured: Measured, column: str) -> bool:
    """Whether the column goes up, down or level from row to row as published."""
    table = selected.table
    pairs = [
        (values[column].mean, measured[row, column].interval.mean)
        for row, values in table.published.items()
        if column in values and (row, column) in measured
    ]
    return len(pairs) > 2 and all(
        _step(left[0], right[0]) == _step(left[1], right[1]) for left, right in pairwise(pairs)
    )


def _step(left: float, right: float) -> int:
    if abs(right - left) <= _PLATEAU * max(abs(left), abs(right)):
        return 0
    return 1 if right > left else -1


def is_good(cells: Sequence[Cell], claims: Sequence[ClaimVerdict]) -> bool:
    """Whether nothing is left without an explanation: no value that differs, no claim that does not hold."""
    unexplained = any(cell.verdict == UNEXPLAINED for cell in cells)
    return not unexplained and all(one.verdict != FAILS or one.claim.because is not None for one in claims)
