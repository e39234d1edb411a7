# SPDX-License-Identifier: MIT
"""A connection that fails is a row with its reason, and does not hide the results of other workloads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import LabError
from mptcplab.metrics.rows import ResultRow, result_rows

from .bench import Bench, mptcplab

OUTAGE = """
title = "The main route is dead, the interface is up"
phases = "fixed"
topology.preset = "disjoint-paths"
links.link1 = { rate = "20 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "10 Mbit/s", delay = "30 ms" }
workloads.old = { kind = "flow", from = "client", to = "server", duration = "8 s" }
workloads.new = { kind = "KIND", from = "client", to = "server", start = "4 s", MORE }
events = [{ at = "2 s", type = "down", DOWN }]
"""
KINDS = {
    "flow": 'size = "10 kB", connections = 3',
    "requests": "count = 5",
    "web": 'duration = "1 s", interval = "100 ms"',
    "stream": 'duration = "2 s"',
    "voip": 'duration = "2 s", reverse = true, protocol = "udp"',
    "udp": 'duration = "2 s", rate = "1 Mbit/s"',
}
#: A scenario of a reader, whose run ended with the error of the new connection; its phases are random.
READERS = """
title = "The main route is dead, the interface is up"
[topology]
preset = "disjoint-paths"
[links.link1]
rate = "20 Mbit/s"
delay = "10 ms"
[links.link2]
rate = "10 Mbit/s"
delay = "30 ms"
[workloads.old]
kind = "flow"
from = "client"
to = "server"
duration = "15 s"
[workloads.new]
kind = "requests"
from = "client"
to = "server"
start = "8 s"
count = 5
request = "200 B"
response = "10 kB"
[[events]]
at = "5 s"
type = "down"
mode = "silent"
link = "link1"
"""


def _scenario(kind: str, down: str = 'mode = "silent", link = "link1"', more: str = "") -> str:
    return OUTAGE.replace("KIND", kind).replace("MORE", KINDS[kind] + more).replace("DOWN", down)


def _rows(bench: Bench, text: str) -> dict[str, ResultRow]:
    """The rows of a scenario in which connections may fail."""
    recordings = bench.recordings(bench.experiment(text).runs, may_fail=True)
    return {row.workload: row for row in result_rows(recordings)}


@pytest.mark.parametrize("kind", KINDS)
def test_the_other_workload_has_its_results(bench: Bench, kind: str) -> None:
    """The first transfer survives on link2, at more than half of its rate; a new connection needs the first path."""
    rows = _rows(bench, _scenario(kind))
    old, new = rows["old"], rows["new"]
    print(old.metrics, new.metrics, new.failed, new.warnings)
    assert old.metrics["goodput_mbps"].mean > 5
    assert old.failed is None
    assert new.metrics["goodput_mbps"].mean == 0
    assert new.failed is not None
    assert new.failed.count == new.failed.opened == new.metrics["failed_connections"].mean
    assert [(group.reason, group.after_s) for group in new.failed.groups] == [("connect-timeout", (10, 10))]
    (warning,) = (text for text in new.warnings if "connections were not established" in text)
    assert "connect-timeout after 10 s" in warning
    assert "Down then: link1 since 2 s" in warning
    assert not any("established" in text for text in old.warnings)


def test_a_refusal_at_once_is_a_row_without_time(bench: Bench) -> None:
    """The interface is down, so the route is gone, and the kernel refuses within the same instant."""
    new = _rows(bench, _scenario("requests", down='mode = "interface", link = "access1"'))["new"]
    print(new.failed)
    assert new.failed is not None
    (group,) = new.failed.groups
    assert (group.reason, group.errno, group.text) == (
        "unreachable",
        "ENETUNREACH",
        "unreachable (ENETUNREACH) at once",
    )
    assert new.metrics["duration_s"].mean < 0.001, "a few steps of the program take a few hundred ns each"


def test_a_call_that_breaks_loses_what_follows(bench: Bench) -> None:
    """Both paths go down for good after 2 of 10 s, and TCP gives up after 3 retransmissions."""
    text = """
    phases = "fixed"
    topology.preset = "direct"
    links.link1 = { rate = "10 Mbit/s", delay = "10 ms" }
    transport = { protocol = "tcp", sysctl = { "net.ipv4.tcp_retries2" = 3 } }
    workloads.call = { kind = "voip", from = "client", to = "server", duration = "10 s", protocol = "tcp" }
    events = [{ at = "2 s", type = "down", mode = "silent", link = "link1" }]
    """
    call = _rows(bench, text)["call"]
    print(call.metrics, call.failed)
    assert call.failed is not None
    assert [(group.reason, group.errno, group.was_established) for group in call.failed.groups] == [
        ("timeout", "ETIMEDOUT", True)
    ]
    # What was due in the last 8 of 10 s, and the packet or two that were under way.
    assert 80 <= call.metrics["lost_percent"].mean < 81


def test_it_ends_the_run_if_it_is_to(bench: Bench) -> None:
    with pytest.raises(LabError, match="connection 0 failed: connect-timeout; down when it started: link1") as raised:
        bench.record(_scenario("requests", more=', failures = "end"'))
    assert 'failures = "end"' in str(raised.value.hint)


def test_the_command_shows_both_rows_and_succeeds(tmp_path: Path) -> None:
    """A reader saw one sentence about `connect`, and not the transfer that had survived."""
    file = tmp_path / "outage.toml"
    file.write_text(READERS)
    out = tmp_path / "results"
    done = mptcplab("run", str(file), "--out", str(out))
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stderr
    assert "1 of 1: connect-timeout after 10 s" in done.stdout
    text = " ".join(done.stdout.split())
    assert "Warning: 1 of 1 connections were not established: connect-timeout after 10 s" in text
    assert "Down then: link1 since 5 s" in text
    assert "its first subflow goes by link1>access1, which is down since 5 s" in text
    document: dict[str, Any] = json.loads((out / "results.json").read_text())
    old, new = document["rows"]
    # 15 s: five at up to 30 Mbit/s, then link2 alone, of 10 Mbit/s; the payload is 95 % of what the lines carry.
    assert 10 < old["goodput_mbps"]["mean"] < 17
    assert "connections" not in old
    assert (new["goodput_mbps"]["mean"], new["connections"]["failed"], new["connections"]["opened"]) == (0, 1, 1)
    assert new["metrics"]["failed_after_s"]["values"] == [10]
    again = mptcplab("run", str(file), "--out", str(out), "--require", "connections")
    assert again.returncode == 1, "the same results do not meet a requirement"
    assert "failed connections: 1 of 1: connect-timeout after 10 s" in again.stderr
