# SPDX-License-Identifier: MIT
"""What was measured, by row and column of a published table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mptcplab.metrics.rows import METRICS, ResultRow, RunResult, rows_of
from mptcplab.stats import Interval, mean_interval
from mptcplab.study.load import Selected
from mptcplab.study.schema import WORKLOAD, Column


@dataclass(frozen=True)
class Value:
    """One cell: its mean, the values behind it by seed, and what has to be said of the runs."""

    interval: Interval
    by_seed: Mapping[int, float] = field(default_factory=dict)
    mptcp: str = ""
    sockets: str = ""
    warnings: tuple[str, ...] = ()


#: By row and column of the table.
Measured = Mapping[tuple[str, str], Value]


def index_results(selected: Selected, results: Sequence[RunResult]) -> dict[tuple[str, str], Value]:
    """Every cell that ``results`` have something for."""
    found = {**index_rows(selected, rows_of(results)), **_fairness(selected, results)}
    return {**found, **dict(_ratios(selected, found))}


def index_rows(selected: Selected, rows: Iterable[ResultRow]) -> dict[tuple[str, str], Value]:
    """Cells that are a workload's goodput or duration."""
    table, found = selected.table, {}
    for row in rows:
        settings = {**row.settings, WORKLOAD: row.workload}
        for name, column in table.columns.items():
            value = table.value_of(name)
            if value in METRICS and _fits(column, settings):
                found[row.settings[table.along], name] = _of_row(row, value)
    return found


def _of_row(row: ResultRow, value: str) -> Value:
    by_seed = dict(zip(row.seeds, row.samples.get(value, ()), strict=False))
    sockets = ", ".join(part for part in (row.congestion, row.scheduler) if part)
    return Value(getattr(row, value), by_seed, row.mptcp, sockets, row.warnings)


def _fairness(selected: Selected, results: Iterable[RunResult]) -> dict[tuple[str, str], Value]:
    """Jain's index over the workloads of every run, for the columns that are this."""
    table = selected.table
    found: dict[tuple[str, str], dict[int, float]] = {}
    for result in results:
        settings = dict(result.settings)
        for name, column in table.columns.items():
            if table.value_of(name) == "jain" and result.jain is not None and _fits(column, settings):
                found.setdefault((settings[table.along], name), {})[result.seed] = result.jain
    return {place: Value(mean_interval(list(by_seed.values())), by_seed) for place, by_seed in found.items()}


def _ratios(selected: Selected, found: Measured) -> Iterator[tuple[tuple[str, str], Value]]:
    """The columns that are one column divided by another one."""
    for name, column in selected.table.columns.items():
        for row in selected.table.all_rows if column.ratio else ():
            of, to = (found.get((row, part)) for part in column.ratio or ())
            if of is not None and to is not None:
                yield (row, name), combined(of, [to], ratio)


def ratio(of: float, parts: Sequence[float]) -> float:
    """``of`` divided by the sum of ``parts``."""
    whole = math.fsum(parts)
    return of / whole if whole else math.inf


def combined(of: Value, parts: Sequence[Value], formula: Callable[[float, Sequence[float]], float]) -> Value:
    """The formula seed by seed; of the means alone where seeds are not shared."""
    seeds = set(of.by_seed)
    if seeds and all(set(part.by_seed) == seeds for part in parts):
        by_seed = {seed: formula(of.by_seed[seed], [part.by_seed[seed] for part in parts]) for seed in sorted(seeds)}
        return Value(mean_interval(list(by_seed.values())), by_seed)
    return Value(Interval(formula(of.interval.mean, [part.interval.mean for part in parts]), None, 1))


def _fits(column: Column, settings: Mapping[str, str]) -> bool:
    return all(settings.get(key) == value for key, value in column.where.items())
