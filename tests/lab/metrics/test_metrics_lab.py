# SPDX-License-Identifier: MIT
"""Figures of paths and failures against what the network makes them be."""

from __future__ import annotations

import pytest
from tests.lab.bench import Bench, note

from mptcplab.metrics.delivery import Delivery, compute_gap_s, read_delivery
from mptcplab.metrics.measure import WorkloadMeasurement, measure
from mptcplab.metrics.subflows import ends_of
from mptcplab.recording.record import Recording

_PAYLOAD = 1448 / 1514

FAILURE = """
[topology]
preset = "disjoint-paths"

[links.link1]
rate = "20 Mbit/s"
delay = "10 ms"

[links.link2]
rate = "20 Mbit/s"
delay = "20 ms"

[workloads.bulk]
kind = "{kind}"
from = "client"
to = "server"
duration = "40 s"

[record]
interval = "100 ms"

[[events]]
at = "10 s"
type = "down"
link = "link1"

[[events]]
at = "20 s"
type = "up"
link = "link1"
"""


def _measure(recording: Recording) -> WorkloadMeasurement:
    (measured,) = measure(recording)
    print({name: round(value, 4) for name, value in measured.metrics.items()})
    return measured


@pytest.mark.parametrize("kind", ["flow", "iperf3"])
def test_tcp_has_nothing_while_its_line_is_down(bench: Bench, kind: str) -> None:
    """10 s without the line, and then until TCP tries again: its timeout doubles, so up to as long as it waited."""
    figures = _measure(bench.record(FAILURE.format(kind=kind), "transport.protocol=tcp")[0]).metrics
    assert 9.9 < figures["gap_s"] <= 20.5
    note(f"tcp gap {kind} s", figures["gap_s"])
    assert "recovery_after_failure_s" not in figures
    # The window of a second that is back at 90 % begins when the gap ends, or in slow start after it.
    assert figures["gap_s"] - 10.2 <= figures["recovery_after_restoration_s"] <= figures["gap_s"] - 10 + 2


@pytest.mark.parametrize("kind", ["flow", "iperf3"])
def test_mptcp_goes_on_by_the_other_line(bench: Bench, kind: str) -> None:
    """The gap is some timeouts of line 1 (at least 200 ms each), after which what it lost is sent on line 2."""
    figures = _measure(bench.record(FAILURE.format(kind=kind))[0]).metrics
    assert "recovery_after_failure_s" not in figures, "half of the capacity is gone"
    assert figures["recovery_after_restoration_s"] < 15
    assert ("gap_s" in figures) == (kind == "flow"), "what iperf3 reads is not known"
    if kind == "flow":
        assert 0.2 < figures["gap_s"] < 4
        # What line 1 had under way and in its buffers, 100 ms and more of 20 Mbit/s, is sent on line 2 as well.
        assert 0.2 < figures["duplicate_percent"] <= figures["reinjected_percent"] * 1.01 < 10


def test_a_line_that_is_enough_alone_lets_mptcp_recover_from_the_failure(bench: Bench) -> None:
    """Line 1 carries 1 of 21 Mbit/s: what is left is more than 90 %."""
    recording = bench.record(FAILURE.format(kind="flow"), "links.link1.rate=1 Mbit/s")[0]
    figures = _measure(recording).metrics
    assert figures["recovery_after_failure_s"] < 5
    assert figures["recovery_after_restoration_s"] < 1, "there is nothing to recover from any more"


def test_the_exact_gap_is_near_the_sampled_one(bench: Bench) -> None:
    """The receiver's own pauses against the sampled curve, which is wrong by one interval at most."""
    recording = bench.record(FAILURE.format(kind="flow"))[0]
    (ends,) = ends_of(recording)
    described = read_delivery(recording, ends)
    assert described is not None
    assert described.pauses is not None
    sampled = Delivery(described.times, described.total)
    exact, rough = (compute_gap_s(curve, 10, 20) for curve in (described, sampled))
    assert exact is not None
    assert rough is not None
    print(f"exact {exact:.4f} s, sampled {rough:.4f} s")
    note("mptcp gap exact s", exact)
    note("mptcp gap sampled s", rough)
    assert exact == pytest.approx(rough, abs=0.1001)


ALTERNATING = """
[topology]
preset = "disjoint-paths"

[links.link1]
delay = "10 ms"

[links.link2]
delay = "60 ms"

[workloads.it]
kind = "stream"
from = "client"
to = "server"
duration = "30 s"
packet = "1000 B"
interval = "5 ms"
scheduler = "roundrobin"

[record]
interval = "13 ms"
"""


def test_head_of_line_delay_is_what_the_slower_line_makes_the_faster_wait(bench: Bench) -> None:
    """Messages take turns: one by 10 ms, the next one 5 ms later by 60 ms. Each on the fast line waits for the one
    before it: it is there after 10 ms and needed after 55. So half of the bytes wait 45 ms: 22.5 ms on average, and
    200,000 B/s x 22.5 ms = 4500 B are in the queue. The samples' 13 ms meet every phase of the 10 ms alike."""
    (recording,) = bench.record(ALTERNATING)
    measured = _measure(recording)
    print(measured.sockets.shares)
    assert measured.sockets.shares["access1>link1"] == pytest.approx(0.5, abs=0.02)
    figures = measured.metrics
    assert figures["delay_mean_ms"] == pytest.approx(57.5, abs=1.5)
    note("head-of-line ms", figures["head_of_line_delay_ms"])
    note("out-of-order B", figures["out_of_order_mean_bytes"])
    assert figures["head_of_line_delay_ms"] == pytest.approx(22.5, abs=1.5)
    assert figures["out_of_order_mean_bytes"] == pytest.approx(4500, rel=0.07)
    assert figures["duplicate_percent"] < 1


LINES = """
[topology]
preset = "disjoint-paths"

[links.link1]
rate = "20 Mbit/s"
delay = "10 ms"

[links.link2]
rate = "{second} Mbit/s"
delay = "10 ms"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "20 s"
scheduler = "{scheduler}"
"""


def test_redundant_data_comes_twice(bench: Bench) -> None:
    """Everything is sent on both of two equal lines: as much again as is needed, and no benefit of the second."""
    figures = _measure(bench.record(LINES.format(second=20, scheduler="redundant"))[0]).metrics
    assert figures["duplicate_percent"] == pytest.approx(100, abs=10)
    note("redundant twice %", figures["duplicate_percent"])
    note("redundant reinjected %", figures["reinjected_percent"])
    note("redundant benefit", figures["aggregation_benefit_of_capacity"])
    assert figures["reinjected_percent"] == pytest.approx(100, abs=10)
    assert figures["aggregation_benefit_of_capacity"] == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("second", [20, 5])
def test_the_default_scheduler_adds_the_lines_up(bench: Bench, second: int) -> None:
    measured = _measure(bench.record(LINES.format(second=second, scheduler="default"))[0])
    benefit = measured.metrics["aggregation_benefit_of_capacity"]
    assert 0.7 < benefit < 1
    goodput = (20 + benefit * second) * _PAYLOAD
    assert measured.goodput_bps / 1e6 == pytest.approx(goodput), "the definition, turned round"
