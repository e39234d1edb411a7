# SPDX-License-Identifier: MIT
"""Captures of lab runs: whole, the same every time, no burden to what is measured, and in agreement with the kernel."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.lab.bench import Bench, mptcplab, tree_hash

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.files import recorded_statistics
from mptcplab.capture.packet import read_packets
from mptcplab.capture.summary import ConnectionSummary, Summary, summarise
from mptcplab.metrics.measure import measure
from mptcplab.recording.record import Recording
from mptcplab.stats import mean_interval

ROOT = Path(__file__).resolve().parents[3]
#: Losses, and queues that overflow: retransmissions of all kinds.
LINES = """
[topology]
preset = "disjoint-paths"

[links.link1]
rate = "20 Mbit/s"
delay = "10 ms"
loss = "0.5 %"

[links.link2]
rate = "5 Mbit/s"
delay = "30 ms"
queue = "20 packets"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "5 s"
"""
FASTER = ("links.link*.rate=100 Mbit/s", "links.link*.queue=100 ms", "workloads.bulk.read_quantum=5 ms")
BOTH_ENDS = LINES + '[record]\ncaptures = [{ node = "client" }, { node = "server" }]\n'


def summary_of(*files: Path) -> Summary:
    """What ``mptcplab capture`` finds."""
    analysis = Analysis()
    for packet in read_packets(files):
        analysis.add(packet)
    return summarise(analysis, [file.name for file in files])


def only_connection(summary: Summary) -> ConnectionSummary:
    (connection,) = summary.connections
    return connection


def counters(recording: Recording, node: str, program: str) -> dict[tuple[str, str], dict[str, Any]]:
    """TCP_INFO of every subflow at its end, by its two ends, the client's first."""
    samples = recording.subflows.filter(pl.col("node") == node, pl.col("program") == program).sort("time_ns")
    rows = samples.drop_nulls("bytes_sent").group_by("local", "remote", maintain_order=True).last().to_dicts()
    keys = ("local", "remote") if node == "client" else ("remote", "local")
    return {(row[keys[0]], row[keys[1]]): row for row in rows}


@pytest.mark.parametrize("changes", [(), ("family=ipv6",), ("workloads.bulk.reverse=true",), ("kernel=6.12",)])
def test_agreement_with_the_kernel(bench: Bench, changes: tuple[str, ...]) -> None:
    """Of every subflow: bytes sent, received and retransmitted, and retransmitted segments. Exactly."""
    (recording,) = bench.record(BOTH_ENDS, *changes)
    way = int("workloads.bulk.reverse=true" in changes)
    nodes = ("client", "server")[:: -1 if way else 1]
    sending, receiving = (counters(recording, node, f"bulk.{node}") for node in nodes)
    connection = only_connection(summary_of(*recording.captures.values()))
    directions = {subflow.ends: subflow.directions[way] for subflow in connection.subflows}
    assert set(directions) == set(sending) == set(receiving)
    assert len(directions) == 2
    for ends, direction in directions.items():
        sent, received = sending[ends], receiving[ends]
        print(ends, direction)
        assert direction.sent_bytes == sent["bytes_sent"]
        assert direction.retransmitted_bytes == sent["bytes_retrans"]
        assert direction.retransmitted_packets == sent["retrans"]
        assert direction.payload_bytes == received["bytes_received"]
        assert direction.unseen_bytes == 0
        assert direction.seen_in.startswith(nodes[0]) if direction.seen_in else False, "the sender's end counts"
    assert sum(direction.retransmitted_packets for direction in directions.values()) > 20, "nothing to compare"
    data = connection.data_bytes[way]
    assert sum(direction.payload_bytes for direction in directions.values()) == data + connection.reinjected_bytes[way]
    assert connection.data_acked == (True, True)
    assert [subflow.state for subflow in connection.subflows] == ["closed", "closed"], "the end is in the capture"
    assert [subflow.began for subflow in connection.subflows] == ["capable", "join"]


def test_statistics_leave_out_what_tshark_recognises(bench: Bench) -> None:
    """tshark calls each segment that the kernel retransmitted a retransmission, which is left out, or out of order."""
    (recording,) = bench.record(BOTH_ENDS)
    sent = counters(recording, "client", "bulk.client")
    statistics = recorded_statistics(recording, "client")
    assert [file.file.stem for file in statistics.files] == ["client-access1", "client-access2"]
    left_out = 0
    for file in statistics.files:
        (connection,) = file.capture.connections
        direction, row = connection.directions[0], sent[str(connection.ends[0]), str(connection.ends[1])]
        print(f"{file.file.stem}: {direction.left_out} left out, {direction.out_of_order} out of order")
        assert direction.left_out + direction.out_of_order == row["retrans"]
        assert row["bytes_sent"] - row["bytes_retrans"] <= direction.payload < row["bytes_sent"]
        left_out += direction.left_out
    assert left_out > 10, "nothing to compare"


def test_statistics_as_metrics(bench: Bench) -> None:
    """Bytes are what the client's interfaces sent and received; deltas of one stream add up to the time."""
    captures = 'captures = [{ node = "client", statistics = true }, { node = "server" }]'
    text = LINES.replace('loss = "0.5 %"', "") + f"[record]\n{captures}\n"
    (recording,) = bench.record(text, "links.link2.queue=100 packets")
    (measured,) = measure(recording)
    metrics = measured.metrics
    total = recorded_statistics(recording, "client").total
    assert total.duration_s is not None
    seen = (metrics["captured_bytes"], metrics["captured_packets"], metrics["left_out_packets"])
    assert seen == (total.length, total.packets, total.left_out), "each packet is in one of the two captures"
    assert metrics["captured_s"] == pytest.approx(total.duration_s)
    assert metrics["captured_mibps"] == pytest.approx(8 * total.length / total.duration_s / 2**20)
    # Left-out packets have deltas, too; there are few of them.
    assert metrics["left_out_packets"] < 0.01 * metrics["captured_packets"], metrics
    assert metrics["spacing_mean_us"] == pytest.approx(1e6 * total.duration_s / total.packets, rel=0.02)
    # Both subflows last as long as the connection, so their own deltas add up to it twice.
    assert metrics["tcp_delta_mean_us"] == pytest.approx(2 * metrics["spacing_mean_us"], rel=0.05)
    assert metrics["spacing_max_us"] <= metrics["tcp_delta_max_us"]
    assert metrics["spacing_variance_ns_s"] > 0


PROXY = """
[transport]
protocol = "tcp"

[hosts.ue.transport]
[hosts.web]
[routers.vps.transport]

[links.lan]
between = ["ue", "vps"]
addresses = ["192.168.10.100/24", "192.168.10.1/24"]
rate = "50 Mbit/s"
delay = "2 ms"

[links.wan]
between = ["vps", "web"]
addresses = ["172.16.250.2/24", "172.16.250.128/24"]
delay = "1 ms"

[gateways.proxy]
program = "shadowsocks-libev"
entry = "ue"
exit = "vps"
protocol = "tcp"

[workloads.fetch]
kind = "http"
from = "ue"
to = "web"
size = "2 MB"

[record]
captures = [{ node = "ue", link = "lo", statistics = true }]
"""


@pytest.mark.parametrize("offload", [True, False])
def test_loopback_between_a_client_and_its_proxy(bench: Bench, *, offload: bool) -> None:
    """The firewall has rewritten the addresses of each direction, and the file passes once. The client has asked for
    segments of the LAN's size, so without offloads no frame is longer than one there."""
    (recording,) = bench.record(PROXY, f"hosts.ue.loopback_offload={str(offload).lower()}")
    assert list(recording.captures) == ["ue-lo"]
    (file,) = recorded_statistics(recording, "ue").files
    answers, requests = sorted(file.capture.connections, key=lambda connection: -connection.both.payload)
    sent = {end.address for end in answers.ends}
    assert sent == {"192.168.10.100", "172.16.250.128"}, "what the proxy answers comes from the server"
    assert {end.address for end in requests.ends} == {"192.168.10.100", "127.0.0.1"}, "and requests go to the proxy"
    assert min(direction.packets for direction in answers.directions) == 0
    assert 2_000_000 <= answers.both.payload < 2_001_000, "the file and the head of its answer"
    assert answers.both.left_out == requests.both.left_out == 0, "nothing is lost on loopback"
    mean = answers.both.payload / answers.both.packets
    print(f"{answers.both.packets} packets with {mean:.0f} bytes on average")
    # 2,000,000 bytes are 1,382 segments of 1,448 bytes. The proxy writes more than one of them at a time.
    assert (answers.both.packets < 1382) == offload
    metrics = measure(recording)[0].metrics
    assert metrics["captured_packets"] == answers.both.packets + requests.both.packets
    assert metrics["left_out_packets"] == 0


def test_metrics_of_captures_only_on_request(bench: Bench) -> None:
    (recording,) = bench.record(BOTH_ENDS)
    assert "captured_mibps" not in measure(recording)[0].metrics


def test_one_interface_says_what_it_can(bench: Bench) -> None:
    """A capture on a router's far side: what was lost before it is not in it."""
    (recording,) = bench.record(LINES + '[record]\ncaptures = [{ node = "server", link = "link1" }]\n')
    received = counters(recording, "server", "bulk.server")
    (subflow,) = only_connection(summary_of(*recording.captures.values())).subflows
    row = received[subflow.ends]
    assert subflow.directions[0].payload_bytes == row["bytes_received"]
    assert subflow.directions[0].unseen_bytes == 0, "in the end everything came"


def test_reinjections(bench: Bench) -> None:
    """A line that is very slow: MPTCP sends its data again on the other one; the receiver's kernel counts the same."""
    text = LINES + '[record]\ncaptures = [{ node = "client" }]\n'
    changes = ("links.link2.rate=200 kbit/s", "links.link2.queue=300 ms", "workloads.bulk.duration=4 s")
    (recording,) = bench.record(text, *changes)
    connection = only_connection(summary_of(*recording.captures.values()))
    payload = sum(subflow.directions[0].payload_bytes for subflow in connection.subflows)
    print(
        f"{connection.data_bytes[0]} B of data, {connection.reinjected_bytes[0]} B reinjected, {payload} B of payload"
    )
    assert connection.reinjected_bytes[0] > 0
    assert payload == connection.data_bytes[0] + connection.reinjected_bytes[0]
    (end,) = (e for e in map(json.loads, recording.output("bulk.server").splitlines()) if e["event"] == "end")
    # `flow` sends a header of 40 bytes, which it does not count.
    assert connection.data_bytes[0] == end["bytes"] + 40


def test_same_identity_same_captures(bench: Bench) -> None:
    hashes = set()
    for out in (None, "another-with-a-longer-name"):
        (recording,) = bench.record(BOTH_ENDS, out=out)
        assert sorted(recording.captures) == ["client-access1", "client-access2", "server-link1", "server-link2"]
        hashes.add(tree_hash(recording.folder))
    assert len(hashes) == 1


def test_another_seed_has_another_capture(bench: Bench) -> None:
    captures = {tuple(f.read_bytes() for f in bench.record(BOTH_ENDS, seed=s)[0].captures.values()) for s in (1, 2)}
    assert len(captures) == 2


@pytest.mark.parametrize("changes", [(), FASTER, (*FASTER, "links.link1.loss=0 %")], ids=["slow", "fast", "lossless"])
def test_capturing_does_not_change_the_result(bench: Bench, changes: tuple[str, ...]) -> None:
    """With captures, another program runs beside: instants move by less than a microsecond. Where packets meet by
    coincidence, other ones are then lost, as with another seed. So single runs may differ, in both directions, by a
    percent or as much as seeds do; a mean over seeds does not differ. docs/captures.md has these figures."""
    plain: list[float] = []
    captured: list[float] = []
    for text, into in ((LINES, plain), (BOTH_ENDS, captured)):
        for seed in range(1, 7):
            into += [measurement.goodput_bps for measurement in measure(bench.record(text, *changes, seed=seed)[0])]
    differences = [100 * (with_it / without - 1) for with_it, without in zip(captured, plain, strict=True)]
    mean = sum(differences) / len(differences)
    print("difference by capturing, in %:", [f"{difference:+.5f}" for difference in differences], f"mean {mean:+.5f}")
    bias = mean_interval(differences)
    spread = 100 * (max(plain) / min(plain) - 1)
    print(f"from seed to seed, without capturing: up to {spread:.2f} %; bias {bias.low:+.2f} to {bias.high:+.2f} %")
    assert bias.low - 0.1 <= 0 <= bias.high + 0.1
    assert max(map(abs, differences)) <= max(spread, 1)


def test_nothing_is_lost_at_full_speed(bench: Bench) -> None:
    """A gigabit per second on each line, whole packets, four captures."""
    text = BOTH_ENDS.replace('"client" }', '"client", snaplen = "256 KiB" }')
    fast = ("links.link*.rate=1 Gbit/s", "links.link*.queue=10 ms", "links.link*.delay=1 ms", "links.link1.loss=0 %")
    (recording,) = bench.record(text, *fast, "workloads.bulk.duration=150 ms")
    for name, file in recording.captures.items():
        said = recording.output(f"capture.{name}", "err")
        print(name, file.stat().st_size, said.splitlines()[1:])
        assert "\n0 packets dropped by kernel" in said
    connection = only_connection(summary_of(*recording.captures.values()))
    assert connection.data_bytes[0] > 0.15 * 1.5e9 / 8
    assert sum(direction.unseen_bytes for subflow in connection.subflows for direction in subflow.directions) == 0


def test_a_filter_and_its_mistakes(bench: Bench) -> None:
    chosen = (
        LINES
        + '[record]\ncaptures = [{ node = "client", link = "access1", filter = "tcp[tcpflags] & tcp-syn != 0" }]\n'
    )
    (recording,) = bench.record(chosen, "workloads.bulk.duration=500 ms")
    packets = list(read_packets(list(recording.captures.values())))
    assert len(packets) == 2, "a SYN and its answer"
    wrong = chosen.replace("tcp[tcpflags] & tcp-syn != 0", "tcp prot 5001")
    (done,) = bench.try_all(bench.experiment(wrong), out="wrong")
    assert done.error is not None
    print(done.error.message)
    assert "capture.client-access1" in done.error.message
    assert "syntax error" in done.error.message


def _shape(line: str) -> str:
    """A line without its numbers, which another kernel or compiler may change a little."""
    return " ".join(re.sub(r"\b[0-9a-f]{8}\b|[0-9][0-9,.]*", "N", line).split())


def test_example_of_the_page(tmp_path: Path) -> None:
    """The scenario, the command and the output of docs/captures.md."""
    page = (ROOT / "docs" / "captures.md").read_text()
    (scenario,) = re.findall(r"^<!-- file captures.toml -->\n```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    console, *_ = re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "captures.toml").write_text(scenario)
    lines = console.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith("$ mptcplab "):
            continue
        words = [
            str(path)
            for word in shlex.split(line)[2:]
            for path in (sorted(tmp_path.glob(word)) if "*" in word else [word])
        ]
        done = mptcplab(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        said = {_shape(text) for text in done.stdout.splitlines()}
        for expected in lines[number + 1 :]:
            if expected.startswith("$"):
                break
            if expected.strip() and expected.strip() != "..." and set(expected.strip()) != {"─"}:
                assert _shape(expected) in said, f"{expected}\n{done.stdout}"
    assert (tmp_path / "data.svg").exists()
    assert json.loads(mptcplab("capture", *words[1:-2], "--json", cwd=tmp_path).stdout)["connections"]
