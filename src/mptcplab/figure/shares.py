# SPDX-License-Identifier: MIT
"""Shares of paths in figures: each path of a workload is a row of its own, as if the path were a swept key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mptcplab.errors import InputError
from mptcplab.metrics.catalog.shares import SHARE
from mptcplab.metrics.named import named_metrics
from mptcplab.metrics.rows import ResultRow
from mptcplab.stats import mean_interval

#: The key whose values are paths.
PATH = "path"


def is_by_path(metric: str | None) -> bool:
    """Return whether the metric with this name has a value for each path."""
    return metric is not None and SHARE.name in named_metrics(metric)


def paths_of(rows: Sequence[ResultRow]) -> list[str]:
    """Return the paths of all rows."""
    return list(dict.fromkeys(path for row in rows for path in row.share_values))


def rows_by_path(rows: Sequence[ResultRow], chosen: Sequence[str] = ()) -> list[ResultRow]:
    """Return a row with the share of each path, in percent; ``chosen`` are the paths to keep, all if there are none.

    A path of the workload that a point does not use has a share of 0 there. A row whose shares are not known is kept.
    :raises InputError: if no row has one of the chosen paths.
    """
    there = paths_of(rows)
    for path in chosen:
        if path not in there:
            raise InputError(f"no point has {PATH} = {path}", hint=f"use one of {', '.join(there)}")
    of: dict[str, list[str]] = {}
    for row in rows:
        known = of.setdefault(row.workload, [])
        known += [path for path in row.share_values if path not in known and path in (chosen or there)]
    return [
        result_row
        for row in rows
        for result_row in (_rows_by_path(row, of[row.workload]) if row.share_values else [row])
    ]


def _rows_by_path(row: ResultRow, paths: Sequence[str]) -> list[ResultRow]:
    nothing = (0.0,) * len(row.share_seeds)
    return [_with_share(row, path, row.share_values.get(path, nothing)) for path in sorted(paths)]


def _with_share(row: ResultRow, path: str, fractions: Sequence[float]) -> ResultRow:
    values = tuple(100 * fraction for fraction in fractions)
    return replace(
        row,
        settings={**row.settings, PATH: path},
        metrics={**row.metrics, SHARE.name: mean_interval(values)},
        samples={**row.samples, SHARE.name: values},
        metric_seeds={**row.metric_seeds, SHARE.name: row.share_seeds},
    )


def drop_path_choices(wanted: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the chosen values of keys that are really swept."""
    return {key: values for key, values in wanted.items() if key != PATH}
