# SPDX-License-Identifier: MIT
"""wVegas in whole numbers against the reference: packets in queues, targets, rounds; and in a loop with bottlenecks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.unit.coupled.connections import PATIENT, RTT_US, connections, rtts, windows
from tests.unit.coupled.library import PACKET, CVegas, Library
from tests.unit.coupled.reference import (
    TOTAL_ALPHA,
    Path,
    VegasPath,
    wvegas_diff,
    wvegas_drain,
    wvegas_step,
    wvegas_target,
)

pytestmark = pytest.mark.slow

Connection = tuple[list[Path], int]
RELATIVE = 2.0**-25
#: Numbers of packets are truncated to this.
RESOLUTION = 1 / PACKET


def _diff(library: Library, window: int, base: int, rtt: int) -> float:
    return float(library("wvegas_diff", CVegas(window, 0, base, rtt, 0, 0))) / PACKET


@PATIENT
@given(windows(30), rtts(), rtts())
def test_packets_in_queues(library: Library, window: int, first: int, second: int) -> None:
    base, rtt = sorted((first, second))
    expected = wvegas_diff(window, base, rtt)
    error = _diff(library, window, base, rtt) - expected
    assert -expected * RELATIVE - RESOLUTION <= error <= expected * RELATIVE
    assert _diff(library, window, rtt, base) == 0, "a round below the base RTT has no queue"


@PATIENT
@given(connections() | connections(bits=30))
def test_targets(library: Library, connection: Connection) -> None:
    """Each is the path's share of ten packets; together they are ten, within what is truncated."""
    paths, _ = connection
    targets = [library.compute("wvegas_alpha", paths, r) / PACKET for r in range(len(paths))]
    for r, target in enumerate(targets):
        expected = wvegas_target([path.rate for path in paths], r)
        assert -expected * RELATIVE - RESOLUTION <= target - expected <= max(RESOLUTION, expected * RELATIVE)
    assert sum(targets) == pytest.approx(TOTAL_ALPHA, abs=len(paths) * RESOLUTION + 1e-6)


@st.composite
def _rounds(draw: st.DrawFn) -> tuple[CVegas, list[Path], int]:
    """A path at the end of a round, with a few to a few hundred packets in queues."""
    paths, r = draw(connections())
    window = draw(st.integers(2, 2000))
    base = draw(st.integers(100, RTT_US[1] // 2))
    rtt = base + draw(st.integers(0, base // 2))
    target = draw(st.integers(1, 10 * PACKET))
    paths[r] = Path(window, rtt)
    return CVegas(window, 2, base, rtt, target, draw(st.integers(0, base))), paths, r


@PATIENT
@given(_rounds())
def test_round(library: Library, case: tuple[CVegas, list[Path], int]) -> None:
    """One segment up, down or neither, and the drain where the queue is full, wherever rounding cannot decide."""
    before, paths, r = case
    target, window = before.alpha / PACKET, before.cwnd
    others = [VegasPath(path.window, path.rtt, path.rate, 0) for path in paths]
    others[r] = VegasPath(window, before.base_rtt_us, paths[r].rate, target, before.queue_us)
    diff = wvegas_diff(window, before.base_rtt_us, before.rtt_us)
    stepped = wvegas_step(others, r, before.rtt_us)
    assume(all(abs(diff - limit) > 4 * RESOLUTION for limit in (target, stepped.target)))
    full = diff > target and diff > stepped.target
    expected = wvegas_drain(stepped, before.rtt_us) if full else stepped
    after = library.vegas_round("wvegas_round", before, paths, r)
    assert int(max(2, expected.window) - 0.01) <= after.cwnd <= expected.window + 0.01
    assert after.alpha / PACKET == pytest.approx(stepped.target, abs=2 * RESOLUTION + 1e-6)
    assert after.queue_us == (expected.queue_delay if full else before.queue_us)


@pytest.mark.parametrize(
    ("rtt", "queue", "window", "ssthresh"),
    [(42_000, 0, 101, 75), (50_000, 9_000, 99, 95), (60_000, 9_000, 33, 95), (60_000, 0, 99, 95)],
)
def test_window_slow_starts_back_after_draining(
    library: Library, rtt: int, queue: int, window: int, ssthresh: int
) -> None:
    """As in the authors' code: ssthresh stays when the queue is drained, and is three quarters of the window else."""
    before = CVegas(100, 95 if rtt > 42_000 else 10, 40_000, rtt, 10 * PACKET, queue)
    after = library.vegas_round("wvegas_round", before, [Path(100, rtt)], 0)
    assert (after.cwnd, after.ssthresh) == (window, ssthresh)


@PATIENT
@given(st.integers(6, 2000), st.integers(1000, RTT_US[1]), st.floats(0, 4) | st.floats(0, 0.9))
@example(window=6, base=1000, queued=0.875)
def test_slow_start_ends_with_the_first_packet_in_queues(
    library: Library, window: int, base: int, queued: float
) -> None:
    """Then the window is what the path holds without a queue, and one more. Queued are packets, or a part of all."""
    rtt = round(base / (1 - queued / window)) if queued > 0.9 else round(base / (1 - queued))
    diff = wvegas_diff(window, base, rtt)
    assume(abs(diff - 1) > 2 * RESOLUTION)
    path = CVegas(window, 1 << 31, base, rtt, 0, 0)
    assert library("wvegas_slow_start", path) == (diff <= 1)
    if diff > 1:
        assert path.cwnd == path.ssthresh
        held = window * base / rtt
        # The least window of the header is 2, also where the path holds less than one packet.
        assert max(2, held - 1e-3) <= path.cwnd <= max(2, held + 1 + 1e-3)
    else:
        assert (path.cwnd, path.ssthresh) == (window, 1 << 31)
    settled = CVegas(window, window, base, rtt, 0, 0)
    assert not library("wvegas_slow_start", settled)
    assert settled.cwnd == window


@dataclass(frozen=True)
class Loop:
    """What paths with bottlenecks of their own come to: means of the last half of 600 rounds."""

    queued: float
    used: float
    #: Of all paths, at the end.
    shares: list[float]


def _loop(library: Library, name: str, per_ms: tuple[float, ...], base_us: int = 40000) -> Loop:
    """One connection; each bottleneck passes a number of segments per ms, and its RTT follows its queue exactly."""
    hold = [base_us / 1000 * rate for rate in per_ms]
    state = [CVegas(int(most) + 2, 2, base_us, base_us, 0, 0) for most in hold]
    paths = [Path(each.cwnd, base_us) for each in state]
    queued, used = [], []
    for turn in range(600):
        for r, most in enumerate(hold):
            rtt = max(base_us, round(base_us * state[r].cwnd / most))
            paths[r] = replace(paths[r], window=state[r].cwnd, rtt=rtt)
            state[r].rtt_us = rtt
            state[r] = library.vegas_round(name, state[r], paths, r)
        if turn >= 300:
            fill = [each.cwnd / most for each, most in zip(state, hold, strict=True)]
            used.append(np.mean([min(1, each) for each in fill]))
            queued.append(sum(max(0, each - 1) * most for each, most in zip(fill, hold, strict=True)))
    return Loop(float(np.mean(queued)), float(np.mean(used)), [each.alpha / PACKET for each in state])


@pytest.mark.parametrize("per_ms", [(1.0,), (1.0, 1.0), (4.0, 1.0), (1.0,) * 4, (2.0,) * 8])
def test_ten_packets_whatever_the_number_of_paths(library: Library, per_ms: tuple[float, ...]) -> None:
    """All of every line is used, and the connection keeps ten packets in queues, within a step of each window."""
    rounds = _loop(library, "wvegas_round", per_ms)
    shares = ", ".join(f"{share:.2f}" for share in rounds.shares)
    print(f"{len(per_ms)} paths: {rounds.queued:.2f} packets queued, {100 * rounds.used:.1f} % used, targets {shares}")
    assert rounds.queued == pytest.approx(10, abs=len(per_ms))
    assert rounds.used > 0.995
    assert rounds.shares == pytest.approx([10 * rate / sum(per_ms) for rate in per_ms], rel=0.1)
