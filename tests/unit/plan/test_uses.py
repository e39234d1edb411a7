# SPDX-License-Identifier: MIT
"""A plan declares the programs that it uses: all that run, and no others."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.unit.node.test_kinds import smallest_scenario
from tests.unit.plan.shell_words import programs_of
from tests.unit.plugins.test_plugins import PLUGINS, run

from mptcplab.engine.tools import find_programs
from mptcplab.network.disciplines.registry import DISCIPLINES
from mptcplab.network.registry import BEHAVIOURS
from mptcplab.node.registry import NODE_KINDS
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import load
from mptcplab.scenario.schema import Scenario
from mptcplab.steps import Command, shell
from mptcplab.workload.registry import KINDS

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted(file for file in (ROOT / "examples").rglob("*.toml") if "title = " in file.read_text())


def _undeclared_steps(plan: Plan) -> list[str]:
    """Return the steps whose declaration differs from their text."""
    during = [command for event in plan.events for command in event.commands]
    steps = [*plan.setup, *plan.programs, *plan.counters, *during]
    return [f"{step.argv}: {sorted(step.uses)}" for step in steps if programs_of(step.argv) != set(step.uses)]


@cache
def plan_of(example: Path) -> Plan:
    """Return the plan of an example's last point."""
    return compile_plan(load(example).points[-1].scenario, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: str(file.relative_to(ROOT / "examples")))
def test_examples_declare_their_programs(file: Path) -> None:
    assert _undeclared_steps(plan_of(file)) == []


@pytest.mark.parametrize("protocol", ["mptcp", "tcp"])
@pytest.mark.parametrize("algorithms", [{}, {"congestion_control": "lia", "scheduler": "redundant"}])
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_declare_their_programs(kind: str, algorithms: dict[str, Any], protocol: str) -> None:
    parameters = {} if kind == "udp" else algorithms
    workload = {"kind": kind, "from": "client", "to": "server", **KINDS[kind].example, **parameters}
    hosts = {name: {"transport": {"protocol": protocol}} for name in ("client", "server")}
    reorder = {"delay": "1 ms", "reorder": "1 %"}
    scenario = {
        "title": "t",
        "hosts": hosts,
        "links": {"link1": {"between": ["client", "server"], "forward": reorder}},
        "workloads": {"bulk": workload},
        "record": {"captures": [{"node": "client"}]},
    }
    assert _undeclared_steps(compile_plan(Scenario.model_validate(scenario), seed=1)) == []


@pytest.mark.parametrize("kind", NODE_KINDS)
def test_nodes_declare_their_programs(kind: str) -> None:
    assert _undeclared_steps(compile_plan(smallest_scenario(kind), seed=1)) == []


@pytest.mark.parametrize(
    "keys",
    [
        *(keys for behaviour in BEHAVIOURS for keys in (behaviour.example, behaviour.example_with_more_programs)),
        *({"discipline": name} for name in DISCIPLINES),
    ],
)
def test_links_declare_their_programs(keys: dict[str, Any]) -> None:
    link = {"between": ["client", "server"], "forward": {"rate": "10 Mbit/s", "delay": "1 ms", **keys}}
    workload = {"kind": "flow", "from": "client", "to": "server", "size": "1 kB"}
    hosts: dict[str, Any] = {"client": {}, "server": {}}
    scenario = {"title": "t", "hosts": hosts, "links": {"link1": link}, "workloads": {"bulk": workload}}
    assert _undeclared_steps(compile_plan(Scenario.model_validate(scenario), seed=1)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clamp", "echo", "police"])
def test_plugins_declare_their_programs(name: str) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path; from mptcplab.plan.compile import compile_plan\n"
        "from mptcplab.scenario.load import load; from tests.unit.plan.test_uses import _undeclared_steps\n"
        f"scenario = load(Path({str(PLUGINS / name)!r} + '.toml')).points[0].scenario\n"
        "print(_undeclared_steps(compile_plan(scenario, seed=1)))"
    )
    done = run("-c", script, plugins=str(PLUGINS / f"{name}.py"))
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        (
            "seq 5 | xargs -P 2 -I N sh -c 'mptcpize run curl --fail x | mptcplab-flow sum # N'",
            "seq xargs sh mptcpize curl mptcplab-flow",
        ),
        ("exec mptcpize run mptcplab-flow with --scheduler=blest vsftpd it.conf", "mptcpize mptcplab-flow vsftpd"),
        ("setsid tcpdump -w - & p=$!; trap 'sleep 0.9; kill $p' TERM; wait $p || wait $p", "setsid tcpdump sleep"),
        ("mkdir -p a && { yes -- 1 | head -n 2; printf '%s' 3; } > a/b 2> /dev/null", "mkdir yes head"),
        ("n=0; while { curl a | xargs b; } && [ $n -lt 3 ]; do n=$((n + 1)); sleep 1; done", "curl xargs b sleep"),
        ('for n in a b; do ip link set "$(ls x/$n)" name $n || exit; done', "ip ls"),
        (
            "exec 3<f; timeout 5 sed q <&3 >g || { echo no >&2; exit 1; }; until [ -e g ]; do sleep 1; done",
            "timeout sed sleep",
        ),
        ("exec socat -u TCP4-LISTEN:1,fork EXEC:'mptcplab-flow sum'", "socat mptcplab-flow"),
    ],
)
def test_programs_in_shell_text(line: str, programs: str) -> None:
    assert programs_of(("sh", "-c", line)) == {"sh", *programs.split()}


def test_an_undeclared_program_is_found() -> None:
    plan = Plan(("a",), (Command("a", shell("yes | head", "yes").argv, ("yes",)),), (), (), (), 10**9)
    assert len(_undeclared_steps(plan)) == 1
    declared = replace(plan, setup=(Command("a", ("sh", "-c", "yes | head"), ("yes", "head")),))
    assert _undeclared_steps(declared) == []
    assert set(find_programs(declared.uses, {})) == {"sh", "yes", "head"}
