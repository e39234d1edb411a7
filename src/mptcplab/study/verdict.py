# SPDX-License-Identifier: MIT
"""Published values beside measured ones, and what to say of each.

A cell *agrees* when it is within the table's stated tolerance of the published value. Otherwise, if the study's data
explains the cell, it is *same shape* when its column still rises and falls as published, else *differs*; the reason is
printed with it. A cell outside the tolerance without a reason is *unexplained*, and makes the command fail. A cell
without a value is *not measured*: its row is not among those of this run, or the run has no such figure, which needs a
reason, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from mptcplab.stats import Interval
from mptcplab.study.claims import FAILS, OPEN, ClaimVerdict
from mptcplab.study.load import Selected
from mptcplab.study.measured import Measured
from mptcplab.study.schema import Because, Published

AGREES, SAME_SHAPE, DIFFERS, UNEXPLAINED = "agrees", "same shape", "differs", "unexplained"
#: Neighbours closer than this are a plateau, where noise decides which is larger.
_PLATEAU = 0.02


@dataclass(frozen=True)
class Cell:
    """One published value and ours, if it was measured. ``because`` explains a difference.

    ``row_is_there`` says whether anything was measured in its row; ``missing`` how many runs have no such figure.
    """

    row: str
    column: str
    published: Published
    measured: Interval | None
    verdict: str
    because: Because | None
    row_is_there: bool = True
    missing: int = 0
    mptcp: str = ""
    sockets: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def difference_percent(self) -> float | None:
        """Ours against the published value."""
        return None if self.measured is None else 100 * (self.measured.mean / self.published.mean - 1)

    @property
    def is_open(self) -> bool:
        """Whether something has to be explained, and is not."""
        lacking = self.verdict == OPEN and self.row_is_there and self.because is None
        return self.verdict == UNEXPLAINED or lacking


def judge_cells(selected: Selected, measured: Measured) -> list[Cell]:
    """Every published cell, in the table's order."""
    rows = {row for row, _ in measured}
    return [
        _cell(selected, measured, (row, column), published, row_is_there=row in rows)
        for row, values in selected.table.published.items()
        for column, published in values.items()
    ]


def _cell(
    selected: Selected, measured: Measured, place: tuple[str, str], published: Published, *, row_is_there: bool
) -> Cell:
    row, column = place
    found = measured.get(place)
    because = next((reason for reason in selected.table.because if reason.covers(row, column)), None)
    if found is None:
        return Cell(row, column, published, None, OPEN, because if row_is_there else None, row_is_there)
    verdict = _verdict(selected, measured, column, published, found.interval, because)
    kept = because if verdict != AGREES else None
    about = (found.missing, found.mptcp, found.sockets, found.warnings)
    return Cell(row, column, published, found.interval, verdict, kept, row_is_there, *about)


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
    """Whether nothing is left without an explanation: no value that differs or is missing, no claim that fails."""
    unexplained = any(cell.is_open for cell in cells)
    return not unexplained and all(one.verdict != FAILS or one.claim.because is not None for one in claims)
