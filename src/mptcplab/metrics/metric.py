# SPDX-License-Identifier: MIT
"""The class of metrics, the columns of workloads, for tables, JSON, reports, comparisons, ``repeats`` and studies.

:mod:`mptcplab.metrics.registry` finds the metrics that modules of :mod:`mptcplab.metrics.catalog` and plugins define,
alone or in a list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mptcplab.metrics.column import Column
from mptcplab.metrics.counters import MptcpCounts
from mptcplab.metrics.ends import Ends
from mptcplab.metrics.subflows import Sockets
from mptcplab.recording.record import Recording
from mptcplab.workload.outputs import Reading
from mptcplab.workload.recorded import RecordedWorkload

_T = TypeVar("_T")


@dataclass(frozen=True)
class Subject:
    """One workload of one run: the argument of the functions that compute metrics.

    ``workload`` is what the manifest says of it, ``reading`` the results that its programs reported,
    ``sockets`` the samples of its sockets, and ``counts`` the MPTCP counters of its hosts.
    """

    recording: Recording
    workload: RecordedWorkload
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
class Metric(Column[Subject]):
    """A number computed from a workload of a run; how it is shown is its :class:`~mptcplab.metrics.column.Display`.

    ``value`` computes it; without one, it is the number that the workload's kind reports under this name. The value is
    infinity if what it waits for did not happen within the run, which a cell shows as ``never``. docs/metrics.md has
    the metric in the table ``section``.

    Every row of a table has the ``basic`` metrics. The others have columns where they have a meaning. Runs with
    failures have metrics that are ``of_failures``, whatever their workloads. A metric that is ``signed`` may be
    negative. Rankings put high values first if ``higher_is_better``, else low ones; of parts of a whole, no value is
    better.

    A metric ``of_rows`` follows from runs of several points. It has no function, and cannot end a sweep's repeats;
    ``needs`` names these runs, for the hint if no row has the metric. Nor can a metric ``by_path``: a workload has
    several values of it, parts of a whole in percent.
    """

    section: str = ""
    basic: bool = False
    of_failures: bool = False
    signed: bool = False
    of_rows: bool = False
    needs: str = ""
    by_path: bool = False
    higher_is_better: bool = False

    @property
    def is_highest_first(self) -> bool:
        """True if rankings put high values first: the better ones, or all where none is better."""
        return self.higher_is_better or self.by_path

    def compute(self, subject: Subject) -> float | None:
        """Return the value for ``subject``; None if it has none, infinity if it did not happen within the run."""
        value: float | None = subject.reading.metrics.get(self.name) if self.value is None else self.value(subject)
        return value
