# SPDX-License-Identifier: MIT
"""The CPUs of nodes with ``cpu``."""

from __future__ import annotations

from mptcplab.metrics.column import Display
from mptcplab.metrics.cpu import shares
from mptcplab.metrics.metric import Metric, Subject


def _busiest_share(subject: Subject) -> float | None:
    values = shares(subject.recording, subject.ends)
    return 100 * max(values.values()) if values else None


CPU_BUSY = Metric(
    name="cpu_busy_percent",
    noun="CPU busy",
    unit="%",
    definition="share of the workload's time in which the CPU of a node with `cpu` was busy; the busiest of them",
    source="the kernel of `mptcplab kernel build --cpu`",
    section="cpu",
    value=_busiest_share,
    highest=100,
    display=Display(digits=1),
)
