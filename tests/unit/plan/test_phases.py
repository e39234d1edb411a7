# SPDX-License-Identifier: MIT
"""Phases: a seed shifts starts of workloads by less than a round-trip time, delays by less than a packet's time."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import kstest, spearmanr

from mptcplab.plan.compile import compile_plan
from mptcplab.plan.estimate import expected_seconds
from mptcplab.plan.phases import Phases, delay_span_ns, packet_ns, phase_notes, phases_of, start_span_ns
from mptcplab.plan.script import script
from mptcplab.scenario.links import Link
from mptcplab.scenario.load import load
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario
from mptcplab.units import Duration, Rate

FLOW = {"kind": "flow", "from": "client", "to": "server", "duration": "10 s"}
#: Of a full frame, 1514 bytes, at 10 Mbit/s.
PACKET_NS = 1_211_200
MS = 10**6
SEEDS = range(1, 401)


def scenario(*, workloads: dict[str, Any] | None = None, link: dict[str, Any] | None = None, **keys: Any) -> Scenario:
    """Return client, router and server; by default 10 Mbit/s and 20 ms per direction on the link to the server."""
    settings = {"rate": "10 Mbit/s", "delay": "20 ms"} if link is None else link
    links = {
        "access": {"between": ["client", "r"]},
        "link1": {"between": ["r", "server"], "forward": settings, "backward": settings},
    }
    nodes: dict[str, Any] = {"hosts": {"client": {}, "server": {}}, "routers": {"r": {}}}
    described = {"title": "t", **nodes, "links": links, "workloads": workloads or {"bulk": FLOW}}
    return Scenario.model_validate({**described, **keys})


def _delays(described: Scenario, direction: str = "forward") -> list[int]:
    return [phases_of(described, seed).delays_ns["link1", direction] for seed in SEEDS]


@given(
    rate=st.integers(1000, 10**11),
    delay=st.integers(0, 10**10),
    jitter=st.integers(0, 2 * 10**9),
    overhead=st.integers(0, 80),
    seed=st.integers(0, 10**18),
)
def test_delays_stay_valid_and_span_one_packet(rate: int, delay: int, jitter: int, overhead: int, seed: int) -> None:
    assume(jitter <= delay)
    settings = {"rate": f"{rate} bit/s", "delay": f"{delay} ns", "jitter": f"{jitter} ns", "overhead": f"{overhead} B"}
    described = scenario(link=settings)
    link = described.links["link1"]
    packet = (1514 + overhead) * 8 * 10**9 // rate
    low, span = delay_span_ns(link, link.forward, from_host=False)
    assert span == packet == packet_ns(link, link.forward)
    assert -packet / 2 <= low <= 0, low
    assert delay + low >= jitter, f"{delay} ns with {low} ns is less than the jitter"
    offset = phases_of(described, seed).delays_ns.get(("link1", "forward"))
    assert packet == 0 if offset is None else low <= offset < low + packet


@pytest.mark.slow
@given(delay=st.integers(0, 2 * 10**9), rate=st.integers(1000, 10**11), quantum=st.integers(0, 10**5))
def test_starts_shift_by_less_than_a_round_trip(delay: int, rate: int, quantum: int) -> None:
    flow = {**FLOW, "read_quantum": f"{quantum} us", "start": "3 s"}
    described = scenario(workloads={"bulk": flow}, link={"rate": f"{rate} bit/s", "delay": f"{delay} ns"})
    round_trip = 2 * (delay + 1514 * 8 * 10**9 // rate)
    span = start_span_ns(Network(described), described.workloads["bulk"])
    assert span == min(10**9, max(round_trip, MS, 1000 * quantum))
    for seed in range(3):
        (client,) = (program for program in compile_plan(described, seed=seed).programs if program.role == "client")
        assert 0 <= client.start_ns - 3 * 10**9 < span
        # The timeout counts from the shifted start.
        assert client.deadline_ns - client.start_ns == 3600 * 10**9


@pytest.mark.slow
@given(
    start=st.integers(0, 10**12),
    spread=st.integers(0, 10**12),
    seed=st.integers(0, 10**18),
    phases=st.sampled_from(["random", "fixed"]),
)
def test_a_spread_start_is_drawn_from_the_spread(start: int, spread: int, seed: int, phases: str) -> None:
    """With random and with fixed phases alike, and without an effect on other workloads and on links."""
    spread_flow = {**FLOW, "start": f"{start} ns", "start_spread": f"{spread} ns"}
    described = scenario(workloads={"bulk": FLOW, "call": spread_flow}, phases=phases)
    plain = scenario(workloads={"bulk": FLOW, "call": {**FLOW, "start": f"{start} ns"}}, phases=phases)
    clients = [
        {program.name: program for program in compile_plan(which, seed=seed).programs if program.role == "client"}
        for which in (described, plain)
    ]
    call = clients[0]["call.client"]
    offset = call.start_ns - start
    assert 0 <= offset < max(1, spread)
    assert call.start_ns <= int(described.workloads["call"].latest_start)
    assert call.deadline_ns - call.start_ns == 3600 * 10**9, "the timeout counts from the drawn start"
    assert clients[0]["bulk.client"].start_ns == clients[1]["bulk.client"].start_ns
    assert phases_of(described, seed).delays_ns == phases_of(plain, seed).delays_ns
    notes = "\n".join(phase_notes(phases_of(described, seed)))
    shown = f"+{offset / 10**9:.9f} s" if offset >= 10**9 else f"+{offset / 1000:.3f} us"
    assert f"start of call: {shown}" in notes, notes


def test_spread_starts_are_uniform_and_independent() -> None:
    flow = {**FLOW, "start_spread": "5 s"}
    described = scenario(workloads={"one": flow, "two": flow})
    first, two = ([phases_of(described, seed).starts_ns[name] / 5e9 for seed in SEEDS] for name in ("one", "two"))
    for starts in (first, two):
        p = kstest(starts, "uniform").pvalue
        assert p > 0.001, f"p = {p:.2g} that 400 starts are uniform in 5 s"
    rho = float(spearmanr(first, two).statistic)
    assert abs(rho) < 4 / math.sqrt(len(first)), f"rank correlation {rho:.3f}"


def test_without_a_spread_a_run_is_what_it_was() -> None:
    """A key that is not used is in no recording, so that identities of runs stay the same."""
    for workload in (FLOW, {"kind": "http", "from": "client", "to": "server", "size": "1 MB"}):
        plain = scenario(workloads={"bulk": workload})
        assert "start_spread" not in plain.model_dump_json(by_alias=True)
        assert "start_spread" in scenario(workloads={"bulk": {**workload, "start_spread": "1 s"}}).model_dump_json()


def test_ends_of_runs_count_the_spread() -> None:
    """Estimates, and events, which may fall into the latest run."""
    flow = {**FLOW, "duration": "10 s", "start": "3 s"}
    plain, spread = (scenario(workloads={"bulk": workload}) for workload in (flow, {**flow, "start_spread": "5 s"}))
    assert expected_seconds(spread) - expected_seconds(plain) == 5


def test_offsets_are_uniform_and_centred() -> None:
    delays = _delays(scenario())
    assert min(delays) < 0 < max(delays)
    assert max(delays) - min(delays) < PACKET_NS
    shares = [(offset + PACKET_NS // 2) / PACKET_NS for offset in delays]
    starts = [phases_of(scenario(), seed).starts_ns["bulk"] / (2 * (20 * MS + PACKET_NS)) for seed in SEEDS]
    for values in (shares, starts):
        p = kstest(values, "uniform").pvalue
        assert p > 0.001, f"p = {p:.2g} that 400 offsets are uniform"


def test_without_a_delay_offsets_are_added() -> None:
    delays = _delays(scenario(link={"rate": "10 Mbit/s"}))
    assert 0 <= min(delays) < PACKET_NS / 20
    assert PACKET_NS * 19 / 20 < max(delays) < PACKET_NS


def test_offsets_of_neighbours_are_independent() -> None:
    """Directions, workloads, kinds and consecutive seeds have no significant rank correlation."""
    described = scenario(workloads={"one": FLOW, "two": FLOW})
    forward, backward = _delays(described), _delays(described, "backward")
    earlier, two = ([phases_of(described, seed).starts_ns[name] for seed in SEEDS] for name in ("one", "two"))
    pairs = {
        "directions": (forward, backward),
        "workloads": (earlier, two),
        "kinds": (forward, earlier),
        "seeds": (earlier[1:], earlier[:-1]),
    }
    for name, (first, second) in pairs.items():
        rho = float(spearmanr(first, second).statistic)
        assert abs(rho) < 4 / math.sqrt(len(first)), f"{name}: rank correlation {rho:.3f}"


def test_offsets_do_not_depend_on_other_workloads() -> None:
    """So a point with another workload can be paired with one without, seed by seed."""
    alone, beside = scenario(), scenario(workloads={"early": FLOW, "bulk": FLOW})
    for seed in (1, 2, 3):
        first, second = phases_of(alone, seed), phases_of(beside, seed)
        assert first.starts_ns["bulk"] == second.starts_ns["bulk"] != second.starts_ns["early"]
        assert first.delays_ns == second.delays_ns


def test_equal_seeds_share_their_phase_at_every_rate() -> None:
    slow, fast = scenario(), scenario(link={"rate": "20 Mbit/s", "delay": "20 ms"})
    for seed in (1, 2, 3):
        offsets = [phases_of(run, seed).delays_ns["link1", "forward"] for run in (slow, fast)]
        assert offsets[0] == pytest.approx(2 * offsets[1], abs=2)


def test_same_seed_same_plan_and_other_seed_other_plan() -> None:
    plans = [compile_plan(scenario(), seed=seed).to_json() for seed in (1, 1, 2)]
    assert plans[0] == plans[1] != plans[2]


def test_fixed_phases_shift_nothing() -> None:
    described = scenario(phases="fixed")
    assert phases_of(described, 1) == Phases()
    assert phase_notes(Phases()) == []
    plan = compile_plan(described, seed=1)
    assert {program.start_ns for program in plan.programs} == {0}
    assert sum("delay 20000.000us" in " ".join(command.argv) for command in plan.setup) == 2


def test_a_link_without_a_rate_is_not_shifted() -> None:
    described = scenario(link={"delay": "20 ms"})
    assert not phases_of(described, 1).delays_ns
    assert not any(name == "access" for name, _ in phases_of(scenario(), 1).delays_ns)


@pytest.mark.parametrize(("delay", "moved"), [("0 ms", False), ("1 ms", True)])
def test_a_sender_that_shapes_itself_still_sees_its_queue(delay: str, moved: bool) -> None:
    """Without a delay, an offset would add netem on the host and hide the queue from TCP."""
    settings = {"rate": "10 Mbit/s", "delay": delay}
    link = Link.model_validate({"between": ["client", "r"], "shape": "sender", "forward": settings})
    assert bool(delay_span_ns(link, link.forward, from_host=True)[1]) is moved
    assert delay_span_ns(link, link.forward, from_host=False)[1] == PACKET_NS


def test_changes_keep_the_offset(tmp_path: Path) -> None:
    """An event that changes delay or rate keeps the phase of the link."""
    (tmp_path / "s.toml").write_text(
        'title = "t"\ntopology = { preset = "direct" }\n'
        '[links.link1]\nforward = { rate = "10 Mbit/s", delay = "20 ms" }\n'
        '[workloads.bulk]\nkind = "flow"\nfrom = "client"\nto = "server"\nduration = "10 s"\n'
        + "".join(
            f'[[events]]\nat = "{at} s"\ntype = "change"\nlink = "link1"\ndirection = "forward"\n{new}\n'
            for at, new in ((1, 'rate = "1 Mbit/s"'), (2, 'delay = "50 ms"'), (3, 'delay = "0 ms"'))
        )
    )
    described = load(tmp_path / "s.toml").points[0].scenario
    seen = set()
    for seed in range(20):
        offset = phases_of(described, seed).delays_ns["link1", "forward"]
        plan = compile_plan(described, seed=seed)
        texts = [" ".join(command.argv) for command in plan.setup if "netem" in command.argv]
        texts += [" ".join(event.commands[0].argv) for event in plan.events]
        delays = [
            round(1000 * float(match[1])) if (match := re.search(r"delay ([\d.]+)us", text)) else 0 for text in texts
        ]
        assert delays == [20 * MS + offset, 20 * MS + offset, 50 * MS + offset, max(0, offset)]
        seen.add(offset < 0)
    assert seen == {True, False}, "neither too early nor too late in some of 20 seeds"


def test_events_and_recording_stay_at_their_instants() -> None:
    event = {"at": "3 s", "type": "down", "link": "link1"}
    for seed in range(5):
        plan = compile_plan(scenario(events=[event]), seed=seed)
        assert [event.at_ns for event in plan.events] == [3 * 10**9]
        assert "--seconds 10 " in " ".join([*plan.programs[1].argv, ""])


def test_the_printed_script_lists_every_offset() -> None:
    described = scenario()
    phases = phases_of(described, 1)
    text = script(compile_plan(described, seed=1), title="t", notes=phase_notes(phases))
    start, forward = phases.starts_ns["bulk"], phases.delays_ns["link1", "forward"]
    assert f"#   start of bulk: +{start / 1000:.3f} us\n" in text, text
    assert f"#   delay of link1 forward: {forward / 1000:+.3f} us\n" in text, text
    assert f"sleep 0.{start:09}".rstrip("0") in text
    assert f"delay {(20 * MS + forward) / 1000:.3f}us" in text


def test_a_packet_takes_its_bits_divided_by_the_rate() -> None:
    """1514 bytes and 24 of overhead at 100 Mbit/s: 12,304 bits, 123.04 us."""
    link = scenario(link={"rate": "100 Mbit/s", "overhead": "24 B"}).links["link1"]
    assert packet_ns(link, link.forward) == 123_040
    assert packet_ns(link, link.forward.model_copy(update={"rate": Rate(10**6), "delay": Duration(1)})) == 12_304_000
