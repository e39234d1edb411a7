# SPDX-License-Identifier: MIT
"""Tables of the network as the kernel counted it: links, MPTCP endpoints, middleboxes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from mptcplab.metrics.column import Column, Scope, ScopeRow
from mptcplab.metrics.endpoints import ENDPOINTS
from mptcplab.metrics.links import LINKS, DirectionCounters
from mptcplab.metrics.manifest import DIRECTIONS, read_links, read_radios
from mptcplab.metrics.network import SCOPES
from mptcplab.metrics.network_rows import scope_rows
from mptcplab.metrics.points import short_names
from mptcplab.metrics.rows import RunResult
from mptcplab.network.words import direction_words
from mptcplab.recording.record import Recording
from mptcplab.report.endpoint_table import endpoint_table
from mptcplab.report.table import Cell, Table, interval_text, number, number_columns
from mptcplab.report.traces import with_traces
from mptcplab.stats import mean_interval

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
        (result.settings, link, side): (arrow, configured)
        for result, recording in runs
        for link, side, arrow, configured in _words(recording)
    }


def _words(recording: Recording) -> Iterator[tuple[str, str, str, str]]:
    """Yield the texts about each direction of each link of a run."""
    links = read_links(recording)
    radios = {link for radio in read_radios(recording) for link in radio.links}
    keys = {name: {side: link.side(side).keys for side in DIRECTIONS} for name, link in links.items()}
    for name, shown in with_traces(keys, recording).items():
        for side in DIRECTIONS:
            configured = "radio" if name in radios else ", ".join(direction_words([shown[side]]))
            yield name, side, _arrow(links[name].between, side), configured


def _arrow(between: Sequence[str], side: str) -> str:
    return " → ".join(between if side == "forward" else reversed(between))


def network_tables(results: Sequence[RunResult], words: Words) -> tuple[Table, ...]:
    """Return the tables of all scopes that have rows: only the table of links without MPTCP, radios and middleboxes."""
    scopes = sorted((scope for scope in SCOPES if scope.title), key=lambda scope: scope.place)
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
    columns = [column for column in scope.shown if column.display.never_alone or any(_values(column, rows))]
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
    own_notes = dict.fromkeys(column.display.note for column in columns if column.display.note)
    notes = (*scope.notes, *own_notes, *_omission_notes(rows))
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
    is_count = column.type is int and column.display.per == 1
    return _mean(values) if is_count else interval_text(mean_interval([value / column.display.per for value in values]))


def _range(low: float, high: float, *, highest: float) -> str:
    """Return both ends of a range if they differ; nothing is known about an upper end that no value can exceed."""
    if high >= highest:
        return f"at least {number(low)}"
    return " to ".join(dict.fromkeys((number(low), number(high))))


def _mean(values: Sequence[float]) -> str:
    """Return the mean of counts; as a whole number if it is one of them, or so large that its parts say nothing."""
    mean = mean_interval(values)
    return interval_text(mean, 0 if len(set(values)) == 1 or mean.mean >= _LARGE else None)


def _omission_notes(rows: Sequence[object]) -> Iterator[str]:
    if len(rows) > _MAX_ROWS:
        yield f"The first {_MAX_ROWS} of {len(rows)} rows are shown; results.json has all."
