# SPDX-License-Identifier: MIT
"""Connections that fail: which exit statuses a run accepts, and what is read and said of the connections."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.unit.manifests import workload

from mptcplab.errors import LabError
from mptcplab.guest.timeline import _ProgramState
from mptcplab.metrics.connections import failed_in_runs
from mptcplab.metrics.warnings import failure_warnings
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.plan.script import script
from mptcplab.recording.record import FORMAT, Recording
from mptcplab.scenario.load import load
from mptcplab.steps import CONNECTION_FAILED
from mptcplab.workload.outputs import Failure, Failures

S = 10**9
ROOT = Path(__file__).resolve().parents[3]
REQUESTS = {"kind": "requests"}
STREAM = {
    "kind": "stream",
    "reverse": False,
    "duration": "4 s",
    "interval": "1 s",
    "deadline": "150 ms",
    "packet": "1 kB",
}
SCENARIO = """
title = "t"
topology = { preset = "direct" }
links.link1 = { rate = "1 Mbit/s" }
workloads.bulk = { kind = "KIND", from = "client", to = "server", duration = "1 s"MORE }
"""
#: The kinds whose programs are all `flow`, with the keys that each needs beside a duration.
KINDS = {
    "flow": "", "requests": "", "web": ', interval = "1 s"', "stream": "", "voip": "", "udp": ', rate = "1 Mbit/s"',
}  # fmt: skip


def _end(conn: int, t_ns: int, error: str | None, **more: Any) -> dict[str, Any]:
    times = dict.fromkeys(("connect_ns", "first_ns", "last_ns", "checksum"))
    return {"event": "end", "conn": conn, "t_ns": 10 * S + t_ns, "bytes": 0, **times, "error": error, **more}


def _start(conn: int, t_ns: int, **more: Any) -> dict[str, Any]:
    return {"event": "start", "conn": conn, "t_ns": 10 * S + t_ns, **more}


def _make_recording(
    folder: Path,
    *client: dict[str, Any],
    server: tuple[dict[str, Any], ...] = (),
    events: tuple[tuple[int, str, str], ...] = (),
) -> Recording:
    """Return a recording whose time zero is 10 s, and whose client started at 8 s."""
    (folder / "out").mkdir(parents=True)
    programs = []
    for side, told in (("client", client), ("server", server)):
        status = CONNECTION_FAILED if any(event.get("error") for event in told) else 0
        programs.append({"name": f"new.{side}", "start_ns": 8 * S, "status": status})
        lines = (json.dumps(event, separators=(",", ":")) + "\n" for event in told)
        (folder / "out" / f"new.{side}.out").write_text("".join(lines))
    manifest = {"format": FORMAT, "zero_ns": 10 * S, "programs": programs}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    rows = [
        {"instant_ns": at, "kind": kind, "link": link, "direction": "both", "value": ""} for at, kind, link in events
    ]
    if rows:
        pl.DataFrame(rows).write_parquet(folder / "events.parquet")
    return Recording(folder)


def _warnings(recording: Recording, described: dict[str, Any]) -> list[str]:
    return list(failure_warnings(recording, workload(described).failed_connections(recording, "new")))


def test_a_connection_that_is_not_established_is_a_row(tmp_path: Path) -> None:
    """It delivered nothing until it was given up, and what was down then is named."""
    events = ((2 * S, "down", "link2"), (3 * S, "up", "link2"), (5 * S, "down", "link1"), (30 * S, "down", "link3"))
    recording = _make_recording(tmp_path, _end(0, 18 * S, "connect-timeout"), events=events)
    reading = workload(REQUESTS).read(recording, "new")
    assert (reading.goodput_bps, reading.duration_s, reading.metrics) == (0, 10, {})
    assert _warnings(recording, REQUESTS) == [
        "1 of 1 connections were not established: connect-timeout after 10 s; the first at 18 s of the run. "
        "Down then: link1 since 5 s"
    ]


def test_failures_are_counted_by_reason(tmp_path: Path) -> None:
    recording = _make_recording(
        tmp_path,
        _end(0, int(8.5 * S), "refused", errno="ECONNREFUSED"),
        _start(1, 9 * S),
        _end(1, 12 * S, "reset", errno="EPIPE"),
        _end(2, 9 * S, "refused", errno="ECONNREFUSED"),
        _end(3, 13 * S, None),
        _end(4, 14 * S, "interrupted"),
    )
    assert _warnings(recording, REQUESTS) == [
        "2 of 5 connections were not established: refused (ECONNREFUSED) after 0.5 s to 1 s; the first at 8.5 s of the "
        "run",
        "1 of 5 connections failed 3 s after the handshake: reset (EPIPE); the first at 12 s of the run",
    ]


def test_a_time_that_is_not_known_is_not_made_up(tmp_path: Path) -> None:
    """The flows of `web` begin at any time, and only a handshake that is given up says how long it took."""
    recording = _make_recording(
        tmp_path, _end(0, 9 * S, "ENOBUFS", errno="ENOBUFS"), _end(1, 25 * S, "connect-timeout")
    )
    assert _warnings(recording, {"kind": "web"}) == [
        "1 of 2 connections were not established: ENOBUFS; the first at 9 s of the run",
        "1 of 2 connections were not established: connect-timeout after 10 s; the first at 25 s of the run",
    ]
    assert workload({"kind": "web"}).read(recording, "new").duration_s == 17


def test_what_only_the_server_saw_is_not_hidden(tmp_path: Path) -> None:
    """Its client counts the connection as complete; if a connection failed at both ends, the client's reason counts."""
    recording = _make_recording(
        tmp_path,
        _start(0, 8 * S),
        _end(0, 9 * S, None),
        _start(1, 8 * S),
        _end(1, 11 * S, "timeout", errno="ETIMEDOUT"),
        server=(
            _start(0, 8 * S, client_conn=1),
            _start(1, 8 * S, client_conn=0),
            _end(0, 12 * S, "interrupted"),
            _end(1, 10 * S, "reset", errno="ECONNRESET"),
        ),
    )
    assert _warnings(recording, REQUESTS) == [
        "1 of 2 connections failed 3 s after the handshake: timeout (ETIMEDOUT); the first at 11 s of the run",
        "1 of 2 connections failed 2 s after the handshake: reset (ECONNRESET), as only the server saw; the first at "
        "10 s of the run",
    ]


def test_a_connection_that_failed_before_it_said_what_it_is_for(tmp_path: Path) -> None:
    """The server does not know its number at the client. It is not counted twice."""
    alone = _make_recording(tmp_path / "alone", _end(0, 9 * S, None), server=(_end(0, 9 * S, "header"),))
    assert _warnings(alone, REQUESTS) == [
        "1 of 1 connections failed: header, as only the server saw; the first at 9 s of the run"
    ]
    both = _make_recording(tmp_path / "both", _end(0, 9 * S, "reset"), server=(_end(0, 9 * S, "header"),))
    assert len(_warnings(both, REQUESTS)) == 1


def test_nothing_delivered_without_a_failure_is_an_error(tmp_path: Path) -> None:
    recording = _make_recording(tmp_path, _end(0, 9 * S, None))
    for described in (REQUESTS, {"kind": "flow", "reverse": False}, STREAM, STREAM | {"reverse": True}):
        with pytest.raises(LabError, match="new: no connection delivered anything"):
            workload(described).read(recording, "new")


def test_messages_after_a_failure_are_lost(tmp_path: Path) -> None:
    """A call that breaks after a second of four is not a good call: what was due later did not arrive either."""
    packets = {"event": "packets", "conn": 0, "seq": [0, 1], "sent_ns": [18 * S, 19 * S], "delay_ns": [0, 0]}
    received = _end(0, 12 * S, "interrupted", messages=2, last_ns=19 * S) | {"bytes": 2000}
    recording = _make_recording(
        tmp_path,
        _start(0, 8 * S),
        _end(0, 10 * S, "reset", errno="EPIPE", first_ns=18 * S, messages=3),
        server=(_start(0, 8 * S, client_conn=0), packets, received),
    )
    reading = workload(STREAM).read(recording, "new")
    assert reading.metrics["lost_percent"] == 50
    messages = workload(STREAM).timed_messages(recording, "new")
    assert messages is not None
    assert messages.lost_s == (10, 11)


@pytest.mark.parametrize(
    ("goal", "seconds"), [({"duration": "4 s"}, 4.5), ({"size": "1 MB"}, 9), ({"duration": "30 s"}, 30)]
)
def test_a_transfer_that_breaks_off_has_no_higher_rate(tmp_path: Path, goal: dict[str, str], seconds: float) -> None:
    """Its 9 kB arrived in the first 4.5 s, and its sender learnt of the failure 9 s after its SYN."""
    received = _end(0, 20 * S, "interrupted", first_ns=18 * S, last_ns=int(22.5 * S)) | {"bytes": 9000}
    recording = _make_recording(
        tmp_path,
        _start(0, 8 * S),
        _end(0, 17 * S, "timeout", errno="ETIMEDOUT") | {"connect_ns": 0},
        server=(_start(0, 8 * S, client_conn=0), received),
    )
    reading = workload({"kind": "flow", "reverse": False, "connections": 1, "checksum": False, **goal}).read(
        recording, "new"
    )
    assert reading.duration_s == seconds
    assert reading.goodput_bps == 8 * 9000 / seconds


def test_requests_that_break_off_have_no_higher_rate(tmp_path: Path) -> None:
    answer = {"event": "request", "conn": 0, "t_ns": 20 * S, "asked_ns": 19 * S, "response": 1000}
    recording = _make_recording(tmp_path, _start(0, 9 * S), answer, _end(0, 14 * S, "reset", errno="EPIPE"))
    reading = workload(REQUESTS | {"count": 5}).read(recording, "new")
    assert (reading.duration_s, reading.goodput_bps) == (5, 1600)
    assert reading.metrics["response_p50_ms"] == 1000


def test_a_stream_that_is_not_established_is_a_row(tmp_path: Path) -> None:
    for reverse in (False, True):
        recording = _make_recording(tmp_path / str(reverse), _end(0, 18 * S, "connect-timeout"))
        reading = workload(STREAM | {"reverse": reverse}).read(recording, "new")
        assert (reading.goodput_bps, reading.duration_s, reading.metrics) == (0, 10, {})


def test_a_row_says_how_many_failed_after_how_long_and_why() -> None:
    refused = Failure("refused", 8.5, 0.5, was_established=False, errno="ECONNREFUSED")
    reset = Failure("reset", 12, 3, was_established=True, errno="EPIPE")
    first, other = Failures(4, (refused, reset)), Failures(4, (refused,))
    assert failed_in_runs([Failures(0, ())]) is None
    at_once = failed_in_runs([Failures(1, (Failure("unreachable", 4, 1e-6, was_established=False),))])
    assert at_once is not None
    assert at_once.text_in(1) == "1 of 1: unreachable at once"
    in_one, in_two = failed_in_runs([first]), failed_in_runs([first, Failures(0, ()), other])
    assert in_one is not None
    assert in_one.text_in(1) == "2 of 4: refused (ECONNREFUSED) after 0.5 s, reset (EPIPE) after 3 s"
    assert in_two is not None
    assert in_two.text_in(3) == "3 of 8 in 2 of 3 runs: refused (ECONNREFUSED) after 0.5 s, reset (EPIPE) after 3 s"
    assert in_two.to_json()["reasons"][0] == {
        "reason": "refused",
        "errno": "ECONNREFUSED",
        "was_established": False,
        "side": "client",
        "count": 2,
        "after_s": (0.5, 0.5),
        "first_at_s": 8.5,
    }


def _plan(folder: Path, kind: str, more: str = "") -> Plan:
    file = folder / "s.toml"
    file.write_text(SCENARIO.replace("KIND", kind).replace("MORE", KINDS[kind] + more))
    return compile_plan(load(file).points[0].scenario, seed=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_connection_ends_a_run_only_if_it_is_to(tmp_path: Path, kind: str) -> None:
    """The command lines are the same: only the statuses that the run accepts differ."""
    report, end = (_plan(tmp_path, kind, more).programs for more in ("", ', failures = "end"'))
    assert [program.argv for program in report] == [program.argv for program in end]
    assert {program.accepted_statuses for program in report} == {(CONNECTION_FAILED,)}
    assert {program.accepted_statuses for program in end} == {()}


def test_the_default_can_be_written_and_changes_no_plan(tmp_path: Path) -> None:
    assert _plan(tmp_path, "flow", ', failures = "report"') == _plan(tmp_path, "flow")


def test_a_plan_has_accepted_statuses_only_where_there_are_some(tmp_path: Path) -> None:
    """So plans of other programs remain as they were."""
    report, end = (json.loads(_plan(tmp_path, "flow", more).to_json()) for more in ("", ', failures = "end"'))
    assert [program["accepted_statuses"] for program in report["programs"]] == [[CONNECTION_FAILED]] * 2
    assert not any("accepted_statuses" in program for program in end["programs"])


@pytest.mark.parametrize(
    ("status", "fails"), [(0, False), (1, True), (2, True), (CONNECTION_FAILED, False), (-9, True)]
)
@pytest.mark.parametrize("stopped", [False, True])
def test_the_guest_accepts_only_this_status(status: int, fails: bool, stopped: bool) -> None:
    state = _ProgramState({"accepted_statuses": [CONNECTION_FAILED]}, pid=1, start_ns=0)
    assert state.failed_status is None, "while it runs"
    state.status, state.stopped = status, stopped
    assert state.failed_status == (status if fails and not stopped else None)
    other = _ProgramState({}, pid=1, start_ns=0)
    other.status = status
    assert other.failed_status == (status or None)


@pytest.mark.parametrize(("status", "ends"), [(0, 0), (1, 1), (CONNECTION_FAILED, 0), (7, 1)])
def test_the_script_of_a_plan_accepts_only_this_status(tmp_path: Path, status: int, ends: int) -> None:
    text = script(_plan(tmp_path, "flow"), title="t")
    (wait,) = re.findall(r"^wait \$c1.*$", text, re.MULTILINE)
    lines = f"set -e\n(exit {status}) & c1=$!\n{wait}\n"
    assert subprocess.run(["sh", "-c", lines], check=False).returncode == ends


def test_the_status_is_that_of_flow() -> None:
    header = (ROOT / "tools" / "flow" / "flow.h").read_text()
    assert re.findall(r"#define EXIT_CONNECTION (\d+)", header) == [str(CONNECTION_FAILED)]
