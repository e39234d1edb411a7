# SPDX-License-Identifier: MIT
"""What a metric is: one object, from which tables, JSON, reports, comparisons, ``repeats`` and studies know of it.

A metric that a module of :mod:`mptcplab.metrics.catalog` or a plugin defines, alone or in a list, is found by
:mod:`mptcplab.metrics.registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mptcplab.metrics.counters import MptcpCounts
from mptcplab.metrics.ends import Ends
from mptcplab.metrics.subflows import Sockets
from mptcplab.recording.record import Recording
from mptcplab.workload.outputs import Reading

_T = TypeVar("_T")
_LAST = 1000


@dataclass(frozen=True)
class Subject:
    """One workload of one run, which metrics are functions of.

    ``described`` is the workload's entry in the manifest, ``reading`` what its programs reported, ``sockets`` what was
    sampled of its sockets, and ``counts`` the MPTCP counters of its hosts.
    """

    recording: Recording
    described: Mapping[str, Any]
    ends: Ends
    reading: Reading
    sockets: Sockets
    counts: MptcpCounts
    _known: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, compute: Callable[[Subject], _T]) -> _T:
        """Return ``compute(self)``, computed the first time only: several metrics may follow from it."""
        if compute not in self._known:
            self._known[compute] = compute(self)
        found: _T = self._known[compute]
        return found


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A number that a workload of a run has, or has not.

    ``name`` is that in JSON and ends with the unit. ``definition`` and ``source`` (where it is defined, or who tells
    it) are for docs/metrics.md, in the table called ``section``. ``value`` computes it; without one, it is what the
    workload's kind tells under this name. None says that it means nothing for a workload, or is not known.

    Every row of a table has the ``basic`` ones. The others are columns where they mean something, in the order of
    ``place``; without ``in_table`` they are only in JSON and data frames. ``head`` heads a column, if that is not noun
    and unit. A cell has the interval beside the mean if ``with_spread``, and as many ``digits`` behind the point as are
    usual unless it needs others. ``of_failures``: runs with failures have it, whatever their workloads. ``is_main``: it
    counts most for workloads that do not send as much as they can, and has a diagram of its own. ``axis`` is what such
    a diagram says, if that is more than ``noun``; it begins at ``lowest``. ``of_rows``: it follows from runs of several
    points and has no function, so that it cannot say when a point has enough runs.
    """

    name: str
    noun: str
    unit: str
    definition: str
    source: str = ""
    value: Callable[[Subject], float | None] | None = None
    section: str = ""
    place: int = _LAST
    basic: bool = False
    in_table: bool = True
    head: str = ""
    with_spread: bool = True
    digits: int | None = None
    of_failures: bool = False
    is_main: bool = False
    axis: str = ""
    lowest: float = 0.0
    of_rows: bool = False

    @property
    def title(self) -> str:
        """Noun and unit."""
        return f"{self.noun} {self.unit}".rstrip()

    @property
    def heading(self) -> str:
        """What heads a column."""
        return self.head or self.title

    def of(self, subject: Subject) -> float | None:
        """Return its value for ``subject``; None if it has none."""
        return subject.reading.metrics.get(self.name) if self.value is None else self.value(subject)
