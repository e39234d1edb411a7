# SPDX-License-Identifier: MIT
"""Routers with sockets of their own: MPTCP between two of them, while they go on forwarding."""

from __future__ import annotations

import pytest
from tests.lab.bench import Bench

from mptcplab.metrics.network import endpoint_states
from mptcplab.metrics.rows import ResultRow, result_rows
from mptcplab.recording.record import Recording

#: Of a frame of 1514 bytes, TCP's payload is 1448 bytes.
PAYLOAD = 1448 / 1514

LINES = """
phases = "fixed"

[hosts.pc.transport]
protocol = "tcp"

[hosts.server.transport]
protocol = "tcp"

[routers.r1]
nat = ["a", "b"]
transport = {}

[routers.r2.transport]

[links.lan]
between = ["pc", "r1"]

[links.a]
between = ["r1", "r2"]
rate = "20 Mbit/s"
delay = "5 ms"

[links.b]
between = ["r1", "r2"]
rate = "10 Mbit/s"
delay = "10 ms"

[links.dc]
between = ["r2", "server"]

[workloads.own]
kind = "flow"
from = "r1"
to = "r2"
duration = "5 s"

[workloads.through]
kind = "flow"
from = "pc"
to = "server"
size = "4 MB"
start = "6 s"
checksum = true
"""


def _rows_by_workload(recording: Recording) -> dict[str, ResultRow]:
    return {row.workload: row for row in result_rows([recording])}


@pytest.mark.parametrize("path_manager", ["kernel", "userspace"])
def test_two_routers_speak_mptcp_and_forward_tcp(bench: Bench, path_manager: str) -> None:
    """The NAT of ``r1`` changes the address of its host; its own packets have the right one already."""
    (recording,) = bench.record(LINES, f"routers.*.transport.path_manager={path_manager}")
    rows = _rows_by_workload(recording)
    of_router, through = rows["own"], rows["through"]
    print(f"own: {of_router.goodput_mbps.mean:.2f} Mbit/s, {of_router.mptcp}, {of_router.shares}")
    print(f"through: {through.goodput_mbps.mean:.2f} Mbit/s, {through.mptcp}, {through.shares}")
    assert not of_router.warnings
    assert not through.warnings
    # MPTCP's options take about 1.7 % of a frame; slow start and the last round trip take 0.2 of 5 s at most.
    assert 0.93 * PAYLOAD < of_router.goodput_mbps.mean / 30 < PAYLOAD
    assert of_router.mptcp == "2 subflows"
    # In proportion to the rates, 2 to 1.
    assert of_router.shares["a"] == pytest.approx(2 / 3, abs=0.03)
    assert of_router.shares["b"] == pytest.approx(1 / 3, abs=0.03)
    # The shortest path of TCP from the host; one round trip of handshake, and slow start, in 1.7 s.
    assert 0.9 * PAYLOAD < through.goodput_mbps.mean / 20 < PAYLOAD
    assert through.mptcp == "no"
    assert set(through.shares) == {"a>dc"}, "the server sees the address that the NAT gives"
    kernel = recording.counter("r2", "nstat.json")["kernel"]
    assert (kernel["MPTcpExtMPCapableSYNRX"], kernel["MPTcpExtMPJoinAckRx"]) == (1, 1)
    asked = {endpoint_state.host: endpoint_state.asked[:-2] for endpoint_state in endpoint_states(recording)}
    if path_manager == "kernel":
        assert asked == {"r1": ("10.0.2.1 subflow",), "r2": ("10.0.3.2 signal",)}, "and no warning: they are there"
    else:
        assert asked == {"r1": (), "r2": ()}
        assert recording.output("path-manager.router-r1"), "it logs its actions"


BETWEEN = """
phases = "fixed"

[hosts.client]
[hosts.server]
[routers.r1.transport]
protocol = "tcp"
path_manager = "userspace"
modes = { b2 = "master" }
[routers.r2]

[links.a1]
between = ["client", "r1"]

[links.a2]
between = ["client", "r1"]

[links.b1]
between = ["r1", "r2"]
rate = "10 Mbit/s"
delay = "5 ms"

[links.b2]
between = ["r1", "r2"]
rate = "20 Mbit/s"
delay = "5 ms"

[links.c]
between = ["r2", "server"]

[workloads.forwarded]
kind = "flow"
from = "client"
to = "server"
duration = "4 s"

[workloads.own]
kind = "flow"
from = "r1"
to = "server"
duration = "4 s"
"""


def test_rules_for_own_packets_do_not_catch_forwarded_ones(bench: Bench) -> None:
    """The router has two links to each side. Its master takes its own TCP; MPTCP of the host stays on ``b1``."""
    (recording,) = bench.record(BETWEEN)
    rows = _rows_by_workload(recording)
    of_router, forwarded = rows["own"], rows["forwarded"]
    print(f"own: {of_router.goodput_mbps.mean:.2f} Mbit/s, {of_router.shares}")
    print(f"forwarded: {forwarded.goodput_mbps.mean:.2f} Mbit/s, {forwarded.mptcp}, {forwarded.shares}")
    # Each has a link of its own: on a common one, both would have at most 5 or 10 Mbit/s.
    assert 0.9 * PAYLOAD < of_router.goodput_mbps.mean / 20 < PAYLOAD
    assert 0.9 * PAYLOAD < forwarded.goodput_mbps.mean / 10 < PAYLOAD
    assert set(of_router.shares) == {"b2>c"}
    assert (forwarded.mptcp, set(forwarded.shares)) == ("2 subflows", {"a1>c", "a2>c"})
