# SPDX-License-Identifier: MIT
"""Connections of `curl`, `iperf3` and `socat` that fail: what is read of these programs' words, and what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.unit.manifests import manifest, workload

from mptcplab.errors import LabError
from mptcplab.metrics.connections import group_failures
from mptcplab.metrics.warnings import failure_warnings
from mptcplab.plan.compile import compile_plan
from mptcplab.recording.record import Recording
from mptcplab.scenario.load import load
from mptcplab.steps import Program

S = 10**9
SERVED = '{"event":"stream","bytes":1000,"checksum":"a"}'
PART = '{"event":"stream","bytes":400,"checksum":"b"}'
NOTHING = '{"event":"stream","bytes":0,"checksum":"c"}'
REFUSED = "curl: (7) Failed to connect to 10.0.2.2 port 5001 after 3055 ms: Couldn't connect to server"
BROKEN = "curl: (18) transfer closed with 600 bytes remaining to read"
TIMED_OUT = "curl: (56) Recv failure: Connection timed out"
HTTP: dict[str, Any] = {"kind": "http", "size": "1 kB", "files": 1, "connections": 1}
IPERF3: dict[str, Any] = {"kind": "iperf3", "duration": "5 s", "connections": 1, "reverse": False}
TRANSFER: dict[str, Any] = {"kind": "transfer", "size": "1 kB"}
SCENARIO = """
title = "t"
topology = { preset = "direct" }
links.link1 = { rate = "1 Mbit/s" }
workloads.bulk = { kind = "KIND", from = "client", to = "server", size = "1 MB"MORE }
"""


def _times(total: float, connect: float = 0.0, **more: Any) -> str:
    event = {"event": "curl", "time_connect": connect, "time_total": total, **more}
    return json.dumps(event, separators=(",", ":"))


def _make_recording(
    folder: Path,
    described: dict[str, Any],
    *,
    err: tuple[str, ...] = (),
    out: str = "",
    server_err: str = SERVED,
    status: int = 0,
    seconds: float = 10,
    received: int | None = None,
) -> Recording:
    """A recording whose client ran from 2 s for ``seconds``; link1 goes down at 3 s."""
    (folder / "out").mkdir(parents=True)
    for name, text in {
        "new.client.err": "\n".join(err), "new.client.out": out, "new.server.err": server_err,
    }.items():  # fmt: skip
        (folder / "out" / name).write_text(text)
    programs = [
        {"name": "new.client", "start_ns": 2 * S, "end_ns": int((2 + seconds) * S), "status": status},
        {"name": "new.server", "start_ns": -S, "end_ns": int((3 + seconds) * S), "status": 0},
    ]
    (folder / "manifest.json").write_text(json.dumps(manifest({"new": described}, programs=programs)))
    down = {"instant_ns": 3 * S, "kind": "down", "link": "link1", "direction": "both", "value": ""}
    pl.DataFrame([down]).write_parquet(folder / "events.parquet")
    if received is not None:
        sockets = [("10.0.2.2:5001", received // 2), ("10.0.2.2:5001", received), ("10.0.2.2:22", 10**6)]
        rows = [
            {"time_ns": at, "node": "server", "local": local, "remote": "10.0.1.1:40000", "bytes_received": count}
            for at, (local, count) in enumerate(sockets)
        ]
        pl.DataFrame(rows).write_parquet(folder / "subflows.parquet")
    return Recording(folder)


def _warnings(recording: Recording, described: dict[str, Any]) -> list[str]:
    return list(failure_warnings(recording, workload(described).failed_connections(recording, "new")))


def _cells(recording: Recording, described: dict[str, Any]) -> list[tuple[int, str]]:
    failed = workload(described).failed_connections(recording, "new").failed
    return [(group.count, group.text) for group in group_failures(failed)]


# curl


def test_a_download_without_a_connection_is_a_row(tmp_path: Path) -> None:
    recording = _make_recording(tmp_path, HTTP, err=(REFUSED, _times(3.055), NOTHING), seconds=3.055)
    reading = workload(HTTP).read(recording, "new")
    assert (reading.goodput_bps, reading.duration_s, reading.metrics) == (0, 3.055, {})
    assert _warnings(recording, HTTP) == [
        "1 of 1 connections were not established: curl: (7) Failed to connect to 10.0.2.2 port 5001: Couldn't connect "
        "to server after 3.055 s; the first at 5.055 s of the run. Down then: link1 since 3 s"
    ]


def test_what_arrived_until_a_download_broke_counts(tmp_path: Path) -> None:
    """400 bytes of one file and 1000 of the other in 10 s; the time of the whole one alone is a completion time."""
    described = HTTP | {"files": 2}
    err = (TIMED_OUT, _times(9, 1), PART, _times(1, 0.1), SERVED)
    recording = _make_recording(tmp_path, described, err=err)
    reading = workload(described).read(recording, "new")
    assert (reading.goodput_bps, reading.metrics) == (8 * 1400 / 10, {})
    items = workload(described).items(recording, "new")
    assert items is not None
    assert [item.took for item in items.items] == [1]
    assert _warnings(recording, described) == [
        "1 of 2 connections failed 8 s after the handshake: curl: (56) Recv failure: Connection timed out (ETIMEDOUT); "
        "the first at 11 s of the run. Down then: link1 since 3 s"
    ]


@pytest.mark.parametrize(("first", "second"), [("600", "7"), ("600 out of 1000", "7 out of 1000")])
def test_equal_reasons_are_one(tmp_path: Path, first: str, second: str) -> None:
    """The numbers in curl's messages are of one download each. One after another, the second fails at 2 + 4 + 5 s."""
    described = HTTP | {"files": 2}
    messages = [BROKEN.replace("600", number) for number in (first, second)]
    err = (messages[0], _times(4, 1), PART, messages[1], _times(5, 1), PART)
    recording = _make_recording(tmp_path, described, err=err)
    assert _cells(recording, described) == [
        (2, "curl: (18) transfer closed with bytes remaining to read after 3 s to 4 s")
    ]
    failed = workload(described).failed_connections(recording, "new").failed
    assert [failure.at_s for failure in failed] == [6, 11]


def test_instants_side_by_side_are_known_if_all_began_together(tmp_path: Path) -> None:
    """With more files than connections, only the first that ended certainly began at the start."""
    err = (REFUSED, REFUSED, _times(3), _times(3), NOTHING, NOTHING, REFUSED, _times(4), NOTHING)
    for files, connections, known in ((3, 3, [5, 5, 6]), (3, 2, [5, None, None])):
        described = HTTP | {"files": files, "connections": connections}
        recording = _make_recording(tmp_path / str(connections), described, err=err)
        failed = workload(described).failed_connections(recording, "new").failed
        assert [failure.at_s for failure in failed] == known
        assert "3 of 3 connections were not established" in _warnings(recording, described)[0]
        assert "the first at 5 s of the run. Down then: link1 since 3 s" in _warnings(recording, described)[0]


def test_an_instant_that_is_not_known_is_not_made_up(tmp_path: Path) -> None:
    described = HTTP | {"files": 3, "connections": 2}
    err = (_times(1, 0.1), SERVED, REFUSED, _times(3), NOTHING, _times(1, 0.1), SERVED)
    assert _warnings(_make_recording(tmp_path, described, err=err), described) == [
        "1 of 3 connections were not established: curl: (7) Failed to connect to 10.0.2.2 port 5001: Couldn't connect "
        "to server after 3 s"
    ]


@pytest.mark.parametrize("status", [7, 18, 28, 52, 55, 56, 97])
def test_these_statuses_of_curl_are_failed_connections(tmp_path: Path, status: int) -> None:
    recording = _make_recording(tmp_path, HTTP, err=(f"curl: ({status}) text", _times(3, 1), PART))
    assert _cells(recording, HTTP) == [(1, f"curl: ({status}) text after 2 s")]
    assert workload(HTTP).read(recording, "new").goodput_bps == 8 * 400 / 10


@pytest.mark.parametrize("status", [3, 22, 23, 67, 78])
def test_other_statuses_of_curl_end_the_run(tmp_path: Path, status: int) -> None:
    """Also beside a connection that failed."""
    described = HTTP | {"files": 2, "connections": 1}
    err = (TIMED_OUT, _times(9, 1), PART, f"curl: ({status}) text", _times(1, 1), NOTHING)
    with pytest.raises(LabError, match="differs from the served one"):
        workload(described).read(_make_recording(tmp_path, described, err=err), "new")


def test_a_corrupt_file_is_no_failed_connection(tmp_path: Path) -> None:
    for number, err in enumerate([(_times(9, 1), PART), (TIMED_OUT, _times(9, 1), PART, _times(9, 1), PART)]):
        described = HTTP | {"files": number + 1}
        recording = _make_recording(tmp_path / str(number), described, err=err)
        with pytest.raises(LabError, match="differs from the served one"):
            workload(described).read(recording, "new")


def test_a_download_that_is_repeated_is_no_failed_connection(tmp_path: Path) -> None:
    """As before, it is a broken download."""
    described = HTTP | {"retries": 2}
    err = (TIMED_OUT, _times(2, 1, exitcode=56), PART, _times(1, 0.1, exitcode=0), SERVED)
    recording = _make_recording(tmp_path, described, err=err)
    assert _cells(recording, described) == []
    reading = workload(described).read(recording, "new")
    assert (reading.goodput_bps, reading.metrics) == (800, {"broken_downloads": 1})


def test_the_last_try_of_a_file_that_never_arrives_fails(tmp_path: Path) -> None:
    """The first file breaks twice, the second once. The failure is at 2 s + 2 s + 0.1 s + 3 s."""
    described = HTTP | {"files": 2, "retries": 1}
    err = (
        *(TIMED_OUT, _times(2, 1, exitcode=56), PART, BROKEN, _times(3, 1, exitcode=18), PART),
        *(REFUSED, _times(1, exitcode=7), NOTHING, _times(1, 0.1, exitcode=0), SERVED),
    )
    recording = _make_recording(tmp_path, described, err=err)
    (failure,) = workload(described).failed_connections(recording, "new").failed
    assert (failure.reason, failure.at_s) == ("curl: (18) transfer closed with bytes remaining to read", 7.1)
    assert workload(described).read(recording, "new").metrics["broken_downloads"] == 2


def test_retries_side_by_side_have_the_right_number(tmp_path: Path) -> None:
    described = HTTP | {"files": 2, "connections": 2, "retries": 1}
    refused = (REFUSED, _times(1, exitcode=7), NOTHING)
    recording = _make_recording(tmp_path, described, err=(*refused, _times(1, 0.1, exitcode=0), SERVED, *refused))
    assert _cells(recording, described) == [
        (1, "curl: (7) Failed to connect to 10.0.2.2 port 5001: Couldn't connect to server after 1 s")
    ]


# iperf3


def _report(error: str | None = None, *, connected: bool = True, end: dict[str, Any] | None = None) -> str:
    report = {"start": {"connected": [{"socket": 5}] if connected else []}, "end": end or {}}
    return json.dumps(report | ({"error": error} if error is not None else {}))


def test_a_test_of_iperf3_without_a_connection_is_a_row(tmp_path: Path) -> None:
    described = IPERF3 | {"connections": 3}
    out = _report("unable to connect to server: Connection refused", connected=False)
    for status in (0, 1):
        recording = _make_recording(tmp_path / str(status), described, out=out, status=status, seconds=3)
        assert workload(described).read(recording, "new").goodput_bps == 0
        assert workload(described).read(recording, "new").duration_s == 3
        assert _warnings(recording, described) == [
            "3 of 3 connections were not established: unable to connect to server: Connection refused (ECONNREFUSED) "
            "after 3 s; the first at 5 s of the run. Down then: link1 since 3 s"
        ]


def test_what_iperf3_received_until_a_connection_broke_counts(tmp_path: Path) -> None:
    """The server's counts do not come back, so its sockets' samples count; the client's own are in its report."""
    out = _report("unable to send control message: Broken pipe", end={"sum_received": {"bytes": 500}})
    for reverse, received in ((False, 700), (True, 500)):
        described = IPERF3 | {"reverse": reverse}
        recording = _make_recording(tmp_path / str(reverse), described, out=out, received=700)
        reading = workload(described).read(recording, "new")
        assert (reading.goodput_bps, reading.duration_s) == (8 * received / 5, 5)
        assert _cells(recording, described) == [(1, "unable to send control message: Broken pipe (EPIPE)")]


def test_a_size_that_breaks_off_has_no_higher_rate(tmp_path: Path) -> None:
    described = {key: value for key, value in IPERF3.items() if key != "duration"} | {"size": "1 MB"}
    recording = _make_recording(
        tmp_path, described, out=_report("control socket has closed unexpectedly"), received=700
    )
    assert workload(described).read(recording, "new").duration_s == 10


@pytest.mark.parametrize(
    "error", ["unable to set TCP_CONGESTION: Supplied congestion control algorithm not supported on this host", "x"]
)
def test_another_error_of_iperf3_ends_the_run(tmp_path: Path, error: str) -> None:
    recording = _make_recording(tmp_path, IPERF3, out=_report(error), status=1)
    with pytest.raises(LabError, match=f"new: iperf3: {error}"):
        workload(IPERF3).read(recording, "new")


def test_a_report_that_is_none_ends_the_run(tmp_path: Path) -> None:
    for number, out in enumerate(["", "[]", "iperf3: error", "{}"]):
        with pytest.raises(LabError, match="cannot be read"):
            workload(IPERF3).read(_make_recording(tmp_path / str(number), IPERF3, out=out), "new")


# socat

CONNECT = "2025/01/01 00:00:17 socat[26] E connect(5, AF=2 10.0.2.2:5001, 16): No route to host"
WRITE = "2025/01/01 00:00:17 socat[25] E write(5, 0x1a800936000, 65536): Connection timed out"


def test_a_transfer_without_a_connection_is_a_row(tmp_path: Path) -> None:
    err = (CONNECT, "flow: pattern: Broken pipe")
    recording = _make_recording(tmp_path, TRANSFER, err=err, server_err="", status=1, seconds=3)
    reading = workload(TRANSFER).read(recording, "new")
    assert (reading.goodput_bps, reading.duration_s) == (0, 3)
    assert _warnings(recording, TRANSFER) == [
        "1 of 1 connections were not established: connect: No route to host (EHOSTUNREACH) after 3 s; the first at 5 s "
        "of the run. Down then: link1 since 3 s"
    ]


@pytest.mark.parametrize(("server_err", "received"), [(PART, 400), ("", 700), ("socat[9] E read(6): x", 700)])
def test_what_arrived_until_a_transfer_broke_counts(tmp_path: Path, server_err: str, received: int) -> None:
    """Its reader reports it if it noticed the failure; else, the samples of its sockets tell."""
    err = (WRITE, "flow: pattern: Broken pipe")
    recording = _make_recording(tmp_path, TRANSFER, err=err, server_err=server_err, status=1, received=700)
    assert workload(TRANSFER).read(recording, "new").goodput_bps == 8 * received / 10
    assert _cells(recording, TRANSFER) == [(1, "write: Connection timed out (ETIMEDOUT)")]


def test_another_error_of_socat_ends_the_run(tmp_path: Path) -> None:
    err = ("2025/01/01 00:00:17 socat[26] E unknown device/address", "flow: pattern: Broken pipe")
    recording = _make_recording(tmp_path, TRANSFER, err=err, status=1)
    with pytest.raises(LabError, match=r"new: socat failed: .*unknown device"):
        workload(TRANSFER).read(recording, "new")


def test_a_file_that_differs_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="differs from the data sent"):
        workload(TRANSFER).read(_make_recording(tmp_path, TRANSFER, err=(SERVED,), server_err=PART), "new")


# Texts that do not fit into a message


@pytest.mark.parametrize(
    ("described", "outputs"),
    [
        (HTTP, {"err": ("curl: (56) a\x00b" + "c" * 999, _times(3, 1), NOTHING)}),
        (IPERF3, {"out": _report("unable to connect to server: a\x00b" + "c" * 999)}),
        (TRANSFER, {"err": (WRITE + "\x00" + "c" * 999,), "server_err": PART, "status": 1}),
    ],
)
def test_a_reason_is_one_line_of_moderate_length(
    tmp_path: Path, described: dict[str, Any], outputs: dict[str, Any]
) -> None:
    recording = _make_recording(tmp_path, described, **outputs)
    (failed,) = workload(described).failed_connections(recording, "new").failed
    print(failed.reason)
    assert failed.reason.isprintable()
    assert len(failed.reason) == 200
    assert failed.reason.endswith("ccc...")


@pytest.mark.parametrize(
    ("described", "outputs"),
    [
        (HTTP, {"err": ("curl: (3) \x00" + "c" * 999, _times(3, 1), NOTHING)}),
        (IPERF3, {"out": _report("\x00" + "c" * 999)}),
        (TRANSFER, {"err": ("\x00" + "c" * 999,), "status": 1}),
    ],
)
def test_an_error_quotes_a_part_of_a_long_text(
    tmp_path: Path, described: dict[str, Any], outputs: dict[str, Any]
) -> None:
    with pytest.raises(LabError) as error:
        workload(described).read(_make_recording(tmp_path, described, **outputs), "new")
    assert f"{error.value.message} {error.value.hint}".isprintable()
    assert len(error.value.message) < 300 > len(error.value.hint or "")


# The key


@pytest.mark.parametrize(
    ("described", "outputs", "error"),
    [
        (HTTP, {"err": (REFUSED, _times(3.055), NOTHING)}, "differs from the served one"),
        (IPERF3, {"out": _report("unable to send control message: Broken pipe")}, "iperf3: unable to send"),
    ],
)
def test_it_ends_the_run_if_it_is_to(
    tmp_path: Path, described: dict[str, Any], outputs: dict[str, Any], error: str
) -> None:
    described = described | {"failures": "end"}
    recording = _make_recording(tmp_path, described, **outputs)
    assert _cells(recording, described) == []
    with pytest.raises(LabError, match=error) as raised:
        workload(described).read(recording, "new")
    assert 'failures = "end"' in str(raised.value.hint)


def _programs(folder: Path, kind: str, more: str = "") -> tuple[Program, ...]:
    file = folder / "s.toml"
    file.write_text(SCENARIO.replace("KIND", kind).replace("MORE", more))
    return compile_plan(load(file).points[0].scenario, seed=1).programs


@pytest.mark.parametrize(("kind", "accepted"), [("http", ()), ("ftp", ()), ("iperf3", (1,)), ("transfer", (1,))])
def test_the_run_accepts_the_status_of_the_client_alone(tmp_path: Path, kind: str, accepted: tuple[int, ...]) -> None:
    """The command lines are the same. The status of `curl` is not its pipeline's: no run ends by it."""
    report, end = (_programs(tmp_path, kind, more) for more in ("", ', failures = "end"'))
    assert [program.argv for program in report] == [program.argv for program in end]
    assert {program.role: program.accepted_statuses for program in report} == {"server": (), "client": accepted}
    assert {program.accepted_statuses for program in end} == {()}
