# SPDX-License-Identifier: MIT
"""Which congestion controls and schedulers the sockets of a workload really used, and whether that was asked for.

A recording has for each host what was seen on its sockets meanwhile (``counters/NODE/algorithms.json``, see
guest/algorithms.py). Connections that were over before anybody looked are told by their program, if it is ``flow``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.metrics.subflows import Row, path_name
from mptcplab.recording.record import Recording

#: Said of connections whose scheduler nobody told.
NOT_KNOWN = "not known"


@dataclass(frozen=True)
class RequestedAlgorithms:
    """What the scenario asks for on the sending side; None leaves it to the kernel."""

    congestion: str | None
    scheduler: str | None


@dataclass(frozen=True)
class Subflow:
    """One socket, by its path, with the names that it was seen with, in their order; none if it was not seen."""

    path: str
    congestion: tuple[str, ...]
    schedulers: tuple[str, ...]


def wanted(described: Mapping[str, Any], transport: Mapping[str, Any]) -> RequestedAlgorithms:
    """Of a workload whose sending host has ``transport``; what the workload says itself comes first."""
    asked = (described.get(key) or transport.get(key) for key in ("congestion_control", "scheduler"))
    return RequestedAlgorithms(*asked)


def seen_subflows(
    recording: Recording, node: str, connections: Sequence[Sequence[Row]], started: Iterable[Mapping[str, Any]]
) -> list[list[Subflow]]:
    """The subflows of each connection as ``node`` had them.

    ``started`` are the notes of the ``flow`` that made them of what its sockets were given.
    """
    found = recording.counter(node, "algorithms.json")
    sockets = {(one["local"], one["remote"]): one for one in found["sockets"]}
    starts = {event["conn"]: event for event in started}
    addresses = recording.manifest["addresses"]

    def of(row: Row) -> Subflow:
        known = sockets.get((row["local"], row["remote"]), {})
        start = starts.get(row.get("conn"), {})
        # The row is the sender's: its path is named from the other side.
        path = path_name({"local": row["remote"], "remote": row["local"]}, addresses)
        return Subflow(
            path,
            tuple(known.get("congestion") or _one(start.get("congestion"))),
            tuple(known.get("scheduler") or _one(start.get("scheduler"))),
        )

    return [[of(row) for row in connection] for connection in connections]


def uncoupled_subflows(recording: Recording, node: str) -> Iterator[str]:
    """A sentence if subflows of ``node`` found no memory for the coupling of their congestion control.

    Their number is that of the host since it was made, so it may include subflows of other workloads.
    """
    count = recording.counter(node, "algorithms.json").get("uncoupled")
    if count:
        subflows = "1 subflow" if count == 1 else f"{count} subflows"
        yield f"{subflows} of {node} found no memory for coupled congestion control and grew like TCP, uncoupled"


def _one(name: str | None) -> list[str]:
    return [name] if name else []


def congestion_names(connections: Sequence[Sequence[Subflow]]) -> tuple[str, ...]:
    """All names, sorted."""
    return tuple(sorted({name for one in connections for subflow in one for name in subflow.congestion}))


def scheduler_names(connections: Sequence[Sequence[Subflow]]) -> str:
    """All names, for a table."""
    names = {name for one in connections for subflow in one for name in subflow.schedulers}
    if any(not subflow.schedulers for one in connections for subflow in one[:1]):
        names.add(NOT_KNOWN)
    return ", ".join(sorted(names))


def complaints(
    connections: Sequence[Sequence[Subflow]], asked: RequestedAlgorithms, *, with_mptcp: bool
) -> Iterator[str]:
    """A sentence for each way in which sockets were not what the scenario asks for."""
    if asked.congestion is not None:
        for path, names in dict.fromkeys((one.path, one.congestion) for some in connections for one in some):
            if names and names != (asked.congestion,):
                yield f"{asked.congestion} was asked for, but the subflow by {path} used {' and '.join(names)}"
    if asked.scheduler is None or not with_mptcp:
        return
    used = [{name for one in some for name in one.schedulers} for some in connections]
    others = [names for names in used if names and names != {asked.scheduler}]
    if others:
        found = ", ".join(sorted(set().union(*others) - {asked.scheduler}))
        count = f"{len(others)} of {len(used)} connections" if len(used) > 1 else "the connection"
        yield f"the scheduler {asked.scheduler} was asked for, but {count} used {found}"
