# SPDX-License-Identifier: MIT
"""Rankings: all pairs of the values of swept keys, best first, in groups that cannot be told apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.errors import InputError
from mptcplab.metrics.compare import Comparison, Key, Match, Pair, RowSide, Verdict, collect_sides
from mptcplab.metrics.margin import MARGIN_PERCENT
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.stored import StoredResults, StoredRow
from mptcplab.metrics.values import determine
from mptcplab.stats import Interval, letters, mean_interval

#: The values of the keys that are compared by, in their order.
Values = tuple[str, ...]
#: The rows of one metric, by the values of the keys.
Parts = Mapping[Values, Mapping[Key, RowSide]]


@dataclass(frozen=True)
class RankingPlace:
    """One place of a ranking: values of the keys, mean over seeds, and the comparison with the first place.

    ``tied`` are the indices of places from which this one is not shown to differ by more than what is negligible. Two
    such places share one of their ``letters``.
    """

    values: Values
    interval: Interval
    letters: str
    tied: tuple[int, ...]
    against_best: Match | None

    def to_json(self) -> dict[str, Any]:
        """Return JSON data; values are in the unit of the metric."""
        best = self.against_best
        return {
            "values": list(self.values),
            **self.interval.to_json(),
            "groups": self.letters,
            "tied_with": [index + 1 for index in self.tied],
            "against_best": None if best is None else best.to_json(),
        }


@dataclass(frozen=True)
class Ranking:
    """All values of the compared keys, best first, for one workload, metric and set of other settings.

    ``pairs`` are the comparisons of any two.
    """

    metric: str
    settings: dict[str, str]
    workload: str
    places: tuple[RankingPlace, ...]
    pairs: tuple[Match, ...]
    margin_percent: float

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        return {
            "metric": self.metric,
            "settings": self.settings,
            "workload": self.workload,
            "places": [place.to_json() for place in self.places],
        }


def split(
    results: StoredResults, keys: Sequence[str], metric: str, *, workload: str | None = None
) -> dict[Values, dict[Key, RowSide]]:
    """Split results by the values of swept keys, in order. :raises InputError: if there are fewer than two.

    Keys that change together with these distinguish no rows.
    """
    parts: dict[Values, list[StoredRow]] = {}
    for row in results.rows:
        if set(keys) <= row.settings.keys():
            parts.setdefault(tuple(row.settings[key] for key in keys), []).append(row)
    if len(parts) < 2:
        swept = results.swept_keys
        hint = f"the scenario sweeps {', '.join(swept)}" if swept else "the scenario has no sweep: name two folders"
        raise InputError(f"the results do not have two values of {' and '.join(map(repr, keys))}", hint=hint)
    without = [*keys, *followers(results, keys)]
    return {values: collect_sides(rows, metric, workload=workload, without=without) for values, rows in parts.items()}


def followers(results: StoredResults, keys: Sequence[str]) -> list[str]:
    """Return the other swept keys whose values follow from ``keys``, as in a ``[[sweep.zip]]``."""
    points = [row.settings for row in results.rows if set(keys) <= row.settings.keys()]
    return [
        key
        for key in results.swept_keys
        if key not in keys and len({point.get(key) for point in points}) > 1 and determine(points, keys, key)
    ]


@dataclass(frozen=True)
class Contest:
    """The values of one row, best mean first, and every pair of them, the better one first."""

    metric: str
    key: Key
    order: tuple[Values, ...]
    rows: Mapping[Values, RowSide]

    @property
    def pairs(self) -> list[Pair]:
        """All pairs, of one row each."""
        return [
            Pair(self.metric, a, b, {self.key: self.rows[a]}, {self.key: self.rows[b]})
            for a, b in itertools.combinations(self.order, 2)
        ]


def contests(metric: str, parts: Parts) -> list[Contest]:
    """Return a contest per row that at least two values have."""
    keys = dict.fromkeys(key for rows in parts.values() for key in rows)
    having = {key: {values: rows[key] for values, rows in parts.items() if key in rows} for key in keys}
    return [Contest(metric, key, _sort_best_first(metric, rows), rows) for key, rows in having.items() if len(rows) > 1]


def _sort_best_first(metric: str, rows: Mapping[Values, RowSide]) -> tuple[Values, ...]:
    sign = -1 if METRICS[metric].is_highest_first else 1
    return tuple(sorted(rows, key=lambda values: sign * _mean(rows[values]).mean))


def _mean(side: RowSide) -> Interval:
    return mean_interval(list(side.values.values()))


def rank(contest: Contest, comparisons: Iterable[Comparison], margin_percent: float = MARGIN_PERCENT) -> Ranking:
    """Return the ranking of a contest, from the comparisons of its pairs, which were made with this margin."""
    matches = {(comparison.pair.a, comparison.pair.b): comparison.matches[0] for comparison in comparisons}
    order = contest.order
    place = {values: number for number, values in enumerate(order)}
    different = {(place[a], place[b]) for (a, b), match in matches.items() if _is_relevant(match)}
    groups = letters(len(order), sorted(different))
    places = tuple(
        RankingPlace(
            values,
            _mean(contest.rows[values]),
            groups[here],
            tuple(other for other in place.values() if other != here and _sort_pair(here, other) not in different),
            matches.get((order[0], values)),
        )
        for values, here in place.items()
    )
    settings, workload = contest.key
    return Ranking(contest.metric, dict(settings), workload, places, tuple(matches.values()), margin_percent)


def _sort_pair(count: int, other: int) -> tuple[int, int]:
    return min(count, other), max(count, other)


def pairs_with_reference(metric: str, parts: Parts, reference: Values) -> list[Pair]:
    """Return pairs of every other value with the reference."""
    return [Pair(metric, reference, b, parts[reference], parts[b]) for b in parts if b != reference]


def _is_relevant(match: Match) -> bool:
    return match.verdict.is_difference and match.verdict is not Verdict.NEGLIGIBLE
