# SPDX-License-Identifier: MIT
"""Requests and short flows: response times and completion times that round trips predict, and their distributions."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from tests.lab.bench import Bench, note

from mptcplab.metrics.measure import measure
from mptcplab.workload.outputs import read_responses

TEXT = """
[topology]
preset = "{preset}"

[links.link1]
delay = "20 ms"

[workloads.it]
from = "client"
to = "server"
{workload}

[sweep]
"transport.protocol" = ["tcp", "mptcp"]
"""


def _text(workload: str, preset: str = "direct") -> str:
    return TEXT.format(preset=preset, workload=workload)


def test_a_small_response_takes_one_round_trip(bench: Bench) -> None:
    """40 ms, and 60 ms to think: one request per 100 ms, the first of them with the handshake behind it."""
    workload = 'kind = "requests"\nduration = "20 s"\nresponse = "1 kB"\nthink = "60 ms"\nconnections = 3'
    for recording in bench.record(_text(workload)):
        (measured,) = measure(recording)
        figures = measured.metrics
        assert figures["response_p50_ms"] == pytest.approx(40, abs=0.01)
        note("request ms", figures["response_p50_ms"])
        assert figures["response_max_ms"] == pytest.approx(40, abs=0.1)
        assert figures["requests"] == 3 * 200
        assert measured.sockets.use.connections == 3


def test_a_number_of_requests(bench: Bench) -> None:
    workload = 'kind = "requests"\ncount = 7\nresponse = "100 kB"\nrequest = "30 kB"\nconnections = 2'
    for recording in bench.record(_text(workload)):
        (measured,) = measure(recording)
        assert measured.metrics["requests"] == 14
        # 100 kB are 70 segments: windows of 10, 20 and 40 are three round trips, and the request needs two.
        assert 80 < measured.metrics["response_max_ms"] < 300
        assert measured.goodput_bps * measured.duration_s == pytest.approx(8 * 14 * 100e3)


def test_thinking_times_are_exponential(bench: Bench) -> None:
    """Pauses between a response and the next request: their mean, and their deviation, which is the mean too."""
    workload = 'kind = "requests"\nduration = "60 s"\nresponse = "1 kB"\nthink = "60 ms"\ntimes = "exponential"'
    recording = bench.record(_text(workload), "transport.protocol=tcp")[0]
    answers = read_responses(recording, "it.client")
    pauses = [(b.asked_ns - a.t_ns) / 1e6 for a, b in pairwise(answers)]
    mean = sum(pauses) / len(pauses)
    deviation = math.sqrt(sum((pause - mean) ** 2 for pause in pauses) / len(pauses))
    print(f"n {len(pauses)}, mean {mean:.2f} ms, deviation {deviation:.2f} ms")
    assert mean == pytest.approx(60, abs=4 * 60 / math.sqrt(len(pauses)))
    assert deviation == pytest.approx(60, rel=0.2), "its own deviation is 1/sqrt(2n) x 2, about 6 %"


def test_a_short_flow_takes_two_round_trips(bench: Bench) -> None:
    """Handshake, then request and response. Arrivals are Poisson: 600 ± 4 x sqrt(600)."""
    workload = 'kind = "web"\nduration = "60 s"\ninterval = "100 ms"\nresponse = "1 kB"'
    for recording in bench.record(_text(workload)):
        (measured,) = measure(recording)
        figures = measured.metrics
        print(measured.sockets.use.text, figures)
        note("short flow ms", 1e3 * figures["completion_p50_s"])
        assert figures["completion_p50_s"] == pytest.approx(0.080, abs=0.0001)
        assert figures["completion_p99_s"] == pytest.approx(0.080, abs=0.001)
        assert figures["flows"] == pytest.approx(600, abs=4 * math.sqrt(600))
        assert measured.sockets.use.connections == figures["flows"], "every connection is counted"


@pytest.mark.parametrize(
    ("sizes", "relative_deviation"),
    # Of an exponential distribution 1; of a lognormal one with sigma 0.5, sqrt(exp(0.25) - 1).
    [('sizes = "exponential"', 1.0), ('sizes = "lognormal"\nshape = 0.5', math.sqrt(math.exp(0.25) - 1))],
)
def test_sizes_have_their_mean_and_deviation(bench: Bench, sizes: str, relative_deviation: float) -> None:
    workload = f'kind = "web"\nduration = "50 s"\ninterval = "50 ms"\ntimes = "fixed"\nresponse = "20 kB"\n{sizes}'
    recording = bench.record(_text(workload), "transport.protocol=tcp")[0]
    times = [response.response for response in read_responses(recording, "it.client")]
    assert len(times) == 1000, "one every 50 ms"
    mean = sum(times) / len(times)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in times) / len(times))
    print(f"{sizes}: mean {mean:.0f} B, deviation {deviation:.0f} B")
    assert mean == pytest.approx(20e3, rel=4 * relative_deviation / math.sqrt(1000))
    assert deviation == pytest.approx(20e3 * relative_deviation, rel=0.2)


def test_pareto_sizes_have_their_tail(bench: Bench) -> None:
    """Of a Pareto distribution with alpha 1.5 and mean 30 kB the least is 10 kB, and 1/10^1.5 = 3.2 % exceed 100 kB."""
    workload = (
        'kind = "web"\nduration = "50 s"\ninterval = "50 ms"\ntimes = "fixed"\nresponse = "30 kB"\n'
        'sizes = "pareto"\nshape = 1.5\nlargest = "500 kB"'
    )
    recording = bench.record(_text(workload), "transport.protocol=tcp")[0]
    sizes = [response.response for response in read_responses(recording, "it.client")]
    beyond = sum(size > 100_000 for size in sizes) / len(sizes)
    print(f"least {min(sizes)}, largest {max(sizes)}, beyond 100 kB {beyond:.3f}")
    assert min(sizes) == pytest.approx(10_000, rel=0.02)
    assert max(sizes) <= 500_000
    assert beyond == pytest.approx(0.0316, abs=4 * math.sqrt(0.0316 / 1000))


def test_mptcp_helps_long_responses(bench: Bench) -> None:
    """Two lines of 10 Mbit/s: a response of 2 MB takes 1.7 s over one, and less over both."""
    workload = 'kind = "requests"\ncount = 4\nresponse = "2 MB"'
    link2 = '\n[links.link2]\ndelay = "20 ms"\n'
    rate = "links.link*.rate=10 Mbit/s"
    tcp, mptcp = bench.rows(_text(workload, "disjoint-paths") + link2, rate)
    times = [row.metrics["response_p50_ms"].mean for row in (tcp, mptcp)]
    print(times, mptcp.mptcp, mptcp.shares)
    least = 1e3 * 16e6 / (10e6 * 1448 / 1514)
    assert least < times[0] < 1.3 * least
    assert least / 2 < times[1] < 0.75 * times[0]
    assert mptcp.mptcp == "2 subflows"
