# SPDX-License-Identifier: MIT
"""Requests and short flows: ``tools/flow`` asks, its server answers, and each response has its times told."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.plan.model import Program
from mptcplab.scenario.traffic import Requests, Web
from mptcplab.workload.context import FLOW, Context, client, microseconds, server, socket_options

_NS_PER_MS = 1_000_000
_LARGEST = 100_000_000
#: More connections than a workload can make: its end is that of the arrivals.
_NO_LIMIT = 1_000_000


def programs(name: str, workload: Requests | Web, context: Context) -> Iterator[Program]:
    """A server until the end, and the client that asks."""
    sampling = ("--interval-ms", str(context.interval_ns // _NS_PER_MS))
    port = ("--port", str(context.port))
    yield server(name, workload, (FLOW, "server", *port, *socket_options(workload, context.server_protocol), *sampling))
    calling = (
        *("--connect", context.address),
        *port,
        "--ask",
        *(_visits(workload) if isinstance(workload, Web) else _questions(workload)),
        *_sizes(workload),
        *("--seed", str(context.seed)),
        *socket_options(workload, context.client_protocol),
        *sampling,
    )
    yield client(name, workload, (FLOW, "client", *calling))


def _questions(workload: Requests) -> Iterator[str]:
    yield from ("--connections", str(workload.connections))
    if workload.duration is not None:
        yield from ("--seconds", workload.duration.decimal_seconds)
    if workload.count is not None:
        yield from ("--requests", str(workload.count))
    yield from ("--response-bytes", str(int(workload.response)), "--think-us", microseconds(workload.think))
    if workload.times == "exponential":
        yield "--exponential"


def _visits(workload: Web) -> Iterator[str]:
    yield from ("--connections", str(_NO_LIMIT), "--seconds", workload.duration.decimal_seconds)
    yield from ("--arrival-us", microseconds(workload.interval), "--response-bytes", str(int(workload.response)))
    if workload.times == "exponential":
        yield "--exponential"


def _sizes(workload: Requests | Web) -> Iterator[str]:
    yield from ("--request-bytes", str(int(workload.request)))
    if workload.sizes == "fixed":
        return
    yield from ("--sizes", workload.sizes, "--largest-bytes", str(int(workload.largest or _LARGEST)))
    if workload.shape_or_default:
        yield from ("--shape-milli", str(round(1000 * workload.shape_or_default)))
