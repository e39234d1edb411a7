# SPDX-License-Identifier: MIT
"""What the guest does itself, in place of programs, gives the same network and the same counters as the programs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.lab.bench import Bench, LabOutput, client

from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import load
from mptcplab.steps import Command, Counter

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
#: Routers and hosts, IPv4 and IPv6, all behaviours of links and disciplines, rules of a middlebox, devices for shaping.
TOPOLOGIES = (
    "two-paths",
    "ipv6",
    "unequal-paths",
    "free-topology",
    "shared-bottleneck",
    "queue-disciplines",
    "middlebox",
    "train",
    "behaviour/olia-scenario-b",
    "behaviour/rfc6356-shared-bottleneck",
    "gateways/phone",
    "machine/own-queue",
)
#: What of a node is compared: all that commands of a plan can set.
STATE = {
    "link": "ip -d -j link show",
    "address": "ip -d -j address show",
    "route": "ip -d -j route show table all",
    "route6": "ip -6 -d -j route show table all",
    "rule": "ip -d -j rule show",
    "rule6": "ip -6 -d -j rule show",
    "neighbour": "ip -d -j neighbour show",
    "qdisc": "tc -d -j qdisc show",
    "endpoint": "ip -d -j mptcp endpoint show",
    "limits": "ip mptcp limits show",
    "sysctl": "sysctl -a -r ^net[.]",
    "rules": "nft list ruleset",
}
Step = TypeVar("Step", Command, Counter)
#: Those in the order of a hash of addresses.
UNORDERED = ("route", "route6", "neighbour")
#: The version whose output the guest's counters equal; others print more.
IPROUTE2 = "6.1."


def _plan(name: str) -> Plan:
    """The set-up of an example, without its workloads and events."""
    run = load(EXAMPLES / f"{name}.toml").runs[0]
    plan = compile_plan(run.point.scenario, seed=run.seed)
    nothing = client("nothing", "true", node=plan.nodes[0])
    return replace(plan, programs=(nothing,), counters=(), sampled=(), watched=(), queues=(), events=(), bpf=())


def _use_programs(step: Step) -> Step:
    """The same step in a form that the guest does not know."""
    return replace(step, argv=("env", *step.argv), starts=(step.argv[0], *step.starts))


def _state(bench: Bench, plan: Plan, version: str, *, by_programs: bool) -> dict[tuple[str, str], str]:
    """What the set-up of ``plan`` has made, by node and name."""
    setup = tuple(map(_use_programs, plan.setup)) if by_programs else plan.setup
    counters = [
        Counter(node, name, ("env", *line.split()), (line.split()[0],)) for node, name, line in _questions(plan)
    ]
    output = bench.live(replace(plan, setup=setup, counters=tuple(counters)), version=version)
    state = {(counter.node, counter.name): output.counter(counter.node, counter.name) for counter in counters}
    return {place: _without_chance(*place, state) for place in state}


def _questions(plan: Plan) -> Iterator[tuple[str, str, str]]:
    for node in plan.nodes:
        yield from ((node, name, line) for name, line in STATE.items())
    for command in plan.setup:
        assert command.node is None or command.node in plan.nodes
        if command.argv[0] == "ethtool" and command.node is not None:
            yield command.node, f"features-{command.argv[2]}", f"ethtool -k {command.argv[2]}"
        if command.argv[:3] == ("tc", "filter", "add") and command.node is not None:
            yield command.node, f"filter-{command.argv[4]}", f"tc -d -j filter show dev {command.argv[4]} ingress"


def _without_chance(node: str, name: str, state: Mapping[tuple[str, str], str]) -> str:
    """Return what was found without random addresses, which depend on the programs that were started before."""
    text = state[node, name]
    for other, kind in state:
        if kind != "link":
            continue
        for link in json.loads(state[other, kind]):
            if link["link_type"] == "ether":
                text = text.replace(link["address"], f"{other}.{link['ifname']}")
                text = text.replace(_link_local(link["address"]), f"fe80::{other}.{link['ifname']}")
    return "\n".join(sorted(map(json.dumps, json.loads(text)))) if name in UNORDERED else text


def _link_local(address: str) -> str:
    """Return the link-local address of IPv6 that follows from a hardware address (RFC 4291, appendix A)."""
    numbers = [int(part, 16) for part in address.split(":")]
    numbers = [numbers[0] ^ 2, *numbers[1:3], 0xFF, 0xFE, *numbers[3:]]
    return "fe80::" + ":".join(f"{high << 8 | low:x}" for high, low in zip(numbers[::2], numbers[1::2], strict=True))


@pytest.mark.parametrize(
    ("name", "version"), [*((name, "7.2") for name in TOPOLOGIES), ("two-paths", "6.12"), ("two-paths", "6.1")]
)
def test_the_network_is_the_same_as_by_the_programs(bench: Bench, name: str, version: str) -> None:
    """Older kernels lack an offload, and refuse the request that names it."""
    plan = _plan(name)
    ours, theirs = (_state(bench, plan, version, by_programs=by_programs) for by_programs in (False, True))
    print(f"{len(plan.setup)} commands, {len(ours)} outputs")
    assert len(ours) >= len(STATE) * len(plan.nodes)
    assert all(ours[node, "link"].count("ifname") > 3 for node in plan.nodes), "a node has no interfaces"
    for place, text in theirs.items():
        assert ours[place] == text, place


@pytest.mark.parametrize("name", ["two-paths", "ipv6", "unequal-paths", "free-topology", "train"])
def test_common_networks_need_no_program(bench: Bench, name: str) -> None:
    """The guest sets them up although the programs of their commands only fail."""
    engine = bench.engines["7.2"]
    failing = dict.fromkeys(("ip", "tc", "sysctl", "ethtool"), Path("/bin/false"))
    without = Bench({"7.2": replace(engine, tools={**engine.tools, **failing})}, bench.folder)
    without.live(_plan(name), fresh=True)


def _count(bench: Bench, name: str, override: str) -> tuple[LabOutput, tuple[Counter, ...]]:
    """An example's run with its counters: as the guest reads them, and ``by-`` their programs after that."""
    run = load(EXAMPLES / f"{name}.toml", overrides=[override]).runs[-1]
    plan = compile_plan(run.point.scenario, seed=run.seed)
    # The programs see the same only if no packet is left.
    settled = client("settled", "sleep", "100", node=plan.nodes[0])
    by_programs = [replace(_use_programs(counter), name=f"by-{counter.name}") for counter in plan.counters]
    counters = (*plan.counters, *by_programs)
    return bench.live(replace(plan, programs=(*plan.programs, settled), counters=counters)), plan.counters


@pytest.mark.parametrize(
    ("name", "override"),
    [
        ("two-paths", "workloads.bulk.duration=300 ms"),
        ("ipv6", "workloads.bulk.duration=300 ms"),
        ("unequal-paths", "workloads.download.duration=300 ms"),
        ("queue-disciplines", "workloads.bulk.duration=300 ms"),
        ("middlebox", "workloads.bulk.size=1 MB"),
    ],
)
def test_counters_are_the_same_as_by_the_programs(bench: Bench, name: str, override: str) -> None:
    output, counters = _count(bench, name, override)
    is_same_version = IPROUTE2 in subprocess.run(["ip", "-V"], capture_output=True, text=True, check=True).stdout
    packets = 0
    for counter in counters:
        folder = output.folder / "counters" / counter.node
        ours, theirs = ((folder / f"{prefix}{counter.name}").read_text() for prefix in ("", "by-"))
        if is_same_version or not counter.name.endswith(".json"):
            assert ours == theirs, counter
        elif counter.name != "mptcp-limits.json":  # text or JSON
            assert _is_part(json.loads(ours), json.loads(theirs)), f"{counter}\n{ours}\n{theirs}"
        if counter.name == "tc.json":
            packets += sum(row["packets"] for row in json.loads(ours))
    assert packets > 100, "there was no traffic"


def _is_part(ours: Any, theirs: Any) -> bool:
    """Return whether ``theirs`` has all that ``ours`` has, and perhaps more members of objects."""
    if isinstance(ours, dict):
        return isinstance(theirs, dict) and all(key in theirs and _is_part(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(_is_part, ours, theirs))
    return bool(ours == theirs)


def _disciplines() -> Iterator[str]:
    """Delays, and bursts at rates, that are not whole microseconds or ticks; small and large losses."""
    delays = ("1us", "10038.074us", "0.9ms", "77.7ms", "1.234567s")
    rates = ("1234568bit", "75mbit", "13181818bit", "10gbit", "40gbit")
    losses = ("0.01%", "0.5%", "33.3%", "100%", "0.0001%")
    for delay, rate, loss in zip(delays, rates, losses, strict=True):
        yield f"netem limit 1000 delay {delay}"
        yield f"netem limit 1000 delay 20ms {delay} loss random {loss}"
        yield f"netem limit 1000 rate {rate}"
        yield f"tbf rate {rate} burst 1600 limit 1250000"
    yield from ("tbf rate 2mbit burst 9999 limit 1250000 overhead 24", "pfifo limit 77", "fq_codel limit 100")


def test_numbers_are_rounded_as_the_programs_do(bench: Bench) -> None:
    """Each discipline has its own node: if the guest cannot read one, it leaves all of the node to the program."""
    kinds = tuple(_disciplines())
    nodes = tuple(f"n{number}" for number in range(len(kinds)))
    setup = []
    for node, words in zip(nodes, kinds, strict=True):
        setup.append(Command(node, ("ip", "link", "add", "name", "ifb", "type", "ifb")))
        setup.append(Command(node, tuple(f"tc qdisc add dev ifb root handle 1: {words}".split())))
    questions = [Counter(node, "tc.json", ("tc", "-s", "-j", "qdisc", "show")) for node in nodes]
    by_programs = [replace(_use_programs(question), name="by-tc.json") for question in questions]
    plan = Plan(nodes, tuple(setup), (client("nothing", "true", node="n0"),), (*questions, *by_programs), (), 10**9)
    live = bench.live(plan)
    theirs = bench.live(replace(plan, setup=tuple(map(_use_programs, plan.setup))))
    for node, words in zip(nodes, kinds, strict=True):
        print(words, live.counter(node, "by-tc.json")[0]["options"])
        assert live.counter(node, "by-tc.json") == theirs.counter(node, "by-tc.json"), words
        assert live.counter(node, "tc.json") == live.counter(node, "by-tc.json"), words
