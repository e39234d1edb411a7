# SPDX-License-Identifier: MIT
"""Paired differences inside one sweep: every swept value against the first of its key, on shared seeds.

A seed determines random losses, jitter and the hosts' random numbers. Runs of two settings with the same seed have
these in common, so their difference varies less than either value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.metrics.against_tcp import LABEL
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow
from mptcplab.stats import Difference, paired_difference

_PROTOCOL, GOODPUT = "transport.protocol", "goodput_mbps"
#: Fewer shared seeds make no pairs.
MIN_SHARED = 2


@dataclass(frozen=True)
class PairedDifference:
    """A metric with the value ``second`` of a swept key minus that with ``first``, on shared seeds, in its unit."""

    key: str
    first: str
    second: str
    settings: dict[str, str]
    workload: str
    difference: Difference
    base: float
    metric: str = GOODPUT

    @property
    def percent(self) -> float | None:
        """The difference in percent of the first mean."""
        return 100 * self.difference.mean / self.base if self.base else None

    def to_json(self) -> dict[str, Any]:
        """Return JSON data with units in the names: the metric's name ends with its unit."""
        return {
            "key": self.key,
            "first": self.first,
            "second": self.second,
            "settings": self.settings,
            "workload": self.workload,
            self.metric: difference_json(self.difference),
            "percent": self.percent,
        }


def difference_json(difference: Difference) -> dict[str, Any]:
    """Return JSON data; values are in the unit of the metric."""
    return {
        "difference": difference.mean,
        "ci95_half_width": difference.half_width,
        "p": difference.p,
        "test": difference.test,
        "n": list(difference.n),
    }


def paired_rows(rows: Sequence[ResultRow], metrics: Mapping[str, str] | None = None) -> list[PairedDifference]:
    """Compare every swept value with the first of its key (MPTCP with TCP) where at least two seeds are shared.

    ``metrics`` is by the names of workloads; the default is the goodput.
    """
    differences = []
    for key in rows[0].settings if rows else ():
        lines: dict[tuple[Any, ...], dict[str, ResultRow]] = {}
        for row in rows:
            others = tuple((name, value) for name, value in row.settings.items() if name != key)
            lines.setdefault((others, row.workload), {})[row.settings[key]] = row
        for (others, _), line in lines.items():
            first = "tcp" if key == _PROTOCOL and "tcp" in line else next(iter(line))
            metric = (metrics or {}).get(line[first].workload, GOODPUT)
            some = [
                _pair_rows(key, line[first], line[second], dict(others), metric) for second in line if second != first
            ]
            differences += some
    return [difference for difference in differences if difference is not None]


def best_path_pairs(rows: Sequence[ResultRow], metrics: Mapping[str, str]) -> list[PairedDifference]:
    """Compare the MPTCP rows of a labelled zip with TCP on the path that gives the best mean of the metric.

    A label (``name``) hides the keys that it stands for, so only rows are compared whose runs have the same conditions
    except the protocol, the path of TCP and the scheduler. There must be TCP on at least two paths: of a single path,
    nobody knows whether it is the best. ``metrics`` is by the names of workloads.
    """
    pairs = []
    for key in rows[0].settings if rows else ():
        if not LABEL.fullmatch(key):
            continue
        groups: dict[tuple[Any, ...], list[ResultRow]] = {}
        for row in rows:
            others = tuple((name, value) for name, value in row.settings.items() if name != key)
            metric = metrics[row.workload]
            if row.conditions and metric in row.metrics:
                groups.setdefault((others, row.workload, row.conditions, metric), []).append(row)
        for (others, _, _, metric), group in groups.items():
            best = _best_tcp(group, metric)
            if best is None:
                continue
            pairs += [_pair_rows(key, best, row, dict(others), metric) for row in group if not row.is_tcp]
    return [pair for pair in pairs if pair is not None]


def _best_tcp(rows: Sequence[ResultRow], metric: str) -> ResultRow | None:
    """Return the row of TCP on the path with the best mean; None unless there is TCP on two paths, each alone."""
    rows_of_tcp = [row for row in rows if row.is_tcp and len(row.shares) == 1]
    if len({path for row in rows_of_tcp for path in row.shares}) < 2:
        return None
    choose = max if METRICS[metric].higher_is_better else min
    return choose(rows_of_tcp, key=lambda row: row.metrics[metric].mean)


def _pair_rows(
    key: str, first: ResultRow, second: ResultRow, settings: dict[str, str], metric: str
) -> PairedDifference | None:
    sides = [dict(zip(row.seeds_of(metric), row.samples.get(metric, ()), strict=False)) for row in (first, second)]
    shared = [seed for seed in sides[0] if seed in sides[1]]
    if len(shared) < MIN_SHARED:
        return None
    values = [[side[seed] for seed in shared] for side in sides]
    base = sum(values[0]) / len(shared)
    difference = paired_difference(*values)
    values_of_key = first.settings[key], second.settings[key]
    return PairedDifference(key, *values_of_key, settings, first.workload, difference, base, metric)
