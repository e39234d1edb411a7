# SPDX-License-Identifier: MIT
"""Policies: Algorithm 1 as the study prints it, and max-min fair shares by counting."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.scenario.steering import Steering
from mptcplab.steering.policies import policy_classes
from mptcplab.steering.policies.fair import Fair
from mptcplab.steering.policies.ratio import PICKS, Ratio
from mptcplab.steering.policy import Move, Policy, State, Terminal
from mptcplab.steering.tables import ConfigurationTable

S = -90.0
MARGIN = 3.0
NS = 10**9
HOLD_NS = 5 * NS
#: Each terminal: the access points that it reaches, of which the first is active.
Reach = list[tuple[str, ...]]


def _terminals(reach: Reach, rssi: int | None = -60) -> list[Terminal]:
    return [Terminal(f"t{n:02}", points[0], dict.fromkeys(points, rssi)) for n, points in enumerate(reach)]


def _pairs(moves: list[Move]) -> list[tuple[str, str]]:
    return [(move.terminal, move.to) for move in moves]


def _decide(policy: Policy, received: dict[str, int], terminals: list[Terminal], at_ns: int = 0) -> list[Move]:
    return policy.decide(State(at_ns, received, terminals))


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [(100, 100, None), (105, 100, None), (106, 100, "b"), (100, 105, None), (100, 106, "a"), (0, 0, None), (1, 0, "b")],
)
def test_algorithm_1(first: int, second: int, wanted: str | None) -> None:
    """Only above T, not at it; from the access point that received more to the other."""
    terminals = _terminals([("a", "b"), ("a", "b"), ("b", "a"), ("b", "a")])
    moves = _decide(Ratio(S, 1.05, seed=1), {"a": first, "b": second}, terminals)
    assert [move.to for move in moves] == ([wanted] if wanted else [])
    active = {terminal.name: terminal.active for terminal in terminals}
    assert all(active[move.terminal] != move.to for move in moves)


def test_algorithm_1_picks_by_chance_among_those_that_hear() -> None:
    terminals = [Terminal(f"t{n}", "a", {"a": -50, "b": rssi}) for n, rssi in enumerate((-60, -89, -90, -95))]
    policy = Ratio(S, 1.05, seed=1)
    picked = Counter(_decide(policy, {"a": 2, "b": 1}, terminals)[0].terminal for _ in range(1000))
    # -90 is not above S. Half of 1000 with a standard deviation of 16: six of them.
    assert set(picked) == {"t0", "t1"}
    assert abs(picked["t0"] - 500) < 96, picked


def test_algorithm_1_picks_the_strongest_where_that_is_asked() -> None:
    terminals = [Terminal(f"t{n}", "a", {"a": -50, "b": rssi}) for n, rssi in enumerate((-80, -60, -70))]
    moves = _decide(Ratio(S, 1.05, seed=1, pick="strongest"), {"a": 2, "b": 1}, terminals)
    assert _pairs(moves) == [("t1", "b")]


def test_algorithm_1_with_three_access_points() -> None:
    """From the most to the least crowded one; if nobody there reaches it, to the next one still below T."""
    received = {"a": 300, "b": 100, "c": 200}
    policy = Ratio(S, 1.15, seed=1)
    assert _pairs(_decide(policy, received, _terminals([("a", "b", "c")]))) == [("t00", "b")]
    assert _pairs(_decide(policy, received, _terminals([("a", "c")]))) == [("t00", "c")]
    assert _decide(policy, received | {"c": 290}, _terminals([("a", "c")])) == []
    assert _decide(policy, {"a": 300}, _terminals([("a", "b")])) == [], "alone"


def _settle(policy: Policy, points: str, terminals: list[Terminal]) -> tuple[list[Terminal], int, int]:
    """Return the terminals after the policy has stopped, the number of moves, and the most of one period."""
    moved, most = 0, 0
    for period in range(200):
        moves = _decide(policy, dict.fromkeys(points, 1), terminals, period * 10 * HOLD_NS)
        if not moves:
            return terminals, moved, most
        moved, most = moved + len(moves), max(most, len(moves))
        to = {move.terminal: move.to for move in moves}
        assert len(to) == len(moves), "one move for each"
        for terminal in terminals:
            assert to.get(terminal.name, terminal.active) in terminal.rssi_dbm
        terminals = [
            Terminal(terminal.name, to.get(terminal.name, terminal.active), terminal.rssi_dbm) for terminal in terminals
        ]
    raise AssertionError("never stops")


def _shares(places: tuple[str, ...]) -> list[float]:
    """Return the shares of all terminals, the smallest first."""
    counts = Counter(places)
    return sorted(1 / counts[place] for place in places)


@given(
    st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True).map(tuple), min_size=1, max_size=6)
)
def test_fair_ends_with_the_best_of_all_placements(reach: Reach) -> None:
    """Against a search through all placements: no other one has a greater smallest share, and so on (max-min)."""
    terminals, _, most = _settle(Fair(S, MARGIN, HOLD_NS), "abcd", _terminals(reach))
    shares = _shares(tuple(terminal.active for terminal in terminals))
    best = max(_shares(places) for places in product(*reach))
    assert shares == best, [terminal.active for terminal in terminals]
    assert most <= 4, "at most as many moves in a period as access points"


def test_fair_moves_along_a_chain() -> None:
    """Terminals of a reach only b, terminals of b also c: a terminal of b makes room for one of a."""
    reach: Reach = [("a", "b")] * 4 + [("b", "c")] * 3 + [("c",)] * 2
    terminals, moved, _ = _settle(Fair(S, MARGIN, HOLD_NS), "abc", _terminals(reach))
    assert Counter(terminal.active for terminal in terminals) == {"a": 3, "b": 3, "c": 3}
    assert moved == 2


@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True).map(tuple), min_size=1, max_size=9)
)
def test_fair_makes_few_moves(reach: Reach) -> None:
    """It does not move more often than it has terminals that are not where they should be, times the longest chain."""
    _, moved, _ = _settle(Fair(S, MARGIN, HOLD_NS), "abc", _terminals(reach))
    assert moved <= 2 * len(reach)


def test_fair_does_not_follow_noise_of_what_was_received() -> None:
    terminals = _terminals([("a", "b"), ("b", "a")])
    assert _decide(Fair(S, MARGIN, HOLD_NS), {"a": 10_000, "b": 1}, terminals) == []


def test_fair_holds_a_terminal() -> None:
    """Who has just moved stays for a while, even if it would be needed elsewhere; then it moves."""
    policy = Fair(S, MARGIN, HOLD_NS)
    both = dict.fromkeys("ab", 1)
    terminal = Terminal("t0", "a", dict.fromkeys("ab", -60))
    stuck = [Terminal(f"s{n}", "a", {"a": -60}) for n in range(2)]
    assert _pairs(_decide(policy, both, [terminal, *stuck])) == [("t0", "b")]
    there = Terminal("t0", "b", dict.fromkeys("ab", -60))
    crowd = [Terminal(f"s{n}", "b", {"b": -60}) for n in range(2)]
    assert _decide(policy, both, [there, *crowd], HOLD_NS - 1) == []
    assert _pairs(_decide(policy, both, [there, *crowd], HOLD_NS)) == [("t0", "a")]


def test_fair_needs_a_margin_and_rescues_who_fades() -> None:
    """A signal just above S is not enough to move there for balance; one below S makes a terminal leave at once."""
    policy = Fair(S, MARGIN, HOLD_NS)
    weak = [Terminal(f"t{n}", "a", {"a": -60, "b": -88}) for n in range(3)]
    assert _decide(policy, dict.fromkeys("ab", 1), weak) == []
    fading = [*weak, Terminal("f", "a", {"a": -92, "b": -80})]
    assert _pairs(_decide(policy, dict.fromkeys("ab", 1), fading)) == [("f", "b")]


_RSSI = st.none() | st.integers(-100, -40)


@pytest.mark.slow
@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), _RSSI, min_size=1), min_size=1, max_size=8),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 100), max_size=3),
    st.sampled_from(list(policy_classes())),
    st.sets(st.sampled_from("abc")),
)
def test_nobody_moves_below_the_floor(
    heard: list[dict[str, int | None]], received: dict[str, int], name: str, wired: set[str]
) -> None:
    """Whatever the counters say: only to an access point that reports, and that is wired or known to hear it."""
    policy = policy_classes()[name].read(
        ConfigurationTable({"threshold": 1.05, "margin_db": MARGIN, "hold_s": 5}, "test"), S, 1
    )
    terminals = [Terminal(f"t{n}", next(iter(rssi)), rssi, wired) for n, rssi in enumerate(heard)]
    by_name = {terminal.name: terminal for terminal in terminals}
    for move in policy.decide(State(0, received, terminals)):
        rssi = by_name[move.terminal].rssi_dbm[move.to]
        assert move.to in wired or (rssi is not None and rssi > S)
        assert move.to in received
        assert move.to != by_name[move.terminal].active


def test_a_scenario_offers_all_policies_and_picks() -> None:
    """Nothing keeps a second list of them."""
    schema = Steering.model_json_schema()["properties"]
    assert schema["policy"]["enum"] == list(policy_classes())
    assert schema["pick"]["enum"] == list(PICKS)
