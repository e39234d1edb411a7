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
from mptcplab.metrics.values import determines
from mptcplab.stats import Interval, assign_group_letters, mean_interval

#: The values of the keys that are compared by, in their order.
Values = tuple[str, ...]
#: The rows of one metric, by the values of the keys.
Parts = Mapping[Values, Mapping[Key, RowSide]]


@dataclass(frozen=True)
class Rank:
    """One rank of a ranking: values of the keys, mean over seeds, and the comparison with the first rank.

    ``tied`` are the indices of ranks from which this one is not shown to differ by more than what is negligible. Two
    such ranks share one of their ``group_letters``.
    """

    values: Values
    interval: Interval
    group_letters: str
    tied: tuple[int, ...]
    against_best: Match | None

    def to_json(self) -> dict[str, Any]:
        """Return JSON data; values are in the unit of the metric."""
        best = self.against_best
        return {
            "values": list(self.values),
            **self.interval.to_json(),
            "groups": self.group_letters,
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
    ranks: tuple[Rank, ...]
    pairs: tuple[Match, ...]
    margin_percent: float

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        return {
            "metric": self.metric,
            "settings": self.settings,
            "workload": self.workload,
            "places": [rank.to_json() for rank in self.ranks],
        }


def split(
    results: StoredResults, keys: Sequence[str], metric: str, *, workload: str | None = None
) -> dict[Values, dict[Key, RowSide]]:
    """Split results by the values of swept keys, in order. :raises InputError: if there are fewer than two.

    Other keys that depend on these do not distinguish rows.
    """
    parts: dict[Values, list[StoredRow]] = {}
    for row in results.rows:
        if set(keys) <= row.settings.keys():
            parts.setdefault(tuple(row.settings[key] for key in keys), []).append(row)
    if len(parts) < 2:
        swept = results.swept_keys
        hint = f"the scenario sweeps {', '.join(swept)}" if swept else "the scenario has no sweep: name two folders"
        raise InputError(f"the results do not have two values of {' and '.join(map(repr, keys))}", hint=hint)
    without = [*keys, *find_dependent_keys(results, keys)]
    return {values: collect_sides(rows, metric, workload=workload, without=without) for values, rows in parts.items()}


def find_dependent_keys(results: StoredResults, keys: Sequence[str]) -> list[str]:
    """Return the other swept keys whose values ``keys`` determine, as in a ``[[sweep.zip]]``."""
    points = [row.settings for row in results.rows if set(keys) <= row.settings.keys()]
    return [
        key
        for key in results.swept_keys
        if key not in keys and len({point.get(key) for point in points}) > 1 and determines(points, keys, key)
    ]


@dataclass(frozen=True)
class RankedGroup:
    """The values of one row, which one ranking compares: best mean first, and every pair, the better one first."""

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


def build_ranked_groups(metric: str, parts: Parts) -> list[RankedGroup]:
    """Return the ranked group of each row that at least two values have."""
    keys = dict.fromkeys(key for rows in parts.values() for key in rows)
    having = {key: {values: rows[key] for values, rows in parts.items() if key in rows} for key in keys}
    return [
        RankedGroup(metric, key, _sort_best_first(metric, rows), rows) for key, rows in having.items() if len(rows) > 1
    ]


def _sort_best_first(metric: str, rows: Mapping[Values, RowSide]) -> tuple[Values, ...]:
    sign = -1 if METRICS[metric].is_highest_first else 1
    return tuple(sorted(rows, key=lambda values: sign * _mean(rows[values]).mean))


def _mean(side: RowSide) -> Interval:
    return mean_interval(list(side.values.values()))


def rank(group: RankedGroup, comparisons: Iterable[Comparison], margin_percent: float = MARGIN_PERCENT) -> Ranking:
    """Return the ranking of a group, from the comparisons of its pairs, which were made with this margin."""
    matches = {(comparison.pair.a, comparison.pair.b): comparison.matches[0] for comparison in comparisons}
    order = group.order
    index_of = {values: index for index, values in enumerate(order)}
    different = {(index_of[a], index_of[b]) for (a, b), match in matches.items() if _is_relevant(match)}
    letters = assign_group_letters(len(order), sorted(different))
    ranks = tuple(
        Rank(
            values,
            _mean(group.rows[values]),
            letters[index],
            tuple(other for other in index_of.values() if other != index and _sort_pair(index, other) not in different),
            matches.get((order[0], values)),
        )
        for values, index in index_of.items()
    )
    settings, workload = group.key
    return Ranking(group.metric, dict(settings), workload, ranks, tuple(matches.values()), margin_percent)


def _sort_pair(count: int, other: int) -> tuple[int, int]:
    return min(count, other), max(count, other)


def pairs_with_reference(metric: str, parts: Parts, reference: Values) -> list[Pair]:
    """Return pairs of every other value with the reference."""
    return [Pair(metric, reference, b, parts[reference], parts[b]) for b in parts if b != reference]


def _is_relevant(match: Match) -> bool:
    return match.verdict.is_difference and match.verdict is not Verdict.NEGLIGIBLE
