# SPDX-License-Identifier: MIT
"""The `_v09` congestion controls in the kernel: they carry data over two paths. What they compute is a unit test's."""

from __future__ import annotations

import pytest
from tests.lab.bench import Bench

TWO_LINES = """
topology.preset = "disjoint-paths"
links.link1 = {{ rate = "10 Mbit/s", delay = "20 ms" }}
links.link2 = {{ rate = "10 Mbit/s", delay = "20 ms" }}
transport.congestion_control = "{control}"
transport.scheduler = "minrtt"
kernel = "{version}"
workloads.bulk = {{ kind = "flow", from = "client", to = "server", duration = "20 s" }}
"""


@pytest.mark.parametrize("version", ["7.2", "6.12"])
@pytest.mark.parametrize("control", ["lia_v09", "olia_v09", "balia_v09", "wvegas_v09"])
def test_two_paths(bench: Bench, control: str, version: str) -> None:
    """More than the 9.4 Mbit/s of one line, so both are used; neither has less than a quarter of the data."""
    row = bench.row(TWO_LINES.format(control=control, version=version))
    print(control, version, row.goodput_mbps.mean, row.shares)
    assert row.congestion == control
    assert row.mptcp == "2 subflows"
    assert row.goodput_mbps.mean > 9.4
    assert min(row.shares.values()) > 0.25
