# SPDX-License-Identifier: MIT
"""Two settings, or two results, against each other: on shared seeds where there are any.

A seed gives random losses, jitter and the hosts' random numbers. Runs of two settings with the same seed have these in
common, so their difference varies less than each of them, and is tested in pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.errors import InputError
from mptcplab.metrics.rows import METRICS, ResultRow
from mptcplab.stats import Difference, holm, mean_interval, paired_difference, welch_difference

#: Below this adjusted p, two sets are said to differ.
SIGNIFICANCE = 0.05
_PROTOCOL = "transport.protocol"
_LEAST_SHARED = 2


@dataclass(frozen=True)
class Side:
    """The values of one metric of one row, by seed, and the identities of the runs."""

    values: dict[int, float]
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paired:
    """``second`` minus ``first`` of one swept key, everything else the same, on their shared seeds. In Mbit/s."""

    key: str
    first: str
    second: str
    settings: dict[str, str]
    workload: str
    difference: Difference
    base: float

    @property
    def percent(self) -> float | None:
        """The difference as a share of the first one's mean."""
        return 100 * self.difference.mean / self.base if self.base else None

    def to_json(self) -> dict[str, Any]:
        """Plain data with units in the names."""
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


def paired_rows(rows: Sequence[ResultRow]) -> list[Paired]:
    """Every swept value against the first one of its key (MPTCP against TCP), where two seeds or more are shared."""
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


def _paired(key: str, first: ResultRow, second: ResultRow, settings: dict[str, str]) -> Paired | None:
    sides = [dict(zip(row.seeds, row.samples.get("goodput_mbps", ()), strict=False)) for row in (first, second)]
    shared = [seed for seed in sides[0] if seed in sides[1]]
    if len(shared) < _LEAST_SHARED:
        return None
    values = [[side[seed] for seed in shared] for side in sides]
    base = sum(values[0]) / len(shared)
    difference = paired_difference(*values)
    return Paired(key, first.settings[key], second.settings[key], settings, first.workload, difference, base)


@dataclass(frozen=True)
class Match:
    """One row that both results have. ``difference`` is B minus A; ``adjusted`` its p after Holm's correction.

    ``verdict`` is ``same runs`` (the same recordings), ``identical`` (equal values, seed by seed), ``differ``, ``no
    difference shown``, or ``too few runs``.
    """

    settings: dict[str, str]
    workload: str
    means: tuple[float, float]
    difference: Difference
    adjusted: float | None
    verdict: str

    @property
    def percent(self) -> float | None:
        """The difference as a share of A's mean."""
        return 100 * self.difference.mean / self.means[0] if self.means[0] else None

    @property
    def percent_half_width(self) -> float | None:
        """Half the interval's width as a share of A's mean."""
        half_width = self.difference.half_width
        return 100 * half_width / abs(self.means[0]) if self.means[0] and half_width is not None else None

    def to_json(self) -> dict[str, Any]:
        """Plain data; values in the unit of the metric."""
        return {
            "settings": self.settings,
            "workload": self.workload,
            "mean_a": self.means[0],
            "mean_b": self.means[1],
            **_difference_json(self.difference),
            "percent": self.percent,
            "percent_ci95_half_width": self.percent_half_width,
            "p_holm": self.adjusted,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Comparison:
    """All rows of two results: those that both have, and the names of those that only one has."""

    metric: str
    matches: tuple[Match, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


Key = tuple[tuple[tuple[str, str], ...], str]


def sides(document: Mapping[str, Any], metric: str, *, without: str | None = None) -> dict[Key, Side]:
    """The values of a ``results.json``, by settings and workload. ``without`` is a key left out of the settings.

    ``metric`` is one of METRICS or of FIGURES; of the latter, rows that do not have it are left out.
    :raises InputError: when the document does not have the values of every seed.
    """
    found: dict[Key, Side] = {}
    try:
        for row in document["rows"]:
            settings = tuple((key, str(value)) for key, value in row["settings"].items() if key != without)
            told = row[metric] | {"seeds": row["seeds"]} if metric in METRICS else row.get("figures", {}).get(metric)
            if told is None:
                continue
            values = dict(zip(map(int, told["seeds"]), map(float, told["values"]), strict=True))
            found[settings, str(row["workload"])] = Side(values, tuple(row["runs"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        hint = "run its scenario again: what is recorded is not executed twice"
        raise InputError("the results have no values by seed", hint=hint) from error
    return found


def compare(first: Mapping[Key, Side], second: Mapping[Key, Side], metric: str) -> Comparison:
    """Match rows by settings and workload, test each, and correct for the number of tests (Holm)."""
    shared = [key for key in first if key in second]
    tests = [_test(first[key], second[key]) for key in shared]
    # Rows that cannot differ, or cannot be told, are no tests: they don't make the others stricter.
    tested = [index for index, test in enumerate(tests) if test.known is None]
    adjusted = dict(zip(tested, holm([tests[index].difference.p or 0.0 for index in tested]), strict=True))
    matches = tuple(_match(key, tests[index], adjusted.get(index)) for index, key in enumerate(shared))
    only_a = tuple(_name(key) for key in first if key not in second)
    only_b = tuple(_name(key) for key in second if key not in first)
    return Comparison(metric, matches, only_a, only_b)


@dataclass(frozen=True)
class _Test:
    """One row's values against each other. ``known`` is the verdict where no test is needed or none is possible."""

    means: tuple[float, float]
    difference: Difference
    known: str | None


def _test(a: Side, b: Side) -> _Test:
    shared = [seed for seed in a.values if seed in b.values]
    if len(shared) >= _LEAST_SHARED or a.values.keys() == b.values.keys():
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


def _match(key: Key, test: _Test, adjusted: float | None) -> Match:
    verdict = test.known
    if verdict is None:
        verdict = "differ" if adjusted is not None and adjusted < SIGNIFICANCE else "no difference shown"
    return Match(dict(key[0]), key[1], test.means, test.difference, adjusted, verdict)


def _name(key: Key) -> str:
    return ", ".join((*(f"{name} = {value}" for name, value in key[0]), key[1]))


def split(document: Mapping[str, Any], key: str, metric: str) -> Iterator[tuple[str, dict[Key, Side]]]:
    """One result by the values of a swept key, in their order. :raises InputError: when fewer than two were swept."""
    rows = [row for row in document.get("rows", ()) if key in row.get("settings", {})]
    values = list(dict.fromkeys(str(row["settings"][key]) for row in rows))
    if len(values) < 2:
        swept = sorted({name for row in document.get("rows", ()) for name in row.get("settings", {})})
        hint = f"it swept {', '.join(swept)}" if swept else "it has no sweep: name two folders"
        raise InputError(f"the results do not have two values of '{key}'", hint=hint)
    for value in values:
        part = {"rows": [row for row in rows if str(row["settings"][key]) == value]}
        yield value, sides(part, metric, without=key)
