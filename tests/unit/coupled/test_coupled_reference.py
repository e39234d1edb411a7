# SPDX-License-Identifier: MIT
"""The reference rules against what is known of them otherwise: published scenarios, fixed points, goals of RFC 6356.

The numbers are for the OLIA paper's topologies at the fluid fixed point, solved by hand for LIA; each was derived
without this model. A reference that fails here must not judge the kernel's arithmetic.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.unit.coupled.fluid import Rule, User, rest_with_links, rest_with_losses
from tests.unit.coupled.reference import (
    Path,
    VegasPath,
    balia_decrease,
    balia_increase,
    lia_alpha,
    lia_increase,
    olia_epsilon,
    olia_increase,
    reno_decrease,
    reno_increase,
    wvegas_drain,
    wvegas_step,
)
from tools.docs.figures.behaviour_dynamics import FLUID

pytestmark = pytest.mark.slow

RULES: dict[str, tuple[Rule, Rule]] = {
    "reno": (reno_increase, reno_decrease),
    "lia": (lia_increase, reno_decrease),
    "olia": (olia_increase, reno_decrease),
    "balia": (balia_increase, balia_decrease),
}
COUPLED = ["lia", "olia", "balia"]
#: Segments per RTT and user: large against 1, so that a fluid is a fair picture.
SHARE = 100.0


def _reno(count: int, link: int) -> User:
    return User(count, ((link,),), *RULES["reno"])


@pytest.mark.parametrize("rule", COUPLED)
def test_one_path_is_reno(rule: str) -> None:
    increase, decrease = RULES[rule]
    path = [Path(37, 0.1, 1000)]
    assert increase(path, 0) == pytest.approx(1 / 37)
    assert decrease(path, 0) == 18.5


def test_alpha_of_equal_paths_is_one_over_their_number() -> None:
    for n in range(1, 9):
        assert lia_alpha([Path(20, 0.05)] * n) == pytest.approx(1 / n)


def test_epsilon_of_the_paper() -> None:
    """Its two-path cases: the best path is the small one; the best path is the large one; they tie."""
    assert [olia_epsilon([Path(4, 1, 100), Path(9, 1, 50)], r) for r in (0, 1)] == [0.5, -0.5]
    assert [olia_epsilon([Path(4, 1, 50), Path(9, 1, 100)], r) for r in (0, 1)] == [0, 0]
    assert [olia_epsilon([Path(9, 1, 50), Path(9, 1, 100)], r) for r in (0, 1)] == [0, 0]
    slow = [Path(4, 2, 300), Path(9, 1, 100)]
    assert [olia_epsilon(slow, r) for r in (0, 1)] == [0, 0], "three times the distance at twice the RTT is not better"


@pytest.mark.parametrize(("rule", "expected"), [("reno", 2.0), ("lia", 1.0), ("olia", 1.0), ("balia", 1.0)])
def test_shared_bottleneck(rule: str, expected: float) -> None:
    """Two subflows against one Reno on one link, equal RTT: 1 : 1 if coupled, 2 : 1 if not."""
    two, reno = rest_with_links([User(1, ((0,), (0,)), *RULES[rule]), _reno(1, 0)], [2 * SHARE])
    ratio = two.sum() / reno.sum()
    print(f"{rule}: {ratio:.4f} to 1")
    assert ratio == pytest.approx(expected, rel=0.005)


@pytest.mark.parametrize(("rule", "power"), [("reno", 0.5), ("lia", 1.0)])
@pytest.mark.parametrize("losses", [(0.001, 0.001), (0.001, 0.002), (0.001, 0.005)])
def test_ratio_on_fixed_losses(rule: str, power: float, losses: tuple[float, float]) -> None:
    """Rates as p2/p1 for LIA, as its square root uncoupled."""
    first, second = rest_with_losses(*RULES[rule], losses)
    expected = (losses[1] / losses[0]) ** power
    print(f"{rule}, losses {losses}: {first / second:.4f}, expected {expected:.4f}")
    assert first / second == pytest.approx(expected, rel=0.002)


@pytest.mark.parametrize("losses", [(0.001, 0.002), (0.0005, 0.004)])
def test_total_of_lia_is_tcp_on_the_best_path(losses: tuple[float, float]) -> None:
    """RFC 6356's first goal with equal RTTs, exactly: the sum of the windows is sqrt(2/p) of the better path."""
    total = rest_with_losses(*RULES["lia"], losses).sum()
    assert total == pytest.approx(math.sqrt(2 / min(losses)), rel=0.002)


@pytest.mark.parametrize("rtts", [(1.0, 2.0), (2.0, 1.0), (0.02, 0.05)])
def test_rates_with_unequal_round_trip_times(rtts: tuple[float, float]) -> None:
    """LIA and OLIA reach TCP's rate on the better path, sqrt(2/p)/rtt. LIA's windows go as 1/p, whatever the RTTs."""
    losses = (0.001, 0.002)
    best = max(math.sqrt(2 / p) / rtt for p, rtt in zip(losses, rtts, strict=True))
    for rule in ("lia", "olia"):
        windows = rest_with_losses(*RULES[rule], losses, rtts)
        total = float((windows / np.array(rtts)).sum())
        print(f"{rule}, RTT {rtts}: {total / best:.4f} of TCP on the best path, windows {windows.round(1)}")
        assert total == pytest.approx(best, rel=0.01)
        if rule == "lia":
            assert windows[0] / windows[1] == pytest.approx(2, rel=0.01)


def test_lia_does_no_harm_on_any_path() -> None:
    """RFC 6356's second goal. Uncapped, the window on the long path would be 45.2; TCP's is sqrt(2/0.001) = 44.7."""
    windows = rest_with_losses(*RULES["lia"], (0.001, 0.002), (5.0, 1.0))
    print(f"windows {windows.round(2)}")
    assert windows[0] == pytest.approx(math.sqrt(2000), rel=0.002)


def test_balia_by_hand() -> None:
    """Windows 10 and 30, RTT 0.1 and 0.2: rates 100 and 150, alpha 1.5 and 1."""
    paths = [Path(10, 0.1), Path(30, 0.2)]
    assert balia_increase(paths, 0) == pytest.approx(100 / (0.1 * 250**2) * 1.25 * 1.1)
    assert balia_increase(paths, 1) == pytest.approx(150 / (0.2 * 250**2))
    assert [balia_decrease(paths, r) for r in (0, 1)] == [7.5, 15]
    assert balia_decrease([Path(10, 1), Path(30, 1)], 0) == 7.5, "three quarters at the most"
    assert balia_decrease([Path(10, 1), Path(12, 1)], 0) == 6


def test_olia_and_balia_move_more_than_uncoupled() -> None:
    """And OLIA keeps probing the worse path, so its ratio stays finite."""
    losses = (0.001, 0.003)
    moved = {rule: rest_with_losses(*RULES[rule], losses) for rule in RULES}
    ratio = {rule: windows[0] / windows[1] for rule, windows in moved.items()}
    print({rule: f"{value:.2f}" for rule, value in ratio.items()})
    assert ratio["reno"] < ratio["balia"]
    assert ratio["lia"] < ratio["olia"] < math.inf


@pytest.mark.parametrize(("n1", "expected"), [(1, 0.704), (2, 0.567), (3, 0.485)])
def test_scenario_c(n1: int, expected: float) -> None:
    """MPTCP users on a private access point (0) and on a shared one (1): the share of it that its TCP users keep."""
    share = {}
    for rule in COUPLED:
        multipath = User(n1, ((0,), (1,)), *RULES[rule])
        _, tcp = rest_with_links([multipath, _reno(1, 1)], [n1 * SHARE, SHARE])
        share[rule] = tcp.sum() / SHARE
    print(f"N1/N2 = {n1}: " + ", ".join(f"{rule} {value:.3f}" for rule, value in share.items()))
    assert share["lia"] == pytest.approx(expected, abs=0.002)
    assert share["olia"] > share["lia"], "OLIA gives more to TCP: the paper's point"


@pytest.mark.parametrize(("n1", "expected"), [(1, 0.739), (2, 0.590), (3, 0.500)])
def test_scenario_a(n1: int, expected: float) -> None:
    """Type-1 users are limited by their server (0); a second path over the shared access point (1) gains nothing."""
    share = {}
    for rule in COUPLED:
        multipath = User(n1, ((0,), (0, 1)), *RULES[rule])
        _, tcp = rest_with_links([multipath, _reno(1, 1)], [n1 * SHARE, SHARE])
        share[rule] = tcp.sum() / SHARE
    print(f"N1/N2 = {n1}: " + ", ".join(f"{rule} {value:.3f}" for rule, value in share.items()))
    assert share["lia"] == pytest.approx(expected, abs=0.002)
    assert share["olia"] > share["lia"]


def test_scenario_b() -> None:
    """Links X (27) and T (36 Mbit/s), 15 + 15 users; red users get a second path over X and T: 63 to 53.9 Mbit/s."""
    capacity = [27 * SHARE, 36 * SHARE]
    blue = User(15, ((0,), (1,)), *RULES["lia"])
    before = rest_with_links([blue, _reno(15, 1)], capacity)
    after = rest_with_links([blue, User(15, ((1,), (0, 1)), *RULES["lia"])], capacity)
    total = [15 * sum(float(windows.sum()) for windows in users) / SHARE for users in (before, after)]
    print(f"before {total[0]:.2f}, after {total[1]:.2f} Mbit/s")
    assert total[0] == pytest.approx(63, rel=0.002)
    assert total[1] == pytest.approx(53.9, abs=0.1)


def _wvegas_queues(capacities: tuple[float, ...], *, drain: bool) -> tuple[float, float]:
    """Segments queued and share of the capacity used, means of the last half of 800 round trips.

    Each path has a bottleneck of its own (segments per ms) and 40 ms without queue.
    """
    base = 40.0
    paths = [VegasPath(base * capacity + 2, base, capacity, 10 / len(capacities)) for capacity in capacities]
    queued, used = [], []
    for turn in range(800):
        for r, capacity in enumerate(capacities):
            rtt = max(base, paths[r].window / capacity)
            paths[r] = wvegas_step(paths, r, rtt)
            if drain:
                paths[r] = wvegas_drain(paths[r], rtt)
        if turn >= 400:
            fill = [path.window / (base * capacity) for path, capacity in zip(paths, capacities, strict=True)]
            used.append(np.mean([min(1, each) for each in fill]))
            queued.append(sum(max(0, each - 1) * base * c for each, c in zip(fill, capacities, strict=True)))
    return float(np.mean(queued)), float(np.mean(used))


@pytest.mark.parametrize("capacities", [(1.0,), (1.0, 1.0), (2.0, 0.5), (1.0, 1.0, 1.0, 1.0)])
def test_wvegas_keeps_ten_packets_whatever_the_number_of_paths(capacities: tuple[float, ...]) -> None:
    """Within one segment per path, which is the step of its window; without the drain."""
    queued, used = _wvegas_queues(capacities, drain=False)
    print(f"{len(capacities)} paths: {queued:.2f} segments queued, {100 * used:.1f} % used")
    assert queued == pytest.approx(10, abs=len(capacities))
    assert used > 0.999


def test_wvegas_drain_empties_the_queue() -> None:
    """With exact round trip times the second queued segment doubles the delay of the first, so ten are never held."""
    queued, used = _wvegas_queues((1.0,), drain=True)
    print(f"{queued:.2f} segments queued, {100 * used:.1f} % used")
    assert queued < 1
    ramp = (sum(range(20, 41)) / 40 + 2) / 23
    assert used == pytest.approx(ramp, abs=0.01), "up by one a round from 42 * 40/84 = 20 to 42, of 40"


@pytest.mark.parametrize("rule", list(FLUID))
def test_expectations_of_the_page(rule: str) -> None:
    """docs/behaviour-dynamics.md: a user over two links, one Reno flow on the first, two on the second, 9.4 Mbit/s."""
    capacity = 30.0  # segments per RTT, about as in the scenario; the number matters little, hence 0.02
    both, first, second = rest_with_links(
        [User(1, ((0,), (1,)), *RULES[rule]), _reno(1, 0), _reno(2, 1)], [capacity] * 2
    )
    rates = [9.4 / capacity * float(window) for window in (both[0], both[1], first[0], second[0])]
    print(rates)
    assert rates == pytest.approx(FLUID[rule], abs=0.02)
