# SPDX-License-Identifier: MIT
"""Statistics of several interfaces of one node: deltas within each connection, and between any two packets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mptcplab.capture import files
from mptcplab.capture.files import NodeStatistics, node_statistics, statistics_of_frames
from mptcplab.capture.packet import ACK, SocketAddress
from mptcplab.capture.statistics import RETRANSMISSION, Frame

UE = SocketAddress("10.0.0.1", 40000)
LAN, WIFI, CONTROL = SocketAddress("10.0.0.2", 80), SocketAddress("10.0.1.2", 80), SocketAddress("10.0.0.2", 21)


def frame(time_us: int, source: SocketAddress, length: int, marks: int = 0) -> Frame:
    return Frame(time_us * 1000, source, UE, length, length - 54, ACK, time_us, marks)


def test_two_subflows_by_hand() -> None:
    """At 0, 10, 20, 30 us on one interface, at 5, 15, 25 on the other: 10 us within each, 5 us between any two."""
    lan = [frame(time, LAN, 1000) for time in (0, 10, 20, 30)]
    wifi = [frame(time, WIFI, 1000) for time in (5, 15, 25)]
    statistics = statistics_of_frames([iter(lan), iter(wifi)])
    assert statistics.connections.delta_sum == (30 + 20) * 1000
    assert statistics.connections.mean_delta_us == pytest.approx(50 / 7)
    assert statistics.as_one.delta_sum == 30_000, "the deltas of one stream add up to its duration"
    assert (statistics.as_one.min_delta_us, statistics.as_one.max_delta_us) == (5, 5)
    assert statistics.as_one.packets == statistics.connections.packets == 7
    assert statistics.as_one.throughput_bps == pytest.approx(8 * 7000 / 30e-6)


def test_control_connections_have_no_deltas() -> None:
    """The last packet of the idle control connection is 30 s after its first, which says nothing of the download."""
    data = [frame(time, LAN, 1500) for time in range(0, 30_000_000, 100_000)]
    control = [frame(1, CONTROL, 60), frame(29_999_999, CONTROL, 60)]
    statistics = statistics_of_frames([iter(sorted((*data, *control)))])
    assert statistics.connections.max_delta_us == 100_000
    assert statistics.connections.packets == 300
    assert statistics.as_one.packets == 302


def test_retransmissions_are_left_out_but_precede_the_next() -> None:
    packets = [frame(0, LAN, 1000), frame(40, WIFI, 1000, RETRANSMISSION), frame(50, LAN, 1000)]
    statistics = statistics_of_frames([iter(packets)])
    assert (statistics.as_one.left_out, statistics.as_one.packets, statistics.as_one.delta_sum) == (1, 2, 10_000)


def test_a_result_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "check_files", lambda _: None)
    monkeypatch.setattr(files, "tshark_version", lambda: "4.0.17")
    reads = []

    def frames(file: Path) -> Iterator[Frame]:
        reads.append(file)
        yield from (frame(0, LAN, 1000), frame(7, LAN, 1000))

    monkeypatch.setattr(files, "_frames", frames)
    file = tmp_path / "ue-lan.pcap"
    file.write_bytes(b"1234")
    first, again = node_statistics([file], "a1"), node_statistics([file], "a1")
    assert first == again != NodeStatistics()
    assert len(reads) == 1
    node_statistics([file], "another run")
    assert len(reads) == 2, "the result of another run is not this one's"
    next((tmp_path / "cache").rglob("*.json")).write_text("{")
    assert node_statistics([file], "a1") == node_statistics([file], "another run") == first, "a damaged file is ignored"
