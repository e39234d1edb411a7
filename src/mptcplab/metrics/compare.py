# SPDX-License-Identifier: MIT
"""Compare two settings, or two results: on shared seeds where there are any.

A seed determines random losses, jitter and the hosts' random numbers. Runs of two settings with the same seed have
these in common, so their difference varies less than either value, and is tested in pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.errors import InputError
from mptcplab.metrics.registry import BASIC
from mptcplab.metrics.rows import ResultRow
from mptcplab.stats import Difference, detectable, holm, mean_interval, paired_difference, welch_difference

#: Two sets of values differ if the adjusted p is below this.
SIGNIFICANCE = 0.05
_PROTOCOL = "transport.protocol"
_MIN_SHARED = 2


@dataclass(frozen=True)
class Side:
    """The values of one metric of one row, by seed, and the identities of the runs."""

    values: dict[int, float]
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class PairedDifference:
    """Goodput with the value ``second`` of a swept key minus that with ``first``, on shared seeds, in Mbit/s."""

    key: str
    first: str
    second: str
    settings: dict[str, str]
    workload: str
    difference: Difference
    base: float

    @property
    def percent(self) -> float | None:
        """The difference in percent of the first mean."""
        return 100 * self.difference.mean / self.base if self.base else None

    def to_json(self) -> dict[str, Any]:
        """Return JSON data with units in the names."""
        return {
            "key": self.key,
            "first": self.first,
            "second": self.second,
            "settings": self.settings,
            "workload": self.workload,
            "goodput_mbps": _difference_json(self.difference),
            "percent": self.percent,
        }


def _difference_json(difference: Difference) -> dict[str, Any]:
    return {
        "difference": difference.mean,
        "ci95_half_width": difference.half_width,
        "p": difference.p,
        "test": difference.test,
        "n": list(difference.n),
    }


def paired_rows(rows: Sequence[ResultRow]) -> list[PairedDifference]:
    """Compare every swept value with the first of its key (MPTCP with TCP) where at least two seeds are shared."""
    found = []
    for key in rows[0].settings if rows else ():
        lines: dict[tuple[Any, ...], dict[str, ResultRow]] = {}
        for row in rows:
            others = tuple((name, value) for name, value in row.settings.items() if name != key)
            lines.setdefault((others, row.workload), {})[row.settings[key]] = row
        for (others, _), line in lines.items():
            first = "tcp" if key == _PROTOCOL and "tcp" in line else next(iter(line))
            found += [_paired(key, line[first], line[second], dict(others)) for second in line if second != first]
    return [one for one in found if one is not None]


def _paired(key: str, first: ResultRow, second: ResultRow, settings: dict[str, str]) -> PairedDifference | None:
    sides = [dict(zip(row.seeds, row.samples.get("goodput_mbps", ()), strict=False)) for row in (first, second)]
    shared = [seed for seed in sides[0] if seed in sides[1]]
    if len(shared) < _MIN_SHARED:
        return None
    values = [[side[seed] for seed in shared] for side in sides]
    base = sum(values[0]) / len(shared)
    difference = paired_difference(*values)
    return PairedDifference(key, first.settings[key], second.settings[key], settings, first.workload, difference, base)


@dataclass(frozen=True)
class Match:
    """One row that both results have. ``difference`` is B minus A; ``adjusted`` is its p after Holm's correction.

    ``verdict`` is ``same runs`` (the same recordings), ``identical`` (equal values, seed by seed), ``differ``, ``no
    difference shown``, or ``too few runs``. ``detectable`` is the smallest true difference that this test, corrected
    for its family, shows with a probability of 80 %; None if nothing was tested or the values do not vary.
    """

    settings: dict[str, str]
    workload: str
    means: tuple[float, float]
    difference: Difference
    adjusted: float | None
    verdict: str
    detectable: float | None

    @property
    def percent(self) -> float | None:
        """The difference in percent of A's mean."""
        return 100 * self.difference.mean / self.means[0] if self.means[0] else None

    @property
    def percent_half_width(self) -> float | None:
        """Half the width of the interval in percent of A's mean."""
        return self._percent_of_a(self.difference.half_width)

    @property
    def percent_detectable(self) -> float | None:
        """The smallest detectable difference in percent of A's mean."""
        return self._percent_of_a(self.detectable)

    def differs(self, at_least_percent: float = 0.0) -> bool:
        """Return whether a difference of at least this size is shown. If A's mean is zero, any size counts."""
        return self.verdict == "differ" and (self.percent is None or abs(self.percent) >= at_least_percent)

    def may_miss(self, percent: float) -> bool:
        """Return whether the test does not show a difference of this size, but could miss one."""
        if self.verdict == "too few runs":
            return True
        unknown = self.percent_detectable is None or self.percent_detectable > percent
        return self.verdict == "no difference shown" and unknown

    def _percent_of_a(self, size: float | None) -> float | None:
        return 100 * size / abs(self.means[0]) if self.means[0] and size is not None else None

    def to_json(self) -> dict[str, Any]:
        """Return JSON data; values are in the unit of the metric."""
        return {
            "settings": self.settings,
            "workload": self.workload,
            "mean_a": self.means[0],
            "mean_b": self.means[1],
            **_difference_json(self.difference),
            "percent": self.percent,
            "percent_ci95_half_width": self.percent_half_width,
            "p_holm": self.adjusted,
            "detectable": self.detectable,
            "percent_detectable": self.percent_detectable,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Comparison:
    """All rows of two results: those in both, and the names of those in only one.

    ``tests`` is the size of the family for which p is corrected: all tests of the comparisons made together.
    """

    metric: str
    matches: tuple[Match, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    tests: int


Key = tuple[tuple[tuple[str, str], ...], str]


def sides(document: Mapping[str, Any], metric: str, *, without: str | None = None) -> dict[Key, Side]:
    """Return the values of a ``results.json`` by settings and workload. ``without`` is a key left out of the settings.

    ``metric`` is one of METRICS; rows that do not have it are left out.
    :raises InputError: if the document does not have the values of every seed.
    """
    found: dict[Key, Side] = {}
    try:
        for row in document["rows"]:
            settings = tuple((key, str(value)) for key, value in row["settings"].items() if key != without)
            described = {"seeds": row["seeds"]} | row[metric] if metric in BASIC else row.get("metrics", {}).get(metric)
            if described is None or described["n"] == 0:
                continue
            values = dict(zip(map(int, described["seeds"]), map(float, described["values"]), strict=True))
            found[settings, str(row["workload"])] = Side(values, tuple(row["runs"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        hint = "run the scenario again: recorded runs are not executed a second time"
        raise InputError("the results have no values by seed", hint=hint) from error
    return found


def compare(pairs: Sequence[tuple[Mapping[Key, Side], Mapping[Key, Side]]], metric: str) -> list[Comparison]:
    """Match the rows of each pair of results by settings and workload, and test each.

    All tests of all pairs are one family: Holm's correction keeps the chance of a single false alarm in it at 5 %.
    """
    tests = [{key: _test(first[key], second[key]) for key in first if key in second} for first, second in pairs]
    # Rows that cannot differ or cannot be tested are not in the family: they don't make the other tests stricter.
    family = [(number, key) for number, found in enumerate(tests) for key in found if found[key].known is None]
    adjusted = dict(zip(family, holm([_p(tests[number][key]) for number, key in family]), strict=True))
    return [
        Comparison(
            metric,
            matches=tuple(_match(key, test, adjusted.get((number, key)), len(family)) for key, test in found.items()),
            only_a=tuple(_name(key) for key in first if key not in second),
            only_b=tuple(_name(key) for key in second if key not in first),
            tests=len(family),
        )
        for number, ((first, second), found) in enumerate(zip(pairs, tests, strict=True))
    ]


@dataclass(frozen=True)
class _Test:
    """The comparison of one row's values. ``known`` is the verdict if no test is needed or possible."""

    means: tuple[float, float]
    difference: Difference
    known: str | None


def _p(test: _Test) -> float:
    assert test.difference.p is not None, "without a p, the verdict is known to be too few runs"
    return test.difference.p


def _test(a: Side, b: Side) -> _Test:
    shared = [seed for seed in a.values if seed in b.values]
    if len(shared) >= _MIN_SHARED or a.values.keys() == b.values.keys():
        first, second = ([side.values[seed] for seed in shared] for side in (a, b))
        difference = paired_difference(first, second)
    else:
        first, second = list(a.values.values()), list(b.values.values())
        difference = welch_difference(first, second)
    return _Test((mean_interval(first).mean, mean_interval(second).mean), difference, _known(a, b, difference))


def _known(a: Side, b: Side, difference: Difference) -> str | None:
    if a.runs and a.runs == b.runs:
        return "same runs"
    if a.values == b.values:
        return "identical"
    return "too few runs" if difference.p is None else None


def _match(key: Key, test: _Test, adjusted: float | None, family: int) -> Match:
    verdict, smallest = test.known, None
    if verdict is None:
        verdict = "differ" if adjusted is not None and adjusted < SIGNIFICANCE else "no difference shown"
        # The strictest of Holm's steps, which the smallest p of the family has to pass.
        smallest = detectable(test.difference, SIGNIFICANCE / family)
    return Match(dict(key[0]), key[1], test.means, test.difference, adjusted, verdict, smallest)


def _name(key: Key) -> str:
    return ", ".join((*(f"{name} = {value}" for name, value in key[0]), key[1]))


def split(document: Mapping[str, Any], key: str, metric: str) -> Iterator[tuple[str, dict[Key, Side]]]:
    """Split one result by the values of a swept key, in order. :raises InputError: if fewer than two were swept."""
    rows = [row for row in document.get("rows", ()) if key in row.get("settings", {})]
    values = list(dict.fromkeys(str(row["settings"][key]) for row in rows))
    if len(values) < 2:
        swept = sorted({name for row in document.get("rows", ()) for name in row.get("settings", {})})
        hint = f"the scenario sweeps {', '.join(swept)}" if swept else "the scenario has no sweep: name two folders"
        raise InputError(f"the results do not have two values of '{key}'", hint=hint)
    for value in values:
        part = {"rows": [row for row in rows if str(row["settings"][key]) == value]}
        yield value, sides(part, metric, without=key)
