# SPDX-License-Identifier: MIT
"""Comparisons of results row by row, on shared seeds where there are any; their conditions and their warnings."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mptcplab.errors import InputError
from mptcplab.metrics.margin import MARGIN_PERCENT
from mptcplab.metrics.paired import MIN_SHARED, difference_json
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.stored import StoredResults, StoredRow
from mptcplab.metrics.warnings import merge_similar_warnings
from mptcplab.stats import Difference, detectable, mean_interval, paired_difference, runs_needed, welch_difference

# Compare results row by row: on shared seeds where there are any.
#
# All tests made together are one family. Each has an interval at the significance divided by their number
# (Bonferroni), so all intervals are true together with a probability of 95 %, whatever the runs have in common. Every
# verdict is read off its interval, so that none contradicts it.

#: The probability of any wrong statement in a family of tests.
SIGNIFICANCE = 0.05


class Verdict(StrEnum):
    """The result of comparing two rows."""

    SAME_RUNS = "same runs"
    """Both have the same recordings."""
    IDENTICAL = "identical"
    """Different runs with equal values, seed by seed, or all of them."""
    TOO_FEW = "too few runs"
    DIFFERS = "differs"
    """The interval excludes zero, and the difference found is as large as the margin."""
    PERHAPS_NEGLIGIBLE = "differs, perhaps negligible"
    """The interval excludes zero; it has differences on both sides of the margin, and the one found is smaller."""
    NEGLIGIBLE = "differs, but negligible"
    """The interval excludes zero and lies inside the margin."""
    EQUIVALENT = "equivalent"
    """The interval includes zero and lies inside the margin."""
    NOT_SHOWN = "not shown"
    """The interval includes zero, and differences that matter."""

    @property
    def is_difference(self) -> bool:
        """True if a difference is shown, of whatever size."""
        return self in (Verdict.DIFFERS, Verdict.PERHAPS_NEGLIGIBLE, Verdict.NEGLIGIBLE)


#: Verdicts that no test is needed for, or possible.
_UNTESTED = (Verdict.SAME_RUNS, Verdict.IDENTICAL, Verdict.TOO_FEW)
#: Verdicts that leave open whether there is a difference that matters.
_OPEN = (Verdict.TOO_FEW, Verdict.NOT_SHOWN, Verdict.PERHAPS_NEGLIGIBLE)
#: Settings and workload of a row.
Key = tuple[tuple[tuple[str, str], ...], str]


@dataclass(frozen=True)
class RowSide:
    """The values of one metric of one row, by seed, and the identities of the runs."""

    values: Mapping[int, float]
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pair:
    """Two sets of rows to compare by one metric. ``b`` names the second set by the values of the keys compared by."""

    metric: str
    a: tuple[str, ...]
    b: tuple[str, ...]
    first: Mapping[Key, RowSide]
    second: Mapping[Key, RowSide]


@dataclass(frozen=True)
class Match:
    """One row that both results have. ``difference`` is B minus A.

    ``half_width`` belongs to the simultaneous interval: all intervals of the family contain the true differences with a
    probability of 95 %. ``p`` is corrected for the family. They are None without a test. ``significance`` belongs to
    this test, and ``margin`` the smallest difference that matters, in the metric's unit.
    """

    settings: dict[str, str]
    workload: str
    means: tuple[float, float]
    difference: Difference
    verdict: Verdict
    half_width: float | None = None
    p: float | None = None
    p_equivalence: float | None = None
    significance: float = SIGNIFICANCE
    margin: float = 0.0

    @property
    def key(self) -> Key:
        """Settings and workload."""
        return tuple(self.settings.items()), self.workload

    @property
    def percent(self) -> float | None:
        """The difference in percent of A's mean."""
        return 100 * self.difference.mean / abs(self.means[0]) if self.means[0] else None

    @property
    def percent_half_width(self) -> float | None:
        """Half the width of the simultaneous interval in percent of A's mean."""
        return self._percent_of_a(self.half_width)

    @property
    def more_runs(self) -> int | None:
        """The number of further runs that would settle the verdict; None if it is settled, or they are too many.

        If the true difference and spread are those found, it is settled with a probability of 80 %.
        """
        if self.verdict is not Verdict.NOT_SHOWN:
            return None
        needed = runs_needed(self.difference, self.margin, self.significance)
        return None if needed is None else max(1, needed - min(self.difference.n))

    @property
    def detectable(self) -> float | None:
        """The smallest true difference that this test shows with a probability of 80 %; None without a test."""
        return detectable(self.difference, self.significance) if self.is_tested else None

    @property
    def is_tested(self) -> bool:
        """True if the row is one of the family's tests."""
        return self.verdict not in _UNTESTED

    @property
    def is_open(self) -> bool:
        """True if there may be a difference that matters and that is not shown."""
        return self.verdict in _OPEN

    def _percent_of_a(self, size: float | None) -> float | None:
        return 100 * size / abs(self.means[0]) if self.means[0] and size is not None else None

    def to_json(self) -> dict[str, Any]:
        """Return JSON data; values are in the unit of the metric."""
        return {
            "settings": self.settings,
            "workload": self.workload,
            "mean_a": self.means[0],
            "mean_b": self.means[1],
            **difference_json(self.difference),
            "simultaneous_half_width": self.half_width,
            "percent": self.percent,
            "percent_simultaneous_half_width": self.percent_half_width,
            "p_corrected": self.p,
            "p_equivalence_corrected": self.p_equivalence,
            "detectable": self.detectable,
            "percent_detectable": self._percent_of_a(self.detectable),
            "more_runs": self.more_runs,
            "verdict": str(self.verdict),
        }


@dataclass(frozen=True)
class Comparison:
    """All rows of a pair: common rows, and the names of rows that only one side has."""

    pair: Pair
    matches: tuple[Match, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    @property
    def tests(self) -> int:
        """The number of tests in this comparison, which may be a part of the family."""
        return sum(match.is_tested for match in self.matches)


def collect_sides(
    rows: Iterable[StoredRow], metric: str, *, workload: str | None = None, without: Sequence[str] = ()
) -> dict[Key, RowSide]:
    """Return the values of ``rows`` by settings and workload. ``without`` are keys left out of the settings.

    ``metric`` is one of METRICS; rows that do not have it, or are of another ``workload``, are left out. Of a metric
    by path, a row has one set of values for each.
    :raises InputError: if a value is infinite or not a number.
    """
    row_sides = {
        (tuple((key, value) for key, value in row.settings.items() if key not in without), name): RowSide(
            values, row.runs
        )
        for row in rows
        if workload in (None, row.workload)
        for name, values in row.values_of(metric).items()
    }
    if not all(map(math.isfinite, (value for side in row_sides.values() for value in side.values.values()))):
        raise InputError(
            f"the results have a value of {metric} that is not a finite number", hint="run the scenario again"
        )
    return row_sides


def compare(pairs: Sequence[Pair], *, margin_percent: float = MARGIN_PERCENT) -> list[Comparison]:
    """Match the rows of each pair by settings and workload, and test each; all tests of all pairs are one family."""
    tests = [
        {key: _test(pair.first[key], pair.second[key]) for key in pair.first if key in pair.second} for pair in pairs
    ]
    # Rows that cannot differ or cannot be tested are not in the family: they don't make the other tests stricter.
    family = sum(test.known is None for by_metric in tests for test in by_metric.values())
    return [
        Comparison(
            pair,
            matches=tuple(
                _match(key, test, _margin(pair, test, margin_percent), family) for key, test in by_metric.items()
            ),
            only_a=tuple(name_of(key) for key in pair.first if key not in pair.second),
            only_b=tuple(name_of(key) for key in pair.second if key not in pair.first),
        )
        for pair, by_metric in zip(pairs, tests, strict=True)
    ]


@dataclass(frozen=True)
class _Test:
    """The comparison of one row's values. ``known`` is the verdict if no test is needed or possible."""

    means: tuple[float, float]
    difference: Difference
    known: Verdict | None


def _test(a: RowSide, b: RowSide) -> _Test:
    shared = [seed for seed in a.values if seed in b.values]
    if len(shared) >= MIN_SHARED or a.values.keys() == b.values.keys():
        first, second = ([side.values[seed] for seed in shared] for side in (a, b))
        difference = paired_difference(first, second)
    else:
        first, second = list(a.values.values()), list(b.values.values())
        difference = welch_difference(first, second)
    return _Test(
        (mean_interval(first).mean, mean_interval(second).mean), difference, _obvious_verdict(a, b, difference)
    )


def _obvious_verdict(a: RowSide, b: RowSide, difference: Difference) -> Verdict | None:
    if a.runs and a.runs == b.runs:
        return Verdict.SAME_RUNS
    if a.values == b.values or (len({*a.values.values(), *b.values.values()}) == 1 and difference.p is not None):
        return Verdict.IDENTICAL
    return Verdict.TOO_FEW if difference.p is None else None


def _margin(pair: Pair, test: _Test, percent: float) -> float:
    """Return the smallest difference that matters: in percent of A, and of the whole for what is a part of it."""
    return percent if METRICS[pair.metric].by_path else abs(test.means[0]) * percent / 100


def _match(key: Key, test: _Test, margin: float, family: int) -> Match:
    difference, settings = test.difference, dict(key[0])
    if test.known is not None:
        return Match(settings, key[1], test.means, difference, test.known)
    significance = SIGNIFICANCE / family
    half_width, one_sided = difference.half_width_at(significance), difference.equivalence_p(margin)
    assert half_width is not None, "without an interval, the verdict is known to be too few runs"
    assert difference.p is not None
    assert one_sided is not None
    verdict = verdict_of(abs(difference.mean), half_width, margin)
    return Match(
        settings,
        key[1],
        test.means,
        difference,
        verdict,
        half_width,
        min(1.0, family * difference.p),
        # Each of two one-sided tests has half the significance.
        min(1.0, 2 * family * one_sided),
        significance,
        margin,
    )


def verdict_of(size: float, half_width: float, margin: float) -> Verdict:
    """Return what a difference of this ``size`` shows with half its interval and the smallest that matters."""
    is_inside = size + half_width <= margin
    if size <= half_width:
        return Verdict.EQUIVALENT if is_inside else Verdict.NOT_SHOWN
    if is_inside:
        return Verdict.NEGLIGIBLE
    return Verdict.DIFFERS if size >= margin else Verdict.PERHAPS_NEGLIGIBLE


def name_of(key: Key) -> str:
    """Return settings and workload in one line."""
    return ", ".join((*(f"{name} = {value}" for name, value in key[0]), key[1]))


# The warnings of the rows that a comparison compares.


#: A metric, and the workload of the rows whose metric it is, None for all rows.
AskedMetric = tuple[str, str | None]


def warnings_of(results: Sequence[StoredResults], asked: Sequence[AskedMetric]) -> dict[str, list[str]]:
    """Return each warning of the compared rows once, with the names of the rows that have it.

    Warnings that differ only in numbers are one, with their range. Of two ``results``, a name has A or B before it.
    Runs in which the measured event did not occur have no value to compare, which is a warning, too.
    """
    rows = list(compared_rows(results, asked))
    several = len({row.workload for _, row in rows}) > 1
    lacking = list(_missing_metric_warnings(results, asked, with_workload=several))
    texts = merge_similar_warnings(
        [*(text for text, _ in lacking), *(warning for _, row in rows for warning in row.warnings)]
    )
    warnings: dict[str, list[str]] = {}
    for text, name in lacking:
        warnings.setdefault(texts[text], []).append(name)
    for side, row in rows:
        for text in dict.fromkeys(texts[warning] for warning in row.warnings):
            name = f"{side} {_name(row, with_workload=several)}".strip()
            warnings.setdefault(text, []).append(name)
    return warnings


def _missing_metric_warnings(
    results: Sequence[StoredResults], asked: Sequence[AskedMetric], *, with_workload: bool
) -> Iterator[tuple[str, str]]:
    """Yield a sentence and the row's name for each row with runs that cannot be compared by a metric."""
    for side, row in _rows(results):
        for metric, workload in asked:
            never = row.metrics[metric].never if metric in row.metrics else ()  # sums of flows have no metrics
            if never and workload in (None, row.workload):
                known = METRICS[metric]
                runs = f"{len(never)} of {len(row.seeds)} runs"
                name = f"{side} {_name(row, with_workload=with_workload)}".strip()
                yield f"{known.noun}: {known.display.never} within {runs}, which are not compared", name


def _rows(results: Sequence[StoredResults]) -> Iterator[tuple[str, StoredRow]]:
    """Yield all rows, each with its side: A or B, nothing if there is only one."""
    sides = "AB" if len(results) > 1 else ("",)
    for side, stored in zip(sides, results, strict=True):
        yield from ((side, row) for row in stored.rows)


def compared_rows(results: Sequence[StoredResults], asked: Sequence[AskedMetric]) -> Iterator[tuple[str, StoredRow]]:
    """Yield the rows that have a metric that is asked for, each with its side: A or B, nothing if there is only one."""
    for side, row in _rows(results):
        if any(workload in (None, row.workload) and row.values_of(metric) for metric, workload in asked):
            yield side, row


def _name(row: StoredRow, *, with_workload: bool) -> str:
    values = ", ".join(row.settings.values())
    if not values:
        return row.workload
    return f"{values}: {row.workload}" if with_workload else values


# The conditions under which two results were measured: what a comparison of engines or kernels compares.


def kernels_and_clocks(results: StoredResults) -> tuple[str, ...]:
    """Return the kernels and clocks of results, in the order in which rows have them."""
    return tuple(dict.fromkeys(row.measured_on for row in results.rows if row.kernel))


def use_differs(
    a: StoredResults, b: StoredResults, workloads: Collection[str] | None = None
) -> Iterator[tuple[str, str, str]]:
    """Yield the rows in which one result used MPTCP otherwise than the other: name, and the use in each.

    Only rows of ``workloads``, if given.
    """
    first, second = _mptcp_by_row(a, workloads), _mptcp_by_row(b, workloads)
    for name in (name for name in first if name in second and first[name] != second[name]):
        yield name, first[name], second[name]


def _mptcp_by_row(results: StoredResults, workloads: Collection[str] | None) -> dict[str, str]:
    return {
        name_of((tuple(row.settings.items()), row.workload)): row.mptcp
        for row in results.rows
        if row.mptcp and (workloads is None or row.workload in workloads)
    }
