# SPDX-License-Identifier: MIT
"""Judge published values over many test beds (:mod:`mptcplab.study.beds`), of a results folder or as shipped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import median
from types import MappingProxyType

from mptcplab.errors import LabError
from mptcplab.metrics.stored import WRONG
from mptcplab.stats import Interval
from mptcplab.study.beds import BedSpace, SampledBed, read_beds
from mptcplab.study.judgement import FAILS, HOLDS, judge_claim
from mptcplab.study.library import SelectedTable, select
from mptcplab.study.measurement import TableValues, Value
from mptcplab.study.schema import Claim
from mptcplab.study.sensitivity import MIN_BEDS_FOR_CAUSES, BedSensitivity, Causes
from mptcplab.study.stored_cloud import CLOUD, BedValues, StoredCloud, bed_files, merge_clouds, read_current

# Judge published values and claims over many test beds (:mod:`mptcplab.study.beds`): in which of them they agree.
#
# Each test bed has one run for each cell, so the spread over test beds contains chance. A value agrees in a test bed if
# it lies in the band of the published value. A claim holds in a test bed if the values of its runs are as claimed; a
# trend is judged by its first and its last row, since a single run says nothing about small steps between them.
#
# For each value and claim, the axes that move it are named (:mod:`mptcplab.study.sensitivity`).
#
# Everything is computed from the file that `mptcplab reproduce --beds` writes, so that it can be computed again
# from what is shipped with a study.

IN_ALL, IN_SOME, IN_NONE = "agrees in at least 95 % of beds", "agrees in some beds", "agrees in no bed"
CLASSES = (IN_ALL, IN_SOME, IN_NONE)
NOT_MEASURED = "not measured"
_ALMOST_ALL = 0.95
_DIGITS = 7


@dataclass(frozen=True)
class CloudValue:
    """One published value over all test beds. ``measured`` has None where it is missing; ``causes`` finds ``moved_by``.

    ``tolerance`` is in percent of ``published``. ``failed`` has the positions of test beds that say nothing: a run of
    the table failed there, or the table was measured on fewer test beds. ``counts`` is false where another table has
    the value, too.
    """

    table: str
    row: str
    column: str
    published: float
    tolerance: float
    measured: tuple[float | None, ...]
    failed: frozenset[int] = frozenset()
    causes: Causes = field(default=tuple, repr=False, compare=False)
    counts: bool = True

    @property
    def moved_by(self) -> tuple[str, ...]:
        """The axes that move the value, the strongest first. The first reading takes up to a second."""
        return self.causes()

    @property
    def known(self) -> list[float]:
        """The measured values of the test beds that have the value."""
        return [value for value in self.measured if value is not None]

    def agrees_with(self, position: int) -> bool:
        """Return whether the test bed at ``position`` has the value in its band."""
        value = self.measured[position]
        return value is not None and abs(value - self.published) <= abs(self.published) * self.tolerance / 100

    @property
    def within(self) -> list[bool]:
        """True if the value is in the band, for each test bed whose runs succeeded; False where it is missing."""
        return [self.agrees_with(position) for position in range(len(self.measured)) if position not in self.failed]

    @property
    def verdict(self) -> str:
        """The class of the value."""
        return agreement_class(self.within) if self.known else NOT_MEASURED


@dataclass(frozen=True)
class CloudClaim:
    """One claim over all test beds: ``holds`` has None for test beds in which it cannot be judged."""

    table: str
    text: str
    holds: tuple[bool | None, ...]
    causes: Causes = field(default=tuple, repr=False, compare=False)

    @property
    def moved_by(self) -> tuple[str, ...]:
        """The axes that move the claim, as :attr:`CloudValue.moved_by`."""
        return self.causes()

    @property
    def judged(self) -> list[bool]:
        """The test beds in which the claim can be judged."""
        return [held for held in self.holds if held is not None]

    @property
    def verdict(self) -> str:
        """The class of the claim."""
        return agreement_class(self.judged) if self.judged else NOT_MEASURED


@dataclass(frozen=True)
class BedSplit:
    """The test bed that serves most of one half of the values, and how many of the other half it serves.

    The halves are fixed: the rows of all tables in the order of the data, every second one. ``expected`` is the mean
    number of values of the other half that a test bed serves, as if the test bed had been chosen blindly.
    """

    bed: int
    chosen_by: int
    of_chosen_by: int
    judged: int
    of_judged: int
    expected: float


@dataclass(frozen=True)
class Cloud:
    """All values and claims of a study over all its test beds. ``failed_runs`` counts the runs without a result.

    ``common`` is the number of first test beds that all tables were measured on.
    """

    study: str
    beds: tuple[SampledBed, ...]
    values: tuple[CloudValue, ...]
    claims: tuple[CloudClaim, ...]
    is_quick: bool
    common: int
    failed_runs: int = 0

    @property
    def counted(self) -> list[CloudValue]:
        """The values that count: each published value once."""
        return [value for value in self.values if value.counts and value.known]

    def count_served(self) -> list[int]:
        """Return how many values each test bed serves at once, of the test beds that all tables were measured on."""
        return [sum(value.agrees_with(at) for value in self.counted) for at in range(self.common)]

    def calibrate(self) -> BedSplit | None:
        """Return what a calibration with half of the values would be worth; None if there are too few values."""
        rows = dict.fromkeys((value.table, value.row) for value in self.values)
        first = set(list(rows)[::2])
        halves: tuple[list[CloudValue], list[CloudValue]] = ([], [])
        for value in self.counted:
            halves[(value.table, value.row) not in first].append(value)
        if not all(halves):
            return None
        scores, others = ([sum(v.agrees_with(at) for v in half) for at in range(self.common)] for half in halves)
        best = scores.index(max(scores))
        mean = sum(others) / len(others)
        return BedSplit(self.beds[best].number, scores[best], len(halves[0]), others[best], len(halves[1]), mean)


def agreement_class(within: Sequence[bool]) -> str:
    """Return the class of something that agrees in some test beds and not in others."""
    share = sum(within) / len(within)
    if share >= _ALMOST_ALL:
        return IN_ALL
    return IN_SOME if share else IN_NONE


def values_by_bed(selected: SelectedTable, measured: Sequence[TableValues]) -> BedValues:
    """Return the values of all cells of a table by test bed, from the results of each."""
    places = [(row, name) for row in selected.table.all_rows for name in selected.table.columns]
    return {
        place: [_round_mean(bed.get(place)) for bed in measured]
        for place in places
        if any(place in bed for bed in measured)
    }


def judge_cloud(stored: StoredCloud, tables: Sequence[SelectedTable], space: BedSpace) -> Cloud:
    """Return the values and claims of ``tables`` of one study over the test beds of ``stored``, with their verdicts."""
    causes = BedSensitivity(stored.beds, space)
    values: list[CloudValue] = []
    claims: list[CloudClaim] = []
    failed_runs, common = 0, len(stored.beds)
    for selected in tables:
        table = stored.tables.get(selected.number)
        if table is None:
            continue
        measured_beds = len(stored.beds) if table.measured_beds is None else table.measured_beds
        common = min(common, measured_beds)
        failed = frozenset((*table.failed, *range(measured_beds, len(stored.beds))))
        failed_runs += sum(table.failed.values())
        values += _published_values(selected, table.values, failed, causes, is_quick=stored.is_quick)
        for claim in selected.study.claims:
            if claim.table == selected.number:
                held = tuple(_holds(claim, selected, table.values, at, at in failed) for at in range(len(stored.beds)))
                find = causes.finder_for(selected.number, [None if h is None else float(h) for h in held])
                claims.append(CloudClaim(selected.number, claim.text, held, find))
    counted = _count_once(tables, values)
    return Cloud(stored.study, stored.beds, tuple(counted), tuple(claims), stored.is_quick, common, failed_runs)


def median_or_nan(values: Sequence[float]) -> float:
    """Return the median of the values, nan for none."""
    return median(values) if values else math.nan


def _published_values(
    selected: SelectedTable, measured: BedValues, failed: frozenset[int], causes: BedSensitivity, *, is_quick: bool
) -> Iterator[CloudValue]:
    """Yield the published values that were measured.

    What a column multiplies, because a part of the study's file is transferred, is another part in the short form, and
    left out there.
    """
    table = selected.table
    for row, columns in table.published.items():
        for name, cell in columns.items():
            beds = measured.get((row, name))
            if beds is None or (is_quick and table.columns[name].times != 1):
                continue
            find = causes.finder_for(selected.number, beds)
            yield CloudValue(selected.number, row, name, cell.mean, table.tolerance, tuple(beds), failed, find)


def _count_once(tables: Sequence[SelectedTable], values: Sequence[CloudValue]) -> Iterator[CloudValue]:
    """Yield the values, of which each published one counts once: in the test bed that counts if it has it, else first.

    Beds may have been drawn for one of the two test beds only.
    """
    by_number = {selected.number: selected for selected in tables}
    study = tables[0].study
    met: set[tuple[str, str, str]] = set()
    counting: set[int] = set()
    for value in sorted(values, key=lambda value: not study.counts(value.table)):
        selected = by_number[value.table]
        base = by_number.get(selected.table.again, selected)
        place = base.table.first_of(value.row, value.column) or (base.number, value.row, value.column)
        if place not in met:
            met.add(place)
            counting.add(id(value))
    for value in values:
        yield replace(value, counts=id(value) in counting)


def _holds(claim: Claim, selected: SelectedTable, measured: BedValues, at: int, is_failed: bool) -> bool | None:
    """Return whether a claim holds in the test bed at a position; None if that cannot be judged."""
    if is_failed:
        return None
    values = {place: _without_uncertainty(cell[at]) for place, cell in measured.items()}
    known = {place: value for place, value in values.items() if value is not None}
    rows = [row for row in claim.rows or selected.table.all_rows if any(place[0] == row for place in measured)]
    answers = []
    if claim.min is not None or claim.max is not None:
        answers.append(judge_claim(claim.model_copy(update={"trend": None}), selected.table.all_rows, known))
    if claim.trend is not None:
        if len(rows) < 2:
            return None
        ends = {"rows": (rows[0], rows[-1]), "min": None, "max": None}
        answers.append(judge_claim(claim.model_copy(update=ends), selected.table.all_rows, known))
    held = [{HOLDS: True, FAILS: False}.get(answer) for answer in answers]
    return None if None in held else all(held)


def _without_uncertainty(value: float | None) -> Value | None:
    """Return a value without uncertainty: a test bed has one run, and is judged by what that gave."""
    return None if value is None else Value(Interval(value, 0.0, 2), dict.fromkeys((0, 1), value))


def _round_mean(value: Value | None) -> float | None:
    if value is None or not math.isfinite(value.interval.mean):
        return None
    return float(f"{value.interval.mean:.{_DIGITS}g}")


# The test beds of a study that were measured: in a results folder, or shipped with the study.


def shipped_cloud(tables: Sequence[SelectedTable]) -> Cloud | None:
    """Return the cloud that is shipped with the study of ``tables``; None if none is, or if its ranges have changed.

    Tables whose scenario has changed since are left out.
    """
    space = _read_space(tables)
    stored = read_current(tables[0].folder / CLOUD, tables, space) if space is not None else None
    return _judge_merged([stored], tables, space) if stored is not None and space is not None else None


def find_cloud(tables: Sequence[SelectedTable], results: Path | None = None) -> Cloud | None:
    """Return the cloud in the folder ``results`` of the study, preferably in full form, else the shipped one; None if
    there is neither. Of each table it has the measurement on most test beds.
    """
    space = _read_space(tables)
    if results is None or space is None:
        return shipped_cloud(tables)
    read = (read_current(file, tables, space) for file in bed_files(results))
    measured = [stored for stored in read if stored is not None]
    clouds = [stored for stored in measured if not stored.is_quick] or measured
    cloud = _judge_merged(clouds, tables, space) if clouds else None
    return cloud if cloud is not None else shipped_cloud(tables)


def values_over_beds(selected: SelectedTable, results: Path | None = None) -> Mapping[tuple[str, str], CloudValue]:
    """Return the values of a table over test beds, by row and column; none of the short form, which no study has."""
    stamps = tuple(sorted(file.stat().st_mtime_ns for file in _files(selected.folder, results)))
    return _values_of(selected.folder.name, results, stamps).get(selected.number, MappingProxyType({}))


def _files(folder: Path, results: Path | None) -> list[Path]:
    shipped = folder / CLOUD
    return [*([shipped] if shipped.exists() else []), *(bed_files(results) if results is not None else [])]


@cache
def _values_of(
    study: str,
    results: Path | None,
    stamps: tuple[int, ...],  # noqa: ARG001 a changed file is another entry of the cache
) -> dict[str, dict[tuple[str, str], CloudValue]]:
    """Return the values of all tables of a study. Reading a cloud of many test beds takes seconds, and tables share it.

    A few test beds in the folder, which name no parameter, do not replace many that are shipped.
    """
    tables = select(study)
    cloud = find_cloud(tables, results)
    if cloud is not None and (cloud.is_quick or len(cloud.beds) < MIN_BEDS_FOR_CAUSES):
        cloud = shipped_cloud(tables)
    values: dict[str, dict[tuple[str, str], CloudValue]] = {}
    for value in cloud.values if cloud is not None and not cloud.is_quick else ():
        values.setdefault(value.table, {})[value.row, value.column] = value
    return values


def _read_space(tables: Sequence[SelectedTable]) -> BedSpace | None:
    try:
        return read_beds(tables[0].folder, tables[0].study)
    except LabError:
        return None


def _judge_merged(clouds: Sequence[StoredCloud], tables: Sequence[SelectedTable], space: BedSpace) -> Cloud | None:
    """Return the verdicts of the clouds; None if they are damaged."""
    try:
        return judge_cloud(merge_clouds(clouds), tables, space)
    except (IndexError, *WRONG):
        return None
