# SPDX-License-Identifier: MIT
"""``mptcplab capture --statistics`` on files: made by hand, by other tools, damaged, or no captures at all."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path
from statistics import fmean, variance
from typing import Any

import pytest
from tests.unit.capture.tcp_captures import CLIENT, EXAMPLES, SERVER, Segment, download, handshake, pcap
from tests.unit.capture.test_files import CAPTURES, CaptureCommand, command

from mptcplab.capture.connections import parse_end, statistics_of
from mptcplab.capture.files import recorded_statistics
from mptcplab.capture.packet import ACK, SYN, SocketAddress
from mptcplab.capture.statistics import (
    DUPLICATE_ACK,
    FAST_RETRANSMISSION,
    GAP,
    OUT_OF_ORDER,
    RETRANSMISSION,
    UNSEEN,
    FrameReader,
)
from mptcplab.errors import InputError
from mptcplab.recording.record import FORMAT, Recording

#: They start tshark, over and over.
pytestmark = pytest.mark.slow

__all__ = ["command"]  # a fixture
DOWNLOAD = EXAMPLES / "download.pcap"
OTHER = (SocketAddress("10.0.3.1", 40001), SocketAddress("10.0.2.2", 21))


def document(command: CaptureCommand, *arguments: object) -> dict[str, Any]:
    """Return the JSON that it prints."""
    return command.document("--statistics", *arguments)


def marks(file: Path) -> list[int]:
    """Return what tshark says about each packet."""
    return [frame.marks for frame in FrameReader(file)]


def write(file: Path, segments: list[Segment], *, snaplen: int = 65535) -> Path:
    """Write a capture of segments."""
    file.write_bytes(pcap(segments, snaplen=snaplen))
    return file


def test_the_example_is_the_download_made_by_hand(command: CaptureCommand) -> None:
    """Its numbers are computed by hand in test_statistics.py. tshark finds the retransmission by itself."""
    assert DOWNLOAD.read_bytes() == pcap(download()), "run: python -m tests.unit.capture.tcp_captures"
    statistics = document(command, DOWNLOAD)
    (file,) = statistics["files"]
    (connection,) = file["connections"]
    assert connection["ends"] == [str(CLIENT), str(SERVER)]
    assert connection["both"] == file["total"] == statistics["total"]
    both, (up, down) = connection["both"], connection["directions"]
    assert (both["packets"], both["retransmissions_left_out"], both["duplicate_acks"]) == (12, 1, 1)
    assert (both["bytes"], both["payload_bytes"], both["duration_s"]) == (3648, 3000, 0.0708)
    assert both["throughput_mbps"] == pytest.approx(8 * 3648 / 0.0708 / 1e6)
    assert both["mean_delta_us"] == pytest.approx(30_800 / 12)
    assert (both["min_delta_us"], both["max_delta_us"]) == (100, 10_000)
    assert both["delta_variance_s2"] == pytest.approx(20_093_333.3333e-12)
    assert (up["packets"], down["packets"], down["retransmissions_left_out"]) == (6, 6, 1)
    assert (file["cut_short"], file["tshark_restarts"], statistics["runs"]) == (False, 0, None)
    assert statistics["tshark"].count(".") == 2


def test_a_table_for_people(command: CaptureCommand) -> None:
    output = command("--statistics", DOWNLOAD)
    assert (output.status, output.err) == (0, "")
    row = next(line for line in output.out.splitlines() if str(CLIENT) in line)
    cells = ["10.0.1.1:40000", ">", "10.0.2.2:20", "both", "12", "1", "3,648", "0.070800", "0.41"]
    assert row.split() == [*cells, "2,566.667", "100.000", "10,000.000", "20,093.33"]
    assert "Seen by tshark: 1 x duplicate ACK." in output.out


FILTER = "tcp and not tcp.analysis.retransmission and not tcp.analysis.fast_retransmission"
FIELDS = ("tcp.stream", "frame.time_epoch", "frame.len", "tcp.time_delta")


def read_with_tshark(file: Path) -> dict[str, list[tuple[float, int, float]]]:
    """Return time, length and TCP delta of the packets that the study's filter shows, as Wireshark shows them."""
    run = ["tshark", "-n", "-r", str(file), "-Y", FILTER, "-T", "fields"]
    for field in FIELDS:
        run += ["-e", field]
    done = subprocess.run(run, capture_output=True, text=True, check=True, timeout=120)
    streams: dict[str, list[tuple[float, int, float]]] = {}
    for line in done.stdout.splitlines():
        stream, time, length, delta = line.split("\t")
        # Without the day, a float has digits enough for nanoseconds.
        seconds, _, fraction = time.partition(".")
        streams.setdefault(stream, []).append(
            (int(seconds) % 86400 + float(f"0.{fraction}"), int(length), float(delta))
        )
    return streams


@pytest.mark.parametrize("name", ["any-sll2.pcap", "cut-c2.pcap", "cut-s1.pcap", "dumpcap-ipv6.pcapng"])
def test_the_fields_and_the_filter_of_the_study(name: str) -> None:
    """tshark with its own preferences, its own TCP deltas and the study's filter: the same packets, the same numbers.

    So switching off what needs memory changes nothing.
    """
    connections = statistics_of(FrameReader(CAPTURES / name)).connections
    streams = read_with_tshark(CAPTURES / name)
    assert len(connections) == len(streams)
    for connection, rows in zip(connections, streams.values(), strict=True):
        both = connection.both
        times, lengths, deltas = zip(*rows, strict=True)
        assert (both.packets, both.length) == (len(rows), sum(lengths))
        assert both.duration_s == pytest.approx(max(times) - min(times), abs=1e-9)
        assert both.throughput_bps == pytest.approx(8 * sum(lengths) / (max(times) - min(times)), rel=1e-6)
        assert both.mean_delta_us == pytest.approx(1e6 * fmean(deltas), abs=1e-3)
        assert both.delta_variance_s2 == pytest.approx(variance(deltas), rel=1e-9)
        assert both.max_delta_us == pytest.approx(1e6 * max(deltas), abs=1e-3)
        print(f"{name}: {both.packets} packets, {both.left_out} left out, {both.mean_delta_us:.3f} us")


def test_kinds_of_retransmissions(tmp_path: Path) -> None:
    """Fast and spurious ones are left out: tshark calls them retransmissions, too. Keep-alives are not, nor is what
    tshark calls out of order."""
    segments = [
        *handshake(),
        *(Segment(20_100 + 10 * number, 1, at=1 + 100 * number, length=100) for number in range(5)),
        *(Segment(20_200 + 10 * number, 0, acked=101) for number in range(4)),
        Segment(21_000, 1, at=101, length=100),  # fast: after three duplicate ACKs, at once
        Segment(31_000, 0, acked=501),
        Segment(31_010, 1, at=501, length=100),
        Segment(31_020, 1, at=601, length=100),
        Segment(31_030, 1, at=501, length=100),  # called out of order: a round trip of the handshake is 10.1 ms
        Segment(32_000, 0, acked=701),
        Segment(90_000, 1, at=301, length=100),  # spurious: it was acknowledged
        Segment(150_000, 1, at=700, length=1),  # keep-alive: the last byte again
        Segment(160_000, 0, acked=701),
        Segment(170_000, 1, at=801, length=100),  # 100 bytes are missing
        Segment(180_000, 0, acked=1301),  # 400 more
    ]
    flags = marks(write(tmp_path / "kinds.pcap", segments))
    assert flags[12] & (RETRANSMISSION | FAST_RETRANSMISSION) == RETRANSMISSION | FAST_RETRANSMISSION
    expected = {RETRANSMISSION: [12, 18], OUT_OF_ORDER: [16], DUPLICATE_ACK: [9, 10, 11], GAP: [21], UNSEEN: [22]}
    for mark, numbers in expected.items():
        assert [number for number, flag in enumerate(flags) if flag & mark] == numbers, mark


def test_cut_packets_have_their_lengths_on_the_wire(command: CaptureCommand, tmp_path: Path) -> None:
    cut = write(tmp_path / "cut.pcap", download(), snaplen=54)
    assert document(command, cut)["total"] == document(command, DOWNLOAD)["total"]


def test_a_capture_that_is_cut_short(command: CaptureCommand, tmp_path: Path) -> None:
    """What was read is shown, and the error says that it is not all."""
    file = tmp_path / "short.pcap"
    file.write_bytes(DOWNLOAD.read_bytes()[:-5])
    output = command("--statistics", file, "--json")
    result = json.loads(output.out)["files"][0]
    assert (output.status, result["cut_short"], result["total"]["packets"]) == (2, True, 11)
    assert f"{file}: ends in the middle of a packet; the statistics are of the packets before" in output.err
    assert "hint: keep the complete packets: editcap" in output.err
    output = command("--statistics", file)
    assert "[!] The file ends in the middle of a packet" in output.out


def udp() -> bytes:
    """Return a frame with a datagram."""
    header = bytes([0x45, 0, 0, 29]) + bytes([0, 0, 0x40, 0, 64, 17, 0, 0]) + bytes([10, 0, 1, 1, 10, 0, 2, 2])
    return Segment(0, 0).packet[:14] + header + bytes([1, 0, 2, 0, 0, 9, 0, 0, 1])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"hello\n" * 100, "is not a capture file"),
        (b"", "no TCP packets"),
        (pcap([]), "no TCP packets"),
        (pcap([(0, udp()), (9, udp())]), "no TCP packets"),
        (pcap([(0, udp())])[:-5], "no TCP packets"),
    ],
    ids=["text", "nothing", "no packets", "UDP", "cut UDP"],
)
def test_files_without_statistics(command: CaptureCommand, tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "none.pcap"
    file.write_bytes(content)
    output = command("--statistics", file)
    assert (output.status, output.out) == (2, "")
    assert f"{file}: {sentence}" in output.err
    assert "hint:" in output.err


def test_without_tshark(command: CaptureCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    output = command("--statistics", DOWNLOAD)
    assert (output.status, output.out) == (3, "")
    assert "hint: sudo apt-get install tshark" in output.err


def test_one_connection_of_several(command: CaptureCommand, tmp_path: Path) -> None:
    segments = sorted([*download(), *handshake(5, ends=OTHER)], key=lambda segment: segment.time)
    file = write(tmp_path / "two.pcap", segments)
    every = document(command, file)
    assert [connection["both"]["packets"] for connection in every["files"][0]["connections"]] == [12, 3]
    statistics = document(command, file, "--end", "10.0.1.1:40000", "--end", "10.0.2.2")
    assert statistics["total"] == document(command, DOWNLOAD)["total"]
    assert len(statistics["files"][0]["connections"]) == 1
    output = command("--statistics", file, "--end", ":99")
    assert (output.status, output.out) == (2, "")
    assert f"{file}: no connection has the end :99" in output.err
    assert f"hint: there are {CLIENT} > {SERVER}; 10.0.3.1:40001 > 10.0.2.2:21" in output.err
    assert "all 2" in command("--statistics", file).out


def test_several_files_are_the_places_of_one_capture(command: CaptureCommand, tmp_path: Path) -> None:
    """The download at the user's end, at the gateway (less its SYN), and the gateway's other connection."""
    near = DOWNLOAD
    far = write(tmp_path / "far.pcap", download()[1:])
    server = write(tmp_path / "server.pcap", handshake(5, ends=OTHER))
    idle = write(tmp_path / "idle.pcap", [])
    statistics = document(command, far, near, server, idle)
    assert [len(file["connections"]) for file in statistics["files"]] == [1, 1, 1, 0]
    assert statistics["total"]["packets"] == 12 + 3
    assert statistics["total"]["mean_delta_us"] == pytest.approx((30_800 + 10_100) / 15)
    assert statistics["total"] == document(command, near, server, idle)["total"]
    output = command("--statistics", far, near, server, idle)
    assert output.status == 0
    assert "4 files together" in output.out
    assert "idle.pcap: 0 TCP connections" in output.out


def test_several_files_are_runs(command: CaptureCommand, tmp_path: Path) -> None:
    """The second run is 70.8 ms longer, with one more packet at its end."""
    longer = write(tmp_path / "longer.pcap", [*download(), Segment(141_600, 1, at=3002, acked=2)])
    output = command("--statistics", "--runs", DOWNLOAD, longer, "--out", tmp_path / "out")
    assert output.status == 0, output.err
    assert "Over 2 runs" in output.out
    assert "together" not in output.out
    document = json.loads((tmp_path / "out" / "statistics.json").read_text())
    rates = [8 * 3648 / 0.0708 / 1e6, 8 * 3702 / 0.1416 / 1e6]
    expected = {"mean": fmean(rates), "max": rates[0], "min": rates[1]}
    assert document["runs"]["throughput_mbps"] == pytest.approx(expected)
    assert document["runs"]["duration_s"] == pytest.approx({"mean": 0.1062, "max": 0.1416, "min": 0.0708})
    assert document["runs"]["max_delta_us"]["max"] == 70_800
    assert document["total"] is None
    names = [f"statistics-{number}.{suffix}" for number in (1, 2, 3) for suffix in ("csv", "md")]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted([*names, "statistics.json"])
    rows = list(csv.reader((tmp_path / "out" / "statistics-3.csv").open()))
    assert rows[2] == ["duration", "s", "0.106", "0.142", "0.071"]


def test_options_that_do_not_fit(command: CaptureCommand, tmp_path: Path) -> None:
    for options, sentence in (
        (["--end", ":20"], "--end needs --statistics"),
        (["--runs"], "--runs needs --statistics"),
        (["--statistics", "--figure", tmp_path / "x.svg"], "--statistics draws nothing"),
        (["--statistics", "--connection", "1"], "--statistics draws nothing"),
        (["--statistics", "--end", "client"], "'client' is not an IP address"),
        (["--statistics", "--out", DOWNLOAD], "file exists"),
    ):
        output = command(DOWNLOAD, *options)
        assert (output.status, output.out) == (2, ""), options
        assert sentence in output.err


def test_tshark_begins_anew_and_connections_go_on() -> None:
    """After ``session_packets`` packets tshark forgets everything, which bounds its memory. Our sums go on: only a
    retransmission right after that, which is packet 9, is not recognised."""
    for session, left_out, restarts in ((13, 1, 0), (9, 1, 1), (8, 0, 1), (5, 1, 2)):
        reader = FrameReader(DOWNLOAD, session_packets=session)
        (connection,) = statistics_of(reader).connections
        assert (reader.packets, reader.restarts) == (13, restarts), session
        assert (connection.both.packets, connection.both.left_out) == (13 - left_out, left_out), session
        assert connection.both.duration_s == 0.0708


def test_captures_of_a_recording(tmp_path: Path) -> None:
    """Those at one node's interfaces, by the manifest: one file per link, and other nodes' captures are not read."""
    run = tmp_path / "run"
    (run / "captures").mkdir(parents=True)
    links = [{"name": name, "between": ["ue", "gw"]} for name in ("lan", "wifi")]
    links.append({"name": "core", "between": ["gw", "server"]})
    (run / "manifest.json").write_text(json.dumps({"format": FORMAT, "links": links}))
    shutil.copy(DOWNLOAD, run / "captures" / "ue-lan.pcap")
    write(run / "captures" / "ue-wifi.pcap", handshake(5, ends=OTHER))
    shutil.copy(CAPTURES / "cut-c1.pcap", run / "captures" / "gw-core.pcap")
    recording = Recording(run)
    statistics = recorded_statistics(recording, "ue")
    assert [file.file.name for file in statistics.files] == ["ue-lan.pcap", "ue-wifi.pcap"]
    assert statistics.total.packets == 15
    assert recorded_statistics(recording, "ue", [parse_end(":21")]).total.packets == 3
    with pytest.raises(InputError, match="has no capture at server") as error:
        recorded_statistics(recording, "server")
    assert error.value.hint == 'add to the scenario: record.captures = [{ node = "server" }]'


def test_ports_that_are_used_again_are_tsharks_streams(tmp_path: Path) -> None:
    """Connections are the streams that tshark numbers, also when a SYN is repeated, or comes from the other side."""
    segments = [
        Segment(0, 0, SYN, at=0),
        *handshake(10**6),
        *handshake(2 * 10**6, starts=(555, 666)),
        Segment(3 * 10**6, 0, ACK, length=10, starts=(555, 666)),
        Segment(4 * 10**6, 1, SYN, at=0, starts=(555, 999)),
        Segment(5 * 10**6, 0, SYN | ACK, at=0, starts=(777, 999)),
    ]
    file = write(tmp_path / "again.pcap", segments)
    run = ["tshark", "-n", "-r", str(file), "-T", "fields", "-e", "tcp.stream"]
    streams = subprocess.run(run, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    connections = statistics_of(FrameReader(file)).connections
    counts = [connection.both.packets + connection.both.left_out for connection in connections]
    print(f"{streams}: {counts}")
    assert counts == [streams.count(name) for name in dict.fromkeys(streams)]
    assert len(counts) == 3
