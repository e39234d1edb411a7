# SPDX-License-Identifier: MIT
"""Routers that do more than forward, as nft rules."""

from __future__ import annotations

from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario import presets
from mptcplab.scenario.schema import Scenario

FLOW = {"kind": "flow", "from": "client", "to": "server", "duration": "10 s"}


def _plan(**router: object) -> Plan:
    tables = presets.expand(presets.Topology.model_validate({"preset": "disjoint-paths"}))
    tables["routers"]["r1"] = router
    return compile_plan(Scenario.model_validate({"title": "t", **tables, "workloads": {"bulk": FLOW}}), seed=1)


def _rules(**router: object) -> list[str]:
    rules = [command for command in _plan(**router).setup if command.argv[0] == "nft"]
    assert {command.node for command in rules} <= {"r1"}
    return [line for command in rules for line in command.argv[1].split("; ") if line.startswith("add rule")]


def test_routers_only_forward_by_default() -> None:
    plan = _plan()
    assert not any(command.argv[0] == "nft" for command in plan.setup)
    assert not any(counter.name == "nft.json" for counter in plan.counters)


def test_translation() -> None:
    assert _rules(nat=["link1"]) == ['add rule inet nat out oifname { "link1" } masquerade']
    assert _rules(nat=["link1", "access1"]) == ['add rule inet nat out oifname { "link1", "access1" } masquerade']


def test_what_a_middlebox_does() -> None:
    reset = "reset tcp option mptcp"
    begin = "add rule inet middlebox out"
    assert _rules(middlebox={"strip": ["all"]}) == [f"{begin} tcp option mptcp exists counter {reset} {reset} {reset}"]
    assert _rules(middlebox={"strip": ["mp_join"], "out": ["link1"]}) == [
        f'{begin} oifname {{ "link1" }} tcp option mptcp subtype 1 counter {reset}'
    ]
    assert _rules(middlebox={"drop": ["mp_capable", "add_addr"]}) == [
        f"{begin} tcp option mptcp subtype 0 counter drop",
        f"{begin} tcp option mptcp subtype 3 counter drop",
    ]
    assert _rules(middlebox={"mangle": ["mp_join"]}) == [
        f"{begin} tcp option mptcp subtype 1 tcp option @30,32,32 set 0x4d504c41 counter"
    ]
    damage = "@ih,0,32 set 0x4d504c41 counter"
    assert _rules(middlebox={"damage": "0.1 %"}) == [
        f"{begin} meta l4proto tcp numgen random mod 1000000000 < 1000000 {damage}"
    ]
    assert _rules(middlebox={"damage": "100 %"}) == [f"{begin} meta l4proto tcp {damage}"]


def test_what_it_touched_is_counted() -> None:
    counted = [(counter.node, counter.argv) for counter in _plan(nat=["link1"]).counters if counter.name == "nft.json"]
    assert counted == [("r1", ("nft", "-j", "list", "ruleset"))]
