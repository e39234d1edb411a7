# SPDX-License-Identifier: MIT
"""Streams, calls and cross traffic: ``tools/flow`` sends messages at their times and tells how long each took."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.plan.model import Program
from mptcplab.scenario.traffic import Stream, Udp, Voip
from mptcplab.scenario.workloads import WorkloadBase
from mptcplab.workload.context import FLOW, Context, client, microseconds, server, socket_options

_NS_PER_MS = 1_000_000


def programs(name: str, workload: Stream | Voip | Udp, context: Context) -> Iterator[Program]:
    """A server that ends after its connection, and the client that says what is sent, by whom."""
    udp = isinstance(workload, Udp) or workload.protocol == "udp"
    yield server(name, workload, (FLOW, "server", *_common(workload, context, udp=udp, serves=True)))
    where = ("--connect", context.address)
    what = ("--seconds", workload.duration.decimal_seconds, *_messages(workload))
    seed = ("--seed", str(context.seed))
    how = _common(workload, context, udp=udp, serves=False)
    yield client(name, workload, (FLOW, "client", *where, *what, *seed, *how))


def _common(workload: WorkloadBase, context: Context, *, udp: bool, serves: bool) -> Iterator[str]:
    yield from ("--port", str(context.port))
    own = getattr(workload, "protocol", None)
    protocol = own or (context.server_protocol if serves else context.client_protocol)
    if udp:
        yield "--udp"
    else:
        yield from socket_options(workload, protocol)
    if serves:
        yield from ("--connections", "1")
    yield from ("--interval-ms", str(context.interval_ns // _NS_PER_MS))


def _messages(workload: Stream | Voip | Udp) -> Iterator[str]:
    interval_ns = workload.interval_ns if isinstance(workload, Udp) else int(workload.interval)
    yield from ("--message-bytes", str(int(workload.packet)), "--message-ns", str(interval_ns))
    if not isinstance(workload, Udp):
        yield "--log"
    elif workload.on is not None and workload.off is not None:
        yield from ("--on-us", microseconds(workload.on), "--off-us", microseconds(workload.off))
        if workload.times == "exponential":
            yield "--exponential"
    if workload.direction == "download":
        yield "--download"
