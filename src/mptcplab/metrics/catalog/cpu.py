# SPDX-License-Identifier: MIT
"""The CPUs of nodes with ``cpu``: how busy the programs of each kept it, and the metrics of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mptcplab.metrics.column import Display, Metric, Subject
from mptcplab.metrics.subflows import Ends
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import read_programs, read_zero_ns

# The CPUs of nodes with ``cpu``: how busy the programs of each kept it, as the kernel counted (``cpu.txt``).

FILE = "cpu.txt"
#: A CPU that was busy for this share of a workload's time may have been the limit. A single TCP connection through a
#: saturated CPU keeps it busy for more than this, except in slow start.
LIMIT = 0.9


@dataclass(frozen=True)
class CpuUse:
    """The work of one node's CPU.

    ``calls`` and ``bytes`` took time, ``busy_ns`` is their total time. ``intervals_ns`` has the busy
    time of each interval of ``interval_ns`` by its start, which counts from time zero of the run.
    """

    calls: int
    bytes: int
    busy_ns: int
    interval_ns: int
    intervals_ns: Mapping[int, int]

    def share(self, start_ns: int, end_ns: int) -> float:
        """Return the share of a time span in which the CPU was busy; the time within an interval counts as even."""
        busy = 0.0
        for begin_ns, busy_ns in self.intervals_ns.items():
            overlap_ns = min(end_ns, begin_ns + self.interval_ns) - max(start_ns, begin_ns)
            busy += max(0, overlap_ns) / self.interval_ns * busy_ns
        return busy / (end_ns - start_ns) if end_ns > start_ns else 0.0


def cpu_uses(recording: Recording) -> dict[str, CpuUse]:
    """Return the use of each CPU, by the name of its node."""
    files = sorted((recording.folder / "counters").glob(f"*/{FILE}"))
    return {file.parent.name: parse_use(file.read_text(), zero_ns=read_zero_ns(recording)) for file in files}


def parse_use(text: str, *, zero_ns: int) -> CpuUse:
    """Return the content of /proc/net/lab_cpu: totals by name, then intervals by their start since boot."""
    rows = [line.split() for line in text.splitlines()]
    totals = {name: int(value) for name, value in rows if not name.isdigit()}
    intervals = {int(name) - zero_ns: int(value) for name, value in rows if name.isdigit()}
    return CpuUse(totals["calls"], totals["bytes"], totals["busy_ns"], totals["interval_ns"], intervals)


def compute_cpu_shares(recording: Recording, ends: Ends) -> dict[str, float]:
    """Return the share of a workload's time in which each CPU was busy, by node."""
    uses = cpu_uses(recording)
    if not uses:
        return {}
    programs = (program for program in read_programs(recording) if program.workload == ends.workload)
    spans = [span for program in programs if program.role == "client" and (span := program.span_ns) is not None]
    start_ns, end_ns = min(start for start, _ in spans), max(end for _, end in spans)
    return {node: use.share(start_ns, end_ns) for node, use in uses.items()}


def cpu_warnings(recording: Recording, ends: Ends) -> Iterator[str]:
    """Yield a warning for each CPU that may have been the limit of a workload."""
    for node, share in compute_cpu_shares(recording, ends).items():
        if share >= LIMIT:
            yield f"the CPU of {node} was busy {100 * share:.0f} % of the time: it may have been the limit"


# The CPUs of nodes with ``cpu``.


def _busiest_share(subject: Subject) -> float | None:
    values = compute_cpu_shares(subject.recording, subject.ends)
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
