# SPDX-License-Identifier: MIT
"""Columns, metrics and scopes: each number of a result is declared once, and all outputs follow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Generic, TypeVar

from mptcplab.metrics.subflows import Ends, MptcpCounts, Sockets
from mptcplab.plugins import plugins
from mptcplab.recording.record import Recording
from mptcplab.stats import mean_interval
from mptcplab.workload.outputs import NO_FAILURES, Failures, Reading
from mptcplab.workload.recorded import RecordedWorkload

# Columns and scopes: each number of a result is declared once, and all outputs follow.
#
# A *scope* is a kind of object that a run has numbers about: workloads, the directions of links, radio links,
# middleboxes. The objects of a run are its *items*. A :class:`Column` is one number of a scope. results.json, the
# tables of the terminal, Markdown and the page, the data frames and docs/metrics.md iterate over the columns of a
# scope, and know none by its name. CSV has the columns of workloads.
#
# Workloads have the columns of :mod:`mptcplab.metrics.registry`, which are of the class
# :class:`Metric`. The other scopes are in ``SCOPES`` of :mod:`mptcplab.metrics.network`. A
# plugin adds a number to a scope by defining a column with its name, see :attr:`Column.scope`.

_T = TypeVar("_T")
_C = TypeVar("_C", bound="Column[Any]")
#: The order of columns that do not set one.
LAST = 1000


@dataclass(frozen=True, kw_only=True)
class Display:
    """The presentation of a column. Nothing here changes a value, or its name in JSON.

    Columns are sorted by ``order``. Without ``in_table`` they are in JSON, data frames and, of
    workloads, in CSV, and in the table of results only if ``--columns`` names them. ``head`` is the
    column head, if that is not noun and unit. A cell has the interval beside the mean if ``with_spread``, and the usual
    number of decimals unless ``digits`` is set. Tables of the network divide values by ``per``, the size of the unit in
    the head. They colour a cell if the scope's check with the name ``check`` has a result.

    A cell says ``never`` where all values are infinite. A column that is ``shown_without_values`` is also
    shown if no row of the table has a value. ``note`` is printed below the table if the column is shown.

    A metric with a ``headline`` is the one by which figures and comparisons show the workloads that have it, in place
    of goodput. It has a figure of its own; of several, the one with the highest number is drawn by default. The
    vertical axis of figures is labelled ``axis``, if that is more than the noun, and begins at ``lowest``, unless the
    metric may be negative.
    """

    order: int = LAST
    in_table: bool = True
    head: str = ""
    with_spread: bool = True
    digits: int | None = None
    per: float = 1
    check: str = ""
    never: str = "never"
    shown_without_values: bool = True
    note: str = ""
    headline: int = 0
    axis: str = ""
    lowest: float = 0.0


#: How columns are shown that are only in JSON and data frames.
HIDDEN = Display(in_table=False)


@dataclass(frozen=True, kw_only=True)
class Column(Generic[_T]):
    """A number, or a text, of the items of a scope: its definition, and how it is computed.

    ``name`` is the name in JSON and data frames, and ends with the unit. ``definition`` and ``source`` (where it is
    defined, or what reports it) are for docs/metrics.md. ``value`` computes it; without one, it is the attribute of
    that name. The value is None if it has no meaning, or is unknown. No value exceeds ``highest``.

    ``type`` is the type of single values, which data frames have; tables print means of whole numbers without decimals
    if they can. Without ``in_json``, only data frames have the column. ``scope`` names the scope that a plugin adds
    the column to.
    """

    name: str
    noun: str = ""
    unit: str = ""
    definition: str
    source: str = ""
    value: Callable[[_T], Any] | None = None
    type: type[Any] = float
    highest: float = math.inf
    in_json: bool = True
    scope: str = ""
    display: Display = Display()

    @property
    def title(self) -> str:
        """Noun and unit."""
        return f"{self.noun} {self.unit}".rstrip()

    @property
    def heading(self) -> str:
        """The column head."""
        return self.heading_in(self.unit)

    def heading_in(self, unit: str) -> str:
        """Return the column head for values in another unit."""
        head = self.display.head
        if head and self.unit:
            return " ".join(unit if word == self.unit else word for word in head.split(" "))
        return head or f"{self.noun} {unit}".rstrip()

    def compute(self, subject: _T) -> Any:
        """Return the value for ``subject``; None if it has none."""
        return getattr(subject, self.name) if self.value is None else self.value(subject)


@dataclass(frozen=True, kw_only=True)
class Scope(Generic[_T]):
    """A kind of object that a run has numbers about, such as directions of links, and the columns of these numbers.

    The objects of a run are the *items* of the scope, which ``read`` returns. ``name`` is the key in results.json,
    ``title`` the title of the table; without one there is no table. Tables are sorted by ``order``. ``keys`` identify
    an item, also over the seeds of a point. ``columns`` are numbers, of which rows have means over seeds. ``facts`` and
    ``checks`` are of a whole row: in JSON, the first precede the numbers, the others follow. ``notes`` are printed
    below the table. A scope that is ``optional`` is not in results.json if no run has an item. ``frame`` names its data
    frame, if it has one.
    """

    name: str
    read: Callable[[Recording], Iterable[_T]]
    keys: tuple[Column[_T], ...]
    columns: tuple[Column[_T], ...] = ()
    facts: tuple[Column[ScopeRow[_T]], ...] = ()
    checks: tuple[Column[ScopeRow[_T]], ...] = ()
    title: str = ""
    order: int = LAST
    notes: tuple[str, ...] = ()
    optional: bool = False
    frame: str = ""

    @property
    def numbers(self) -> tuple[Column[_T], ...]:
        """All numbers, in the order of JSON; the plugins' are the last."""
        return (*self.columns, *plugin_columns(self.name))

    @property
    def shown(self) -> list[Column[_T] | Column[ScopeRow[_T]]]:
        """The numbers and facts that tables have, in their order."""
        every: list[Column[_T] | Column[ScopeRow[_T]]] = [*self.numbers, *self.facts]
        columns = [column for column in every if column.display.in_table]
        return sorted(columns, key=lambda column: column.display.order)

    def identify(self, item: _T) -> tuple[Any, ...]:
        """Return the keys of an item."""
        return tuple(key.compute(item) for key in self.keys)


@dataclass(frozen=True)
class ScopeRow(Generic[_T]):
    """One item of a scope at one point of a sweep: ``members`` has the item of each run, with its seed."""

    scope: Scope[_T]
    settings: Mapping[str, str]
    members: tuple[tuple[int, _T], ...]

    @property
    def first(self) -> _T:
        """The item in the first run."""
        return self.members[0][1]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the runs that have it."""
        return tuple(seed for seed, _ in self.members)

    def values(self, column: Column[_T]) -> tuple[float, ...]:
        """Return the known values of a number, by run."""
        values = (column.compute(item) for _, item in self.members)
        return tuple(float(value) for value in values if value is not None)

    def result(self, check: str) -> Any:
        """Return the result of a check; None if the scope has no such check."""
        return next((column.compute(self) for column in self.scope.checks if column.name == check), None)

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        scope = self.scope
        numbers = {column.name: self.values(column) for column in scope.numbers if column.in_json}
        return {
            "settings": dict(self.settings),
            **{key.name: _json(key.compute(self.first)) for key in scope.keys},
            **{fact.name: _json(fact.compute(self)) for fact in scope.facts},
            **{
                name: mean_interval(values).to_json() | {"values": list(values)}
                for name, values in numbers.items()
                if values
            },
            "seeds": list(self.seeds),
            **{check.name: _json(check.compute(self)) for check in scope.checks},
        }


def _json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def columns_in(module: ModuleType, kind: type[_C]) -> Iterator[_C]:
    """Yield the columns of a class that a module defines, alone or in a list."""
    for value in vars(module).values():
        entries = value if isinstance(value, (list, tuple)) else (value,)
        yield from (entry for entry in entries if isinstance(entry, kind))


def plugin_columns(scope: str) -> tuple[Column[Any], ...]:
    """Return the numbers that plugins add to a scope."""
    return tuple(column for module in plugins() for column in columns_in(module, Column) if column.scope == scope)


# The class of metrics, the columns of workloads, for tables, JSON, reports, comparisons, ``repeats`` and studies.
#
# :mod:`mptcplab.metrics.registry` finds the metrics that modules of :mod:`mptcplab.metrics.catalog` and plugins
# define, alone or in a list.


@dataclass(frozen=True)
class Subject:
    """One workload of one run: the argument of the functions that compute metrics.

    ``workload`` is what the manifest says of it, ``reading`` the results that its programs reported,
    ``sockets`` the samples of its sockets, ``counts`` the MPTCP counters of its hosts, and ``failures`` its connections
    that failed.
    """

    recording: Recording
    workload: RecordedWorkload
    ends: Ends
    reading: Reading
    sockets: Sockets
    counts: MptcpCounts
    _known: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    failures: Failures = NO_FAILURES

    def compute_once(self, compute: Callable[[Subject], _T]) -> _T:
        """Return ``compute(self)``, computed only once: several metrics may be derived from it."""
        if compute not in self._known:
            self._known[compute] = compute(self)
        item: _T = self._known[compute]
        return item


@dataclass(frozen=True, kw_only=True)
class Metric(Column[Subject]):
    """A number computed from a workload of a run; how it is shown is its :class:`Display`.

    ``value`` computes it; without one, it is the number that the workload's kind reports under this name. The value is
    infinity if the measured event did not occur within the run, which a cell shows as ``never``. docs/metrics.md has
    the metric in the table ``section``.

    Every row of a table has the metrics that are ``in_every_row``. The others have columns where they have a meaning.
    Metrics that are ``of_failures`` belong to the run's failures: they do not decide whether rows are alike, nor
    which figure a workload has. A metric that is ``signed`` may be negative. Rankings put high values first if
    ``higher_is_better``, else low ones. A share of a path is neither good nor bad, so it is sorted by size.

    A metric ``of_rows`` follows from runs of several points. It has no function, and cannot end a sweep's repeats;
    ``needs`` names these runs, for the hint if no row has the metric. A metric ``by_path`` cannot end a sweep's repeats
    either: a workload has one value for each path, its share in percent.
    """

    section: str = ""
    in_every_row: bool = False
    of_failures: bool = False
    signed: bool = False
    of_rows: bool = False
    needs: str = ""
    by_path: bool = False
    higher_is_better: bool = False

    @property
    def is_highest_first(self) -> bool:
        """True if rankings put high values first: because they are better, or because these are shares of paths."""
        return self.higher_is_better or self.by_path

    def compute(self, subject: Subject) -> float | None:
        """Return the value for ``subject``; None if it has none, infinity if the event did not occur within the run."""
        value: float | None = subject.reading.metrics.get(self.name) if self.value is None else self.value(subject)
        return value
