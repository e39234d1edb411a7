# SPDX-License-Identifier: MIT
"""Streams, calls and cross traffic: delay, jitter, loss and lateness of lines whose distributions are known."""

from __future__ import annotations

import math

import pytest
from tests.lab.bench import Bench, note

from mptcplab.metrics.measure import WorkloadMeasurement, measure
from mptcplab.workload.outputs import ConnectionTermination, read_arrivals, read_terminations

LINE = """
[topology]
preset = "direct"

[links.link1]
{line}

[workloads.it]
from = "client"
to = "server"
{workload}
"""
BOTH = pytest.mark.parametrize("direction", ["upload", "download"])


def _reverse(direction: str) -> str:
    return str(direction == "download").lower()


def _measure(bench: Bench, line: str, workload: str, *overrides: str) -> WorkloadMeasurement:
    (recording,) = bench.record(LINE.format(line=line, workload=workload), *overrides)
    (measured,) = measure(recording)
    print({name: round(value, 3) for name, value in measured.metrics.items()})
    return measured


@BOTH
def test_a_stream_over_udp_shows_the_line(bench: Bench, direction: str) -> None:
    """3000 messages, 20 ms apart, each 30 ms ± 10 ms late by a uniform draw, so that none overtakes another.

    Of a uniform distribution of half width 10 ms the deviation is 5.8 ms, so the mean is within 4 x 5.8 / sqrt(3000) =
    0.42 ms; the difference of two draws has a mean of 20/3 ms and a deviation of 4.7 ms; a quarter is above 35 ms.
    """
    stream = (
        f'kind = "stream"\nduration = "60 s"\ninterval = "20 ms"\nprotocol = "udp"\nreverse = {_reverse(direction)}'
    )
    line = 'delay = "30 ms"\njitter = "10 ms"\nloss = "2 %"'
    measured = _measure(bench, line, f'{stream}\ndeadline = "35 ms"')
    figures = measured.metrics
    note(f"udp delay {direction} ms", figures["delay_mean_ms"])
    note(f"udp jitter {direction} ms", figures["jitter_ms"])
    note(f"udp lost {direction} %", figures["lost_percent"])
    assert figures["delay_mean_ms"] == pytest.approx(30, abs=0.45)
    assert figures["jitter_ms"] == pytest.approx(20 / 3, abs=0.6), "neighbours share a draw, so somewhat more than 4 sd"
    assert figures["lost_percent"] == pytest.approx(2, abs=4 * 100 * math.sqrt(0.02 * 0.98 / 3000))
    assert figures["late_percent"] == pytest.approx(24.5, abs=4 * 100 * math.sqrt(0.25 * 0.75 / 3000))
    assert 39 < figures["delay_p99_ms"] <= figures["delay_max_ms"] < 40.1
    nominal = 1200 * 8 / 0.02 * (1 - figures["lost_percent"] / 100)
    assert measured.goodput_bps == pytest.approx(nominal, rel=0.002)


@pytest.mark.parametrize("protocol", ["tcp", "mptcp"])
@BOTH
def test_a_stream_over_tcp_arrives_whole_and_late(bench: Bench, protocol: str, direction: str) -> None:
    """Nothing is lost; a message that was, and all behind it, wait at least a round trip of 60 ms more."""
    stream = f'kind = "stream"\nduration = "60 s"\ninterval = "20 ms"\nprotocol = "{protocol}"'
    lossy = _measure(bench, 'delay = "30 ms"\nloss = "2 %"', f"{stream}\nreverse = {_reverse(direction)}")
    figures = lossy.metrics
    assert figures["lost_percent"] == 0
    assert figures["delay_p50_ms"] == pytest.approx(30, abs=0.1)
    assert figures["delay_max_ms"] > 90
    assert lossy.sockets.use.text == ("no" if protocol == "tcp" else "1 subflow")
    assert lossy.sockets.retransmitted_bytes is not None
    assert lossy.sockets.retransmitted_bytes >= 20 * 1200, "about 60 of 3000 messages; 20 are 5 deviations below"


def test_a_call_is_judged_by_the_e_model(bench: Bench) -> None:
    """50 ms of line, 60 ms of buffer, 20 ms of voice: Id = 0.024 x 130 = 3.12, R = 90.08, MOS = 4.341."""
    figures = _measure(bench, 'delay = "50 ms"', 'kind = "voip"\nduration = "20 s"\nprotocol = "udp"').metrics
    assert figures["delay_mean_ms"] == pytest.approx(50, abs=0.01)
    assert figures["jitter_ms"] < 0.01
    assert (figures["late_percent"], figures["lost_percent"]) == (0, 0)
    note("call R", figures["r_factor"])
    note("call MOS", figures["mos"])
    assert figures["r_factor"] == pytest.approx(90.08, abs=0.01)
    assert figures["mos"] == pytest.approx(4.341, abs=0.001)


def test_late_packets_of_a_call_are_as_good_as_lost(bench: Bench) -> None:
    """A buffer of 5 ms against jitter of ± 10 ms: how many are late follows from the first packet's delay alone."""
    call = 'kind = "voip"\nduration = "60 s"\nprotocol = "udp"\nplayout = "5 ms"'
    text = LINE.format(line='delay = "50 ms"\njitter = "10 ms"', workload=call)
    heard = 0
    for seed in range(1, 5):
        (recording,) = bench.record(text, seed=seed)
        (measured,) = measure(recording)
        first = read_arrivals(recording, "it.server")[0].delay_ns[0] / 1e6
        late = 100 * min(1, max(0, (60 - first - 5) / 20))
        print(
            f"first packet {first:.2f} ms, expected late {late:.1f} %, found {measured.metrics['late_percent']:.1f} %"
        )
        assert measured.metrics["late_percent"] == pytest.approx(late, abs=4 * 100 * math.sqrt(0.25 / 3000))
        if late > 20:
            heard += 1
            assert measured.metrics["mos"] < 4.3
    assert heard, "a first packet was early enough for others to be late"


@pytest.mark.parametrize(("times", "tolerance"), [("fixed", 0.0001), ("exponential", 0.18)])
def test_on_off_traffic_has_its_mean_rate(bench: Bench, times: str, tolerance: float) -> None:
    """On for 100 ms of 400 ms, which 36 datagrams fit into, 2.8 ms apart.

    With exponential times a source is on for a part of T whose variance is 2 a^2 b^2 / ((a + b)^3 T): of 240 s, with
    a = 0.1 s and b = 0.3 s, the deviation is 4.3 % of a quarter; four of them are 17 %.
    """
    cross = f'kind = "udp"\nduration = "240 s"\nrate = "4 Mbit/s"\non = "100 ms"\noff = "300 ms"\ntimes = "{times}"'
    measured = _measure(bench, 'delay = "10 ms"', cross)
    print(f"{times}: {measured.goodput_bps / 1e6:.4f} Mbit/s")
    note(f"on-off {times} Mbit/s", measured.goodput_bps / 1e6)
    assert measured.goodput_bps == pytest.approx(36 * 1400 * 8 / 0.4, rel=tolerance)
    assert measured.metrics["lost_percent"] == 0
    assert measured.metrics["delay_mean_ms"] == pytest.approx(10, abs=0.01)


SHARED = """
[topology]
preset = "direct"

[links.link1]
rate = "10 Mbit/s"
delay = "10 ms"

[transport]
protocol = "tcp"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "20 s"

[workloads.cross]
kind = "udp"
from = "client"
to = "server"
duration = "20 s"
rate = "{rate} Mbit/s"
"""


def test_cross_traffic_takes_its_part_of_a_line(bench: Bench) -> None:
    """TCP has what UDP leaves: frames of 1442 bytes for 1400 of payload. Both are lost where the queue is full."""
    (recording,) = bench.record(SHARED.format(rate=4))
    bulk, cross = measure(recording)
    udp = cross.goodput_bps * 1442 / 1400
    expected = (10e6 - udp) * 1448 / 1514
    print(f"UDP {cross.goodput_bps / 1e6:.3f}, TCP {bulk.goodput_bps / 1e6:.3f}, {cross.metrics}")
    note("tcp beside udp Mbit/s", bulk.goodput_bps / 1e6)
    note("tcp beside udp expected Mbit/s", expected / 1e6)
    assert bulk.goodput_bps == pytest.approx(expected, rel=0.03), "3 %: slow start, and the queue at the end"
    assert cross.goodput_bps > 0.95 * 4e6


def test_more_cross_traffic_than_the_line_carries_is_lost(bench: Bench) -> None:
    (recording,) = bench.record(SHARED.format(rate=15), "workloads.bulk.start=30 s")
    _, cross = measure(recording)
    carried = 10e6 * 1400 / 1442
    assert cross.metrics["lost_percent"] == pytest.approx(100 * (1 - carried / 15e6), abs=1), "the queue holds 0.5 %"


def test_udp_comes_by_the_line_that_via_names(bench: Bench) -> None:
    text = """
topology.preset = "disjoint-paths"
links.link1 = { delay = "5 ms" }
links.link2 = { delay = "25 ms" }
workloads.call = { kind = "voip", from = "client", to = "server", duration = "2 s", protocol = "udp", via = "link2" }
"""
    for direction in ("upload", "download"):
        (recording,) = bench.record(text, f"workloads.call.reverse={_reverse(direction)}")
        (measured,) = measure(recording)
        assert measured.metrics["delay_mean_ms"] == pytest.approx(25, abs=0.1), direction


def test_same_seed_same_traffic(bench: Bench) -> None:
    """And another seed has other times."""
    cross = 'kind = "udp"\nduration = "5 s"\nrate = "1 Mbit/s"\non = "100 ms"\noff = "100 ms"'
    text = LINE.format(line='delay = "1 ms"', workload=cross)

    def describe(seed: int, out: str | None = None) -> list[ConnectionTermination]:
        (recording,) = bench.record(text, seed=seed, out=out)
        return read_terminations(recording, "it.server")

    assert describe(1) == describe(1, "again")
    assert describe(1)[0].messages != describe(2)[0].messages
