# SPDX-License-Identifier: MIT
"""The daemon and its agents in the lab, with routers as access points: traffic moves, files arrive, nothing breaks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.lab.bench import Bench, client, server

from mptcplab.metrics.catalog.radio import count_switches
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.plan.steering import STEER

S = 10**9
#: Terminals begin at ap1, all of them. Time zero is 10 s after boot.
SCENARIO = """
routers = {{ core = {{}}, ap1 = {{}}, ap2 = {{}} }}
links.back1 = {{ between = ["ap1", "core"], delay = "1 ms", rate = "10 Mbit/s" }}
links.back2 = {{ between = ["ap2", "core"], delay = "1 ms", rate = "10 Mbit/s" }}
links.uplink = {{ between = ["core", "server"], delay = "1 ms" }}
[hosts.server.transport]
path_manager = "userspace"
endpoints = "none"
[steering]
at = "server"
access_points = ["ap1", "ap2"]
{policy}
[copies.terminal]
count = 3
[copies.terminal.hosts."t{{n}}"]
[copies.terminal.links."home{{n}}"]
between = ["t{{n}}", "ap1"]
[copies.terminal.links."other{{n}}"]
between = ["t{{n}}", "ap2"]
[copies.terminal.workloads."file{{n}}"]
kind = "http"
from = "t{{n}}"
to = "server"
size = "8 MB"
"""
RATIO = SCENARIO.format(policy="threshold = 1.15")
FAIR = SCENARIO.format(policy='policy = "fair"')


def _events(text: str, event: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in text.splitlines()]
    return [line for line in lines if line["event"] == event]


def _wrap(plan: Plan, name: str, script: str) -> Plan:
    """A plan with the program ``name`` run by a script, in which ``$0`` is the program and ``$@`` are its words."""
    programs = [
        replace(program, argv=("sh", "-c", script, *program.argv), starts=(*program.starts, STEER, "sleep"))
        if program.name == name
        else program
        for program in plan.programs
    ]
    return replace(plan, programs=tuple(programs))


def _plan(bench: Bench, text: str) -> Plan:
    return compile_plan(bench.experiment(text, "phases=fixed").points[0].scenario, seed=1)


@pytest.mark.parametrize("kernel", ["7.2", "6.12"])
def test_traffic_moves_and_files_arrive(bench: Bench, kernel: str) -> None:
    """The lab compares the checksums of both ends of each file, and fails a run in which a connection breaks."""
    (recording,) = bench.record(RATIO, f"kernel={kernel}")
    log = recording.output("steering")
    moved = _events(log, "moved")
    assert count_switches(recording), log
    assert {event["verdict"] for event in moved} <= {"moved", "idle"}, moved
    assert any(event["verdict"] == "moved" and event["share"] > 0.5 for event in moved), moved
    last = _events(log, "decision")[-1]
    assert (last["silent"], last["conflicts"]) == ([], [])
    assert not any(event["error"] for event in _events(log, "priority")), log


def test_fair_moves_once(bench: Bench) -> None:
    """Three terminals at one of two access points: one move makes two and one, and there is nothing to gain then."""
    (recording,) = bench.record(FAIR)
    assert count_switches(recording) == 1, recording.output("steering")


def test_a_daemon_that_is_killed_and_starts_again(bench: Bench) -> None:
    """In mid-transfer. The second one finds who is where, and moves nobody as long as all three are there."""
    script = '"$0" "$@" & first=$!; sleep 12.5; kill -9 $first; wait $first; exec "$0" "$@"'
    output = bench.live(_wrap(_plan(bench, FAIR.replace("8 MB", "14 MB")), "steering", script))
    log = output.text("steering")
    assert len(_events(log, "ready")) == 2
    restart_ns = _events(log, "ready")[1]["t_ns"]
    decisions = [event for event in _events(log, "decision") if event["terminals"]]
    before = [decision for decision in decisions if decision["t_ns"] < restart_ns][-1]
    after = next(
        decision for decision in decisions if decision["t_ns"] > restart_ns and len(decision["terminals"]) == 3
    )
    assert sorted(before["terminals"].values()) == ["ap1", "ap1", "ap2"], before
    assert after["terminals"] == before["terminals"]
    together = [decision for decision in decisions if decision["t_ns"] > restart_ns and len(decision["terminals"]) == 3]
    assert len(together) > 2
    assert not any(
        decision["moves"] for decision in decisions if restart_ns < decision["t_ns"] <= together[-1]["t_ns"]
    ), decisions


def test_an_agent_that_stops_moves_nobody(bench: Bench) -> None:
    """Its access point is left out while it is stopped, and counts again when it goes on."""
    script = '"$0" "$@" & agent=$!; sleep 13; kill -STOP $agent; sleep 6; kill -CONT $agent; wait'
    output = bench.live(_wrap(_plan(bench, RATIO), "steering-agent.ap2", script))
    log = output.text("steering")
    decisions = _events(log, "decision")
    silent = [decision for decision in decisions if decision["silent"] == ["ap2"] and decision["t_ns"] > 13 * S]
    assert silent, "it was noticed"
    assert not any(decision["moves"] for decision in silent)
    assert not any("ap2" in decision["received"] for decision in silent)
    assert decisions[-1]["silent"] == [], "it came back"


#: Accepts connections, and keeps them.
_SINK = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
s.bind(("0.0.0.0", 7000))
s.listen(1000)
kept = []
while True:
    kept.append(s.accept())
"""
_BURST = """
import socket, time
many = [socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) for _ in range(400)]
for one in many:
    one.setblocking(False)
    one.connect_ex(("10.0.3.2", 7000))
time.sleep(5)
"""


def test_a_daemon_that_misses_events_reads_the_state_anew(bench: Bench) -> None:
    """It is stopped while 400 connections come and go, whose events do not fit into a socket's buffer (ENOBUFS)."""
    script = '"$0" "$@" & daemon=$!; sleep 11; kill -STOP $daemon; sleep 5; kill -CONT $daemon; wait $daemon'
    plan = _wrap(_plan(bench, FAIR), "steering", script)
    burst = client("burst", "python3", "-c", _BURST, node="t1", start_ns=2 * S + S // 2)
    plan = replace(plan, programs=(*plan.programs, server("sink", "python3", "-c", _SINK), burst))
    output = bench.live(plan)
    log = output.text("steering")
    (overrun,) = _events(log, "overrun")
    after = [event for event in _events(log, "decision") if event["t_ns"] > overrun["t_ns"] and event["terminals"]]
    assert len(after) > 2, "it goes on"
    assert after[0]["silent"] == [], "reports waited in their socket"
    assert switches_in(log), "and steers"


def switches_in(log: str) -> int:
    """Return how many terminals were moved."""
    return len(_events(log, "switch"))
