# SPDX-License-Identifier: MIT
"""Congestion controls and schedulers that the sockets of a workload used, compared with those requested.

A recording has the algorithms that were seen on each host's sockets during the run
(``counters/NODE/algorithms.json``, see guest/algorithms.py). It looks once a second. Of connections that came and went
between two looks, ``flow`` itself reports both algorithms, and samples of sockets have the congestion control.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mptcplab.metrics.manifest import RecordedTransport, read_addresses
from mptcplab.metrics.subflows import SocketSample
from mptcplab.recording.record import Recording
from mptcplab.workload.outputs import ConnectionStart
from mptcplab.workload.recorded import RecordedWorkload

#: Name of the scheduler of connections that were neither seen nor reported.
NOT_KNOWN = "not known"


@dataclass(frozen=True)
class RequestedAlgorithms:
    """The algorithms that the scenario requests for the sender; None leaves the choice to the kernel."""

    congestion: str | None
    scheduler: str | None


@dataclass(frozen=True)
class SubflowAlgorithms:
    """One socket: its path and the algorithms that it was seen with, in order; none if it was not seen."""

    path: str
    congestion: tuple[str, ...]
    schedulers: tuple[str, ...]


@dataclass(frozen=True)
class _HostAlgorithms:
    """The algorithms seen on a host: congestion controls and schedulers by the local and remote address of the socket.

    Of ``uncoupled`` subflows, the kernel had no memory to couple the congestion control; None if it is not counted.
    """

    congestion: Mapping[tuple[str, str], Sequence[str]]
    schedulers: Mapping[tuple[str, str], Sequence[str]]
    uncoupled: int | None


def requested_algorithms(workload: RecordedWorkload, transport: RecordedTransport) -> RequestedAlgorithms:
    """Return the algorithms of a workload whose sending host has ``transport``; the workload's own keys take
    precedence.
    """
    return RequestedAlgorithms(
        workload.congestion_control or transport.congestion_control,
        workload.scheduler or transport.scheduler,
    )


def seen_subflows(
    recording: Recording, node: str, connections: Sequence[Sequence[SocketSample]], started: Iterable[ConnectionStart]
) -> list[list[SubflowAlgorithms]]:
    """Return the subflows of each connection with the algorithms seen on ``node``.

    ``started`` are the connections that ``flow`` reports, with the algorithms of its sockets.
    """
    seen = _read_host(recording, node)
    starts = {start.conn: start for start in started}
    addresses = read_addresses(recording)

    def build_subflow(sample: SocketSample) -> SubflowAlgorithms:
        socket = sample.local, sample.remote
        start = starts.get(sample.conn) if sample.conn is not None else None
        congestion, scheduler = (start.congestion, start.scheduler) if start is not None else (None, None)
        return SubflowAlgorithms(
            sample.path(addresses, is_sender=True),
            tuple(seen.congestion.get(socket) or _as_list(congestion or sample.congestion)),
            tuple(seen.schedulers.get(socket) or _as_list(scheduler)),
        )

    return [list(map(build_subflow, connection)) for connection in connections]


def uncoupling_warnings(recording: Recording, node: str) -> Iterator[str]:
    """Yield a warning if the kernel had no memory for the coupling of congestion control on subflows of ``node``.

    The count covers the host since its creation, so it may include subflows of other workloads.
    """
    count = _read_host(recording, node).uncoupled
    if count:
        subflows = "1 subflow" if count == 1 else f"{count} subflows"
        yield f"the kernel had no memory to couple the congestion control of {subflows} of {node}: uncoupled, like TCP"


def _read_host(recording: Recording, node: str) -> _HostAlgorithms:
    counter = recording.counter(node, "algorithms.json")
    sockets = {(entry["local"], entry["remote"]): entry for entry in counter["sockets"]}
    return _HostAlgorithms(
        {socket: entry.get("congestion") or () for socket, entry in sockets.items()},
        {socket: entry.get("scheduler") or () for socket, entry in sockets.items()},
        counter.get("uncoupled"),
    )


def _as_list(name: str | None) -> list[str]:
    return [name] if name else []


def congestion_names(connections: Sequence[Sequence[SubflowAlgorithms]]) -> tuple[str, ...]:
    """Return all names of congestion controls, sorted."""
    return tuple(sorted({name for connection in connections for subflow in connection for name in subflow.congestion}))


def scheduler_names(connections: Sequence[Sequence[SubflowAlgorithms]]) -> str:
    """Return all names of schedulers as the text of a table cell."""
    names = {name for connection in connections for subflow in connection for name in subflow.schedulers}
    if any(not subflow.schedulers for connection in connections for subflow in connection[:1]):
        names.add(NOT_KNOWN)
    return ", ".join(sorted(names))


def algorithm_warnings(
    connections: Sequence[Sequence[SubflowAlgorithms]], requested: RequestedAlgorithms, *, with_mptcp: bool
) -> Iterator[str]:
    """Yield a warning for each difference between the algorithms used and those requested."""
    if requested.congestion is not None:
        for path, names in dict.fromkeys(
            (algorithms.path, algorithms.congestion) for some in connections for algorithms in some
        ):
            if names and names != (requested.congestion,):
                yield f"{requested.congestion} was requested, but the subflow on {path} used {' and '.join(names)}"
    if requested.scheduler is None or not with_mptcp:
        return
    used = [{name for algorithms in some for name in algorithms.schedulers} for some in connections]
    others = [names for names in used if names and names != {requested.scheduler}]
    if others:
        text = ", ".join(sorted(set().union(*others) - {requested.scheduler}))
        count = f"{len(others)} of {len(used)} connections" if len(used) > 1 else "the connection"
        yield f"the scheduler {requested.scheduler} was requested, but {count} used {text}"
