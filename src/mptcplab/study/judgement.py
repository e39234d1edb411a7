# SPDX-License-Identifier: MIT
"""Judge claims with the uncertainty of the measured values: the classes, the tolerance, the evidence of a reason."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mptcplab.report.table import Emphasis
from mptcplab.stats import Interval
from mptcplab.study.library import SelectedTable
from mptcplab.study.measurement import Sources, TableValues, Value, combine_values, ratio
from mptcplab.study.parts import CellReason, ClaimReason, is_explained
from mptcplab.study.schema import Claim

# The classes of published values and claims: names, column heads, texts and colours.
#
# :mod:`mptcplab.study.verdict` computes the classes of values; a study's data cannot set a class.

AGREES = "agrees"
FITTED = "fitted"
UNCERTAIN_INSIDE = "too uncertain, mean inside"
UNCERTAIN_OUTSIDE = "too uncertain, mean outside"
SHOWN = "differs, shown"
PARTLY = "differs, partly shown"
IN_BEDS = "differs, agrees in at least 95 % of beds"
DEPENDS = "differs, depends on the bed"
SUPPOSED = "differs, supposed"
UNEXPLAINED = "unexplained"
OPEN = "not measured"

HOLDS = "holds"
FAILS = "does not hold"
FAILS_SHOWN = "does not hold, shown"
FAILS_PARTLY = "does not hold, partly shown"
FAILS_SUPPOSED = "does not hold, supposed"
UNCERTAIN = "not certain"


@dataclass(frozen=True)
class VerdictClass:
    """One class. ``head`` is its column on the scoreboard, ``words`` its name beside a count.

    ``colour`` is the colour of its points in figures: the colours of Okabe and Ito, which colour-blind readers can
    distinguish, and a brown. ``marker`` is matplotlib's and ``symbol`` plotly's.
    """

    name: str
    head: str
    words: str
    emphasis: Emphasis
    colour: str = ""
    marker: str = ""
    symbol: str = ""


VALUE_CLASSES = (
    VerdictClass(AGREES, "agree", "agree", "good", "#009E73", "o", "circle"),
    VerdictClass(FITTED, "fitted", "fitted", "fair", "#7A7A7A", "s", "square"),
    VerdictClass(
        UNCERTAIN_INSIDE, "uncertain, inside", "too uncertain with the mean inside", "fair", "#56B4E9", "D", "diamond"
    ),
    VerdictClass(
        UNCERTAIN_OUTSIDE,
        "uncertain, outside",
        "too uncertain with it outside",
        "fair",
        "#56B4E9",
        "d",
        "diamond-open",
    ),
    VerdictClass(SHOWN, "differ, shown", "differ for a shown reason", "fair", "#0072B2", "^", "triangle-up"),
    VerdictClass(PARTLY, "differ, partly shown", "differ for a partly shown reason", "fair", "#CC79A7", "P", "cross"),
    VerdictClass(IN_BEDS, "agree in 95 % of beds", "agree in at least 95 % of beds", "fair", "#009E73", "*", "star"),
    VerdictClass(
        DEPENDS, "depend on the bed", "depend on parameters that no source states", "fair", "#8C6D1F", "p", "pentagon"
    ),
    VerdictClass(SUPPOSED, "differ, supposed", "differ for a supposed reason", "fair", "#E69F00", "v", "triangle-down"),
    VerdictClass(UNEXPLAINED, "unexplained", "unexplained", "bad", "#D55E00", "X", "x"),
    VerdictClass(OPEN, "not measured", "not measured", "fair"),
)
CLAIM_CLASSES = (
    VerdictClass(HOLDS, "claims hold", "hold", "good"),
    VerdictClass(FITTED, "fitted claims", "about fitted values", "fair"),
    VerdictClass(FAILS_SHOWN, "do not hold, shown", "do not hold for a shown reason", "fair"),
    VerdictClass(FAILS_PARTLY, "do not hold, partly", "do not hold for a partly shown reason", "fair"),
    VerdictClass(FAILS_SUPPOSED, "do not hold, supposed", "do not hold for a supposed reason", "fair"),
    VerdictClass(UNEXPLAINED, "no reason", "do not hold without one", "bad"),
    VerdictClass(UNCERTAIN, "not certain", "not certain", "fair"),
    VerdictClass(OPEN, "not judged", "not judged", "fair"),
)
#: Names in the order in which they are counted.
VALUES = tuple(value_class.name for value_class in VALUE_CLASSES)
CLAIMS = tuple(claim_class.name for claim_class in CLAIM_CLASSES)
VALUE_EMPHASES = {value_class.name: value_class.emphasis for value_class in VALUE_CLASSES}


# The algebra of verdicts: where an interval lies against a published value with its tolerance, and what moved.
#
# The *band* of a published value p with a tolerance of T percent is p ± p T / 100. A measured 95 % interval
#
# - lies *within* if all of it is in the band;
# - is *uncertain* if it crosses an end of the band, so that it could lie on either side;
# - lies *outside* if it does not overlap the band.
#
# A single run has no interval, and may lie anywhere: it is uncertain. The same holds for the bounds of claims.

WITHIN, UNSURE, OUTSIDE = "within", "uncertain", "outside"
#: What an evidence run proves of a reason.
SHOWS, SHOWS_PART, SHOWS_NOTHING = "shown", "partly shown", "not shown"
#: The setting of the evidence was chosen by the value that it would show.
CHOSEN = "not shown, since the setting was chosen by this value"
#: Of the way from the measured to the published value: what evidence leaves of it at most.
_MOST_LEFT = 0.5
_ROUNDING = 1e-9


def half_width_of(value: Interval) -> float:
    """Return the half width of an interval, infinite for a single run."""
    return math.inf if value.half_width is None else value.half_width


def position(value: Interval, published: float, tolerance: float) -> str:
    """Return where ``value`` lies against ``published`` with a tolerance in percent."""
    half, band = half_width_of(value), abs(published) * tolerance / 100
    if abs(value.mean - published) > half + band:
        return OUTSIDE
    # Rounding must not move a value of equal runs off the end of its band.
    return WITHIN if abs(value.mean - published) + half <= band * (1 + _ROUNDING) else UNSURE


def explained_fraction(measured: float, evidence: float, published: float) -> float:
    """Return the share of ``published`` minus ``measured`` that ``evidence`` explains; above 1 if it goes beyond."""
    difference = published - measured
    return (evidence - measured) / difference if difference else math.nan


def proof_of(measured: Interval, evidence: Interval, published: float, tolerance: float) -> str:
    """Return what an evidence run proves: a reason, a part of it, or nothing.

    It shows the reason if its mean lies in the band. It shows a part if it leaves at most half of the distance, on
    either side. Where both values have an interval, these must not overlap: a move that the intervals do not confirm
    shows nothing.
    """
    if None not in (measured.half_width, evidence.half_width) and _overlap(measured, evidence):
        return SHOWS_NOTHING
    left = abs(evidence.mean - published)
    if left <= abs(published) * tolerance / 100:
        return SHOWS
    return SHOWS_PART if left <= _MOST_LEFT * abs(measured.mean - published) else SHOWS_NOTHING


def _overlap(interval: Interval, other: Interval) -> bool:
    return interval.low <= other.high and other.low <= interval.high


# Evidence for the reason of a cell: a run in which the mechanism is changed, and whether that moves the value.


@dataclass(frozen=True)
class CellEvidence:
    """The evidence cell for one published cell. ``value`` is None if it was not measured.

    ``moved`` is the share of the difference between measured and published value that it removes. ``proof`` is what
    that proves of the reason, as :func:`proof_of` has it; nothing if the setting was chosen by this value.
    """

    table: str
    row: str
    column: str
    value: Interval | None
    moved: float | None
    proof: str


def cell_evidence(
    selected: SelectedTable, sources: Sources, because: CellReason | None, place: tuple[str, str], measured: Interval
) -> CellEvidence | None:
    """Return the evidence that a reason names for a cell; None if it names none."""
    mapped = because.shown_by.map_cell(*place) if because is not None and because.shown_by is not None else None
    if because is None or because.shown_by is None or mapped is None:
        return None
    row, column = mapped
    other = selected.study.tables[because.shown_by.table]
    if row not in other.all_rows or column not in other.columns:
        return None
    value = measured_of(selected, sources, because.shown_by.table).get(mapped)
    if value is None:
        return CellEvidence(because.shown_by.table, row, column, None, None, SHOWS_NOTHING)
    published = selected.table.published[place[0]][place[1]].mean
    share = explained_fraction(measured.mean, value.interval.mean, published)
    proof = proof_of(measured, value.interval, published, selected.table.tolerance)
    if because.is_chosen_by(selected.number, *place):
        proof = CHOSEN
    return CellEvidence(because.shown_by.table, row, column, value.interval, share, proof)


def measured_of(selected: SelectedTable, sources: Sources, number: str) -> TableValues:
    """Return the measured values of another table of the study."""
    source = sources.get(f"{selected.folder.name}/{number}")
    return source.measured if source is not None else {}


# Judge the claims of a study, with the uncertainty of the measured values.
#
# A claim *holds* or *does not hold* if the 95 % confidence intervals leave no doubt, and is *not certain* otherwise. A
# ratio is computed seed by seed, because both of its parts come from the same run or from runs with the same losses. A
# single run has no interval, and is not certain. A claim about a value that some runs do not have is at best not
# certain. A claim about a value that a parameter was fitted to is *fitted*, whatever it says.
#
# The reason of a claim that does not hold is *shown* if the claim, judged again with the cells of the runs that the
# study's data names, holds; *partly shown* if the largest distance from its bounds is at most half as large there;
# else *supposed*. Without a reason the claim is *unexplained*, also where the data declares it open, with what was
# tried.

#: Changes smaller than this, relative to the quantity, are not a trend and break none.
_PLATEAU = 0.02
#: The maximum share of the largest distance from the bounds that evidence may leave.
_MAX_LEFT = 0.5


@dataclass(frozen=True)
class ClaimQuantity:
    """The quantity of a claim in one row. ``to`` names the divisor if a claim compares with several columns."""

    row: str
    to: str
    value: Value

    @property
    def interval(self) -> Interval:
        """Mean and 95 % confidence interval."""
        return self.value.interval


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim with its verdict, and the quantities by which it was judged.

    ``evidence`` is the claim judged with the cells of its evidence; None if the study names none, or if it holds.
    ``fitted`` has the titles of its columns that a parameter was fitted to, in the rows of the claim.
    """

    claim: Claim
    quantities: tuple[ClaimQuantity, ...]
    verdict: str
    evidence: ClaimVerdict | None = None
    fitted: tuple[str, ...] = ()

    @property
    def why(self) -> ClaimReason | None:
        """The reason, or what was tried, if one is needed."""
        return self.claim.because if self.verdict == FAILS else None

    @property
    def counted_as(self) -> str:
        """The class of the claim: if it does not hold, the class of its reason."""
        if self.fitted and self.verdict != OPEN:
            return FITTED
        if self.verdict != FAILS:
            return self.verdict
        if not is_explained(self.claim.because):
            return UNEXPLAINED
        return FAILS_SUPPOSED if self.evidence is None else _class_by_evidence(self, self.evidence)

    @property
    def is_undeclared(self) -> bool:
        """True if the claim does not hold and the study's data has neither a reason nor an `open` for it."""
        return self.counted_as == UNEXPLAINED and self.claim.because is None

    @property
    def distance(self) -> float | None:
        """The largest distance of a mean from the bounds, or the smallest with ``some``; None without bounds."""
        low = -math.inf if self.claim.min is None else self.claim.min
        high = math.inf if self.claim.max is None else self.claim.max
        apart = [max(low - quantity.interval.mean, quantity.interval.mean - high, 0.0) for quantity in self.quantities]
        if not apart or (self.claim.min is None and self.claim.max is None):
            return None
        return min(apart) if self.claim.some else max(apart)


def judge_claims(selected: SelectedTable, measured: TableValues, sources: Sources) -> list[ClaimVerdict]:
    """Return the study's claims that are about this table. ``sources`` have the evidence."""
    claims = []
    for claim in selected.study.claims:
        if claim.table == selected.number:
            judged = _judge(claim, selected.table.all_rows, measured, _rows(measured))
            judged = replace(judged, fitted=tuple(_fitted_column_titles(selected, claim)))
            claims.append(_with_evidence(judged, selected, measured, sources))
    return claims


def judge_by_ratio_column(verdict: ClaimVerdict, selected: SelectedTable, measured: TableValues) -> ClaimVerdict | None:
    """Return a claim about the bounds of a ratio, judged by the table's column with this ratio.

    The column has the interval over the seeds, so that their values are not needed. None if there is no such column,
    or if the claim needs more than it has: a trend, or evidence.
    """
    claim = verdict.claim
    columns = selected.table.columns.items()
    name = next((name for name, column in columns if column.ratio == (claim.of, *claim.to)), None)
    if name is None or claim.trend is not None or (claim.because is not None and claim.because.shown_by is not None):
        return None
    by_column = claim.model_copy(update={"of": name, "to": ()})
    judged = _judge(by_column, selected.table.all_rows, measured, _rows(measured))
    return replace(judged, claim=claim, fitted=verdict.fitted)


def judge_claim(claim: Claim, all_rows: Sequence[str], measured: TableValues) -> str:
    """Return whether ``claim`` holds by the values of its own table alone: HOLDS, FAILS, UNCERTAIN or OPEN."""
    return _judge(claim, all_rows, measured, _rows(measured)).verdict


def _fitted_column_titles(selected: SelectedTable, claim: Claim) -> Iterator[str]:
    """Yield the titles of a claim's columns that a parameter was fitted to."""
    table = selected.table
    for part in dict.fromkeys((claim.of, *claim.to)):
        name, _, fixed = part.partition("@")
        # A column that is a ratio is fitted where one of its parts is.
        columns = table.columns[name].ratio or (name,)
        rows = (fixed,) if fixed else claim.rows or table.all_rows
        if any(selected.study.fitted_parameters(selected.number, row, column) for row in rows for column in columns):
            yield table.columns[name].title


def _with_evidence(
    verdict: ClaimVerdict, selected: SelectedTable, measured: TableValues, sources: Sources
) -> ClaimVerdict:
    """Return the claim with its evidence, if it needs evidence."""
    shown = verdict.why.shown_by if verdict.why is not None else None
    if shown is None:
        return verdict
    given = shown.model_dump(exclude_none=True)
    claim = verdict.claim.model_copy(update=given)
    other, there = selected.study.tables[shown.table], measured_of(selected, sources, shown.table)
    # Columns that the other table lacks are taken from this one: TCP, if only MPTCP was run differently.
    others = {place: value for place, value in measured.items() if place[1] not in other.columns}
    return replace(verdict, evidence=_judge(claim, other.all_rows, {**others, **there}, _rows(there)))


def _class_by_evidence(verdict: ClaimVerdict, evidence: ClaimVerdict) -> str:
    """Return the class of a claim that does not hold, by its evidence."""
    if evidence.verdict == HOLDS:
        return FAILS_SHOWN
    before, after = verdict.distance, evidence.distance
    # A trend has no distance. Nothing moved if the claim itself is within its bounds.
    if verdict.claim.trend is not None or before is None or after is None:
        return FAILS_SUPPOSED
    return FAILS_PARTLY if before > 0 and after <= _MAX_LEFT * before else FAILS_SUPPOSED


def _rows(measured: TableValues) -> set[str]:
    return {row for row, _ in measured}


def _judge(claim: Claim, all_rows: Sequence[str], measured: TableValues, run: set[str]) -> ClaimVerdict:
    """Judge a claim. ``run`` are the rows in which anything of its table was measured."""
    rows = claim.rows or all_rows
    quantities = tuple(quantity for row in rows for quantity in _quantities(claim, measured, row))
    if not quantities:
        return ClaimVerdict(claim, (), OPEN)
    answers = [_bounds(claim, quantities)] if claim.min is not None or claim.max is not None else []
    if claim.trend is not None:
        groups = dict.fromkeys(quantity.to for quantity in quantities)
        answers += [
            _trend(claim.trend, [quantity.value for quantity in quantities if quantity.to == to]) for to in groups
        ]
    if any(quantity.value.missing for quantity in quantities) or _lacks_quantity(claim, rows, quantities, run):
        answers.append(UNCERTAIN)
    return ClaimVerdict(claim, quantities, _combine_all(answers))


def _lacks_quantity(claim: Claim, rows: Sequence[str], quantities: Sequence[ClaimQuantity], run: set[str]) -> bool:
    """Return whether a row was run but lacks a quantity: none of its runs recovered, or it is a ratio of 0 to 0."""
    known = Counter(quantity.row for quantity in quantities)
    expected = len(claim.to) if claim.each and claim.to else 1
    return any(row in run and known[row] < expected for row in rows)


def _quantities(claim: Claim, measured: TableValues, row: str) -> Iterator[ClaimQuantity]:
    of = _value(measured, claim.of, row)
    # A list, because a sum may have one column twice, as two paths of one rate.
    pairs = [(name, _value(measured, name, row)) for name in claim.to]
    known = [(name, value) for name, value in pairs if value is not None]
    if of is None or len(known) < len(pairs):
        return
    if not known:
        yield ClaimQuantity(row, "", of)
    elif claim.each:
        for name, value in known:
            quotient = combine_values(of, [value], ratio)
            if quotient is not None:
                yield ClaimQuantity(row, name, quotient)
    else:
        quotient = combine_values(of, [value for _, value in known], ratio)
        if quotient is not None:
            yield ClaimQuantity(row, "", quotient)


def _value(measured: TableValues, column: str, row: str) -> Value | None:
    name, _, fixed = column.partition("@")
    return measured.get((fixed or row, name))


def _subtract(of: float, parts: Sequence[float]) -> float:
    return of - math.fsum(parts)


def _bounds(claim: Claim, quantities: Sequence[ClaimQuantity]) -> str:
    low = -math.inf if claim.min is None else claim.min
    high = math.inf if claim.max is None else claim.max
    answers = [_compare_with_bounds(quantity.interval, low, high) for quantity in quantities]
    return _combine_any(answers) if claim.some else _combine_all(answers)


def _compare_with_bounds(interval: Interval, low: float, high: float) -> str:
    if interval.half_width is None:
        return UNCERTAIN
    if low <= interval.low and interval.high <= high:
        return HOLDS
    return FAILS if interval.high < low or interval.low > high else UNCERTAIN


def _trend(trend: str, values: Sequence[Value]) -> str:
    """Judge a trend: a change from the first to the last row, and no step that certainly goes back."""
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
    """Return the interval of a change, minus a plateau. A change between single runs is not certain."""
    change = combine_values(right, [left], _subtract)
    smallest = plateau * max(abs(left.interval.mean), abs(right.interval.mean))
    if change is None or change.interval.half_width is None:
        return -math.inf, math.inf
    low, high = sorted((sign * change.interval.low, sign * change.interval.high))
    return low - smallest, high - smallest


def _combine_all(answers: Sequence[str]) -> str:
    if FAILS in answers:
        return FAILS
    return UNCERTAIN if UNCERTAIN in answers else HOLDS


def _combine_any(answers: Sequence[str]) -> str:
    if HOLDS in answers:
        return HOLDS
    return UNCERTAIN if UNCERTAIN in answers else FAILS
