# SPDX-License-Identifier: MIT
"""Values of a link change while packets pass, with every discipline: what waits or is under way is not lost by that."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
from tests.lab.bench import UNUSED_WORKLOAD, Bench, client
from tests.lab.probe import HEADERS, LINE, ProbeResult, arrivals, probe_programs

from mptcplab.plan.links import change_commands, shaping_commands
from mptcplab.plan.model import Plan
from mptcplab.scenario.events import Event
from mptcplab.scenario.links import DirectionSettings
from mptcplab.scenario.network import Network

FORWARD = "links.link1.forward."
FULL = 1514 - HEADERS
#: When the change comes, counted like the first datagram's 2 s.
_CHANGE_S = 6
SECONDS = 8


def _change(bench: Bench, *keys: str, to: dict[str, object], gap_us: float, per_burst: int = 1) -> ProbeResult:
    """Datagrams for 8 s over a line that gets other values after 4 s."""
    settings = [FORWARD + key for key in keys]
    scenario = bench.experiment(LINE + UNUSED_WORKLOAD, *settings).points[0].scenario
    event = Event.model_validate({"at": "1 s", "type": "change", "link": "link1", "direction": "forward", **to})
    changeable = Network(scenario.model_copy(update={"events": (event,)}))
    before = scenario.links["link1"].forward
    said = {key: value for key, value in before.model_dump(by_alias=True).items() if before.is_set(key)}
    after = replace(
        changeable.directions["link1", "forward"], settings=DirectionSettings.model_validate({**said, **to})
    )
    lines = [shlex.join(command.argv) for command in change_commands(changeable, after)]
    change = client("change", "sh", "-c", " && ".join(lines), node="r1", start_ns=_CHANGE_S * 10**9)
    bursts = round(SECONDS * 1e6 / gap_us)
    programs = probe_programs(bursts=bursts, per_burst=per_burst, size=FULL, gap_us=gap_us)
    plan = _changeable(bench.plan(LINE, *settings, programs=[*programs, change]), Network(scenario), changeable)
    lived = bench.live(plan)
    return ProbeResult(bursts * per_burst, arrivals(lived.folder / "out" / "receive.out"), lived)


def _changeable(plan: Plan, network: Network, changeable: Network) -> Plan:
    """The plan as it is for a line that changes: its disciplines are made to be changed from the start."""
    plain, made = (
        [command for command in shaping_commands(each) if "link1" in command.argv and command.node == "r1"]
        for each in (network, changeable)
    )
    rest = tuple(command for command in plan.setup if command not in plain)
    return replace(plan, setup=(*rest, *made))


def _rate_mbps(probed: ProbeResult, start_s: float, end_s: float) -> float:
    """Of what arrived between two instants, counted from the first arrival."""
    zero = probed.arrivals[0].received_ns
    seen = [arrival for arrival in probed.arrivals if start_s <= (arrival.received_ns - zero) / 1e9 < end_s]
    span = (seen[-1].received_ns - seen[0].received_ns) / 1e9
    return (len(seen) - 1) * 1514 * 8 / span / 1e6


@pytest.mark.parametrize("discipline", ["tail-drop", "codel", "fq_codel", "pie", "fq_pie", "red", "cake"])
def test_rate_changes_with_every_discipline(bench: Bench, discipline: str) -> None:
    """10 Mbit/s become 4, under a load of 12: before and after, exactly the rate arrives."""
    queue = [] if discipline == "cake" else ["queue=50 packets"]
    keys = ("rate=10 Mbit/s", f"discipline={discipline}", *queue)
    probed = _change(bench, *keys, to={"rate": "4 Mbit/s"}, gap_us=1514 * 8 / 12)
    before, after = _rate_mbps(probed, 1, 3.8), _rate_mbps(probed, 4.2, 8)
    print(f"{discipline}: {before:.3f} Mbit/s, then {after:.3f} Mbit/s")
    assert abs(before - 10) < 0.1
    assert abs(after - 4) < 0.1


def test_a_queue_in_packets_keeps_its_length(bench: Bench) -> None:
    """tbf hands its limit in bytes to what is below it when it is changed: the packets have to be said again."""
    keys = ("rate=10 Mbit/s", "queue=20 packets")
    probed = _change(bench, *keys, to={"rate": "5 Mbit/s"}, gap_us=1514 * 8 / 12)
    late = [arrival.delay_ms for arrival in probed.arrivals if arrival.sent_ns > probed.arrivals[0].sent_ns + 5 * 10**9]
    frame_ms = 1514 * 8 / 5e6 * 1000
    print(f"{max(late) / frame_ms:.2f} frames waited at most at 5 Mbit/s")
    assert 19 * frame_ms < max(late) < 22 * frame_ms


def test_a_delay_gets_shorter_in_order(bench: Bench) -> None:
    """From 200 ms to 30 ms: what is under way arrives as it would have, and what comes later does not overtake it."""
    probed = _change(bench, "rate=100 Mbit/s", "delay=200 ms", to={"delay": "30 ms"}, gap_us=2000)
    assert len(probed.arrivals) == probed.sent
    by_number = sorted(probed.arrivals, key=lambda arrival: arrival.number)
    zero = by_number[0].sent_ns
    early = [arrival.delay_ms for arrival in by_number if arrival.sent_ns < zero + 3.9e9]
    later = [arrival.delay_ms for arrival in by_number if arrival.sent_ns > zero + 4.2e9]
    print(f"delays to {max(early):.3f} ms, then {min(later):.3f} to {max(later):.3f} ms; {probed.overtaken} overtaken")
    assert 200 < min(early) <= max(early) < 200.2
    assert 30 < min(later) <= max(later) < 30.2
    assert probed.overtaken == 0


def test_loss_begins_on_a_line_that_had_none(bench: Bench) -> None:
    bare = _change(bench, to={"loss": "10 %"}, gap_us=2000)
    lost = bare.lost
    first, second = sum(lost[:1900]), sum(lost[2100:])
    print(f"{first} lost before, {second} of {len(lost) - 2100} with 10 %")
    assert first == 0
    # 190 of 1,900, whose standard deviation is 13.
    assert 145 < second < 235
