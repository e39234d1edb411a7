# SPDX-License-Identifier: MIT
"""Connections that fail: the commands that tolerate them, and what is read and said of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.unit.made_manifest import workload

from mptcplab.errors import LabError
from mptcplab.metrics.warnings import failure_warnings
from mptcplab.plan.compile import compile_plan
from mptcplab.recording.record import FORMAT, Recording
from mptcplab.scenario.load import load
from mptcplab.steps import Call
from mptcplab.workload.failures import is_flow
from mptcplab.workload.flow import Flow

S = 10**9
REPORTED = {"failures": "report", "kind": "requests"}
SCENARIO = """
title = "t"
topology = { preset = "direct" }
links.link1 = { rate = "1 Mbit/s" }
workloads.bulk = { kind = "KIND", from = "client", to = "server", duration = "1 s"MORE }
"""


def _end(conn: int, t_ns: int, error: str | None) -> dict[str, Any]:
    times = dict.fromkeys(("connect_ns", "first_ns", "last_ns", "checksum"))
    return {"event": "end", "conn": conn, "t_ns": 10 * S + t_ns, "bytes": 0, **times, "error": error}


def _recording(
    folder: Path, *client: dict[str, Any], err: str = "", events: tuple[tuple[int, str, str], ...] = ()
) -> Recording:
    """Return a recording whose time zero is 10 s, and whose client started at 8 s."""
    (folder / "out").mkdir(parents=True)
    program = {"name": "new.client", "start_ns": 8 * S}
    manifest = {"format": FORMAT, "zero_ns": 10 * S, "programs": [program]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    lines = (json.dumps(event, separators=(",", ":")) + "\n" for event in client)
    (folder / "out" / "new.client.out").write_text("".join(lines))
    for name in ("new.client.err", "new.server.out", "new.server.err"):
        (folder / "out" / name).write_text(err if name == "new.client.err" else "")
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
    recording = _recording(tmp_path, _end(0, 18 * S, "connect-timeout"), events=events)
    reading = workload(REPORTED).read(recording, "new")
    assert (reading.goodput_bps, reading.duration_s, reading.metrics) == (0, 10, {})
    assert _warnings(recording, REPORTED) == [
        "1 of 1 connections were not established: connect-timeout after 10 s; the first at 18 s of the run. "
        "Down then: link1 since 5 s"
    ]


def test_failures_are_counted_by_reason(tmp_path: Path) -> None:
    started = {"event": "start", "conn": 1, "t_ns": 19 * S}
    recording = _recording(
        tmp_path,
        _end(0, int(8.5 * S), "refused"),
        started,
        _end(1, 12 * S, "reset"),
        _end(2, 9 * S, "refused"),
        _end(3, 13 * S, None),
        _end(4, 14 * S, "interrupted"),
    )
    assert _warnings(recording, REPORTED) == [
        "2 of 5 connections were not established: refused after 0.5 s to 1 s; the first at 8.5 s of the run",
        "1 of 5 connections failed 3 s after the handshake (reset); the first at 12 s of the run",
    ]


def test_a_time_that_is_not_known_is_not_made_up(tmp_path: Path) -> None:
    """The flows of `web` begin at any time, and only a handshake that is given up says how long it took."""
    recording = _recording(tmp_path, _end(0, 9 * S, "ENOBUFS"), _end(1, 25 * S, "connect-timeout"))
    assert _warnings(recording, {**REPORTED, "kind": "web"}) == [
        "1 of 2 connections were not established: ENOBUFS; the first at 9 s of the run",
        "1 of 2 connections were not established: connect-timeout after 10 s; the first at 25 s of the run",
    ]
    assert workload({**REPORTED, "kind": "web"}).read(recording, "new").duration_s == 17


def test_no_failure_is_read_where_it_would_have_ended_the_run(tmp_path: Path) -> None:
    recording = _recording(tmp_path, _end(0, 18 * S, "connect-timeout"))
    assert _warnings(recording, {"kind": "requests"}) == []


def test_nothing_delivered_without_a_failure_is_an_error(tmp_path: Path) -> None:
    recording = _recording(tmp_path, _end(0, 9 * S, None))
    for described in (REPORTED, {**REPORTED, "kind": "flow", "reverse": False}):
        with pytest.raises(LabError, match="new: no connection delivered anything"):
            workload(described).read(recording, "new")


def test_another_reason_for_the_same_status_is_an_error(tmp_path: Path) -> None:
    """`flow` ends with status 1 if the system refuses something, too."""
    err = "flow: connection 0 failed: refused\nflow: no memory for another connection\n"
    recording = _recording(tmp_path, _end(0, 9 * S, "refused"), err=err)
    with pytest.raises(LabError, match=r"new\.client: no memory for another connection"):
        workload(REPORTED).failed_connections(recording, "new")


@pytest.mark.parametrize(
    ("kind", "more"), [("flow", ""), ("requests", ""), ("web", ', interval = "1 s"')], ids=["flow", "requests", "web"]
)
def test_only_workloads_that_report_failures_have_another_plan(tmp_path: Path, kind: str, more: str) -> None:
    """So recordings from before the key remain as they are."""
    file = tmp_path / "s.toml"

    def argvs(extra: str) -> list[tuple[str, ...]]:
        file.write_text(SCENARIO.replace("KIND", kind).replace("MORE", more + extra))
        return [program.argv for program in compile_plan(load(file).points[0].scenario, seed=1).programs]

    assert argvs(', failures = "end"') == argvs("")
    tolerant = argvs(', failures = "report"')
    assert [argv[:2] for argv in tolerant] == [("sh", "-c")] * 2
    assert all(map(is_flow, tolerant + argvs("")))
    assert not is_flow(("sh", "-c", "flow pattern | socat"))


@pytest.mark.parametrize(("status", "seen"), [(0, 0), (1, 0), (2, 1), (7, 1)])
def test_only_status_1_is_tolerated(status: int, seen: int) -> None:
    tolerant = Flow.model_validate(
        {"kind": "flow", "from": "a", "to": "b", "duration": "1 s", "failures": "report"}
    ).tolerate_failures(Call(("sh", "-c", f"exit {status}")))
    assert (subprocess.run(tolerant.argv, check=False).returncode != 0) == bool(seen)
