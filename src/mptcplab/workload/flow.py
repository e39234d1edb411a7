# SPDX-License-Identifier: MIT
"""``tools/flow``: bulk transfer that samples its own sockets. Its output is JSON lines, see ``tools/flow/README``."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.plan.model import Program
from mptcplab.scenario.types import Protocol
from mptcplab.scenario.workloads import Flow
from mptcplab.workload.context import FLOW, Context, client, server

_NS_PER_MS = 1_000_000
_NS_PER_US = 1000


def programs(name: str, workload: Flow, context: Context) -> Iterator[Program]:
    """A server that ends after the last of its connections, and the client that opens them all at once."""
    # Not bound to an address: an MPTCP server has to take joins at its other addresses as well.
    waiting = (FLOW, "server", "--port", str(context.port), *_common(workload, context, context.server_protocol))
    yield server(name, workload, waiting)
    connect = ("--connect", context.address, "--port", str(context.port))
    calling = (
        FLOW,
        "client",
        *connect,
        *_goal(workload, context.seed),
        *_common(workload, context, context.client_protocol),
    )
    yield client(name, workload, calling)


def _common(workload: Flow, context: Context, protocol: Protocol) -> Iterator[str]:
    if protocol == "mptcp":
        yield "--mptcp"
    yield from ("--connections", str(workload.connections))
    yield from ("--interval-ms", str(context.interval_ns // _NS_PER_MS))
    if workload.read_quantum:
        yield from ("--quantum-us", str(int(workload.read_quantum) // _NS_PER_US))
    if workload.congestion_control is not None:
        yield from ("--congestion", workload.congestion_control)
    if workload.scheduler is not None and protocol == "mptcp":
        yield from ("--scheduler", workload.scheduler)
    if workload.checksum:
        yield "--checksum"


def _goal(workload: Flow, seed: int) -> Iterator[str]:
    if workload.duration is not None:
        yield from ("--seconds", workload.duration.decimal_seconds)
    if workload.size is not None:
        yield from ("--bytes", str(int(workload.size)))
    if workload.direction == "download":
        yield "--download"
    yield from ("--seed", str(seed))
