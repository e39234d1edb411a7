# SPDX-License-Identifier: MIT
"""``iperf3``, made to open MPTCP sockets by ``mptcpize`` on both sides: its own option is newer than many machines'."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.plan.model import Program
from mptcplab.scenario.workloads import Iperf3
from mptcplab.workload.context import Context, client, server, shelled, with_algorithms


def programs(name: str, workload: Iperf3, context: Context) -> Iterator[Program]:
    """A server for one test, and the client, whose JSON report holds both sides."""
    waiting = ("iperf3", "-s", "-1", "-p", str(context.port))
    scheduler = workload.scheduler
    yield server(name, workload, shelled(with_algorithms(waiting, context.server_protocol, None, scheduler)))
    calling = ("iperf3", "-c", context.address, "-p", str(context.port), "-J", *_options(workload, context))
    yield client(name, workload, shelled(with_algorithms(calling, context.client_protocol, None, scheduler)))


def _options(workload: Iperf3, context: Context) -> Iterator[str]:
    if workload.duration is not None:
        yield from ("-t", str(int(workload.duration) // 10**9))
    if workload.size is not None:
        yield from ("-n", str(int(workload.size)))
    yield from ("-i", f"{max(context.interval_ns / 1e9, 0.1):g}", "-P", str(workload.connections))
    if workload.direction == "download":
        yield "-R"
    if workload.congestion_control is not None:
        yield from ("-C", workload.congestion_control)  # its server takes it over, and it is in the report
    if workload.window is not None:
        yield from ("-w", str(int(workload.window)))
