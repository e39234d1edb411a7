# SPDX-License-Identifier: MIT
"""The controls themselves, by sequences of events: losses, recovery, timeouts, idle times, no memory."""

from __future__ import annotations

from ctypes import CDLL

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.coupled.connections import PATIENT
from tests.unit.coupled.events import CLOSE_WAIT, FIN_WAIT1, RTO, SEGMENT, Subflow, World, compile_controls
from tests.unit.coupled.reference import (
    Path,
    balia_increase,
    lia_increase,
    olia_coupled_term,
    olia_epsilon,
)

pytestmark = pytest.mark.slow

COUPLED = ("lia", "olia", "balia")
ALL = (*COUPLED, "wvegas")
#: The smallest window after a loss where a connection has two paths: RFC 5681, and the drafts of OLIA and BALIA.
SMALLEST = {"lia": 2, "olia": 1, "balia": 1, "wvegas": 2}


@pytest.fixture(scope="module")
def controls(tmp_path_factory: pytest.TempPathFactory) -> CDLL:
    """The controls, compiled."""
    return compile_controls(tmp_path_factory.mktemp("controls"))


@pytest.fixture
def world(controls: CDLL) -> World:
    """A connection without subflows."""
    return World(controls)


def _expected_gain(control: str, path: Path, other: Path) -> float:
    """Return the increase for one acknowledged segment on ``path``, by the reference."""
    paths = [path, other]
    if control == "olia":
        return olia_coupled_term(paths, 0) + olia_epsilon(paths, 0, slack=1) / path.window
    return {"lia": lia_increase, "balia": balia_increase}[control](paths, 0)


@pytest.mark.parametrize("control", ALL)
@pytest.mark.parametrize("window", [1, 2, 3])
def test_smallest_window_after_a_loss(world: World, control: str, window: int) -> None:
    """1 segment for OLIA and BALIA beside another path; alone, and for the others, 2."""
    subflow, _ = world.pair(control, window, 10)
    subflow.loss()
    assert subflow.ssthresh == SMALLEST[control]
    alone = world.subflow(control, window, tcp=True)
    alone.loss()
    assert alone.ssthresh == 2, "a connection of one path is as TCP"


@pytest.mark.parametrize("control", ["olia", "balia"])
def test_smallest_window_where_the_other_path_is_idle(world: World, control: str) -> None:
    """A path that does not count is none: as alone."""
    subflow, _ = world.pair(control, 2, 10)
    world.wait(RTO + 1)
    subflow.loss()
    assert subflow.ssthresh == 2


@pytest.mark.parametrize("control", ["olia", "balia"])
def test_window_of_one_goes_on(world: World, control: str) -> None:
    """Losses, a timeout and growth at a window of 1: it is not in slow start, and grows by the equation."""
    subflow, other = world.pair(control, 2, 10)
    for _ in range(3):
        subflow.loss()
        subflow.end_recovery()
        assert (subflow.window, subflow.ssthresh) == (1, 1)
    subflow.timeout()
    subflow.timeout_over()
    assert (subflow.window, subflow.ssthresh) == (1, 1)
    other.ack()
    other.set(10)
    gain = subflow.gain()
    expected = _expected_gain(control, Path(1, 20_000, 0), Path(10, 20_000, SEGMENT))
    print(f"{control}: {gain:.4f} segments for one, expected {expected:.4f}")
    assert gain == pytest.approx(expected, rel=0.02)
    for _ in range(200):
        subflow.ack()
        other.ack()
    assert subflow.window > 1


def test_olia_takes_single_segments(world: World) -> None:
    """From the larger window, on a slower path, until both are within a segment; slow start does not follow."""
    subflow, other = world.subflow("olia", 6, rtt_us=100_000), world.subflow("olia", 1)
    other.ack(100)
    other.set(1)
    seen = []
    for _ in range(400):
        subflow.ack(rtt_us=100_000)
        seen.append(subflow.window)
        assert subflow.window >= subflow.ssthresh, "a shrinking window is not back in slow start"
        other.ack()
        other.set(1)
    print(f"windows: {sorted(set(seen))}")
    assert seen[0] == 6
    assert seen[-1] == 2


@pytest.mark.parametrize("control", COUPLED)
@pytest.mark.parametrize("ecn", [False, True])
def test_window_of_a_sibling_in_recovery_is_its_ssthresh(world: World, control: str, ecn: bool) -> None:
    """RFC 6356, section 3: from the loss on, before any ACK of it, and whatever PRR makes of the window."""
    subflow, other = world.pair(control, 40, 100)
    raw = _expected_gain(control, Path(40, 20_000), Path(100, 20_000))
    other.loss(ecn=ecn)
    kept = other.ssthresh
    assert 25 <= kept <= 50
    expected = _expected_gain(control, Path(40, 20_000), Path(kept, 20_000))
    gains = [subflow.gain()]
    other.set(7)
    other.ack()
    subflow.set(40)
    gains.append(subflow.gain())
    print(f"{control}: {gains}, expected {expected}; with the raw window first {raw}")
    if control != "olia":
        assert gains == pytest.approx([expected] * 2, rel=1e-3)
    else:
        # Which path is best changes with the loss; the difference of both is the same, as only the window counts.
        assert gains[0] == pytest.approx(gains[1], rel=1e-3)
    other.end_recovery()
    assert other.window == kept


@pytest.mark.parametrize("control", COUPLED)
def test_window_of_a_sibling_after_a_timeout_is_its_own(world: World, control: str) -> None:
    """1 segment in slow start: the RFC's exception is for fast retransmit only. Without an ACK, from the timeout on."""
    subflow, other = world.pair(control, 40, 100)
    before = subflow.gain()
    subflow.set(40)
    other.timeout()
    gain = subflow.gain()
    # OLIA: the path itself has more bytes since its last loss, and the larger window.
    expected = _expected_gain(control, Path(40, 20_000, 3), Path(1, 20_000, 1))
    print(f"{control}: {before} before, {gain} after the timeout, expected {expected}")
    assert gain == pytest.approx(expected, rel=1e-3)


def test_olia_hears_of_the_end_of_a_gap_between_losses(world: World) -> None:
    """Bytes between losses change with the loss, not with the next ACK: l of a path may fall then."""
    subflow, other = world.pair("olia", 10, 40)
    other.ack(100)
    other.loss()
    other.end_recovery()
    other.set(40)
    # Now l of the other is 101 segments; this one's are 31 or less. The second gap is short.
    subflow.ack(30)
    subflow.set(10)
    worse = subflow.gain()
    other.ack(1)
    other.loss()
    other.end_recovery()
    other.set(40)
    subflow.set(10)
    better = subflow.gain()
    print(f"gain per segment {worse:.4f} while the other path is best, {better:.4f} once it is not")
    assert worse < 0.05
    assert better == pytest.approx(worse + 0.5 / 10, rel=0.2)


@pytest.mark.parametrize("control", COUPLED)
def test_idle_sibling(world: World, control: str) -> None:
    """By default it counts for one timeout; if all established subflows are to count, for as long as it is."""
    subflow, other = world.pair(control, 10, 30)
    coupled = subflow.gain()
    subflow.set(10)
    world.wait(RTO)
    assert subflow.gain() == pytest.approx(coupled, rel=0.1), "until then it counts"
    subflow.set(10)
    world.wait(1)
    assert subflow.gain() == 0, "alone: Reno counts ACKs elsewhere"
    other.ack()
    other.set(30)
    world.settings(count_idle=True)
    other.ack()
    other.set(30)
    world.wait(1000 * RTO)
    subflow.set(10)
    assert subflow.gain() == pytest.approx(coupled, rel=0.1)
    other.enter(CLOSE_WAIT)
    assert subflow.gain() != 0, "it may still send"
    other.enter(FIN_WAIT1)
    assert subflow.gain() == 0, "it will not send again"


@pytest.mark.parametrize("control", COUPLED)
def test_established_subflow_counts_before_its_first_data(world: World, control: str) -> None:
    """With the window of the start and the round-trip time of the handshake; also a subflow that was alone before."""
    gains = []
    for idle in (False, True):
        fresh = World(world._library)
        fresh.settings(count_idle=idle)
        fresh.subflow(control, 10, start=True)
        subflow = fresh.subflow(control, 10)
        gains.append(subflow.gain())
    print(f"{control}: {gains}")
    assert gains[0] == 0, "alone"
    assert gains[1] == pytest.approx(_expected_gain(control, Path(10, 20_000, SEGMENT), Path(10, 20_000)), rel=1e-3)


def test_wvegas_counts_from_its_first_round_on(world: World) -> None:
    """Whatever the setting: before that it has no rate. The weight of the only path with a rate is all ten packets."""
    world.settings(count_idle=True)
    subflow, _ = world.subflow("wvegas", 20), world.subflow("wvegas", 1000, start=True)
    for _ in range(3 * 40):
        subflow.ack(rtt_us=21_000)
    # At 20 segments and 5 % of queueing delay, 1 packet waits: fewer than ten, so the window has grown each round.
    assert subflow.window > 20


@pytest.mark.parametrize("control", ALL)
def test_no_memory(world: World, control: str) -> None:
    """A subflow without a group is alone, is counted, and leaves in peace; the next one is coupled again."""
    groups = world.groups
    world.memory(there=False)
    first, second = world.subflow(control, 10), world.subflow(control, 10)
    assert (first.coupled, second.coupled, world.failures) == (False, False, 2)
    for subflow in (first, second):
        subflow.ack()
        subflow.loss()
        assert subflow.ssthresh == 5
        subflow.end_recovery()
    world.memory(there=True)
    third = world.subflow(control, 10)
    assert third.coupled
    assert world.failures == 2
    for subflow in (first, second, third):
        subflow.close()
    assert world.groups == groups, "a group goes with its last member"


@pytest.mark.parametrize("control", ALL)
def test_tcp_socket_is_no_failure(world: World, control: str) -> None:
    assert not world.subflow(control, 10, tcp=True).coupled
    assert world.failures == 0


@pytest.mark.parametrize(("best", "moves"), [(0, -1), (1, 1)])
def test_which_paths_are_best_to_olia(world: World, best: int, moves: int) -> None:
    """Two losses, on 50 ms twice as many bytes apart as on 20 ms: l / rtt^2 is for 20 ms, l^2 / rtt for 50 ms."""
    world.settings(olia_best=best)
    fast, slow = world.subflow("olia", 10), world.subflow("olia", 20, rtt_us=50_000)
    if moves < 0:
        # The better path has the smaller window, so that something moves.
        fast.set(10)
    for subflow, acked, rtt_us in ((fast, 100, 20_000), (slow, 200, 50_000)):
        subflow.ack(acked, rtt_us)
        subflow.loss()
        subflow.end_recovery()
    windows = (10, 20) if best == 0 else (20, 10)
    for subflow, window, rtt_us in ((fast, windows[0], 20_000), (slow, windows[1], 50_000)):
        subflow.set(window, 1)
        subflow.ack(1, rtt_us)
        subflow.set(window, 1)
    gain = slow.gain(rtt_us=50_000)
    paths = [Path(windows[1], 50_000), Path(windows[0], 20_000)]
    expected = olia_coupled_term(paths, 0) + moves * 0.5 / windows[1]
    print(f"setting {best}: {gain:.5f} on the slow path, expected {expected:.5f}")
    assert gain == pytest.approx(expected, rel=1e-3)


def _round(subflow: Subflow, rtt_us: int) -> list[int]:
    """The windows after each ACK of a round trip, single segments, and of two more: a new segment's ends the round."""
    windows = []
    for _ in range(subflow.window + 2):
        subflow.ack(rtt_us=rtt_us)
        windows.append(subflow.window)
    return windows


def test_wvegas_slow_starts_back_after_draining(world: World) -> None:
    """Ten packets wait behind what 90 segments fill; the delay doubles: half of the window goes, for a round trip."""
    subflow = world.subflow("wvegas", 100)
    subflow.set(100, 50)
    before = [_round(subflow, rtt_us)[-1] for rtt_us in (20_000, 22_500, 22_500)]
    ssthresh = subflow.ssthresh
    drained = min(_round(subflow, 26_000))
    print(f"windows {before}, after the drain {drained}, ssthresh {ssthresh} then {subflow.ssthresh}")
    assert drained == pytest.approx(before[-1] * 20_000 / (2 * 26_000), abs=1.1)
    assert drained < subflow.ssthresh == ssthresh
    back = _round(subflow, 20_000)[-1]
    assert back >= 0.75 * before[-1], "the window is in slow start until ssthresh"
    after = _round(subflow, 20_000)[-1]
    assert after - back <= 2, "and then grows by a segment per round trip"


_EVENT = st.tuples(st.sampled_from(["ack", "acks", "loss", "ecn", "timeout", "wait", "prr"]), st.integers(0, 2))


def _do(world: World, subflow: Subflow, event: str, busy: dict[int, str]) -> None:
    """One event on a subflow, where TCP could have it; `busy` has the subflows that are not in the state Open."""
    at = busy.get(subflow.pointer)
    if event == "wait":
        world.wait(RTO // 2)
    elif event in ("ack", "acks"):
        subflow.ack(1 if event == "ack" else 30)
        if at and event == "acks":
            (subflow.end_recovery if at == "cut" else subflow.timeout_over)()
            busy.pop(subflow.pointer)
    elif event == "prr" and at == "cut":
        subflow.set(1)
    elif event == "timeout" and not at:
        subflow.timeout()
        busy[subflow.pointer] = "timeout"
    elif event in ("loss", "ecn") and not at:
        subflow.loss(ecn=event == "ecn")
        busy[subflow.pointer] = "cut"


@pytest.mark.parametrize("control", ALL)
@PATIENT
@given(events=st.lists(_EVENT, max_size=80), idle=st.booleans(), best=st.integers(0, 1))
def test_any_events(controls: CDLL, control: str, events: list[tuple[str, int]], idle: bool, best: int) -> None:
    """Three subflows: no window of 0 (the shim would end the process), no lock left held, no cut below the smallest."""
    world = World(controls)
    world.settings(count_idle=idle, olia_best=best)
    groups = world.groups
    subflows = [world.subflow(control, window, start=start) for window, start in ((10, True), (2, False), (40, False))]
    busy: dict[int, str] = {}
    for event, at in events:
        _do(world, subflows[at], event, busy)
        assert subflows[at].window >= 1
        assert subflows[at].ssthresh >= SMALLEST[control]
    for subflow in subflows:
        subflow.close()
    assert world.groups == groups
