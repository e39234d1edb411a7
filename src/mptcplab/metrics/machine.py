# SPDX-License-Identifier: MIT
"""Effects of the machine on a run: all hosts of a lab share one kernel, its memory for sockets and its only CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mptcplab.metrics.counters import FILE as COUNTERS
from mptcplab.metrics.counters import read_counters
from mptcplab.recording.record import Recording

FILE = "machine.json"
#: Counters of ``nstat`` that grow only when the whole machine is short of memory for sockets, which separate hosts
#: would not share. A full receive buffer is different: its limit belongs to one socket, is set by the scenario or by
#: autotuning, and has the same effect on a separate machine. So PruneCalled, RcvPruned, OfoPruned, TCPRcvCollapsed,
#: TCPRcvQDrop and TCPBacklogDrop are not included.
PRESSURE = (
    # tcp_enter_memory_pressure(): more than tcp_mem[1] is in use, or a segment cannot be allocated.
    "TcpExtTCPMemoryPressures",
    # tcp_check_oom(): more than tcp_mem[2], or more orphans than tcp_max_orphans, which follows the memory's size.
    "TcpExtTCPAbortOnMemory",
    # __sk_mem_raise_allocated() refuses: more than udp_mem[2].
    "UdpMemErrors",
    "Udp6MemErrors",
    # sk_filter_trim_cap(): a packet that came out of the kernel's last reserves.
    "TcpExtPFMemallocDrop",
)
#: How the warning begins that a run's hosts were short of memory.
SHORT_OF_MEMORY = "the hosts share one machine, which was short of memory for sockets"


@dataclass(frozen=True)
class Machine:
    """What all hosts of a run share, see :mod:`mptcplab.guest.machine`; None where the recording predates a value."""

    tcp_pages_peak: int | None
    tcp_mem_pages: Sequence[int] | None
    softirq_rounds_delayed: int | None


def read_machine(recording: Recording) -> Machine:
    """Return the state of the machine at the end of a run."""
    state = recording.machine
    return Machine(state.get("tcp_pages_peak"), state.get("tcp_mem_pages"), state.get("softirq_rounds_delayed"))


def machine_warnings(recording: Recording) -> Iterator[str]:
    """Yield a warning for each effect by which the machine, not the network, may have determined the result."""
    yield from _pressure(recording)
    rounds = read_machine(recording).softirq_rounds_delayed
    if rounds:
        yield (
            f"the kernel delayed {rounds} rounds of softirqs by 1 ms each, because they raised each other endlessly "
            f"(see {FILE} of the recording)"
        )


def _pressure(recording: Recording) -> Iterator[str]:
    counted = pressure_counts(recording)
    if counted:
        total = ", ".join(f"{name} {count}" for name, count in counted.items())
        yield (
            f"{SHORT_OF_MEMORY}: {total}. Separate hosts would not share this limit, so the result is one of the lab's "
            "memory: raise the scenario's key `memory`, or use smaller buffers or fewer flows"
        )
        return
    machine = read_machine(recording)
    peak, limits = machine.tcp_pages_peak, machine.tcp_mem_pages
    # MPTCP's own memory is part of the sum, but only a TCP socket that allocates more checks the limit.
    if peak is not None and limits and peak > limits[1]:
        yield (
            f"the hosts share one machine, and their TCP sockets used {peak} pages of its memory: more than the "
            f"{limits[1]} of tcp_mem, above which TCP saves memory: raise the scenario's key `memory`"
        )


def pressure_counts(recording: Recording) -> dict[str, int]:
    """Return the counters of memory pressure that are not zero, summed over all hosts of the run.

    The kernel counts on the host whose socket noticed first, but the pressure is on all hosts.
    """
    counts: dict[str, int] = {}
    for file in sorted((recording.folder / "counters").glob(f"*/{COUNTERS}")):
        counters = read_counters(recording, file.parent.name)
        for name in PRESSURE:
            if counters.get(name):
                counts[name] = counts.get(name, 0) + counters[name]
    return counts
