# SPDX-License-Identifier: MIT
"""Exported configurations, on bare nodes in the lab: links and their shaping are there, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.lab.bench import MINUTE_NS, Bench, LabOutput, bare_plan
from tests.unit.export_scenario import full_scenario

import mptcplab
from mptcplab.plan import events, links
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import load
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario
from mptcplab.steps import Command, Counter, Program
from mptcplab_export import sh
from mptcplab_export.collect import PREFIX, SOURCE, ExportMachine, collect

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
#: What makes a node, as the kernel has it at the end. Rules' counters differ with the packets that they met.
STATE = {
    "addresses": ("ip", "-o", "address", "show", "scope", "global"),
    "routes": ("ip", "-4", "route", "show", "table", "all"),
    "routes6": ("ip", "-6", "route", "show", "table", "all"),
    "rules": ("ip", "rule"),
    "rules6": ("ip", "-6", "rule"),
    "endpoints": ("ip", "mptcp", "endpoint", "show"),
    "limits": ("ip", "mptcp", "limits", "show"),
    "links": ("ip", "-o", "link", "show", "up"),
    "packets": ("nft", "-s", "list", "ruleset"),
    "settings": ("sysctl", "-a", "-r", r"^net\."),
}
#: Made of an interface's random address, or a secret of it, or counted; or an endpoint that is implicit, flag 0x10
#: (include/uapi/linux/mptcp_pm.h), which the kernel adds for an address that a connection uses.
_RANDOM = r"fe80::|ff00::|link/ether|stable_secret|nf_conntrack_count|rawflags 10\b"
#: What forwarding of the other version of IP sets, which is not exported.
_OTHER_FORWARDING = {
    "ipv4": r"net\.ipv6\.conf\.\S*\.forwarding",
    "ipv6": r"net\.ipv4\.(ip_forward|conf\.\S*\.(forwarding|accept_redirects)) ",
}


def _comparable(text: str, family: str) -> list[str]:
    left_out = re.compile(f"{_RANDOM}|{_OTHER_FORWARDING[family]}")
    return [line for line in text.replace(PREFIX, "").splitlines() if not left_out.search(line)]


def _links_of(network: Network) -> Iterator[Command]:
    """Yield the set-up of bare nodes: what a plan has for links, and ``lo``."""
    yield from links.wire_commands(network)
    yield from links.table_commands(network)
    for node in network.nodes:
        yield Command(node, ("ip", "link", "set", "dev", "lo", "up"))
        yield from links.offload_commands(network, node)
    yield from links.shaping_commands(network)
    yield from events.hook_commands(network)


def _script(scenario: Scenario, plan: Plan) -> Plan:
    """Return ``plan`` with scripts in the place of its own set-up of nodes, and of the programs of nodes."""
    network = Network(scenario)
    setup, programs = list(_links_of(network)), set[str]()
    for name, node in network.nodes.items():
        configuration = collect(scenario, name, ExportMachine({}))
        (file,) = sh.write(configuration)
        text = file.text.replace(SOURCE, str(Path(mptcplab.__file__).parents[1]))
        starts = (
            *sh.programs(configuration),
            *(word for service in configuration.services for word in service.programs),
        )
        setup.append(Command(name, ("sh", "-c", text, file.path, "up"), starts))
        programs |= {program.name for program in node.programs(network.context_of(name))}
        programs |= {f"gateway.{side}-{gateway}" for gateway in scenario.gateways for side in ("entry", "exit")}
    return replace(
        plan, setup=tuple(setup), programs=tuple(program for program in plan.programs if program.name not in programs)
    )


def _state_counters(nodes: Iterable[str]) -> tuple[Counter, ...]:
    return tuple(Counter(node, f"{name}.txt", argv) for node in nodes for name, argv in STATE.items())


def _run_both(bench: Bench, scenario: Scenario, plan: Plan) -> tuple[LabOutput, LabOutput]:
    plan = replace(plan, counters=(*plan.counters, *_state_counters(plan.nodes)))
    return bench.live(plan), bench.live(_script(scenario, plan))


def _check_same_state(scenario: Scenario, plain: LabOutput, scripted: LabOutput) -> None:
    for node in scenario.nodes:
        for name in STATE:
            texts = (recording.counter(node, f"{name}.txt") for recording in (plain, scripted))
            expected, actual = (_comparable(text, scenario.family) for text in texts)
            assert actual == expected, f"{node}: {name}"


@pytest.mark.slow
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_scripts_make_the_same_nodes(bench: Bench, family: str) -> None:
    """Scripts give every node a plan's addresses, routes, rules, endpoints, limits, settings and packet rules."""
    scenario = full_scenario(family).model_copy(update={"events": ()})
    plan = replace(compile_plan(scenario, seed=1), events=())
    plain, scripted = _run_both(bench, scenario, plan)
    _check_same_state(scenario, plain, scripted)
    assert f"{PREFIX}nat" in scripted.counter("r1", "packets.txt")
    # Only a path manager opens a second subflow from r2, and only the script started one.
    subflows = [
        {_addresses(line["id"]) for line in _lines(recording, "four", "subflow")} for recording in (plain, scripted)
    ]
    print(f"{family}: subflows {subflows}")
    assert subflows[0] == subflows[1]
    assert len(subflows[1]) == 2
    # One connection of the path manager's, and one through each gateway: by redirection, and by SOCKS5.
    kernels = [recording.counter("r3", "nstat.json")["kernel"] for recording in (plain, scripted)]
    asked = [kernel["MPTcpExtMPCapableSYNTX"] for kernel in kernels]
    print(f"{family}: MPTCP connections from r3 {asked}")
    assert asked[0] == asked[1] == 2


@pytest.mark.parametrize(
    ("example", "workload", "receiver", "bound"),
    [
        # The receiver reads every 5 ms, of 10 s: 0.05 %. One more command in the set-up changed it by 0.008 % at most.
        ("two-paths.toml", "bulk", "server", 1e-3),
        # Commands without effect, before the set-up, changed it by 0.22 % here, and by 0.36 % in home-and-vps.toml.
        ("gateways/real-lines.toml", "fetch", "internet", 5e-3),
    ],
)
def test_scripts_make_the_same_experiment(
    bench: Bench, example: str, workload: str, receiver: str, bound: float
) -> None:
    """A set-up of other commands makes another run, as another seed does: the kernel's clock and counters moved."""
    upload = ["workloads.fetch.kind=flow", "workloads.fetch.size=10 MB"] if workload == "fetch" else []
    scenario = load(EXAMPLES / example, overrides=["phases=fixed", *upload]).points[-1].scenario
    plan = compile_plan(scenario, seed=1)
    plain, scripted = _run_both(bench, scenario, plan)
    _check_same_state(scenario, plain, scripted)
    rates = [_lines(recording, workload, "end")[0]["goodput_bps"] / 1e6 for recording in (plain, scripted)]
    shares = [_shares(recording, receiver) for recording in (plain, scripted)]
    print(f"{example}: goodput {rates[0]:.3f} and {rates[1]:.3f} Mbit/s, shares {shares[0]} and {shares[1]}")
    assert rates[1] == pytest.approx(rates[0], rel=bound)
    for link, share in shares[0].items():
        assert shares[1][link] == pytest.approx(share, abs=bound)


def _shares(output: LabOutput, node: str) -> dict[str, float]:
    """Return the shares of the links by which ``node`` received payload, not acknowledgements alone."""
    links_of = [device for device in output.counter(node, "link.json") if device.get("link_netnsid") is not None]
    received = {device["ifname"]: device["stats64"]["rx"]["bytes"] for device in links_of}
    # What a gateway's exit passes on to the server may come by again.
    received.pop("hosting", None)
    total = sum(received.values())
    shares = {link: round(octets / total, 4) for link, octets in received.items() if octets > 0.1 * total}
    assert len(shares) == 2, shares
    return shares


#: Runs a script, its first argument, and prints the state of the node before and after each step.
_STEPS = """
script=$1
state() {
    echo "== $1"
    ip -o link show
    ip -o address show
    ip -4 route show table all
    ip -6 route show table all
    ip rule
    ip -6 rule
    ip mptcp endpoint show
    ip mptcp limits show
    nft list ruleset
    sysctl -a -r '^net[.]' 2>/dev/null
    for file in /proc/[0-9]*/comm; do
        read -r name < $file || continue
        case $name in python3 | ss-*) echo process $name;; esac
    done
}
try() {
    sh -c "$script" node.sh $1
    echo "status $?"
    # What was killed is gone, and addresses of IPv6 are usable.
    sleep 3
}
"""
_UP_AND_DOWN = f"""{_STEPS}
state bare
try up; state up
try up; state again
try down; state down
try down; state nothing
"""
_FAILURE = f"""{_STEPS}
ip rule add from 10.0.2.1 table 101 priority 101
state bare
try up; state failed
"""


def _states(bench: Bench, node: str, steps: str, **devices: str) -> tuple[dict[str, list[str]], LabOutput]:
    """Return what the steps print of a bare node's states, and all that they print."""
    scenario = full_scenario()
    configuration = collect(scenario, node, ExportMachine(devices))
    (file,) = sh.write(configuration)
    text = file.text.replace(SOURCE, str(Path(mptcplab.__file__).parents[1]))
    renamed = [
        Command(node, ("ip", "link", "set", "dev", link, "name", device, "mtu", "1500"))
        for link, device in devices.items()
    ]
    setup = [*links.wire_commands(Network(scenario)), *renamed]
    starts = ("sh", "sleep", "nft", *sh.programs(configuration))
    starts += tuple(name for service in configuration.services for name in service.programs)
    program = Program("steps", node, "client", ("sh", "-c", steps, "steps", text), 0, MINUTE_NS, starts)
    output = bench.live(replace(bare_plan(program), nodes=tuple(scenario.nodes), setup=tuple(setup)))
    parts = output.text("steps").split("== ")[1:]
    states = {name: lines.splitlines() for name, _, lines in (part.partition("\n") for part in parts)}
    return {name: [re.sub(r" id \d+ ", " ", line) for line in lines] for name, lines in states.items()}, output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("node", "devices", "traces"),
    [
        ("client", {"a-1": "eth0.7", "b_1": "wlan0"}, ["net.ipv4.conf.eth0/7.rp_filter = 2", "mtu 1400", "subflow"]),
        ("phone", {"c": "wwan0"}, ["net.mptcp.pm_type = 1", "process python3"]),
        ("r3", {"e1": "wan"}, ["table ip mptcplab_gateway-to-r2", "process ss-redir", "process ss-local"]),
        ("r1", {"core": "wan"}, ["table inet mptcplab_nat", 'oifname "wan"', "net.ipv4.ip_forward = 1"]),
    ],
)
def test_down_restores_what_was_before_up(bench: Bench, node: str, devices: dict[str, str], traces: list[str]) -> None:
    states, output = _states(bench, node, _UP_AND_DOWN, **devices)
    assert output.text("steps", "err") == ""
    for trace in traces:
        before, after = (sum(trace in line for line in states[name]) for name in ("bare", "up"))
        assert after > before, trace
    done = [line for line in output.text("steps").splitlines() if line.startswith("status")]
    assert done == ["status 0"] * 4
    for name, expected in (("again", "up"), ("down", "bare"), ("nothing", "bare")):
        assert _steady(states[name]) == _steady(states[expected]), name


def _steady(lines: list[str]) -> list[str]:
    """Leave out what a node has by itself once its interfaces were up, and the statuses of steps."""
    kept = [line for line in lines if not re.search(r"^status|fe80::|ff00::|nf_conntrack_count", line)]
    return [line.replace("qdisc noop ", "qdisc noqueue ") for line in kept]


def test_a_step_that_fails_undoes_those_before_it(bench: Bench) -> None:
    states, output = _states(bench, "client", _FAILURE)
    errors = output.text("steps", "err")
    print(errors)
    assert "node.sh: this failed: ip rule add from 10.0.2.1 table 101 priority 101" in errors
    assert "status 1" in output.text("steps")
    assert _steady(states["failed"]) == _steady(states["bare"])


def _addresses(ends: str) -> tuple[str, ...]:
    return tuple(end.rpartition(":")[0] for end in ends.split(">"))


def _lines(output: LabOutput, workload: str, event: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in output.text(f"{workload}.server").splitlines()]
    return [line for line in lines if line["event"] == event]
