# SPDX-License-Identifier: MIT
"""What is estimated of a line: known lines are found again, and what cannot be known is called a bound."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.fit.packets import FRAME, ModelLine, capture

from mptcplab.explain.evidence import Sample, Subflow
from mptcplab.fit.lines import Line, estimate_from_samples, estimate_line
from mptcplab.fit.packets import PathReader


def fit_line(line: ModelLine, load: float, *, at_sender: bool = True, seconds: float = 4) -> Line:
    """Return what is estimated of a model's line, from its packets alone."""
    packets = capture(line, load, seconds, at_sender=at_sender)
    traces = PathReader().read(packets)
    assert [(trace.sender, trace.receiver) for trace in traces] == [("10.0.1.1", "10.0.2.2")]
    assert traces[0].at_sender is at_sender
    return estimate_line(traces[0], "line1")


@pytest.mark.slow
@pytest.mark.parametrize("at_sender", [True, False])
@pytest.mark.parametrize(
    "line",
    [
        ModelLine(20e6, 0.04, 0.1),
        ModelLine(2e6, 0.02, 0.15),
        ModelLine(50e6, 0.12, 0.03),
        ModelLine(10e6, 0.03, 0.1, 0.004),
    ],
    ids=lambda line: f"{line.rate / 1e6:g} Mbit/s",
)
def test_an_overloaded_line_is_found_again(line: ModelLine, at_sender: bool) -> None:
    """The issue asks for 10 %. A time stamp has 1 ms, and a queue holds whole frames: hence a frame and 2 ms more."""
    estimated = fit_line(line, 1.6, at_sender=at_sender)
    assert estimated.rate.kind == estimated.rtt.kind == estimated.queue.kind == "measured"
    assert estimated.rate.value == pytest.approx(line.rate, rel=0.02)
    assert estimated.rtt.value == pytest.approx(line.rtt, rel=0.05)
    frame_s = FRAME * 8 / line.rate
    assert estimated.queue.value == pytest.approx(line.queue, abs=max(0.1 * line.queue, frame_s) + 0.002)


@pytest.mark.slow
def test_random_loss_is_told_from_a_full_queue() -> None:
    line = fit_line(ModelLine(20e6, 0.03, 0.1, loss=0.005), 1.3, seconds=12)
    assert line.loss.kind == "measured"
    assert line.loss.low is not None
    assert line.loss.high is not None
    assert line.loss.low <= 0.005 <= line.loss.high
    assert line.loss.high < 0.02, "losses at the full queue, a quarter of all packets, do not count"
    without = fit_line(ModelLine(20e6, 0.03, 0.1), 1.3, seconds=12)
    assert without.loss.value == 0


def test_a_queue_that_never_filled_is_a_bound() -> None:
    """The load is below the rate for the queue of a second: no loss, and the wait is what it was."""
    line = fit_line(ModelLine(20e6, 0.03, 1.0), 1.3)
    assert line.rate.kind == "measured"
    assert line.queue.kind == "bound"
    assert not line.queue.is_upper
    assert line.queue.value < 1.0
    assert "no loss shows that the queue was ever full" in line.queue.origin(str)


def test_random_loss_alone_does_not_prove_a_full_queue() -> None:
    line = fit_line(ModelLine(20e6, 0.03, 1.0, loss=0.02), 1.3)
    assert line.queue.kind == "bound"
    assert line.loss.value == pytest.approx(0.02, abs=0.01)


def test_the_rate_of_a_line_without_backlog_is_a_bound() -> None:
    line = fit_line(ModelLine(50e6, 0.03, 0.1), 0.5)
    assert line.rate.kind == "bound"
    assert line.rate.value == pytest.approx(25e6, rel=0.05), "half of it was sent"
    assert line.rate.origin(str).startswith("not identifiable: lower bound")


def samples(rtt_s: float, rate_bps: float, count: int) -> tuple[Sample, ...]:
    """Return looks at a socket, one a second."""
    return tuple(
        Sample(time_s=float(place), rtt_s=rtt_s, min_rtt_s=0.03, mss=1448, bytes_acked=round(place * rate_bps / 8))
        for place in range(count)
    )


def test_samples_of_sockets_show_a_rate_but_no_queue() -> None:
    sockets = [
        Subflow(host="client", local=f"10.0.1.1:{port}", remote="10.0.2.2:5001", samples=samples(0.12, 5e6, 9))
        for port in (40000, 40001)
    ]
    line = estimate_from_samples(sockets, "line1")
    assert (line.sender, line.receiver) == ("10.0.1.1", "10.0.2.2")
    assert line.rate.kind == "measured"
    assert line.rate.value == pytest.approx(2 * 5e6 * FRAME / 1448, rel=0.01), "both sockets share the line"
    assert line.rtt.value == 0.03
    assert line.queue.kind == "assumed", "a smoothed round trip may have risen by delayed acknowledgements, too"
    assert line.queue.value == pytest.approx(0.09)
    assert (line.loss.kind, line.loss.is_upper) == ("bound", True)


def test_samples_without_a_raised_round_trip_bound_the_rate() -> None:
    socket = Subflow(host="client", local="10.0.1.1:1", remote="10.0.2.2:2", samples=samples(0.031, 5e6, 9))
    assert estimate_from_samples([socket], "line1").rate.kind == "bound"
    lowest_only = replace(socket, samples=tuple(replace(sample, rtt_s=None) for sample in socket.samples))
    rtt = estimate_from_samples([lowest_only], "line1").rtt
    assert (rtt.value, rtt.low, rtt.high) == (0.03, 0.03, 0.03)
    with pytest.raises(ValueError, match="no sample has a round trip"):
        estimate_from_samples([Subflow(host="client", local="10.0.1.1:1", remote="10.0.2.2:2")], "line1")
