# SPDX-License-Identifier: MIT
"""The numbers of one run: one :class:`Measured` per workload.

Goodput is payload at the receiver. It counts from the instant at which the client starts to connect to the last byte
that the receiving application read, so that handshake and slow start are part of it and an emptying queue at the end
is, too. For ``iperf3`` it is what its own server reports.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from mptcplab.errors import LabError
from mptcplab.metrics import algorithms, subflows
from mptcplab.metrics.complaints import kernel_complaints
from mptcplab.metrics.counters import MptcpCounts, mptcp_counts
from mptcplab.metrics.subflows import MptcpUse, Row, Sockets
from mptcplab.recording.record import Recording

#: Where the kind of an event stands in a line of ``flow``: {"event":"interval".
_HEAD = 24


@dataclass(frozen=True)
class Measured:
    """What one workload did in one run. Rates in bit/s, times in seconds."""

    workload: str
    goodput_bps: float
    duration_s: float
    sockets: Sockets
    scheduler: str
    counts: MptcpCounts
    warnings: tuple[str, ...]


def measure(recording: Recording) -> list[Measured]:
    """All workloads of one run, in the order of the scenario. :raises LabError: when a program's output is broken."""
    workloads = recording.manifest["facts"]["scenario"]["workloads"]
    return [_measure(recording, name, described) for name, described in workloads.items()]


def _measure(recording: Recording, name: str, described: dict[str, Any]) -> Measured:
    kind = described["kind"]
    sender, receiver = described["from"], described["to"]
    if described.get("direction") == "download":
        sender, receiver = receiver, sender
    client_sends = sender == described["from"]
    names = (f"{name}.client", f"{name}.server") if client_sends else (f"{name}.server", f"{name}.client")
    by_flow = kind == "flow"
    rows = {
        node: _last_rows(recording, name, node, program if by_flow else None)
        for node, program in zip((sender, receiver), names, strict=True)
    }
    goodput, duration = _READERS[kind](recording, name, described)
    hosts = recording.manifest["facts"]["scenario"]["hosts"]
    wanted = algorithms.wanted(described, hosts[sender]["transport"])
    asked = any(hosts[node]["transport"]["protocol"] == "mptcp" for node in (sender, receiver))
    counts = mptcp_counts(recording.counter(node, "nstat.json")["kernel"] for node in (sender, receiver))
    started = _events(recording, names[0], "start") if by_flow else []
    sent = subflows.data_connections(rows[sender], "bytes_acked")
    seen = algorithms.seen_subflows(recording, sender, sent, started)
    sockets = _sockets(recording, sent, rows[receiver], names if by_flow else None)
    congestion = algorithms.congestion_names(seen) if seen is not None else _congestion(sent, started)
    sockets = replace(sockets, congestion=congestion)
    sockets = _with_counted_fallbacks(sockets, counts) if asked else sockets
    return Measured(
        workload=name,
        goodput_bps=goodput,
        duration_s=duration,
        sockets=sockets,
        scheduler=_scheduler(recording, sender, seen) if sockets.use.with_mptcp else "",
        counts=counts,
        warnings=(
            *_warnings(sockets, counts, asked=asked, backups=_backup_links(hosts)),
            *algorithms.complaints(seen or (), wanted, with_mptcp=bool(sockets.use.with_mptcp)),
            *kernel_complaints(recording),
        ),
    )


def _last_rows(recording: Recording, workload: str, node: str, program: str | None) -> list[Row]:
    """Of the program, if it tells its sockets; else of all sockets of the host, those of the workload's server."""
    rows = subflows.last_rows(recording.subflows, node=node, program=program)
    port = recording.manifest.get("ports", {}).get(workload)
    return rows if program is not None or port is None else subflows.of_server(rows, port)


def _sockets(
    recording: Recording, sent: list[list[Row]], receiving: list[Row], flow_programs: tuple[str, str] | None
) -> Sockets:
    """``flow_programs`` are the sending and the receiving one, if both are ``flow`` and tell more than the samples."""
    received = subflows.data_connections(receiving, "bytes_received")
    rows = [row for connection in sent for row in connection]
    fell_back = _fallbacks(recording, flow_programs[1]) if flow_programs else _sampled_fallbacks(received)
    with_mptcp = [
        group for group in received if any(row.get("protocol") == "mptcp" or _is_subflow(row) for row in group)
    ]
    return Sockets(
        use=MptcpUse(
            connections=len(received),
            with_mptcp=max(0, len(with_mptcp) - fell_back),
            fell_back=fell_back,
            subflows=min((len(group) for group in with_mptcp), default=0),
            carrying=min((sum(1 for row in group if row["bytes_received"]) for group in with_mptcp), default=0),
        ),
        shares=subflows.shares(received, recording.manifest["addresses"]),
        retransmitted_bytes=sum(row.get("bytes_retrans") or 0 for row in rows),
        sent_bytes=sum(row.get("bytes_sent") or 0 for row in rows),
        congestion=(),
    )


def _with_counted_fallbacks(sockets: Sockets, counts: MptcpCounts) -> Sockets:
    """A receiver that only speaks TCP does not know that it was asked for more; the kernel's counters do."""
    use = sockets.use
    if use.with_mptcp or use.fell_back or not counts.fallbacks:
        return sockets
    return replace(sockets, use=replace(use, fell_back=min(use.connections, counts.fallbacks)))


def _is_subflow(row: Row) -> bool:
    """``flow`` gives the kernel's number of a subflow, which only MPTCP has."""
    return row.get("subflow_id") is not None


def _fallbacks(recording: Recording, program: str) -> int:
    table = recording.connections
    if not table.height or "fallback" not in table.columns:
        return 0
    fell = table.filter((pl.col("program") == program) & pl.col("fallback"))
    return fell["conn"].n_unique()


def _sampled_fallbacks(received: list[list[Row]]) -> int:
    """A subflow that fell back keeps its upper-layer protocol, but has no token that others could join."""
    return sum(1 for group in received if any(row.get("protocol") == "mptcp" and not row.get("token") for row in group))


def _congestion(sent: list[list[Row]], started: list[dict[str, Any]]) -> tuple[str, ...]:
    """Of recordings from before anybody looked at every subflow: what ``flow`` read back, else of the last samples."""
    named = started or [row for connection in sent for row in connection]
    return tuple(sorted({row["congestion"] for row in named if row.get("congestion")}))


def _scheduler(recording: Recording, node: str, seen: list[list[algorithms.Subflow]] | None) -> str:
    """As seen on the sockets; in recordings from before anybody looked, the host's setting."""
    if seen is not None:
        return algorithms.scheduler_names(seen)
    for line in str(recording.counter(node, "sysctl.txt")).splitlines():
        key, _, value = line.partition(" = ")
        if key == "net.mptcp.scheduler":
            return value.strip()
    return ""


def _backup_links(hosts: dict[str, Any]) -> set[str]:
    """Links that are meant to carry nothing as long as others work."""
    endpoints = [host["transport"].get("endpoints") for host in hosts.values()]
    listed = [endpoint for some in endpoints if isinstance(some, list) for endpoint in some]
    return {endpoint["link"] for endpoint in listed if "backup" in endpoint["flags"]}


def _warnings(sockets: Sockets, counts: MptcpCounts, *, asked: bool, backups: set[str]) -> Iterator[str]:
    idle = [path for path in subflows.idle_paths(sockets.shares) if not backups & set(path.split(">"))]
    use = sockets.use
    if use.connections == 0:
        yield "no connection was seen carrying data, so nothing is known of MPTCP"
    elif not asked:
        return
    elif use.fell_back:
        yield f"{use.fell_back} of {use.connections} connections fell back to TCP"
    elif use.with_mptcp < use.connections:
        plain = use.connections - use.with_mptcp
        yield f"MPTCP was asked for, but {plain} of {use.connections} connections are plain TCP"
    elif use.carrying < 2 and not (backups and use.subflows > 1):
        yield "MPTCP was in use, but only one subflow carried data"
    if use.with_mptcp > counts.mp_capable:
        yield f"the sockets look like MPTCP, but the kernel accepted only {counts.mp_capable} such connections"
    if counts.fallbacks and not use.fell_back:
        yield f"the kernel counted {counts.fallbacks} falls back to TCP on these hosts"
    for path in idle if use.with_mptcp else ():
        yield f"the subflow by {path} carried less than 1 % of the data"


def _events(recording: Recording, program: str, kind: str) -> list[dict[str, Any]]:
    """Events of one kind, which a line begins with: the many samples are tables already and are passed over."""
    lines = recording.output(program).splitlines()
    return [json.loads(line) for line in lines if f'"{kind}"' in line[:_HEAD]]


def _read_flow(recording: Recording, name: str, described: dict[str, Any]) -> tuple[float, float]:
    client, server = f"{name}.client", f"{name}.server"
    receiver = client if described["direction"] == "download" else server
    ends = {program: _events(recording, program, "end") for program in (client, server)}
    starts = _events(recording, client, "start")
    started = min(event["t_ns"] - _connect_ns(ends[client], event["conn"]) for event in starts)
    received = sum(event["bytes"] for event in ends[receiver])
    finished = max(event["last_ns"] or started for event in ends[receiver])
    if described["checksum"]:
        _compare_checksums(ends[client], ends[server], name)
    elapsed = (finished - started) / 1e9
    return (8 * received / elapsed if elapsed else 0.0), elapsed


def _connect_ns(ends: list[dict[str, Any]], conn: int) -> int:
    return next((event["connect_ns"] or 0 for event in ends if event["conn"] == conn), 0)


def _compare_checksums(sent: list[dict[str, Any]], received: list[dict[str, Any]], name: str) -> None:
    if sorted(event["checksum"] for event in sent) != sorted(event["checksum"] for event in received):
        raise LabError(f"{name}: the payload arrived damaged", hint="this is a bug of the kernel or of `flow`")


def _read_iperf3(recording: Recording, name: str, _described: dict[str, Any]) -> tuple[float, float]:
    try:
        report = json.loads(recording.output(f"{name}.client"))
        total = report["end"]["sum_received"]
        return float(total["bits_per_second"]), float(total["seconds"])
    except (ValueError, KeyError) as error:
        raise LabError(f"{name}: the report of iperf3 cannot be read", hint=f"see out/{name}.client.out") from error


def _read_transfer(recording: Recording, name: str, _described: dict[str, Any]) -> tuple[float, float]:
    sums = {side: _stream(recording, f"{name}.{side}") for side in ("client", "server")}
    if sums["client"] != sums["server"]:
        hint = f"see out/{name}.client.err and out/{name}.server.err"
        raise LabError(f"{name}: what arrived is not what was sent", hint=hint)
    client = recording.program(f"{name}.client")
    elapsed = (client["end_ns"] - client["start_ns"]) / 1e9
    return 8 * int(sums["server"]["bytes"]) / elapsed, elapsed


def _stream(recording: Recording, program: str) -> dict[str, Any]:
    for line in recording.output(program, "err").splitlines():
        if line.startswith('{"event":"stream"'):
            found: dict[str, Any] = json.loads(line)
            return found
    raise LabError(f"{program} reported no checksum", hint=f"see out/{program}.err")


_READERS = {"flow": _read_flow, "iperf3": _read_iperf3, "transfer": _read_transfer}
