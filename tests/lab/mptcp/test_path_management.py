# SPDX-License-Identifier: MIT
"""The lab's own path manager: which subflows there are, when, and what changing from one path to the other costs."""

from __future__ import annotations

import itertools
import json
from typing import Any

import polars as pl
import pytest
from tests.lab.bench import Bench, note

from mptcplab.recording.record import Recording

#: Round trips of 40 ms, and queues of 20 ms at the most: what a change of path takes is told in round trips.
RTT_S = 0.04
LINES = """
{top}
[topology]
preset = "{preset}"

{links}

[transport]
path_manager = "{manager}"
{transport}

[hosts.client.transport]
{client}

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
reverse = {reverse}
duration = "{seconds} s"

[record]
interval = "{interval} ms"
queues = false

{events}
"""
TWO_LINES = """
[links.link1]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "20 ms"

[links.link2]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "20 ms"
"""
CUT = """
[[events]]
at = "4 s"
type = "down"
mode = "{mode}"
link = "{link}"

[[events]]
at = "8 s"
type = "up"
link = "{link}"
"""


def _run(bench: Bench, client: str = "", events: str = "", **more: Any) -> Recording:
    keys = {
        "preset": "disjoint-paths",
        "links": TWO_LINES,
        "manager": "userspace",
        "transport": "",
        "seconds": 12,
        "top": "",
    }
    keys |= {"reverse": "false", "interval": 10, "client": client, "events": events} | more
    return bench.record(LINES.format(**keys))[0]


def _log(recording: Recording, host: str = "client") -> list[dict[str, Any]]:
    return [json.loads(line) for line in recording.output(f"path-manager.host-{host}").splitlines()]


def _subflows(recording: Recording, host: str = "client") -> pl.DataFrame:
    """First and last sample in s, and payload, of every subflow of a host."""
    rows = recording.subflows.filter((pl.col("node") == host) & (pl.col("state") == "established"))
    return (
        rows.with_columns(address=pl.col("local").str.replace(r":\d+$", ""))
        .group_by("local", "remote", "address")
        .agg(
            first=pl.col("time_ns").min() / 1e9,
            last=pl.col("time_ns").max() / 1e9,
            sent=pl.col("bytes_acked").max(),
            received=pl.col("bytes_received").max(),
        )
        .sort("first", "local")
    )


def _gap_s(recording: Recording, program: str, around_s: float) -> float:
    """The longest time without new payload at the receiver that begins within a second of an instant."""
    rows = recording.connections.filter(pl.col("program") == program).sort("time_ns")
    times = [time / 1e9 for time in rows["time_ns"]]
    grows = [instant for instant, new in zip(times, rows["bytes"], strict=True) if new]
    gaps = itertools.pairwise(grows)
    return float(max(later - instant for instant, later in gaps if abs(instant - around_s) < 1))


@pytest.mark.parametrize("direction", ["upload", "download"])
@pytest.mark.parametrize("how", ["carrier", "interface"])
def test_handover_is_slower_than_backup(bench: Bench, how: str, direction: str) -> None:
    """Backup has its subflow ready. Handover first has to shake hands."""
    gaps, receiver = {}, "bulk.server" if direction == "upload" else "bulk.client"
    for mode in ("backup", "handover"):
        modes = f'modes = {{ access1 = "master", access2 = "{mode}" }}'
        recording = _run(
            bench, modes, CUT.format(mode=how, link="access1"), reverse=str(direction == "download").lower()
        )
        gaps[mode] = _gap_s(recording, receiver, 4.0)
    print(f"{how} {direction}: gap with backup {1e3 * gaps['backup']:.0f} ms, handover {1e3 * gaps['handover']:.0f} ms")
    for mode, gap in gaps.items():
        note(f"{mode} {direction} {how} ms", 1e3 * gap)
    # One way for what is sent again, and samples of 10 ms; the other side of a download is told first, and its data
    # may wait for a timer of retransmissions (0.2 s and what it has grown to).
    least, most = RTT_S / 2 - 0.02, 8 * RTT_S if direction == "upload" else 1.0
    assert least <= gaps["backup"] <= most, gaps
    # The handshake takes one round trip, and slow start begins anew; the other side of a download is told when the
    # handshake is sure to have ended, one round trip and 10 ms later.
    assert RTT_S <= gaps["handover"] - gaps["backup"] <= 8 * RTT_S, gaps


def test_handover_is_there_only_when_the_other_has_gone(bench: Bench) -> None:
    recording = _run(bench, 'modes = { access2 = "handover" }', CUT.format(mode="carrier", link="access1"))
    subflows = _subflows(recording)
    assert subflows["address"].to_list() == ["10.0.1.1", "10.0.3.1", "10.0.1.1"], subflows
    _, handover, back = subflows.rows(named=True)
    assert 4.0 <= handover["first"] <= 4.0 + 3 * RTT_S + 0.02, subflows
    assert 8.0 <= back["first"] <= 8.0 + 6 * RTT_S, subflows
    # Closed when the other is back and told: not before, and not much later.
    assert back["first"] <= handover["last"] <= back["first"] + 12 * RTT_S, subflows
    assert handover["sent"] > 10e6 / 8 * 3, subflows
    assert back["sent"] > 10e6 / 8 * 2, subflows
    assert "remove" in [line["event"] for line in _log(recording)], "the server was not told"


@pytest.mark.parametrize("version", ["6.12", "6.1"])
def test_handover_on_another_kernel(bench: Bench, version: str) -> None:
    recording = _run(
        bench,
        'modes = { access2 = "handover" }',
        CUT.format(mode="carrier", link="access1"),
        top=f'kernel = "{version}"',
    )
    assert _subflows(recording)["address"].to_list() == ["10.0.1.1", "10.0.3.1", "10.0.1.1"]


def test_handover_over_ipv6(bench: Bench) -> None:
    cut = CUT.format(mode="interface", link="access1")
    recording = _run(bench, 'modes = { access2 = "handover" }', cut, top='family = "ipv6"')
    numbers = [address.split(":")[3] for address in _subflows(recording)["address"]]
    assert numbers == ["1", "3", "1"], numbers


def test_backup_carries_nothing_until_it_has_to(bench: Bench) -> None:
    recording = _run(bench, 'modes = { access2 = "backup" }', CUT.format(mode="interface", link="access1"))
    rows = recording.subflows.filter((pl.col("node") == "client") & pl.col("local").str.starts_with("10.0.3.1"))
    sent = dict(zip(rows["time_ns"] // 10**6, rows["bytes_sent"], strict=True))
    before = max(bytes_ for instant, bytes_ in sent.items() if instant < 3990)
    during = max(bytes_ for instant, bytes_ in sent.items() if instant < 7990)
    print(f"backup: {before} B before the failure, {during} B at its end")
    assert before == 0, "the backup carried data while the other path was there"
    assert during > 10e6 / 8 * 3, "the backup did not take over"


def test_off_is_never_used(bench: Bench) -> None:
    recording = _run(bench, 'modes = { access2 = "off" }', CUT.format(mode="carrier", link="access1"), interval=100)
    assert set(_subflows(recording)["address"]) == {"10.0.1.1"}


def test_master_is_where_connections_begin(bench: Bench) -> None:
    """Over a shared bottleneck both access links lead to the server; routing alone would take the first."""
    links = '[links.bottleneck]\nrate = "10 Mbit/s"\ndelay = "20 ms"'
    modes = 'modes = { access2 = "master", access1 = "off" }'
    recording = _run(bench, modes, preset="shared-bottleneck", links=links, seconds=2, interval=100)
    assert set(_subflows(recording)["address"]) == {"10.0.2.1"}


@pytest.mark.parametrize("per_pair", [2, 3])
def test_several_subflows_between_two_addresses(bench: Bench, per_pair: int) -> None:
    recording = _run(bench, transport=f"subflows_per_pair = {per_pair}", seconds=6, interval=100)
    subflows = _subflows(recording)
    assert sorted(subflows["address"]) == ["10.0.1.1"] * per_pair + ["10.0.3.1"] * per_pair, subflows
    assert min(subflows["sent"]) > 0.05 * sum(subflows["sent"]) / per_pair, f"one of them carried nothing: {subflows}"


@pytest.mark.parametrize("endpoints", ["auto", "fullmesh"])
@pytest.mark.parametrize("preset", ["disjoint-paths", "shared-bottleneck"])
def test_the_same_subflows_as_the_kernels_path_manager(bench: Bench, preset: str, endpoints: str) -> None:
    pairs = {}
    links = TWO_LINES if preset == "disjoint-paths" else '[links.bottleneck]\nrate = "10 Mbit/s"\ndelay = "20 ms"'
    for manager in ("kernel", "userspace"):
        more: dict[str, Any] = {"preset": preset, "links": links, "manager": manager, "seconds": 3, "interval": 100}
        rows = _subflows(_run(bench, transport=f'endpoints = "{endpoints}"', **more))
        pairs[manager] = set(zip(rows["address"], rows["remote"], strict=True))
    assert pairs["userspace"] == pairs["kernel"]


def test_the_servers_link_fails_and_returns(bench: Bench) -> None:
    """The server takes its address back and announces it again; the client opens a subflow to it again."""
    recording = _run(bench, events=CUT.format(mode="interface", link="link2"))
    subflows = _subflows(recording).filter(pl.col("address") == "10.0.3.1")
    assert subflows.height == 2, subflows
    assert subflows["last"][0] <= 4.0 + 0.5, subflows
    assert 8.0 <= subflows["first"][1] <= 8.0 + 0.5, subflows
    assert subflows["sent"][1] > 10e6 / 8 * 2, subflows


def test_nobody_manages_without_endpoints(bench: Bench) -> None:
    recording = _run(bench, transport='endpoints = "none"', seconds=2, interval=100)
    assert set(_subflows(recording)["address"]) == {"10.0.1.1"}
    assert not (recording.folder / "out" / "path-manager.host-client.out").exists()
