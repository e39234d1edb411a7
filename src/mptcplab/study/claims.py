# SPDX-License-Identifier: MIT
"""Claims of a study, judged with the uncertainty of what was measured.

A claim *holds* or *does not hold* when the 95 % confidence intervals leave no doubt, and is *not certain* otherwise.
A ratio is formed seed by seed, because both of its parts come from the same run or from runs with the same losses.
Where there is one run only, its value decides. What not all runs have is not certain at best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mptcplab.stats import Interval
from mptcplab.study.load import Selected
from mptcplab.study.measured import Measured, Value, combined, ratio
from mptcplab.study.schema import Claim

HOLDS, FAILS, UNCERTAIN, OPEN = "holds", "does not hold", "not certain", "not measured"
#: Changes smaller than this, relative to the quantity, are no trend and break none.
_PLATEAU = 0.02


@dataclass(frozen=True)
class Quantity:
    """What a claim is about, in one row. ``to`` names what it was divided by, where a claim compares with several."""

    row: str
    to: str
    value: Value

    @property
    def interval(self) -> Interval:
        """Mean and 95 % confidence interval."""
        return self.value.interval


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim, and the quantities that it was judged by."""

    claim: Claim
    quantities: tuple[Quantity, ...]
    verdict: str


def judge_claims(selected: Selected, measured: Measured) -> list[ClaimVerdict]:
    """The study's claims that are about this table."""
    return [_judge(claim, selected, measured) for claim in selected.study.claims if claim.table == selected.number]


def _judge(claim: Claim, selected: Selected, measured: Measured) -> ClaimVerdict:
    rows = claim.rows or selected.table.all_rows
    quantities = tuple(found for row in rows for found in _quantities(claim, measured, row))
    if not quantities:
        return ClaimVerdict(claim, (), OPEN)
    answers = [_bounds(claim, quantities)] if claim.least is not None or claim.most is not None else []
    if claim.trend is not None:
        groups = dict.fromkeys(one.to for one in quantities)
        answers += [_trend(claim.trend, [one.value for one in quantities if one.to == to]) for to in groups]
    if any(one.value.missing for one in quantities) or _lacking(rows, quantities, measured):
        answers.append(UNCERTAIN)
    return ClaimVerdict(claim, quantities, _all(answers))


def _lacking(rows: Sequence[str], quantities: Sequence[Quantity], measured: Measured) -> bool:
    """Whether a row was run, and has no such quantity: none of its runs recovered, for example."""
    run, known = {row for row, _ in measured}, {one.row for one in quantities}
    return any(row in run and row not in known for row in rows)


def _quantities(claim: Claim, measured: Measured, row: str) -> Iterator[Quantity]:
    of = _value(measured, claim.of, row)
    parts = {name: _value(measured, name, row) for name in claim.to}
    known = {name: value for name, value in parts.items() if value is not None}
    if of is None or len(known) < len(parts):
        return
    if not known:
        yield Quantity(row, "", of)
    elif claim.each:
        for name, value in known.items():
            yield Quantity(row, name, combined(of, [value], ratio))
    else:
        yield Quantity(row, "", combined(of, list(known.values()), ratio))


def _value(measured: Measured, column: str, row: str) -> Value | None:
    name, _, fixed = column.partition("@")
    return measured.get((fixed or row, name))


def _less(of: float, parts: Sequence[float]) -> float:
    return of - math.fsum(parts)


def _bounds(claim: Claim, quantities: Sequence[Quantity]) -> str:
    least = -math.inf if claim.least is None else claim.least
    most = math.inf if claim.most is None else claim.most
    answers = [_within(one.interval, least, most) for one in quantities]
    return _any(answers) if claim.some else _all(answers)


def _within(interval: Interval, least: float, most: float) -> str:
    if least <= interval.low and interval.high <= most:
        return HOLDS
    return FAILS if interval.high < least or interval.low > most else UNCERTAIN


def _trend(trend: str, values: Sequence[Value]) -> str:
    """From the first to the last row in this direction, and no step between that certainly goes back."""
    if len(values) < 2:
        return UNCERTAIN
    sign = 1 if trend == "rises" else -1
    if any(high < 0 for _, high in (_change(left, right, sign, -_PLATEAU) for left, right in pairwise(values))):
        return FAILS
    low, high = _change(values[0], values[-1], sign, _PLATEAU)
    if low > 0:
        return HOLDS
    return FAILS if high < 0 else UNCERTAIN


def _change(left: Value, right: Value, sign: int, plateau: float) -> tuple[float, float]:
    """Both ends of the change in one direction, less a plateau. A step back of single runs is not certain."""
    change = combined(right, [left], _less).interval
    least = plateau * max(abs(left.interval.mean), abs(right.interval.mean))
    if plateau < 0 and change.half_width is None:
        return -math.inf, math.inf
    low, high = sorted((sign * change.low, sign * change.high))
    return low - least, high - least


def _all(answers: Sequence[str]) -> str:
    if FAILS in answers:
        return FAILS
    return UNCERTAIN if UNCERTAIN in answers else HOLDS


def _any(answers: Sequence[str]) -> str:
    if HOLDS in answers:
        return HOLDS
    return UNCERTAIN if UNCERTAIN in answers else FAILS
