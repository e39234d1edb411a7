# SPDX-License-Identifier: MIT
"""The plan as a whole: pure, reproducible, and complete as a script."""

from __future__ import annotations

import builtins
import json
import os
import re
import shlex
import socket
import subprocess
import time
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.plan.script import script
from mptcplab.scenario import presets
from mptcplab.scenario.schema import Scenario
from mptcplab.workload.context import FLOW

WORKLOADS: dict[str, Any] = {
    "bulk": {"kind": "flow", "from": "client", "to": "server", "duration": "10 s", "read_quantum": "5 ms"},
    "test": {"kind": "iperf3", "from": "client", "to": "server", "size": "10 MB", "start": "2.5 s"},
    "file": {"kind": "transfer", "from": "server", "to": "client", "size": "1 MB", "start": "1 s", "timeout": "90 s"},
}
PRESETS: list[dict[str, Any]] = [
    {"preset": "direct"},
    {"preset": "chain", "routers": 4},
    {"preset": "disjoint-paths", "paths": 3},
    {"preset": "shared-bottleneck", "paths": 2},
]


def scenario(topology: dict[str, Any], **keys: Any) -> Scenario:
    """Return a scenario with fixed phases, since tests here compare instants; test_phases.py tests offsets."""
    tables = presets.expand(presets.Topology.model_validate(topology))
    for link in tables["links"].values():
        link["forward"] = {"rate": "8 Mbit/s", "delay": "1 ms", "queue": "20 packets"}
    return Scenario.model_validate({"title": "t", "phases": "fixed", **tables, "workloads": WORKLOADS, **keys})


@pytest.fixture(params=PRESETS, ids=lambda topology: str(topology["preset"]))
def plan(request: pytest.FixtureRequest) -> Plan:
    return compile_plan(scenario(request.param), seed=7)


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("topology", PRESETS, ids=lambda topology: str(topology["preset"]))
def test_same_scenario_same_plan(topology: dict[str, Any], family: str) -> None:
    first = compile_plan(scenario(topology, family=family), seed=7)
    second = compile_plan(scenario(topology, family=family), seed=7)
    assert first == second
    assert first.to_json() == second.to_json()
    assert json.loads(first.to_json())["nodes"] == list(first.nodes)


def test_only_the_seed_depends_on_the_seed() -> None:
    first, other = (compile_plan(scenario(PRESETS[2]), seed=seed) for seed in (1, 2))
    assert first.setup == other.setup
    assert replace(first, programs=()) == replace(other, programs=())
    assert first.programs != other.programs


def test_compiling_has_no_side_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    described = scenario(PRESETS[2])

    def refuse(*_args: object, **_keywords: object) -> NoReturn:
        raise AssertionError("a plan is compiled without the machine")

    for module, name in ((builtins, "open"), (subprocess, "Popen"), (socket, "socket"), (os, "getenv"), (time, "time")):
        monkeypatch.setattr(module, name, refuse)
    compile_plan(described, seed=1)


def test_every_command_is_on_a_node_or_creates_a_link(plan: Plan) -> None:
    for command in plan.setup:
        assert command.node in plan.nodes or command.argv[:3] == ("ip", "link", "add")
        assert all(isinstance(word, str) and word and "\n" not in word for word in command.argv)
        assert "-6" not in command.argv


def test_no_command_occurs_twice(plan: Plan) -> None:
    assert len(set(plan.setup)) == len(plan.setup)


def test_interfaces_exist_before_they_are_used(plan: Plan) -> None:
    devices = {(node, "lo") for node in plan.nodes}
    for command in plan.setup:
        words = command.argv
        if words[:4] == ("ip", "link", "add", "name"):
            nodes = [words[index + 1] for index, word in enumerate(words) if word == "netns"] or [str(command.node)]
            devices |= {(node, words[4]) for node in nodes}
        else:
            used = [words[index + 1] for index, word in enumerate(words) if word == "dev"]
            assert all((str(command.node), device) in devices for device in used), command


def test_programs(plan: Plan) -> None:
    names = [program.name for program in plan.programs]
    assert names == ["bulk.server", "bulk.client", "test.server", "test.client", "file.server", "file.client"]
    ports = {str(program.argv) for program in plan.programs if program.role == "server"}
    assert len(ports) == 3
    clients = {program.name: program for program in plan.programs if program.role == "client"}
    assert clients["test.client"].start_ns == 2_500_000_000
    assert clients["file.client"].deadline_ns == 91_000_000_000
    assert clients["file.client"].node == "server"
    assert plan.deadline_ns == 3_602_500_000_000
    assert FLOW in plan.uses
    assert set(plan.sampled) == {"client", "server"}


def test_script_is_valid_shell(plan: Plan) -> None:
    text = script(plan, title='It\'s a "title" of $(one) line')
    done = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert text.startswith("#!/bin/sh\n# It's")


def test_script_has_every_command(plan: Plan) -> None:
    lines = script(plan, title="t").splitlines()
    at = -1
    for command in plan.setup:
        words = shlex.join(command.argv)
        wanted = words if command.node is None else f"ip netns exec {command.node} {words}"
        at = lines.index(wanted, at + 1)
    for program in plan.programs:
        assert any(shlex.join(program.argv) in line and f" {program.node} " in line for line in lines)
    for counter in plan.counters:
        assert any(shlex.join(counter.argv) in line and f" {counter.node} " in line for line in lines)
    for node in plan.nodes:
        assert any(re.search(rf"netns add|\b{re.escape(node)}\b", line) for line in lines)


def test_script_starts_clients_in_order(plan: Plan) -> None:
    lines = [line for line in script(plan, title="t").splitlines() if line.startswith(("sleep", "timeout"))]
    assert [line.split()[:2] for line in lines][-5:] == [
        ["timeout", "3600"],
        ["sleep", "1"],
        ["timeout", "90"],
        ["sleep", "1.5"],
        ["timeout", "3600"],
    ]
