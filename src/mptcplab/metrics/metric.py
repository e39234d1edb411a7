# SPDX-License-Identifier: MIT
"""The class of metrics: one object defines a metric for tables, JSON, reports, comparisons, ``repeats`` and studies.

:mod:`mptcplab.metrics.registry` finds the metrics that modules of :mod:`mptcplab.metrics.catalog` and plugins define,
alone or in a list.
"""

from __future__ import annotations

import math
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
    """One workload of one run: the argument of the functions that compute metrics.

    ``described`` is the workload's entry in the manifest, ``reading`` the results that its programs reported,
    ``sockets`` the samples of its sockets, and ``counts`` the MPTCP counters of its hosts.
    """

    recording: Recording
    described: Mapping[str, Any]
    ends: Ends
    reading: Reading
    sockets: Sockets
    counts: MptcpCounts
    _known: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def compute_once(self, compute: Callable[[Subject], _T]) -> _T:
        """Return ``compute(self)``, computed only once: several metrics may be derived from it."""
        if compute not in self._known:
            self._known[compute] = compute(self)
        item: _T = self._known[compute]
        return item


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A number computed from a workload of a run.

    ``name`` is the name in JSON and ends with the unit. ``definition`` and ``source`` (where it is defined, or what
    reports it) are for docs/metrics.md, in the table ``section``. ``value`` computes it; without one, it is the number
    that the workload's kind reports under this name. The value is None if it has no meaning for a workload, or is
    unknown; it is infinity if what it waits for did not happen within the run, which a cell shows as ``never``.

    Every row of a table has the ``basic`` metrics. The others have columns where they have a meaning, in the order of
    ``place``; without ``in_table`` they are only in JSON and data frames. ``head`` is the column head, if that is not
    noun and unit. A cell has the interval beside the mean if ``with_spread``, and the usual number of decimals unless
    ``digits`` is set. Runs with failures have metrics that are ``of_failures``, whatever their workloads. One that is
    ``never_alone`` has a column also if no row of the table has a value, but some never had it. A metric with
    a ``headline`` is what workloads that have it are about, where goodput is not: it has a figure of its own, and of
    several the one with the highest number is drawn by default. The vertical axis of figures is labelled ``axis``, if
    that is more than ``noun``, and begins at ``lowest``, unless the metric is ``signed``: may be negative. No value
    exceeds ``highest``, and no interval is drawn beyond it.
    Rankings put high values first if ``higher_is_better``, else low ones; of parts of a whole, no value is better.
    A metric ``of_rows`` follows from runs of several points. It has no function, and cannot end a sweep's repeats;
    ``needs`` names these runs, for the hint if no row has the metric. Nor can one that is ``by_path``: a workload has
    several values of it, parts of a whole in percent.
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
    never: str = "never"
    never_alone: bool = True
    headline: int = 0
    axis: str = ""
    lowest: float = 0.0
    highest: float = math.inf
    signed: bool = False
    of_rows: bool = False
    needs: str = ""
    by_path: bool = False
    higher_is_better: bool = False

    @property
    def is_highest_first(self) -> bool:
        """True if rankings put high values first: the better ones, or all where none is better."""
        return self.higher_is_better or self.by_path

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
        if self.head and self.unit:
            return " ".join(unit if word == self.unit else word for word in self.head.split(" "))
        return self.head or f"{self.noun} {unit}".rstrip()

    def compute(self, subject: Subject) -> float | None:
        """Return the value for ``subject``; None if it has none, infinity if it did not happen within the run."""
        return subject.reading.metrics.get(self.name) if self.value is None else self.value(subject)
