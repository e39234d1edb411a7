# SPDX-License-Identifier: MIT
"""What is said about a gateway: from made samples of the sockets of four nodes, and made counters of their kernels."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.metrics.gateway_recording import ACCEPTED, DSL, FALLBACK, LTE, OPENED, TOTAL, GatewayRecording

from mptcplab.errors import LabError
from mptcplab.figure.timelines import timelines
from mptcplab.figure.words import event_marks
from mptcplab.metrics.catalog.recovery import workload_recoveries
from mptcplab.metrics.gateways import GatewayUse, gateway_uses
from mptcplab.metrics.instants import changes_rates, has_failed
from mptcplab.metrics.measure import measure
from mptcplab.metrics.rows import result_rows
from mptcplab.metrics.subflows import ends_of
from mptcplab.recording import samples
from mptcplab.recording.record import Recording
from mptcplab.report.result_table import result_table
from mptcplab.workload.recorded import read_workload

DROPPED = "MPTcpExtNoDSSInWindow"


def _use(made: GatewayRecording) -> GatewayUse:
    recording = made.write()
    (use,) = gateway_uses(recording, read_workload(recording, "fetch"))
    return use


def _row(node: str, local: str, remote: str, **values: Any) -> samples.Row:
    base = {"time_ns": 2 * 10**9, "node": node, "local": local, "remote": remote, "protocol": "tcp"}
    return {**base, "token": None, "bytes_received": 0, "bytes_acked": 0, "rtt_us": 1, "snd_cwnd": 1, **values}


# -- what it says


def test_mptcp_inside_and_tcp_outside(tmp_path: Path) -> None:
    use = _use(GatewayRecording(tmp_path))
    assert use.text == "bond: TCP | MPTCP, 2 subflows, olia | TCP"
    assert use.shares == {"dsl": 0.75, "lte": 0.25}
    assert use.warnings == ()


def test_a_client_whose_mptcp_the_entry_declines_fell_back(tmp_path: Path) -> None:
    """Its socket keeps a token, and flags without an answer."""
    (measured,) = measure(GatewayRecording(tmp_path, tokens={"client": 5}, flags={"client": 130}).write())
    assert measured.sockets.use.text == "fell back"
    assert measured.gateways[0].client_side == "TCP"


def test_an_upload_counts_at_the_exit(tmp_path: Path) -> None:
    """What the exit received is 0 in the made download: nothing of an upload came."""
    use = _use(GatewayRecording(tmp_path, workload={"kind": "flow", "duration": "1 s", "size": None, "reverse": False}))
    assert use.shares == {}
    assert (use.inner, use.carrying) == ("MPTCP", {})


def test_the_workloads_row_has_the_inner_shares_and_the_text(tmp_path: Path) -> None:
    recording = GatewayRecording(tmp_path).write()
    (measured,) = measure(recording)
    assert measured.sockets.shares == {"dsl": 0.75, "lte": 0.25}
    assert measured.sockets.use.text == "no", "the workload's own sockets"
    assert [gateway.text for gateway in measured.gateways] == ["bond: TCP | MPTCP, 2 subflows, olia | TCP"]
    (row,) = result_rows([recording])
    table = result_table("t", [row])
    cells = dict(zip(table.headings, table.rows[0], strict=True))
    assert cells["gateway"] == "bond: TCP | MPTCP, 2 subflows, olia | TCP"
    assert cells["share by path"] == "dsl 75%, lte 25%"
    assert row.to_json()["gateways"] == cells["gateway"]


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"tokens": {"entry_inner": None, "exit_inner": None}, "inner": (TOTAL,)}, "bond: TCP | TCP, olia | TCP"),
        # A program that asks for MPTCP on both sides: its socket shows MPTCP, but a server without MPTCP does not.
        ({"tokens": {"exit": 33}}, "bond: TCP | MPTCP, 2 subflows, olia | TCP"),
        ({"tokens": {"exit": 33, "server": 44}, "flags": {"exit": 130}}, "bond: TCP | MPTCP, 2 subflows, olia | TCP"),
        # 195, 193: the other side answered with MPTCP. 130: it did not.
        ({"flags": {"entry_inner": 195, "exit_inner": 193}}, "bond: TCP | MPTCP, 2 subflows, olia | TCP"),
        ({"flags": {"entry_inner": 130, "exit_inner": 193}}, "bond: TCP | TCP, olia | TCP"),
        ({"tokens": {"exit": 33, "server": 44}}, "bond: TCP | MPTCP, 2 subflows, olia | MPTCP"),
        ({"tokens": {"client": 33, "entry": 44}}, "bond: MPTCP | MPTCP, 2 subflows, olia | TCP"),
        ({"inner": (TOTAL,)}, "bond: TCP | MPTCP, 1 subflow, olia | TCP"),
        ({"inner": ()}, "bond: TCP | nothing | TCP"),
        ({"outer": ("client", "entry")}, "bond: TCP | MPTCP, 2 subflows, olia | nothing"),
        ({"outer": ("exit", "server")}, "bond: nothing | MPTCP, 2 subflows, olia | TCP"),
        ({"gateway": {"local": {"fetch": "127.0.1.1"}, "mode": "local"}}, "bond: TCP | MPTCP, 2 subflows, olia | TCP"),
    ],
)
def test_texts(tmp_path: Path, facts: dict[str, Any], text: str) -> None:
    assert _use(GatewayRecording(tmp_path, **facts)).text == text


def _second_connection() -> tuple[samples.Row, ...]:
    """A second inner connection, with one subflow."""
    at = {"token": 55, "flags": None, "protocol": "mptcp"}
    entry = _row("home", "10.0.2.1:40200", "10.0.2.2:8388", bytes_received=TOTAL, **at)
    return entry, _row("vps", "10.0.2.2:8388", "10.0.2.1:40200", bytes_acked=TOTAL, **at)


def test_connections_with_a_different_number_of_subflows(tmp_path: Path) -> None:
    counters = {"home": {OPENED: 2}, "vps": {ACCEPTED: 2}}
    recordings = [
        GatewayRecording(tmp_path / f"{n}", extra=extra, counters=counters).write()
        for n, extra in enumerate(((), _second_connection()))
    ]
    alone, both = (measure(recording)[0].gateways[0] for recording in recordings)
    assert (alone.text, alone.warnings) == ("bond: TCP | MPTCP, 2 subflows, olia | TCP", ())
    assert both.text == "bond: TCP | MPTCP, 1 to 2 subflows, olia | TCP"
    assert both.warnings == ("gateway bond: only one of its subflows carried data in 1 of 2 connections",)
    (row,) = result_rows(recordings)
    assert row.gateways == both.text, "of all runs together"


def test_a_tunnel_shows_the_workloads_own_protocol_on_both_sides(tmp_path: Path) -> None:
    tunnel = {"listening_port": None, "mode": "tunnel", "program": "openvpn"}
    plain = _use(GatewayRecording(tmp_path / "a", gateway=tunnel, outer=("client", "server")))
    assert (plain.text, plain.warnings) == ("bond: TCP | MPTCP, 2 subflows, olia | TCP", ())
    both = _use(
        GatewayRecording(tmp_path / "b", gateway=tunnel, outer=("client", "server"), tokens={"client": 1, "server": 2})
    )
    assert both.text == "bond: MPTCP | MPTCP, 2 subflows, olia | MPTCP"
    assert both.warnings == (), "MPTCP from end to end is the workload's own choice"
    calls = {"kind": "udp", "duration": "1 s", "size": None}
    assert _use(GatewayRecording(tmp_path / "c", gateway=tunnel, outer=(), workload=calls)).client_side == "UDP"


def test_a_workload_that_it_does_not_carry_has_no_gateway(tmp_path: Path) -> None:
    recording = GatewayRecording(tmp_path, gateway={"carried": []}).write()
    assert gateway_uses(recording, read_workload(recording, "fetch")) == []


def test_connections_to_the_same_port_of_another_node_are_not_inner(tmp_path: Path) -> None:
    other = _row("home", "10.0.2.1:41000", "10.0.5.2:8388", token=99, bytes_received=9 * TOTAL)
    assert _use(GatewayRecording(tmp_path, extra=(other,))).shares == {"dsl": 0.75, "lte": 0.25}


# -- warnings


@pytest.mark.parametrize(
    ("facts", "warning"),
    [
        ({"inner": ()}, "gateway bond: no connection between home and vps was seen"),
        (
            {"tokens": {"entry_inner": None, "exit_inner": None}, "inner": (TOTAL,)},
            "gateway bond: MPTCP was requested between entry and exit, but they speak TCP",
        ),
        (
            {"gateway": {"protocol": "tcp"}},
            "gateway bond: TCP was requested between entry and exit, but they speak MPTCP",
        ),
        ({"inner": (TOTAL,)}, "gateway bond: only one of its subflows carried data"),
        ({"inner": (TOTAL, 0)}, "gateway bond: only one of its subflows carried data"),
        ({"inner": (TOTAL, 100)}, "gateway bond: the subflow on lte carried less than 1 % of the data"),
        ({"tokens": {"client": 1, "entry": 2}}, "gateway bond: the connection on the client's side is MPTCP as well"),
        ({"tokens": {"exit": 1, "server": 2}}, "gateway bond: the connection on the server's side is MPTCP as well"),
        ({"inner": (10_000, 10_000)}, "gateway bond: the workload's data did not pass through it"),
        ({"outer": ("client", "entry")}, "gateway bond: no connection of its outer sides was seen"),
        (
            {"extra": (_row("vps", "10.0.2.2:8388", "10.0.2.1:40200", bytes_received=5),)},
            "gateway bond: 1 of 2 connections between its sides are plain TCP",
        ),
        (
            {"counters": {"home": {OPENED: 0}}},
            "gateway bond: its sockets show 1 MPTCP connections, but home opened only 0",
        ),
        (
            {"counters": {"vps": {ACCEPTED: 0}}},
            "gateway bond: its sockets show 1 MPTCP connections, but vps accepted only 0",
        ),
        (
            {"counters": {"home": {FALLBACK: 2}}},
            "gateway bond: its sockets show MPTCP, but home counted fallbacks to TCP: 2",
        ),
        (
            {"counters": {"vps": {FALLBACK: 1}}},
            "gateway bond: its sockets show MPTCP, but vps counted fallbacks to TCP: 1",
        ),
        (
            {"counters": {"home": {DROPPED: 0}, "vps": {DROPPED: 7}}},
            "gateway bond: the kernel sent segments beyond the connection's window, of which home and vps dropped 7: a "
            "bug of mainline that makes transfers wait "
            "(`mptcplab kernel build --fix window` builds a kernel without it)",
        ),
        (
            {"counters": {"laptop": {OPENED: 1}}},
            "gateway bond: the sockets of laptop show TCP, but its kernel counted MPTCP: 1",
        ),
        (
            {"counters": {"web": {ACCEPTED: 3}}},
            "gateway bond: the sockets of web show TCP, but its kernel counted MPTCP: 3",
        ),
    ],
)
def test_warnings(tmp_path: Path, facts: dict[str, Any], warning: str) -> None:
    recording = GatewayRecording(tmp_path, **facts).write()
    (measured,) = measure(recording)
    (use,) = measured.gateways
    assert use.warnings.count(warning) == 1, use.warnings
    assert warning in measured.warnings


@pytest.mark.parametrize(
    ("facts", "faults"),
    [
        ({}, ()),
        ({"counters": {"vps": {FALLBACK: 1}}}, ()),
        ({"inner": ()}, ("gateway bond: no connection between home and vps was seen",)),
        ({"inner": (TOTAL,)}, ("gateway bond: only one of its subflows carried data",)),
        ({"gateway": {"protocol": "tcp"}}, None),
    ],
)
def test_faults_are_about_the_inner_mptcp(
    tmp_path: Path, facts: dict[str, Any], faults: tuple[str, ...] | None
) -> None:
    """The workload's own hosts use TCP, which is not a fault."""
    (measured,) = measure(GatewayRecording(tmp_path, **facts).write())
    assert measured.gateways[0].mptcp_faults == faults
    assert measured.mptcp_faults == faults


def test_counters_of_a_node_with_other_connections_contradict_nothing(tmp_path: Path) -> None:
    other = {"other": {"kind": "iperf3", "from": "laptop", "to": "far", "reverse": False, "duration": "1 s"}}
    use = _use(GatewayRecording(tmp_path, more_workloads=other, counters={"laptop": {OPENED: 7}}))
    assert use.warnings == ()


def test_counters_that_a_kernel_lacks_contradict_nothing(tmp_path: Path) -> None:
    made = GatewayRecording(tmp_path)
    recording = made.write()
    for node in ("home", "vps"):
        (tmp_path / "counters" / node / "nstat.json").write_text('{"kernel": {}}')
    assert gateway_uses(recording, read_workload(recording, "fetch"))[0].warnings == ()


@pytest.mark.parametrize("inner", [(TOTAL,), (TOTAL, 100)])
def test_small_messages_need_not_use_all_paths(tmp_path: Path, inner: tuple[int, ...]) -> None:
    """The bytes of ``requests`` are sent one by one, and sockets count the other direction, too."""
    recording = GatewayRecording(tmp_path, inner=inner).write()
    fetch = read_workload(recording, "fetch")
    not_bulk = replace(fetch, ends=replace(fetch.ends, is_bulk=False))
    assert gateway_uses(recording, not_bulk)[0].warnings == ()


def test_unknown_bytes_are_not_zero(tmp_path: Path) -> None:
    made = GatewayRecording(tmp_path)
    recording = made.write()
    table = recording.subflows.drop("bytes_received").to_dicts()
    samples.write([{**row, "bytes_received": None} for row in table], tmp_path / "subflows.parquet")
    fetch = read_workload(recording, "fetch")
    (use,) = gateway_uses(Recording(tmp_path), fetch)
    assert not any("did not pass" in warning for warning in use.warnings)


# -- over time


DOWN = {"instant_ns": 1_200_000_000, "time_ns": 1_200_000_000, "direction": "both", "link": "bond", "value": "exit"}
EVENTS = ({**DOWN, "kind": "gateway-down"}, {**DOWN, "kind": "gateway-up", "instant_ns": 1_500_000_000})


def test_time_series_are_those_of_the_inner_paths(tmp_path: Path) -> None:
    """Each path carried half of its bytes in the first second, and half in the second one."""
    (line,) = timelines(GatewayRecording(tmp_path).write(), max_values=100)
    assert set(line.received) == {"dsl", "lte"}
    assert [rates[-1] for rates in line.received.values()] == [8 * DSL / 2 / 1e6, 8 * LTE / 2 / 1e6]
    assert [sample.name for sample in line.rtt] == ["dsl", "lte"]


def test_time_series_of_a_workload_do_not_show_another(tmp_path: Path) -> None:
    """Without a gateway, and with another server on the same host, whose sockets are sampled, too."""
    other = {"other": {"kind": "iperf3", "from": "laptop", "to": "web", "reverse": True, "duration": "1 s"}}
    stranger = _row("laptop", "10.0.1.1:40009", "10.0.4.2:5002", bytes_received=TOTAL)
    made = GatewayRecording(tmp_path, gateway={"carried": []}, more_workloads=other, extra=(stranger,))
    recording = made.write()
    programs = [{"name": f"{name}.client", "start_ns": 0, "end_ns": 2 * 10**9} for name in ("fetch", "other")]
    recording.manifest["programs"] = programs
    fetch, second = timelines(recording, max_values=100)
    assert fetch.samples == 2
    assert second.samples == 1


def test_events_of_a_gateway_are_named_and_are_failures(tmp_path: Path) -> None:
    recording = GatewayRecording(tmp_path, events=EVENTS).write()
    assert [mark.text for mark in event_marks(recording)] == [
        "gateway bond: exit killed",
        "gateway bond: exit started again",
    ]
    (ends,) = ends_of(recording)
    recoveries = workload_recoveries(recording, ends)
    assert [(recovery.at.is_failure, recovery.at.place) for recovery in recoveries] == [
        (True, "gateway bond exit"),
        (False, "gateway bond exit"),
    ]
    assert recoveries[0].gap_s == 1, "between the two samples"
    assert not changes_rates(recording), "links stay as they are"
    assert not has_failed(recording, "bond"), "a gateway is not a link of this name"


def test_a_client_of_a_local_entry_has_gaps_too(tmp_path: Path) -> None:
    """Its connections are to the loopback address that it uses, not to the server's port."""
    recording = GatewayRecording(
        tmp_path, gateway={"local": {"fetch": "127.0.1.1"}, "mode": "local"}, events=EVENTS
    ).write()
    (ends,) = ends_of(recording)
    assert [workload_recovery.gap_s for workload_recovery in workload_recoveries(recording, ends)] == [1, 1]


def test_a_restart_at_once_is_one_event(tmp_path: Path) -> None:
    up = {**DOWN, "kind": "gateway-up"}
    entry = {**DOWN, "kind": "gateway-down", "value": "entry"}
    recording = GatewayRecording(tmp_path, events=({**DOWN, "kind": "gateway-down"}, up, entry)).write()
    assert [mark.text for mark in event_marks(recording)] == [
        "gateway bond: entry killed; gateway bond: exit restarted"
    ]


# -- downloads that break


def _fetch(folder: Path, *received: int) -> None:
    """Write what the client reports of its attempts: all bytes with the right checksum, fewer with another."""
    streams = ({"event": "stream", "bytes": count, "checksum": "aa" if count == TOTAL else "bb"} for count in received)
    lines = (json.dumps(stream, separators=(",", ":")) for stream in streams)
    (folder / "out" / "fetch.client.err").write_text("\n".join((*lines, "")))


def test_broken_downloads_are_counted_and_their_bytes_are_not(tmp_path: Path) -> None:
    GatewayRecording(tmp_path, workload={"retries": 3}).write()
    _fetch(tmp_path, 100, 0, TOTAL)
    (measured,) = measure(Recording(tmp_path))
    assert measured.metrics["broken_downloads"] == 2
    assert measured.goodput_bps == 8 * TOTAL / 2


@pytest.mark.parametrize(("retries", "received"), [(0, (100, TOTAL)), (3, (100, 100)), (3, (TOTAL, TOTAL))])
def test_a_file_that_never_came_whole_is_an_error(tmp_path: Path, retries: int, received: tuple[int, ...]) -> None:
    GatewayRecording(tmp_path, workload={"retries": retries}).write()
    _fetch(tmp_path, *received)
    with pytest.raises(LabError, match="differs from the served one"):
        measure(Recording(tmp_path))
