# SPDX-License-Identifier: MIT
"""Every discipline of a bottleneck's queue does what it is known for, by numbers that its specification gives."""

from __future__ import annotations

import itertools
import math
import statistics

import polars as pl
import pytest
from tests.lab.bench import Bench, client, note, server
from tests.lab.probe import HEADERS, TARGET, Arrival, ProbeResult, probe

from mptcplab.metrics.rows import ResultRow, result_rows
from mptcplab.recording.record import Recording
from mptcplab.steps import Program

FORWARD = "links.link1.forward."
RATE = 10_000_000
#: A datagram that fills a frame of 1,514 bytes, and the time that it takes at 10 Mbit/s.
FULL = 1514 - HEADERS
FRAME_MS = 1514 * 8 / RATE * 1000
ECN = 'transport.sysctl={ "net.ipv4.tcp_ecn" = 1 }'

FLOW = """
topology.preset = "chain"
topology.routers = 2
transport.protocol = "tcp"
record.interval = "20 ms"

[links.link1]
delay = "20 ms"
forward.rate = "10 Mbit/s"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "20 s"
"""


def _flow(bench: Bench, discipline: str, *keys: str) -> tuple[Recording, ResultRow, list[float]]:
    """A TCP flow for 20 s: its recording, its row, and the bytes that waited, in ms, in samples after 5 s."""
    queue = () if discipline == "cake" else (f"{FORWARD}queue=500 ms",)
    flow_keys = (key if key == ECN else FORWARD + key for key in keys)
    (recording,) = bench.record(FLOW, f"{FORWARD}discipline={discipline}", *queue, *flow_keys)
    (row,) = result_rows([recording])
    samples = recording.queues.filter((pl.col("link") == "link1") & (pl.col("time_ns") > 5 * 10**9))
    forward = samples.filter(pl.col("direction") == "forward")["bytes"].to_list()
    return recording, row, [held * 8 / RATE * 1000 for held in forward]


# What a Cubic flow with a round trip of 40 ms leaves in the queue on average, in ms. Tail drop: it fills 500 ms, and a
# Cubic sawtooth is from 70 % of what was lost at to all of it. CoDel, CAKE: below their target of 5 ms, and never empty
# for long. PIE: around its target of 15 ms. RED: one flow that halves at the first drops stays near the least mean,
# which is a twelfth of 500 ms by default, and never comes to the most, a quarter.
@pytest.mark.parametrize(
    ("discipline", "low", "high"),
    [
        ("tail-drop", 350, 500),
        ("codel", 1, 5),
        ("fq_codel", 1, 5),
        ("pie", 7.5, 22.5),
        ("fq_pie", 7.5, 22.5),
        ("red", 500 / 24, 125),
        ("cake", 1, 5),
    ],
)
def test_standing_queue_of_a_tcp_flow(bench: Bench, discipline: str, low: float, high: float) -> None:
    recording, row, queue = _flow(bench, discipline)
    mean, most = statistics.fmean(queue), max(queue)
    (netem,) = [row for row in recording.counter("r1", "tc.json") if (row["dev"], row["kind"]) == ("link1", "netem")]
    goodput = row.goodput_mbps.mean
    print(f"{discipline}: {mean:.2f} ms, at most {most:.1f} ms, {netem['drops']} drops, {goodput:.3f} Mbit/s")
    note(f"queue {discipline} ms", mean)
    note(f"queue {discipline} drops", netem["drops"])
    note(f"queue {discipline} Mbit/s", goodput)
    assert low <= mean <= high
    assert netem["drops"] > 5
    assert netem["drops"] - 2 <= _sampled_drops(recording) <= netem["drops"], "the samples tell of them"
    # 1,448 of 1,514 bytes are payload: 9.56 Mbit/s. A queue this short costs a Cubic flow up to a tenth of it.
    assert 8.6 < goodput < 9.56


def _sampled_drops(recording: Recording) -> int:
    forward = recording.queues.filter((pl.col("link") == "link1") & (pl.col("direction") == "forward"))
    return int(forward["drops"].to_list()[-1])


# CAKE marks without being told.
@pytest.mark.parametrize("discipline", ["codel", "fq_codel", "pie", "red", "cake"])
def test_ecn_marks_instead_of_dropping(bench: Bench, discipline: str) -> None:
    recording, _, queue = _flow(bench, discipline, *([] if discipline == "cake" else ["aqm.ecn=true"]), ECN)
    (row,) = [row for row in recording.counter("r1", "tc.json") if row["dev"] == "link1" and row["kind"] == discipline]
    tins = sum(tin["ecn_mark"] for tin in row.get("tins", ()))
    marks = int(row.get("ecn_mark", row.get("marked", tins)))
    held_ms = statistics.fmean(queue)
    ce = recording.counter("server", "nstat.json")["kernel"]["IpExtInCEPkts"]
    print(f"{discipline}: {marks} marked, {ce} seen by the server, {row['drops']} dropped, {held_ms:.2f} ms")
    assert marks > 5
    assert marks == ce
    assert row["drops"] == 0


def test_target_moves_the_queue(bench: Bench) -> None:
    """Four times the target: CoDel leaves a queue that is several times as long, and still below it."""
    means: list[float] = []
    for target in ("5 ms", "20 ms"):
        _, _, queue = _flow(bench, "codel", f"aqm.target={target}")
        means.append(statistics.fmean(queue))
    print(f"CoDel: {means[0]:.2f} ms with 5 ms, {means[1]:.2f} ms with 20 ms")
    assert means[0] < 5
    assert 2.5 * means[0] < means[1] < 20


def _overload(bench: Bench, discipline: str, *keys: str, factor: float, seconds: float = 4) -> ProbeResult:
    """Full frames that come ``factor`` times as fast as the line sends them, whatever becomes of them."""
    settings = (f"{FORWARD}rate=10 Mbit/s", f"{FORWARD}discipline={discipline}", *(FORWARD + key for key in keys))
    gap_ms = FRAME_MS / factor
    return probe(bench, *settings, bursts=round(seconds * 1000 / gap_ms), size=FULL, gap_us=gap_ms * 1000)


def _drop_instants_ms(probed: ProbeResult) -> list[float]:
    """When datagrams were dropped at the head of the queue: when the next one came out, less its own frame."""
    gone: list[float] = []
    for before, after in itertools.pairwise(probed.arrivals):
        gone += [_ms(after) - FRAME_MS] * (after.number - before.number - 1)
    return gone


def _ms(arrival: Arrival) -> float:
    return arrival.received_ns / 1e6


# RFC 8289: the first drop comes when the delay has been above target for one interval, and the one after the n-th
# comes interval / sqrt(n) later. An overload that nothing slows down makes the law visible. Linux improves its inverse
# square root by one step of Newton's per drop, and begins at 1: so it takes 0.5 for 1 / sqrt(2), and is right after.
@pytest.mark.parametrize(("target", "interval"), [(5, 100), (20, 50)])
@pytest.mark.parametrize("discipline", ["codel", "fq_codel"])
def test_codel_drops_by_its_law(bench: Bench, discipline: str, target: float, interval: float) -> None:
    keys = (f"aqm.target={target} ms", f"aqm.interval={interval} ms", "queue=100000 packets")
    probed = _overload(bench, discipline, *keys, factor=1.25, seconds=3)
    above = next(_ms(arrival) for arrival in probed.arrivals if arrival.delay_ms - FRAME_MS > target)
    dropped = _drop_instants_ms(probed)
    expected, inverse = [above + interval], 1.0
    for number in range(1, len(dropped)):
        inverse *= (3 - number * inverse * inverse) / 2
        assert number == 2 or abs(inverse * math.sqrt(number) - 1) < 0.03
        expected.append(expected[-1] + interval * inverse)
    off = [abs(instant - other) for instant, other in zip(dropped[:20], expected, strict=False)]
    print(f"{discipline} {target}/{interval}: {len(dropped)} drops, the first 20 up to {max(off):.2f} ms off the law")
    note(f"{discipline} {target}/{interval} off its law ms", max(off))
    assert len(dropped) > 20
    # A drop waits for a packet to leave, and one frame takes 1.2 ms.
    assert max(off) < FRAME_MS


def test_pie_holds_its_target_against_any_load(bench: Bench) -> None:
    """RFC 8033: of a load of 1.2 times the rate, a sixth has to go, and the delay is held around the target."""
    for target in (15, 40):
        probed = _overload(bench, "pie", f"aqm.target={target} ms", "queue=2000 packets", factor=1.2, seconds=12)
        late = [arrival.delay_ms - FRAME_MS for arrival in probed.arrivals if arrival.number > probed.sent / 2]
        lost = sum(probed.lost[probed.sent // 2 :]) / (probed.sent - probed.sent // 2)
        mean = sum(late) / len(late)
        print(f"PIE, target {target} ms: {mean:.2f} ms, {lost:.4f} dropped")
        note(f"pie {target} ms", mean)
        note(f"pie {target} dropped %", 100 * lost)
        assert abs(lost - 1 / 6) < 0.01
        assert 0.7 * target < mean < 1.3 * target


def test_red_drops_nothing_below_its_least(bench: Bench) -> None:
    """Bursts that leave the mean queue below `least` lose nothing; an overload is held between `least` and `most`."""
    keys = ("queue=200 packets", "aqm.min=40 packets", "aqm.max=120 packets", "aqm.probability=10 %")
    settings = [FORWARD + key for key in ("rate=10 Mbit/s", "discipline=red", *keys)]
    short = probe(bench, *settings, bursts=20, per_burst=30, size=FULL, gap_us=200_000)
    assert sum(short.lost) == 0
    long = _overload(bench, "red", *keys, factor=1.08, seconds=12)
    waits = [(arrival.delay_ms - FRAME_MS) / FRAME_MS for arrival in long.arrivals if arrival.number > long.sent / 2]
    mean = sum(waits) / len(waits)
    lost = sum(long.lost[long.sent // 2 :]) / (long.sent - long.sent // 2)
    print(f"RED: bursts of 30 lose nothing; at 1.08 times the rate {mean:.1f} packets wait, {lost:.4f} dropped")
    note("red waiting", mean)
    note("red dropped %", 100 * lost)
    assert abs(lost - 0.08 / 1.08) < 0.01
    assert 40 < mean < 120


LOAD = """
import socket, sys, time
s = socket.socket(type=socket.SOCK_DGRAM)
s.connect((sys.argv[1], 9001))
gap, end = float(sys.argv[2]), time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    s.send(bytes(1472))
    time.sleep(gap)
"""
SINK = """
import signal, socket
s = socket.socket(type=socket.SOCK_DGRAM)
s.bind(("", 9001))
signal.pause()
"""


def _load(factor: float) -> tuple[Program, ...]:
    words = (TARGET, str(FRAME_MS / 1000 / factor), "12")
    return (
        server("sink", "python3", "-IS", "-c", SINK),
        client("load", "python3", "-IS", "-c", LOAD, *words, start_ns=10**9 + 500_000_000),
    )


@pytest.mark.parametrize("discipline", ["tail-drop", "codel", "pie", "red", "fq_codel", "fq_pie", "cake"])
def test_flow_queueing_keeps_sparse_flows_apart(bench: Bench, discipline: str) -> None:
    """A small datagram every 20 ms beside a flood: with a queue per flow it waits for the frame being sent, and with
    one queue for all it waits as long as they do."""
    keys = ("rate=10 Mbit/s", f"discipline={discipline}", *(() if discipline == "cake" else ("queue=100 ms",)))
    probed = probe(bench, *(FORWARD + key for key in keys), programs=_load(1.3), bursts=400, gap_us=20_000)
    steady = [arrival.delay_ms for arrival in probed.arrivals if arrival.number > 100]
    mean, maximum = sum(steady) / len(steady), max(steady)
    lost = sum(probed.lost[100:]) / (probed.sent - 100)
    print(f"{discipline}: {mean:.2f} ms on average, {maximum:.2f} at most, {lost:.3f} lost")
    note(f"sparse {discipline} mean ms", mean)
    note(f"sparse {discipline} max ms", maximum)
    if discipline in ("fq_codel", "fq_pie", "cake"):
        assert lost == 0
        # One full frame may have just begun, and one more may stand in tbf's hand.
        assert maximum < 3 * FRAME_MS
    else:
        assert mean > 10


def test_cake_keeps_the_rate(bench: Bench) -> None:
    """Of full frames, with and without an overhead on each."""
    for overhead in (0, 24):
        probed = _overload(bench, "cake", f"overhead={overhead} B", factor=1.3, seconds=5)
        arrivals = [arrival for arrival in probed.arrivals if arrival.number > 500]
        span = (arrivals[-1].received_ns - arrivals[0].received_ns) / 1e9
        rate = (len(arrivals) - 1) * (1514 + overhead) * 8 / span
        print(f"CAKE with {overhead} B of overhead: {rate / 1e6:.4f} Mbit/s")
        note(f"cake overhead {overhead} Mbit/s", rate / 1e6)
        assert abs(rate / RATE - 1) < 0.002


@pytest.mark.parametrize("discipline", ["codel", "fq_codel", "pie", "fq_pie"])
def test_length_is_a_limit_in_packets(bench: Bench, discipline: str) -> None:
    """50 full datagrams at one instant before any control acts: one goes at once, 20 wait, the rest is dropped.

    FQ-CoDel makes room by dropping half of what the longest of its queues holds, from the head.
    """
    for queue in ("20 packets", "30280 B"):  # 20 frames of 1,514 bytes
        keys = ("rate=10 Mbit/s", f"discipline={discipline}", f"queue={queue}")
        probed = probe(bench, *(FORWARD + key for key in keys), bursts=1, per_burst=50, size=FULL)
        print(f"{discipline} of {queue}: {len(probed.arrivals)} of 50 came")
        assert len(probed.arrivals) == 21 or (discipline == "fq_codel" and 11 <= len(probed.arrivals) <= 21)
