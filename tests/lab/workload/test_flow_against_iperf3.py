# SPDX-License-Identifier: MIT
"""Our own workload program against iperf3, and what reading every 5 ms costs in exactness."""

from __future__ import annotations

import pytest
from tests.lab.bench import Bench

#: The two lines of Subramani's tables.
LINES = """
[topology]
preset = "disjoint-paths"
paths = 2

[links.link1]
rate = "100 Mbit/s"
overhead = "24 B"
queue = "100 ms"

[links.link2]
rate = "100 Mbit/s"
overhead = "24 B"
queue = "100 ms"

[workloads.bulk]
kind = "{kind}"
from = "client"
to = "server"
duration = "20 s"
"""
FLOW, IPERF3 = LINES.format(kind="flow"), LINES.format(kind="iperf3")


def _goodput(bench: Bench, text: str, protocol: str, *overrides: str) -> float:
    row = bench.row(text, f"transport.protocol={protocol}", *overrides)
    assert row.mptcp == ("2 subflows" if protocol == "mptcp" else "no"), row.mptcp
    return row.goodput_mbps.mean


@pytest.mark.parametrize("protocol", ["tcp", "mptcp"])
def test_flow_and_iperf3_agree(bench: Bench, protocol: str) -> None:
    """Two programs with different reading, writing and clocks: 1 % is what differs between two runs of either."""
    flow, iperf3 = (_goodput(bench, text, protocol) for text in (FLOW, IPERF3))
    difference = 100 * (flow / iperf3 - 1)
    print(f"{protocol}: flow {flow:.3f}, iperf3 {iperf3:.3f} Mbit/s, {difference:+.3f} %")
    assert abs(difference) < 1, f"{protocol}: flow {flow:.3f}, iperf3 {iperf3:.3f} Mbit/s: {difference:+.2f} %"


@pytest.mark.parametrize("protocol", ["tcp", "mptcp"])
def test_reading_every_5_ms_moves_little(bench: Bench, protocol: str) -> None:
    """The last bytes are read up to 5 ms late, 0.025 % of 20 s; the window is larger than what waits 5 ms."""
    at_once = _goodput(bench, FLOW, protocol)
    every_5_ms = _goodput(bench, FLOW, protocol, "workloads.bulk.read_quantum=5 ms")
    difference = 100 * (every_5_ms / at_once - 1)
    print(f"{protocol}: read at once {at_once:.3f}, every 5 ms {every_5_ms:.3f} Mbit/s, {difference:+.3f} %")
    assert abs(difference) < 0.5, f"{protocol}: {at_once:.3f} and {every_5_ms:.3f} Mbit/s: {difference:+.2f} %"
