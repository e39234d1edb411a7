# SPDX-License-Identifier: MIT
"""The table of MPTCP endpoints. Points whose nodes have the same endpoints share a row, which names these points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mptcplab.metrics.column import ScopeRow
from mptcplab.metrics.endpoints import ENDPOINTS, EndpointStates
from mptcplab.metrics.points import short_names
from mptcplab.metrics.rows import RunResult
from mptcplab.report.table import Cell, Table

_NOTHING = "none"
_ALL = "all"
#: A cell names the values that are left out, in place of the others, if these are this many times as many.
_FEW = 3


EndpointRow = ScopeRow[EndpointStates]


@dataclass(frozen=True)
class _Shared:
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
) -> list[_Shared]:
    """Return the rows with equal ones merged, in the order of the first of each."""
    alike: dict[object, list[_Shared]] = {}
    for row in rows:
        shared_row = _Shared(row, tuple((row.settings.get(key, ""),) for key in keys), frozenset({len(row.seeds)}))
        alike.setdefault(row.first, []).append(shared_row)
    merged = [shared_row for group in alike.values() for shared_row in _merge_rows(group, known, points)]
    order = {id(row): at for at, row in enumerate(rows)}
    return sorted(merged, key=lambda shared_row: order[id(shared_row.row)])


def _merge_rows(group: list[_Shared], known: Sequence[tuple[str, ...]], points: int) -> list[_Shared]:
    """Return as few rows as the values of single keys allow: one if these are the rows of all points."""
    if len(group) == points:
        return [_merge_group(group, tuple(known))]
    for key, order in enumerate(known):
        beside: dict[object, list[_Shared]] = {}
        for shared_row in group:
            beside.setdefault((*shared_row.values[:key], None, *shared_row.values[key + 1 :]), []).append(shared_row)
        group = [
            _merge_group(some, (*some[0].values[:key], _values_in_order(some, key, order), *some[0].values[key + 1 :]))
            for some in beside.values()
        ]
    return group


def _values_in_order(some: Sequence[_Shared], key: int, order: Sequence[str]) -> tuple[str, ...]:
    there = {value for shared_row in some for value in shared_row.values[key]}
    return tuple(value for value in order if value in there)


def _merge_group(some: Sequence[_Shared], values: tuple[tuple[str, ...], ...]) -> _Shared:
    return _Shared(some[0].row, values, frozenset[int]().union(*(shared_row.runs for shared_row in some)))


def _cells(shared_row: _Shared, known: Sequence[tuple[str, ...]]) -> Iterable[str]:
    # Without columns of keys, the row holds for all points.
    yield from (_words(values, every) for values, every in zip(shared_row.values, known, strict=False))
    states = shared_row.row.first
    yield from (states.host, ", ".join(states.asked) or _NOTHING)
    yield Cell(", ".join(states.seen) or _NOTHING, emphasis="bad" if states.missing or states.unexpected else "")
    yield " to ".join(str(count) for count in dict.fromkeys((min(shared_row.runs), max(shared_row.runs))))


def _words(values: Sequence[str], every: Sequence[str]) -> str:
    """Return the values of a key for which a row holds."""
    absent = [value for value in every if value not in values]
    if not absent and len(every) > 1:
        return _ALL
    if absent and len(values) >= _FEW * len(absent):
        return f"{_ALL} but {', '.join(absent)}"
    return ", ".join(values)
