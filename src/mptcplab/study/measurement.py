# SPDX-License-Identifier: MIT
"""The measured values of a table: by row and column, in both forms, by shape, and as texts quote them."""

from __future__ import annotations

import fnmatch
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow, RunResult, rows_of
from mptcplab.stats import Interval, jain_index, mean_interval
from mptcplab.study.library import Documents, SelectedTable, digest, short_changes
from mptcplab.study.parts import JAIN, OVER, Quote, link_of, over_of, quoted_text, replace_quotes
from mptcplab.study.schema import ROW, WORKLOAD, PublishedColumn, PublishedTable, Study
from mptcplab.study.stored import ShippedTable, StoredCells, read_shipped

# Measured values by row and column of a published table.


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
            values = [
                measurement.metrics.get(metric)
                for measurement in result.measured
                if fnmatch.fnmatchcase(measurement.workload, wanted)
            ]
            known = [value for value in values if value is not None]
            if known and len(known) == len(values):
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
    if METRICS[metric].in_every_row or result.jain is None:
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


# Where the values come from that texts quote: the tables measured in the same results folder.


@dataclass(frozen=True)
class TableSource:
    """The measured values of one table, and the keys that were changed for it."""

    measured: TableValues
    changes: tuple[str, ...] = ()


#: By name of the table, as ``STUDY/TABLE``.
Sources = Mapping[str, TableSource]


def read_sources(documents: Documents, *, quick: bool = False) -> dict[str, TableSource]:
    """From the documents of a results folder: of every table the same form, else the other."""
    sources = {}
    for (name, _), stored in sorted(documents.items(), key=lambda pair: pair[0][1] == quick):
        values = {place: Value(cell.interval, cell.by_seed) for place, cell in stored.cells.items()}
        sources[name] = TableSource(values, stored.changed)
    return sources


def fill(text: str, selected: SelectedTable, sources: Sources) -> str:
    """The text with measured values in place of its quotes; where one was not measured, it says so, with a command."""
    done: set[str] = set()

    def quote_text(quote: Quote) -> str:
        name = f"{selected.folder.name}/{quote.table}"
        values = [_value(quote, row, sources.get(name)) for row in quote.rows]
        known = [value.interval for value in values if value is not None]
        if len(known) == len(values):
            return quoted_text(known, _unit(quote, selected.study))
        if name in done:
            return "(not measured)"
        done.add(name)
        return f"(not measured here: mptcplab reproduce {name})"

    return " ".join(replace_quotes(text, quote_text).split())


def _value(quote: Quote, row: str, source: TableSource | None) -> Value | None:
    values = [source.measured.get((row, column)) for column in quote.columns] if source else [None]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return known[0] if quote.to is None else combine_values(known[0], known[1:], ratio)


def _unit(quote: Quote, study: Study) -> str:
    return study.tables[quote.table].unit_of(quote.of) if quote.to is None else ""


def sort_by_dependency(wanted: Sequence[SelectedTable]) -> list[SelectedTable]:
    """Every table after the tables that it quotes or that are its evidence, if they are wanted; else as given."""
    by_name = {selected_table.name: selected_table for selected_table in wanted}
    ordered: dict[str, SelectedTable] = {}
    for selected_table in wanted:
        ordered |= {
            table.name: table for table in _with_needs(selected_table, by_name, set()) if table.name not in ordered
        }
    return list(ordered.values())


def _with_needs(
    selected_table: SelectedTable, by_name: Mapping[str, SelectedTable], met: set[str]
) -> Iterator[SelectedTable]:
    """Return the tables that ``selected_table`` quotes, and that these quote, before itself.

    Tables that quote each other are met only once.
    """
    if selected_table.name in met:
        return
    met.add(selected_table.name)
    for name in needs(selected_table, by_name):
        yield from _with_needs(by_name[name], by_name, met)
    yield selected_table


def needs(selected_table: SelectedTable, names: Iterable[str]) -> list[str]:
    """Return the ``names`` (``STUDY/TABLE``) that texts of ``selected_table`` quote, or that are its evidence."""
    wanted = {
        f"{selected_table.folder.name}/{number}" for number in selected_table.study.sources(selected_table.number)
    }
    return [name for name in names if name in wanted]


# Compare the short form with the full form: which of its values are outside the full form's intervals.
#
# The full form's values come from the same results folder, if it was measured there, else from ``full.json`` beside
# ``study.toml`` (:mod:`mptcplab.study.reference` writes it).

REFERENCE = "full.json"
#: The largest relative difference of means that may come from rounding.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class FullResult:
    """The full form's values of one table, by row and column, and their origin; no cells if they are unknown."""

    cells: Mapping[tuple[str, str], Interval] = field(default_factory=dict)
    origin: str = ""

    def interval_of(self, row: str, column: str) -> Interval | None:
        """Return the full form's value, if it has an interval."""
        cell = self.cells.get((row, column))
        return cell if cell is not None and cell.half_width is not None else None


def excludes(full: Interval, value: Interval) -> bool:
    """Return whether the mean of ``value`` is outside the 95 % interval of the full form's value, which has one."""
    assert full.half_width is not None, "FullResult.interval_of() returns values with an interval only"
    return abs(value.mean - full.mean) > full.half_width + _ROUNDING * abs(full.mean)


def full_form(selected: SelectedTable, documents: Documents) -> FullResult:
    """Return the full form of the present table. ``documents`` are from the study's results folder."""
    wanted = digest(selected)
    measured = documents.get((selected.name, False))
    if measured is not None and measured.form == wanted and not (measured.changed or measured.failed):
        return FullResult(_intervals(measured.cells), "measured in this folder")
    shipped = find_shipped(selected)
    if shipped is None or shipped.form != wanted:
        return FullResult()
    origin = f"shipped with the study, from kernel {', '.join(shipped.kernels)}"
    return FullResult(_intervals(shipped.cells), origin)


def _intervals(cells: StoredCells) -> dict[tuple[str, str], Interval]:
    return {place: cell.interval for place, cell in cells.items()}


def shipped_values(selected: SelectedTable) -> TableValues:
    """Return the values that are shipped with the study, seed by seed, also if the table has another form by now."""
    shipped = find_shipped(selected)
    cells = shipped.cells if shipped is not None else {}
    return {place: Value(cell.interval, cell.by_seed, missing=cell.missing) for place, cell in cells.items()}


def find_shipped(selected: SelectedTable) -> ShippedTable | None:
    """Return the table that is shipped with its study; None if none is."""
    return read_shipped(selected.folder / REFERENCE, selected.number)


def count_outside(measured: TableValues, full: FullResult | None) -> tuple[int, int]:
    """Return how many means are outside the full form's intervals, and how many could be compared."""
    pairs = (
        [(full.interval_of(*place), value.interval) for place, value in measured.items()] if full is not None else []
    )
    known = [(there, value) for there, value in pairs if there is not None]
    return sum(excludes(there, value) for there, value in known), len(known)


def outside_note(selected: SelectedTable, measured: TableValues, full: FullResult) -> str:
    """Return the note of a short form: how many of its values are outside, and possible reasons."""
    if not full.cells:
        return f"There are no values of the full form to compare with (measure it: mptcplab reproduce {selected.name})."
    count, of = count_outside(measured, full)
    unknown = f"; {len(measured) - of} more have no full value" if of < len(measured) else ""
    return f"{count} of {of} values lie outside the full form's 95 % interval ({full.origin}){unknown}." + (
        f" A possible reason: {_short_form_changes(selected, measured, full)}." if count else ""
    )


def _short_form_changes(selected: SelectedTable, measured: TableValues, full: FullResult) -> str:
    """Return the differences of the short form."""
    seeds = max((cell.n for cell in full.cells.values()), default=1)
    taken = max((value.interval.n for value in measured.values()), default=1)
    changes = ", ".join(short_changes(selected.table))
    parts = [f"has {taken} instead of {seeds} seeds"] if taken < seeds else []
    parts += [f"is shorter ({changes})"] if changes else []
    return f"the short form {' and '.join(parts) or 'was recorded with another kernel or other programs'}"


# Same shape: a mark of a column, beside the verdicts of its cells and independent of them.
#
# A column has the shape that was published if it rises, falls or stays level from row to row as published and every
# measured mean is within a factor of its published value. The factor is printed with the mark, and is at most
# :data:`LARGEST_FACTOR`. Only rows that are quantities have an order, and it takes three of them.

#: Beyond this factor nothing has the same shape.
LARGEST_FACTOR = 2.0
#: Neighbours closer than this, relative to the larger one, are level: noise decides which is larger.
_PLATEAU = 0.02
_FEWEST_ROWS = 3


@dataclass(frozen=True)
class Shape:
    """The shape of one column. ``why`` says what is not as published; empty if it has the same shape."""

    column: str
    factor: float
    why: str

    @property
    def is_same(self) -> bool:
        """True if the column has the published shape."""
        return not self.why

    @property
    def text(self) -> str:
        """The mark with its factor, rounded up."""
        factor = f"{math.ceil(self.factor * 100) / 100:.2f}" if math.isfinite(self.factor) else "∞"
        if self.is_same:
            return f"same shape within a factor {factor}"
        return f"another shape ({self.why}), within a factor {factor}"


def shapes_of(selected: SelectedTable, measured: TableValues) -> list[Shape]:
    """Return the shapes of the columns that have one."""
    table = selected.table
    if not all(row[:1].isdigit() for row in table.all_rows):
        return []
    shapes = []
    for column in table.columns:
        rows = [row for row, values in table.published.items() if column in values and (row, column) in measured]
        if len(rows) >= _FEWEST_ROWS:
            pairs = [(table.published[row][column].mean, measured[row, column].interval.mean) for row in rows]
            shapes.append(Shape(column, max(_factor(*pair) for pair in pairs), "; ".join(_faults(rows, pairs))))
    return shapes


def _factor(published: float, measured: float) -> float:
    if published * measured <= 0:
        return 1.0 if published == measured else math.inf
    return max(published / measured, measured / published)


def _faults(rows: list[str], pairs: list[tuple[float, float]]) -> Iterator[str]:
    for (before, after), (left, right) in zip(pairwise(rows), pairwise(pairs), strict=True):
        wanted, step = _step(left[0], right[0]), _step(left[1], right[1])
        if wanted != step:
            yield f"it {step} from {before} to {after}, published it {wanted}"
    factor = max(_factor(*pair) for pair in pairs)
    if factor > LARGEST_FACTOR:
        yield f"more than a factor {LARGEST_FACTOR:g} apart"


def _step(left: float, right: float) -> str:
    if abs(right - left) <= _PLATEAU * max(abs(left), abs(right)):
        return "stays level"
    return "rises" if right > left else "falls"
