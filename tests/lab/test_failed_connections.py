# SPDX-License-Identifier: MIT
"""A connection that fails is a row with its reason, and does not hide the results of other workloads."""

from __future__ import annotations

import pytest

from mptcplab.errors import LabError

from .bench import Bench

OUTAGE = """
title = "The main route is dead, the interface is up"
phases = "fixed"
topology.preset = "disjoint-paths"
links.link1 = { rate = "20 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "10 Mbit/s", delay = "30 ms" }
workloads.old = { kind = "flow", from = "client", to = "server", duration = "8 s" }
workloads.new = { kind = "KIND", from = "client", to = "server", start = "4 s", MORE, failures = "FAILURES" }
events = [{ at = "2 s", type = "down", mode = "silent", link = "link1" }]
"""
KINDS = {
    "flow": 'size = "10 kB", connections = 3',
    "requests": "count = 5",
    "web": 'duration = "1 s", interval = "100 ms"',
}


def _scenario(kind: str, failures: str) -> str:
    return OUTAGE.replace("KIND", kind).replace("MORE", KINDS[kind]).replace("FAILURES", failures)


@pytest.mark.parametrize("kind", KINDS)
def test_the_other_workload_has_its_results(bench: Bench, kind: str) -> None:
    """The first transfer survives on link2, at more than half of its rate; a new connection needs the first path."""
    rows = {row.workload: row for row in bench.rows(_scenario(kind, "report"))}
    old, new = rows["old"], rows["new"]
    print(old.metrics, new.metrics, new.warnings)
    assert old.metrics["goodput_mbps"].mean > 5
    assert new.metrics["goodput_mbps"].mean == 0
    (warning,) = (text for text in new.warnings if "connections were not established" in text)
    assert "connect-timeout after 10 s" in warning
    assert "Down then: link1 since 2 s" in warning
    assert not any("established" in text for text in old.warnings)


def test_by_default_it_ends_the_run(bench: Bench) -> None:
    with pytest.raises(LabError, match="connection 0 failed: connect-timeout") as raised:
        bench.record(_scenario("requests", "end"))
    assert 'failures = "report"' in str(raised.value.hint)
