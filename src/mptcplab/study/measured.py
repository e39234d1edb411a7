# SPDX-License-Identifier: MIT
"""Measured values by row and column of a published table."""

from __future__ import annotations

import fnmatch
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow, RunResult, rows_of
from mptcplab.stats import Interval, jain_index, mean_interval
from mptcplab.study.load import SelectedTable
from mptcplab.study.schema import ROW, WORKLOAD, PublishedColumn, PublishedTable
from mptcplab.study.values import JAIN, OVER, link_of, over_of


@dataclass(frozen=True)
class Value:
    """The measured value of a cell: its mean, the values by seed, and properties of the runs.

    ``missing`` is the number of runs without the metric: MPTCP that did not recover, for example. In a ratio, it also
    counts the runs in which both parts are 0.
    """

    interval: Interval
    by_seed: Mapping[int, float] = field(default_factory=dict)
    mptcp: str = ""
    sockets: str = ""
    warnings: tuple[str, ...] = ()
    missing: int = 0


#: By row and column of the table.
TableValues = Mapping[tuple[str, str], Value]


def index_results(selected: SelectedTable, results: Sequence[RunResult]) -> dict[tuple[str, str], Value]:
    """Return every cell that ``results`` have a value for."""
    values = {
        **index_rows(selected, rows_of(results)),
        **_fairness(selected, results),
        **_shares(selected, results),
        **_reduce_workloads(selected, results),
    }
    return {**values, **dict(_ratios(selected, values))}


def index_rows(selected: SelectedTable, rows: Iterable[ResultRow]) -> dict[tuple[str, str], Value]:
    """Return the cells that are metrics of a workload."""
    table, values = selected.table, {}
    for row in rows:
        settings = {**row.settings, WORKLOAD: row.workload}
        for name, column in table.columns.items():
            cell = _row_value(row, table.value_of(name)) if fits(table, column, settings) else None
            if cell is not None:
                values[row.settings[table.along], name] = _as_told(cell, column)
    return values


def _row_value(row: ResultRow, value: str) -> Value | None:
    interval = row.metrics.get(value)
    if interval is None:
        return None
    by_seed = dict(zip(row.seeds_of(value), row.samples.get(value, ()), strict=False))
    # Through a gateway, the sockets between its two sides matter.
    sockets = row.gateways or ", ".join(part for part in (row.congestion, row.scheduler) if part)
    return Value(interval, by_seed, row.mptcp, sockets, row.warnings, len(row.seeds) - interval.n)


def _as_told(value: Value, column: PublishedColumn) -> Value:
    """Return the value times the column's factor, over the runs as the column says: an extreme has no interval."""
    by_seed = {seed: column.times * number for seed, number in value.by_seed.items()}
    if column.of_runs != "mean":
        extreme = (max if column.of_runs == "max" else min)(by_seed.values())
        return replace(value, interval=Interval(extreme, None, 1), by_seed={})
    mean, half, n = value.interval.mean, value.interval.half_width, value.interval.n
    interval = Interval(column.times * mean, None if half is None else column.times * half, n)
    return replace(value, interval=interval, by_seed=by_seed)


def _shares(selected: SelectedTable, results: Iterable[RunResult]) -> dict[tuple[str, str], Value]:
    """Return the cells that are a link's share, in percent of the bytes that subflows received; runs may have none."""
    table = selected.table
    links = {name: link for name in table.columns if (link := link_of(table.value_of(name)))}
    shares: dict[tuple[str, str], dict[int, float]] = {}
    for result in results:
        for measured in result.measured:
            settings = {**dict(result.settings), WORKLOAD: measured.workload}
            for name, link in links.items():
                if measured.sockets.shares and fits(table, table.columns[name], settings):
                    percent = _share_of_link(link, measured.sockets.shares)
                    shares.setdefault((settings[table.along], name), {})[result.seed] = percent
    return {place: _mean_value(by_seed) for place, by_seed in shares.items()}


def _reduce_workloads(selected: SelectedTable, results: Iterable[RunResult]) -> dict[tuple[str, str], Value]:
    """Return the cells that are the smallest, largest or mean value of a metric among several workloads of a run."""
    table = selected.table
    reduced = {name: over for name in table.columns if (over := over_of(table.value_of(name))) is not None}
    workloads: dict[tuple[str, str], dict[int, float]] = {}
    missing: Counter[tuple[str, str]] = Counter()
    for result in results:
        settings = dict(result.settings)
        for name, (reduction, metric) in reduced.items():
            column = table.columns[name]
            if not fits(table, column, settings, any_workload=True):
                continue
            place, wanted = (settings[table.along], name), column.where.get(WORKLOAD, "*")
            own_metrics = [
                measurement.metrics.get(metric)
                for measurement in result.measured
                if fnmatch.fnmatchcase(measurement.workload, wanted)
            ]
            known = [value for value in own_metrics if value is not None]
            if known and len(known) == len(own_metrics):
                workloads.setdefault(place, {})[result.seed] = OVER[reduction](known)
            else:
                missing[place] += 1
    return {place: _mean_value(by_seed, missing[place]) for place, by_seed in workloads.items()}


def _mean_value(by_seed: Mapping[int, float], missing: int = 0) -> Value:
    return Value(mean_interval(list(by_seed.values())), by_seed, missing=missing)


def _share_of_link(link: str, shares: Mapping[str, float]) -> float:
    """Return the share in percent of the paths that begin or end with ``link``."""
    return 100 * math.fsum(share for path, share in shares.items() if link in path.split(">"))


def _fairness(selected: SelectedTable, results: Iterable[RunResult]) -> dict[tuple[str, str], Value]:
    """Return the cells that are Jain's index over the workloads of a run."""
    table = selected.table
    values: dict[tuple[str, str], dict[int, float]] = {}
    for result in results:
        settings = dict(result.settings)
        for name, column in table.columns.items():
            value = table.value_of(name)
            index = _jain(result, value) if value in JAIN and fits(table, column, settings) else None
            if index is not None:
                values.setdefault((settings[table.along], name), {})[result.seed] = index
    return {place: _mean_value(by_seed) for place, by_seed in values.items()}


def _jain(result: RunResult, value: str) -> float | None:
    """Return the index of a run whose workloads ran at the same time and all have the metric; else None."""
    metric = JAIN[value]
    if METRICS[metric].basic or result.jain is None:
        return result.jain
    rates = [measurement.metrics[metric] for measurement in result.measured if metric in measurement.metrics]
    return jain_index(rates) if len(rates) == len(result.measured) else None


def _ratios(selected: SelectedTable, ratios: TableValues) -> Iterator[tuple[tuple[str, str], Value]]:
    """Yield the cells of columns that are one column divided by another."""
    for name, column in selected.table.columns.items():
        for row in selected.table.all_rows if column.ratio else ():
            of, to = (ratios.get((row, part)) for part in column.ratio or ())
            value = combine_values(of, [to], ratio) if of is not None and to is not None else None
            if value is not None:
                yield (row, name), value


def ratio(of: float, parts: Sequence[float]) -> float | None:
    """Return ``of`` divided by the sum of ``parts``: infinity if only the sum is 0, None if both are.

    Two zeros do not say which of them is larger: two flows that carried nothing are not infinitely far apart.
    """
    whole = math.fsum(parts)
    if whole:
        return of / whole
    return math.inf if of else None


def combine_values(
    of: Value, parts: Sequence[Value], formula: Callable[[float, Sequence[float]], float | None]
) -> Value | None:
    """Apply the formula to each seed that all have, or to the means if that leaves only one of several, or none.

    Seeds for which the formula has no value are counted as missing. None if it has a value for none.
    """
    seeds, missing = set(of.by_seed), max(value.missing for value in (of, *parts))
    shared = seeds.intersection(*(part.by_seed for part in parts))
    if len(shared) > 1 or (shared and all(set(value.by_seed) == shared for value in (of, *parts))):
        results = {seed: formula(of.by_seed[seed], [part.by_seed[seed] for part in parts]) for seed in sorted(shared)}
        by_seed = {seed: result for seed, result in results.items() if result is not None}
        return _mean_value(by_seed, missing + len(results) - len(by_seed)) if by_seed else None
    mean = formula(of.interval.mean, [part.interval.mean for part in parts])
    return None if mean is None else Value(Interval(mean, None, 1), missing=missing)


def fits(
    table: PublishedTable, column: PublishedColumn, settings: Mapping[str, str], *, any_workload: bool = False
) -> bool:
    """Return whether a column is about measurements with these values of swept keys, and with this workload."""
    row = settings.get(table.along)
    return all(
        (any_workload and key == WORKLOAD) or settings.get(key) == (row if value == ROW else value)
        for key, value in column.where.items()
    )
