# SPDX-License-Identifier: MIT
"""A connection that fails is a row with its reason, and does not hide the results of other workloads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.lab.bench import Bench, mptcplab

from mptcplab.errors import LabError
from mptcplab.metrics.rows import ResultRow, result_rows

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
#: The kinds of other programs, with what each says if nothing answers its SYNs.
OTHERS = {
    "http": ('size = "1 MB"', "curl: (28) Failed to connect to 10.0.2.2 port 5002: Couldn't connect to server"),
    "ftp": ('size = "1 MB"', "curl: (28) Failed to connect to 10.0.2.2 port 5002: Couldn't connect to server"),
    "iperf3": ('duration = "1 s"', "unable to connect to server: Connection timed out (ETIMEDOUT)"),
    "transfer": ('size = "1 MB"', "connect: Connection timed out (ETIMEDOUT)"),
}
#: What they say if the only link fails for good after 2 s, when 20 Mbit/s have carried less than half of 10 MB. TCP
#: gives up after 3 retransmissions; the client of a download learns that only from its keepalive.
BREAK = """
title = "The only link fails for good"
phases = "fixed"
topology.preset = "direct"
links.link1 = { rate = "20 Mbit/s", delay = "10 ms" }
transport = { protocol = "tcp", sysctl = { "net.ipv4.tcp_retries2" = 3 } }
workloads.new = { kind = "KIND", from = "client", to = "server", GOAL }
events = [{ at = "2 s", type = "down", mode = "silent", link = "link1" }]
"""
BROKEN = {
    "http": ('size = "10 MB"', "curl: (56) Recv failure: Connection timed out (ETIMEDOUT)"),
    "ftp": ('size = "10 MB"', "curl: (56) Recv failure: Connection timed out (ETIMEDOUT)"),
    "iperf3": ('duration = "5 s"', "unable to send control message: Broken pipe (EPIPE)"),
    "transfer": ('size = "10 MB"', "write: Connection timed out (ETIMEDOUT)"),
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


@pytest.mark.parametrize("kind", OTHERS)
def test_other_programs_do_not_hide_the_other_workload_either(bench: Bench, kind: str) -> None:
    """The kernel sends a SYN and two more, waits 1, 2 and 4 s, and gives up."""
    goal, reason = OTHERS[kind]
    text = OUTAGE.replace("KIND", kind).replace("MORE", goal).replace("DOWN", 'mode = "silent", link = "link1"')
    rows = _rows(bench, text + 'transport.sysctl = { "net.ipv4.tcp_syn_retries" = 2 }\n')
    old, new = rows["old"], rows["new"]
    print(old.metrics, new.metrics, new.failed, new.warnings)
    assert old.metrics["goodput_mbps"].mean > 5
    assert old.failed is None
    assert new.metrics["goodput_mbps"].mean == 0
    assert new.failed is not None
    (group,) = new.failed.groups
    assert (new.failed.count, new.failed.opened, group.word, group.was_established) == (1, 1, reason, False)
    assert group.after_s is not None
    assert 7 <= group.after_s[0] < 7.3, "the kernel's timers have a resolution, which grows with their time"
    assert group.first_at_s == pytest.approx(4 + group.after_s[0], abs=1e-3), "it started at 4 s"
    (warning,) = (text for text in new.warnings if "connections were not established" in text)
    assert reason in warning
    assert "Down then: link1 since 2 s" in warning


@pytest.mark.parametrize("kind", BROKEN)
def test_what_arrived_before_another_program_failed_counts(bench: Bench, kind: str) -> None:
    """2 s of 20 Mbit/s, less the slow start, and with what the queue held."""
    goal, reason = BROKEN[kind]
    new = _rows(bench, BREAK.replace("KIND", kind).replace("GOAL", goal))["new"]
    print(new.metrics, new.failed, new.warnings)
    assert new.failed is not None
    (group,) = new.failed.groups
    assert (new.failed.count, new.failed.opened, group.word, group.was_established) == (1, 1, reason, True)
    assert group.first_at_s is not None
    assert group.first_at_s > 4, "three retransmissions take more than 2 s"
    arrived = new.metrics["goodput_mbps"].mean * new.metrics["duration_s"].mean
    assert 30 < arrived < 40, "Mbit"
    assert any("Down then: link1 since 2 s" in text for text in new.warnings)


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


def test_another_program_ends_the_run_if_it_is_to(bench: Bench) -> None:
    text = BREAK.replace("KIND", "transfer").replace("GOAL", 'size = "10 MB", failures = "end"')
    with pytest.raises(LabError, match=r"status 1: .* E write.*Connection timed out"):
        bench.record(text)


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
