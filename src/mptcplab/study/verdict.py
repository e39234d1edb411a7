# SPDX-License-Identifier: MIT
"""Verdicts: published values compared with measured ones, for a table and for what is shipped with a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from mptcplab.stats import Interval
from mptcplab.study.cloud import IN_ALL, IN_SOME, CloudValue, values_over_beds
from mptcplab.study.judgement import (
    AGREES,
    DEPENDS,
    FITTED,
    IN_BEDS,
    OPEN,
    OUTSIDE,
    PARTLY,
    SHOWN,
    SHOWS,
    SHOWS_PART,
    SUPPOSED,
    UNCERTAIN_INSIDE,
    UNCERTAIN_OUTSIDE,
    UNEXPLAINED,
    WITHIN,
    CellEvidence,
    ClaimVerdict,
    cell_evidence,
    judge_by_ratio_column,
    judge_claims,
    position,
)
from mptcplab.study.library import SelectedTable, digest, select
from mptcplab.study.measurement import (
    FullResult,
    Shape,
    Sources,
    TableSource,
    TableValues,
    fill,
    find_shipped,
    shapes_of,
    shipped_values,
)
from mptcplab.study.parts import CellReason, Parameter, is_explained
from mptcplab.study.schema import PublishedValue
from mptcplab.study.sensitivity import MIN_BEDS_FOR_CAUSES

# Compare published values with measured ones, and classify each. A study's data cannot set a class.
#
# A cell *agrees* if all of its interval is in the band of the published value with its tolerance; it is *too
# uncertain* if the interval crosses an end of the band (:mod:`mptcplab.study.judgement`). A cell that a parameter was
# fitted to is *fitted*, whatever its value. A cell outside the tolerance *differs*: the reason is *shown* if the run
# that the study's data names for it lands in the band, *partly shown* if it goes half of the way
# (:mod:`mptcplab.study.judgement`), else it is *supposed*. Without a reason the cell is *unexplained*; the command
# fails if the data does not declare it open, with what was tried. A cell without a value is *not measured*: its row
# was not run, or the run lacks the metric, which needs a reason, too.
#
# What is supposed or unexplained on the test bed of its table may have been measured over many possible test beds
# (:mod:`mptcplab.study.cloud`). If these are enough to name what moves the value, it *agrees in at least 95 % of
# beds*, or it *depends on the bed*: it agrees in some of them, and parameters that no source states move it.
# A value that agrees in no test bed, or that no named parameter moves, keeps its class.

#: The class of a difference with a reason, by what its evidence proves.
_PROVED = {SHOWS: SHOWN, SHOWS_PART: PARTLY}

#: Values of one table over possible test beds, by row and column.
OverBeds = Mapping[tuple[str, str], CloudValue]


@dataclass(frozen=True)
class JudgedCell:
    """One published value, and ours if it was measured. ``because`` explains a difference, or declares it open.

    ``at_half`` is the class that an agreeing cell would have with half of the tolerance, else empty. ``outside`` is
    true if the interval is outside the tolerance, ``is_mean_outside`` if the mean is. ``fitted`` has the parameters
    that were fitted to it, and ``first`` is the table, row and column where the source prints the value first.
    ``row_is_there`` is true if anything was measured in its row; ``missing`` counts the runs without the metric.
    ``over_beds`` is the value over possible test beds, if it was measured there.
    """

    row: str
    column: str
    published: PublishedValue
    measured: Interval | None
    verdict: str
    because: CellReason | None
    at_half: str = ""
    outside: bool = False
    is_mean_outside: bool = False
    evidence: CellEvidence | None = None
    fitted: tuple[Parameter, ...] = ()
    first: tuple[str, str, str] | None = None
    row_is_there: bool = True
    missing: int = 0
    mptcp: str = ""
    sockets: str = ""
    warnings: tuple[str, ...] = ()
    over_beds: CloudValue | None = None

    @property
    def difference_percent(self) -> float | None:
        """The difference of our value from the published one, in percent."""
        return None if self.measured is None else 100 * (self.measured.mean / self.published.mean - 1)

    @property
    def counted_as(self) -> str:
        """The class on the scoreboard: a missing value without a reason is unexplained."""
        lacking = self.verdict == OPEN and self.row_is_there
        return UNEXPLAINED if lacking and not is_explained(self.because) else self.verdict

    @property
    def is_undeclared(self) -> bool:
        """True if a difference needs a reason and the study's data has neither that nor an `open` for it."""
        return self.counted_as == UNEXPLAINED and self.because is None


def judge_cells(
    selected: SelectedTable,
    measured: TableValues,
    sources: Sources = MappingProxyType({}),
    over_beds: OverBeds = MappingProxyType({}),
) -> list[JudgedCell]:
    """Return every published cell, in the table's order. ``sources`` have the evidence."""
    rows = {row for row, _ in measured}
    cells = [
        _cell(selected, measured, sources, (row, column), row_is_there=row in rows)
        for row, values in selected.table.published.items()
        for column in values
    ]
    return [_judge_over_beds(cell, over_beds.get((cell.row, cell.column))) for cell in cells]


def _judge_over_beds(cell: JudgedCell, over_beds: CloudValue | None) -> JudgedCell:
    """Return the cell with the class that possible test beds give a difference without a run that shows its reason."""
    verdict = class_over_beds(over_beds) if over_beds is not None and cell.verdict in (SUPPOSED, UNEXPLAINED) else ""
    return replace(cell, verdict=verdict or cell.verdict, over_beds=over_beds)


def class_over_beds(value: CloudValue) -> str:
    """Return the class of a value that differs on the test bed of its table; empty if the test beds leave it as it is.

    A few test beds show neither that nearly all agree nor what a value depends on.
    """
    if len(value.within) < MIN_BEDS_FOR_CAUSES:
        return ""
    if value.verdict == IN_ALL:
        return IN_BEDS
    return DEPENDS if value.verdict == IN_SOME and value.moved_by else ""


def _cell(
    selected: SelectedTable, measured: TableValues, sources: Sources, place: tuple[str, str], *, row_is_there: bool
) -> JudgedCell:
    row, column = place
    table, published, value = selected.table, selected.table.published[row][column], measured.get(place)
    because = next((reason for reason in table.because if reason.covers(row, column)), None)
    fitted, first = selected.study.fitted_parameters(selected.number, row, column), table.first_of(row, column)
    if value is None:
        why = because if row_is_there else None
        return JudgedCell(
            row, column, published, None, OPEN, why, fitted=fitted, first=first, row_is_there=row_is_there
        )
    evidence = cell_evidence(selected, sources, because, place, value.interval)
    verdict = _verdict(value.interval, published, table.tolerance, because, evidence)
    outside = verdict in (SHOWN, PARTLY, SUPPOSED, UNEXPLAINED)
    is_mean_outside = _is_mean_outside(value.interval, published, table.tolerance)
    half = _verdict(value.interval, published, table.tolerance / 2, because, evidence)
    return JudgedCell(
        row,
        column,
        published,
        value.interval,
        FITTED if fitted else verdict,
        because if outside else None,
        half if verdict == AGREES and not fitted else "",
        outside,
        is_mean_outside,
        evidence if outside else None,
        fitted,
        first,
        row_is_there,
        value.missing,
        value.mptcp,
        value.sockets,
        value.warnings,
    )


def _verdict(
    value: Interval,
    published: PublishedValue,
    tolerance: float,
    because: CellReason | None,
    evidence: CellEvidence | None,
) -> str:
    where = position(value, published.mean, tolerance)
    if where == WITHIN:
        return AGREES
    if where != OUTSIDE:
        return UNCERTAIN_OUTSIDE if _is_mean_outside(value, published, tolerance) else UNCERTAIN_INSIDE
    if not is_explained(because):
        return UNEXPLAINED
    return SUPPOSED if evidence is None else _PROVED.get(evidence.proof, SUPPOSED)


def _is_mean_outside(value: Interval, published: PublishedValue, tolerance: float) -> bool:
    return abs(value.mean - published.mean) > abs(published.mean) * tolerance / 100


def is_good(cells: Sequence[JudgedCell], claims: Sequence[ClaimVerdict]) -> bool:
    """Return whether the data has an entry for each value that differs or is missing, and each claim that fails.

    A supposed reason suffices, and so does an `open`: the scoreboard counts both.
    """
    return not any(cell.is_undeclared for cell in cells) and not any(claim.is_undeclared for claim in claims)


# A table that was measured, with every verdict.


@dataclass(frozen=True)
class JudgedTable:
    """One table with all that is said of it. ``changes`` are keys that were changed for this measurement.

    ``shapes`` are marks of columns, beside the verdicts of ``cells``. ``sources`` are the tables that texts can quote
    and that are evidence, with this one. ``full`` is the full form that a short one is compared with; None when there
    is nothing to compare.
    """

    selected: SelectedTable
    measured: TableValues
    cells: tuple[JudgedCell, ...]
    claims: tuple[ClaimVerdict, ...]
    shapes: tuple[Shape, ...] = ()
    changes: tuple[str, ...] = ()
    sources: Sources = field(default_factory=dict)
    full: FullResult | None = None

    @property
    def beside(self) -> FullResult | None:
        """The full form, if anything is known of it."""
        return self.full if self.full is not None and self.full.cells else None

    @property
    def title(self) -> str:
        """For headings."""
        return f"{self.selected.heading}: {self.selected.table.title}"

    @property
    def counted_once(self) -> tuple[JudgedCell, ...]:
        """The cells whose published value does not stand in another table first."""
        return tuple(cell for cell in self.cells if cell.first is None)

    def fill_quotes(self, text: str) -> str:
        """A text of the study with the measured values that it quotes."""
        return fill(text, self.selected, self.sources)


def judge(
    selected: SelectedTable,
    measured: TableValues,
    changes: Sequence[str] = (),
    others: Sources = MappingProxyType({}),
    full: FullResult | None = None,
    over_beds: OverBeds = MappingProxyType({}),
) -> JudgedTable:
    """Return the table with the verdicts of every cell and every claim.

    ``others`` are tables measured beside this one, for texts to quote; ``over_beds`` has its values over test beds.
    """
    sources = {**others, selected.name: TableSource(measured, tuple(changes))}
    cells = judge_cells(selected, measured, sources, over_beds)
    claims = judge_claims(selected, measured, sources)
    shapes = shapes_of(selected, measured)
    return JudgedTable(selected, measured, tuple(cells), tuple(claims), tuple(shapes), tuple(changes), sources, full)


# The verdicts on what is shipped with a study: computed from ``full.json`` and ``cloud.json``, without a recording.
#
# A claim about a ratio or a trend needs the values of single seeds. Where the shipped values of its tables lack them,
# a claim about a ratio is judged by the table's column with that ratio, if there is one, and any other is not judged.


def judge_shipped(study: str) -> list[JudgedTable]:
    """Return every table of a study, judged by the shipped values of its present form."""
    tables = select(study)
    known = {selected.name: _current_values(selected) for selected in tables}
    sources: Sources = {name: TableSource(values) for name, values in known.items() if values}
    return [
        _without_unknown_claims(
            judge(selected, known[selected.name], (), sources, over_beds=values_over_beds(selected))
        )
        for selected in tables
    ]


def prints_values(study: str) -> bool:
    """Return whether a study prints values, and not only figures."""
    return any(selected.table.published for selected in select(study))


def counted_tables(judged: Iterable[JudgedTable]) -> list[JudgedTable]:
    """Return the tables whose values and claims count, and not another test bed's."""
    return [judged_table for judged_table in judged if judged_table.selected.study.counts(judged_table.selected.number)]


def _current_values(selected: SelectedTable) -> TableValues:
    shipped = find_shipped(selected)
    return shipped_values(selected) if shipped is not None and shipped.form == digest(selected) else {}


def _without_unknown_claims(judged: JudgedTable) -> JudgedTable:
    return replace(judged, claims=tuple(_as_far_as_known(claim, judged) for claim in judged.claims))


def _as_far_as_known(claim: ClaimVerdict, judged: JudgedTable) -> ClaimVerdict:
    if _can_be_judged(claim):
        return claim
    by_ratio = judge_by_ratio_column(claim, judged.selected, judged.measured)
    return ClaimVerdict(claim.claim, (), OPEN) if by_ratio is None else by_ratio


def _can_be_judged(verdict: ClaimVerdict) -> bool:
    """Return whether the values of a claim, and the values of its evidence, have the seeds that its verdict needs."""
    if verdict.fitted:
        return True
    needs_seeds = bool(verdict.claim.to) or verdict.claim.trend is not None
    known = all(quantity.value.by_seed for quantity in verdict.quantities) or not needs_seeds
    return known and (verdict.evidence is None or _can_be_judged(verdict.evidence))
