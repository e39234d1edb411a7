# SPDX-License-Identifier: MIT
"""Tables of the network as the kernel counted it: links and their traces, MPTCP endpoints, middleboxes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mptcplab.metrics.column import Column, Scope, ScopeRow
from mptcplab.metrics.links import LINKS, DirectionCounters
from mptcplab.metrics.manifest import DIRECTIONS, read_links, read_radios
from mptcplab.metrics.network import ENDPOINTS, SCOPES, EndpointStates
from mptcplab.metrics.rows import RunResult, scope_rows
from mptcplab.metrics.values import short_names
from mptcplab.network.words import direction_words, with_trace_ranges
from mptcplab.recording.record import Recording
from mptcplab.report.table import Cell, Table, interval_text, number, number_columns
from mptcplab.stats import mean_interval

# The table of MPTCP endpoints. Points whose nodes have the same endpoints share a row, which names these points.

_NOTHING = "none"
_ALL = "all"
#: A cell names the values that are left out if the others are at least this many times as many.
_FEW = 3


EndpointRow = ScopeRow[EndpointStates]


@dataclass(frozen=True)
class _EqualRows:
    """Equal rows of several points: ``values`` are each key's, and every combination of them is such a point.

    ``runs`` are the numbers of runs per point.
    """

    row: EndpointRow
    values: tuple[tuple[str, ...], ...]
    runs: frozenset[int]


def endpoint_table(rows: Sequence[EndpointRow], results: Iterable[RunResult], max_rows: int) -> Table:
    """Return the endpoints of every node beside the configured ones; ``results`` are of all points."""
    points = list(dict.fromkeys(result.settings for result in results))
    keys = list(rows[0].settings) if rows else []
    known = tuple(tuple(dict.fromkeys(dict(point).get(key, "") for point in points)) for key in keys)
    shared = _merge_equal_rows(rows, keys, known, len(points))
    notes = list(ENDPOINTS.notes)
    if len(points) > 1 and all(shared_row.values == known for shared_row in shared):
        keys, known = [], ()
        notes.append(f"Every row holds for all {len(points)} points.")
    elif len(shared) < len(rows):
        notes.append(f"A row holds for every point that has its values; {_ALL}: for any value of the key.")
    if len(shared) > max_rows:
        notes.append(f"The first {max_rows} of {len(shared)} rows are shown; results.json has all.")
    shown = shared[:max_rows]
    columns = (*short_names(keys).values(), "node", "as asked for", "as seen", "n")
    return Table.build(ENDPOINTS.title, columns, (_cells(shared_row, known) for shared_row in shown), notes)


def _merge_equal_rows(
    rows: Sequence[EndpointRow], keys: Sequence[str], known: Sequence[tuple[str, ...]], points: int
) -> list[_EqualRows]:
    """Return the rows with equal ones merged, in the order of the first of each."""
    alike: dict[object, list[_EqualRows]] = {}
    for row in rows:
        shared_row = _EqualRows(row, tuple((row.settings.get(key, ""),) for key in keys), frozenset({len(row.seeds)}))
        alike.setdefault(row.first, []).append(shared_row)
    merged = [shared_row for group in alike.values() for shared_row in _merge_rows(group, known, points)]
    order = {id(row): at for at, row in enumerate(rows)}
    return sorted(merged, key=lambda shared_row: order[id(shared_row.row)])


def _merge_rows(group: list[_EqualRows], known: Sequence[tuple[str, ...]], points: int) -> list[_EqualRows]:
    """Return as few rows as the values of single keys allow: one if these are the rows of all points."""
    if len(group) == points:
        return [_merge_group(group, tuple(known))]
    for key, order in enumerate(known):
        beside: dict[object, list[_EqualRows]] = {}
        for shared_row in group:
            beside.setdefault((*shared_row.values[:key], None, *shared_row.values[key + 1 :]), []).append(shared_row)
        group = [
            _merge_group(some, (*some[0].values[:key], _values_in_order(some, key, order), *some[0].values[key + 1 :]))
            for some in beside.values()
        ]
    return group


def _values_in_order(some: Sequence[_EqualRows], key: int, order: Sequence[str]) -> tuple[str, ...]:
    there = {value for shared_row in some for value in shared_row.values[key]}
    return tuple(value for value in order if value in there)


def _merge_group(some: Sequence[_EqualRows], values: tuple[tuple[str, ...], ...]) -> _EqualRows:
    return _EqualRows(some[0].row, values, frozenset[int]().union(*(shared_row.runs for shared_row in some)))


def _cells(shared_row: _EqualRows, known: Sequence[tuple[str, ...]]) -> Iterable[str]:
    # Without columns of keys, the row holds for all points.
    yield from (_words(values, every) for values, every in zip(shared_row.values, known, strict=False))
    states = shared_row.row.first
    yield from (states.host, ", ".join(states.asked) or _NOTHING)
    yield Cell(
        ", ".join(states.seen) or _NOTHING,
        emphasis="bad" if states.missing_endpoints or states.unexpected_endpoints else "",
    )
    yield " to ".join(str(count) for count in dict.fromkeys((min(shared_row.runs), max(shared_row.runs))))


def _words(values: Sequence[str], every: Sequence[str]) -> str:
    """Return the values of a key for which a row holds."""
    absent = [value for value in every if value not in values]
    if not absent and len(every) > 1:
        return _ALL
    if absent and len(values) >= _FEW * len(absent):
        return f"{_ALL} but {', '.join(absent)}"
    return ", ".join(values)


# Describe links that follow a trace by what the trace contains, for pictures and tables of the network.
#
# The manifest has one value per key; the plan beside it has all steps of the trace.

LinkTable = Mapping[str, Any]


def trace_steps(recording: Recording) -> Iterator[tuple[str, str, str]]:
    """Yield link, direction and values (``rate 5 Mbit/s, loss 1 %``) of all steps; nothing without a readable plan."""
    try:
        events = json.loads((recording.folder / "plan.json").read_text())["plan"]["events"]
    except (OSError, ValueError, LookupError):
        return
    yield from ((event["link"], event["direction"], event["value"]) for event in events if event["kind"] == "trace")


def with_traces(links: Mapping[str, LinkTable], recording: Recording) -> dict[str, LinkTable]:
    """Return the recording's links by name with the ranges of their traces."""
    if not any((link.get(direction) or {}).get("trace") for link in links.values() for direction in DIRECTIONS):
        return dict(links)
    traces: dict[tuple[str, str], list[str]] = {}
    for link, direction, value in trace_steps(recording):
        traces.setdefault((link, direction), []).append(value)
    return {
        name: {
            **link,
            **{
                direction: with_trace_ranges(link[direction], traces[name, direction])
                for direction in DIRECTIONS
                if (name, direction) in traces
            },
        }
        for name, link in links.items()
    }


# Tables of the network as the kernel counted it: links, MPTCP endpoints, middleboxes.

_T = TypeVar("_T")
#: By settings, link and direction: its nodes and its configuration, as text.
Words = Mapping[tuple[tuple[tuple[str, str], ...], str, str], tuple[str, str]]
_MAX_ROWS = 200
#: Means of counts from here on are printed as whole numbers.
_LARGE = 100
#: A link's direction is shown by its nodes, and beside it what the scenario asked for.
_LINK_HEADS = ("link", "direction", "as asked for")


def words_of(runs: Iterable[tuple[RunResult, Recording]]) -> Words:
    """Return the texts about links in the manifests of some runs, by point."""
    return {
        (result.settings, link, direction): (arrow, configured)
        for result, recording in runs
        for link, direction, arrow, configured in _network_words(recording)
    }


def _network_words(recording: Recording) -> Iterator[tuple[str, str, str, str]]:
    """Yield the texts about each direction of each link of a run."""
    links = read_links(recording)
    radios = {link for radio in read_radios(recording) for link in radio.links}
    keys = {
        name: {direction: link.in_direction(direction).keys for direction in DIRECTIONS} for name, link in links.items()
    }
    for name, shown in with_traces(keys, recording).items():
        for direction in DIRECTIONS:
            configured = "radio" if name in radios else ", ".join(direction_words([shown[direction]]))
            yield name, direction, _arrow(links[name].between, direction), configured


def _arrow(between: Sequence[str], direction: str) -> str:
    return " → ".join(between if direction == "forward" else reversed(between))


def network_tables(results: Sequence[RunResult], words: Words) -> tuple[Table, ...]:
    """Return the tables of all scopes that have rows: of links always, of others in runs that have such items."""
    scopes = sorted((scope for scope in SCOPES if scope.title), key=lambda scope: scope.order)
    tables = (_table(scope, results, words) for scope in scopes)
    return tuple(table for table in tables if table.rows)


def _table(scope: Scope[Any], results: Sequence[RunResult], words: Words) -> Table:
    rows = scope_rows(scope, results)
    if scope is ENDPOINTS:
        return endpoint_table(rows, results, _MAX_ROWS)
    return scope_table(rows, words) if rows else Table.build(scope.title, (), ())


def scope_table(rows: Sequence[ScopeRow[_T]], words: Words) -> Table:
    """Return the numbers of one scope, at least one row, means over seeds; numbers of links beside their settings."""
    scope, shown = rows[0].scope, rows[:_MAX_ROWS]
    columns = [column for column in scope.shown if column.display.shown_without_values or any(_values(column, rows))]
    heads = _LINK_HEADS if scope.name == LINKS.name else tuple(key.heading for key in scope.keys)
    keys = (*short_names(list(rows[0].settings)).values(), *heads)
    cells = (
        (
            *(*row.settings.values(), *_key_cells(row, words)),
            *(
                Cell(_cell(column, row), emphasis="bad" if row.result(column.display.check) else "")
                for column in columns
            ),
            str(len(row.seeds)),
        )
        for row in shown
    )
    of_columns = dict.fromkeys(column.display.note for column in columns if column.display.note)
    notes = (*scope.notes, *of_columns, *_omission_notes(rows))
    numbers = number_columns(*(column.heading for column in columns))
    return Table.build(scope.title, (*keys, *numbers, "n"), cells, notes)


def _key_cells(row: ScopeRow[Any], words: Words) -> tuple[str, ...]:
    if row.scope.name != LINKS.name:
        return tuple(str(key.compute(row.first)) for key in row.scope.keys)
    link: DirectionCounters = row.first
    return (link.link, *words[tuple(row.settings.items()), link.link, link.direction])


def _values(column: Column[Any], rows: Sequence[ScopeRow[Any]]) -> list[Any]:
    return [column.compute(row) if column in row.scope.facts else row.values(column) for row in rows]


def _cell(column: Column[Any], row: ScopeRow[Any]) -> str:
    (values,) = _values(column, [row])
    if column in row.scope.facts:
        return _range(*values, highest=column.highest)
    if not values:
        return ""
    if column.type is int and column.display.per == 1:
        interval, digits = mean_interval(values), _digits_of_count(values)
    else:
        interval, digits = mean_interval([value / column.display.per for value in values]), None
    return interval_text(interval, digits) if column.display.with_spread else number(interval.mean, digits)


def _range(low: float, high: float, *, highest: float) -> str:
    """Return both bounds of a range if they differ; an upper bound that no value can exceed says nothing."""
    if high >= highest:
        return f"at least {number(low)}"
    return " to ".join(dict.fromkeys((number(low), number(high))))


def _digits_of_count(values: Sequence[float]) -> int | None:
    """Return 0 for a mean of counts that is one of them, or so large that its decimals say nothing; else None."""
    return 0 if len(set(values)) == 1 or mean_interval(values).mean >= _LARGE else None


def _omission_notes(rows: Sequence[object]) -> Iterator[str]:
    if len(rows) > _MAX_ROWS:
        yield f"The first {_MAX_ROWS} of {len(rows)} rows are shown; results.json has all."
