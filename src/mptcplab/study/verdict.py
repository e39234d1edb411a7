# SPDX-License-Identifier: MIT
"""Published values beside measured ones, and what to say of each.

A cell *agrees* when it is within the table's stated tolerance of the published value. Otherwise, if the study's data
explains the cell, it is *same shape* when its column still rises and falls as published, else *differs*; the reason is
printed with it. A cell outside the tolerance without a reason is *unexplained*, and makes the command fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mptcplab.metrics.rows import ResultRow
from mptcplab.stats import Interval
from mptcplab.study.load import Selected
from mptcplab.study.schema import Because, Claim

AGREES, SAME_SHAPE, DIFFERS, UNEXPLAINED = "agrees", "same shape", "differs", "unexplained"
HOLDS, FAILS, OPEN = "holds", "does not hold", "not measured"
#: Neighbours closer than this are a plateau, where noise decides which is larger.
_PLATEAU = 0.02


@dataclass(frozen=True)
class Cell:
    """One published value and ours. ``because`` explains a difference."""

    row: str
    column: str
    published: float
    measured: Interval
    verdict: str
    because: Because | None
    mptcp: str
    warnings: tuple[str, ...]

    @property
    def difference_percent(self) -> float:
        """Ours against the published value."""
        return 100 * (self.measured.mean / self.published - 1)


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim, and the ratio that it is judged by in every row."""

    claim: Claim
    ratios: tuple[tuple[str, float], ...]
    verdict: str


Measured = Mapping[tuple[str, str], ResultRow]


def index_rows(selected: Selected, rows: Iterable[ResultRow]) -> dict[tuple[str, str], ResultRow]:
    """Result rows by row and column of the published table."""
    table = selected.table
    return {(row.settings[table.along], row.settings[table.across]): row for row in rows}


def judge_cells(selected: Selected, measured: Measured) -> list[Cell]:
    """Every published cell that was measured, in the table's order."""
    table = selected.table
    cells = []
    for row, values in table.published.items():
        for column, published in values.items():
            result = measured.get((row, column))
            if result is None:
                continue
            value: Interval = getattr(result, table.value)
            because = next((reason for reason in table.because if reason.covers(row, column)), None)
            verdict = _verdict(selected, measured, column, published, value, because)
            kept = because if verdict != AGREES else None
            cells.append(Cell(row, column, published, value, verdict, kept, result.mptcp, result.warnings))
    return cells


def _verdict(
    selected: Selected, measured: Measured, column: str, published: float, value: Interval, because: Because | None
) -> str:
    if abs(value.mean / published - 1) * 100 <= selected.table.tolerance:
        return AGREES
    if because is None:
        return UNEXPLAINED
    return SAME_SHAPE if _same_shape(selected, measured, column) else DIFFERS


def _same_shape(selected: Selected, measured: Measured, column: str) -> bool:
    """Whether the column goes up, down or level from row to row as published."""
    table = selected.table
    pairs = [
        (values[column], getattr(measured[row, column], table.value).mean)
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


def judge_claims(selected: Selected, measured: Measured) -> list[ClaimVerdict]:
    """The study's claims that are about this table."""
    return [_judge(claim, selected, measured) for claim in selected.study.claims if claim.table == selected.number]


def _judge(claim: Claim, selected: Selected, measured: Measured) -> ClaimVerdict:
    ratios = []
    for row in claim.rows or tuple(selected.table.published):
        of = _value(selected, measured, claim.of, row)
        to = [_value(selected, measured, column, row) for column in claim.to]
        known = [value for value in to if value is not None]
        if of is not None and len(known) == len(to):
            ratios.append((row, of / sum(known)))
    if not ratios:
        return ClaimVerdict(claim, (), OPEN)
    holds = all(claim.least <= ratio <= claim.most for _, ratio in ratios)
    return ClaimVerdict(claim, tuple(ratios), HOLDS if holds else FAILS)


def _value(selected: Selected, measured: Measured, column: str, row: str) -> float | None:
    name, _, fixed = column.partition("@")
    result = measured.get((fixed or row, name))
    return float(getattr(result, selected.table.value).mean) if result else None


def is_good(cells: Sequence[Cell], claims: Sequence[ClaimVerdict]) -> bool:
    """Whether nothing is left without an explanation and every claim that could be judged holds."""
    return all(cell.verdict != UNEXPLAINED for cell in cells) and all(claim.verdict != FAILS for claim in claims)
