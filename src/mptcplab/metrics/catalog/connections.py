# SPDX-License-Identifier: MIT
"""Connections that failed: how many, and after how long."""

from __future__ import annotations

from functools import partial
from statistics import median

from mptcplab.metrics.column import HIDDEN, Metric, Subject


def _count(subject: Subject) -> float | None:
    failed = subject.failures.failed
    return float(len(failed)) if failed else None


def _after_s(subject: Subject) -> float | None:
    times = [failure.after_s for failure in subject.failures.failed if failure.after_s is not None]
    return median(times) if times else None


_entry = partial(Metric, section="connections", of_failures=True, source="the programs of the workload", display=HIDDEN)

METRICS = (
    _entry(
        name="failed_connections",
        noun="failed connections",
        definition="number of connections that failed; a run in which none failed does not have it",
        value=_count,
    ),
    _entry(
        name="failed_after_s",
        noun="failed after",
        unit="s",
        definition="median time until they failed: from the handshake, or from the first SYN if there was none",
        value=_after_s,
    ),
)
