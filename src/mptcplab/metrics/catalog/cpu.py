# SPDX-License-Identifier: MIT
"""The CPUs of nodes with ``cpu``."""

from __future__ import annotations

from mptcplab.metrics.cpu import shares
from mptcplab.metrics.metric import Metric, Subject


def _busiest(subject: Subject) -> float | None:
    found = shares(subject.recording, subject.ends)
    return 100 * max(found.values()) if found else None


CPU_BUSY = Metric(
    name="cpu_busy_percent",
    noun="CPU busy",
    unit="%",
    definition="share of the workload's time in which the CPU of a node with `cpu` was busy; the busiest of them",
    source="the kernel of `mptcplab kernel build --cpu`",
    section="cpu",
    place=60,
    value=_busiest,
    digits=1,
    highest=100,
)
