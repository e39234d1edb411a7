# SPDX-License-Identifier: MIT
"""The example of every kind of node loads, compiles, and has a caption and a shape; also for a plugin's kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import LabError
from mptcplab.node.registry import NODE_KINDS, kind_of
from mptcplab.node.router import Router
from mptcplab.plan.compile import compile_plan
from mptcplab.report.topology import networks
from mptcplab.scenario.load import load
from mptcplab.scenario.schema import Scenario

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
CLAMP = PLUGINS / "clamp.toml"
LINKS = {"link1": {"between": ["client", "it"]}, "link2": {"between": ["it", "server"]}}


def smallest_scenario(kind: str) -> Scenario:
    """Return the smallest scenario with a node of the kind, called ``it``."""
    hosts: dict[str, Any] = {"client": {}, "server": {}}
    nodes: dict[str, Any] = {"hosts": hosts}
    nodes.setdefault(NODE_KINDS[kind].table, {})["it"] = NODE_KINDS[kind].example
    to = "server" if NODE_KINDS[kind].forwards else "it"
    load = {"kind": "flow", "from": "client", "to": to, "size": "1 kB"}
    return Scenario.model_validate({"title": "t", **nodes, "links": LINKS, "workloads": {"bulk": load}})


@pytest.mark.parametrize("kind", NODE_KINDS)
def test_example(kind: str) -> None:
    scenario = smallest_scenario(kind)
    plan = compile_plan(scenario, seed=1)
    assert "it" in plan.nodes
    assert {command.node for command in plan.setup} >= {"it"}
    (picture,) = networks([json.loads(scenario.model_dump_json(by_alias=True))])
    drawn = ET.fromstring(str(picture.svg))
    (shape,) = [node for node in drawn.iter("g") if node.findtext("title") == f"{kind} it"]
    assert shape.get("class") == f"node {kind}"
    assert {child.tag for child in shape} > {"title", "text"}, "and an outline"


def test_only_functions_beyond_the_kind_have_a_caption() -> None:
    router = NODE_KINDS["router"]
    assert router.caption({"nat": [], "middlebox": {"strip": []}}) == ""
    it = json.loads(smallest_scenario("router").model_dump_json())["routers"]["it"]
    assert router.caption(it) == "NAT at link2; strips mp_join; speaks MPTCP"


def test_nodes_that_forward_shape_unless_they_have_sockets() -> None:
    nodes = {**smallest_scenario("router").nodes, "plain": Router()}
    assert {name: (node.forwards, node.own_transport is None, node.shapes) for name, node in nodes.items()} == {
        "client": (False, False, False),
        "server": (False, False, False),
        "it": (True, False, False),
        "plain": (True, True, True),
    }


def test_a_recording_may_have_unknown_kinds() -> None:
    assert kind_of("host") is NODE_KINDS["host"]
    with pytest.raises(LabError, match="'clamp'"):
        kind_of("clamp")


# -- a plugin


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the plugin."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "MPTCPLAB_PLUGINS": str(PLUGINS / "clamp.py")},
        timeout=60,
        check=False,
    )


def run_command(*arguments: str) -> str:
    """What a command prints that has to succeed."""
    done = python(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_schema_of_a_plugin() -> None:
    schema = json.loads(run_command("-m", "mptcplab", "schema"))
    assert schema["properties"]["clamps"]["additionalProperties"] == {"$ref": "#/definitions/Clamp"}
    assert schema["definitions"]["Clamp"]["properties"]["mss"]["maximum"] == 65535


@pytest.mark.slow
def test_reference_of_a_plugin() -> None:
    reference = run_command("-m", "mptcplab.scenario.reference")
    assert "### `[clamps.NAME]`" in reference
    assert "| `mss` | whole number, 88 to 65535 | required | maximum segment size |" in reference


@pytest.mark.slow
def test_show_and_plan_of_a_plugin() -> None:
    assert "[clamps.tunnel]\nmss = 500\n" in run_command("-m", "mptcplab", "show", str(CLAMP))
    plan = run_command("-m", "mptcplab", "plan", str(CLAMP)).splitlines()
    rule = "ip netns exec tunnel nft 'add rule inet clamp out tcp flags syn tcp option maxseg size set 500 counter'"
    servers, event = plan.index("# -- servers, waiting"), plan.index("# clamped tunnel both 500")
    assert plan.index(rule) == event + 1, "not at set-up"
    assert servers < plan.index(next(line for line in plan if "nft monitor" in line)) < event
    assert plan[event - 1] == "sleep 0.2"
    assert "kill $s1; wait $s1 || true" in plan, "the monitor, which would go on"
    assert "ip netns exec tunnel sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1" in plan
    without = run_command("-m", "mptcplab", "plan", str(CLAMP), "--set", "clamps.tunnel.since=0 s").splitlines()
    assert without.index(rule) < without.index("# -- servers, waiting")


@pytest.mark.slow
def test_doctor_knows_what_a_plugin_needs() -> None:
    script = (
        "from mptcplab.doctor.programs import program_uses; from mptcplab.engine.tools import package_of\n"
        "print(*(f'{name}: {program_uses()[name]}: {package_of(name)}' for name in ('nft', 'cat')), sep=chr(10))"
    )
    assert run_command("-c", script).splitlines() == [
        "nft: nodes of kind router and clamp: nftables",
        "cat: nodes of kind clamp: coreutils",
    ]


@pytest.mark.slow
def test_picture_of_a_plugin() -> None:
    script = (
        "import json; from pathlib import Path; from mptcplab.scenario.load import load\n"
        "from mptcplab.report.topology import networks\n"
        f"scenario = load(Path({str(CLAMP)!r})).points[0].scenario\n"
        "print(*(one.svg for one in networks([json.loads(scenario.model_dump_json(by_alias=True))])))\n"
    )
    svg = run_command("-c", script)
    assert '<g class="node clamp"><title>clamp tunnel</title><path d="M' in svg
    assert ">segments of at most 500 B</text>" in svg


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ("mss = 500", "mss = 5", "clamps.tunnel.mss = 5: is out of range"),
        ("mss = 500", 'mss = 500\nout = ["link3"]', 'clamps.tunnel.out[0] = "link3": there is no link'),
        ('"tunnel", "server"', '"client", "server"', "clamps.tunnel: has only one link, so it forwards nothing"),
        ("[hosts.server]", "[hosts.server]\n[hosts.tunnel]", "clamps.tunnel: is also a host"),
        ('to = "server"', 'to = "tunnel"', 'workloads.early.to = "tunnel": is a clamp'),
        ("[clamps.tunnel]", "[clamps.alone]\nmss = 100\n[clamps.tunnel]", "clamps.alone: has no link"),
        ("mss = 500", "", "clamps.tunnel.mss: is missing"),
    ],
)
def test_mistakes_at_a_plugin(tmp_path: Path, change: str, place: str, message: str) -> None:
    file = tmp_path / "a.toml"
    file.write_text(CLAMP.read_text().replace(change, place, 1))
    done = python("-m", "mptcplab", "show", str(file))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_plugin_that_is_not_used_changes_no_run() -> None:
    """Identities hold the whole resolved scenario."""
    file = PLUGINS.parents[1] / "examples" / "two-paths.toml"
    script = (
        "from pathlib import Path; from mptcplab.scenario.load import load\n"
        f"print(load(Path({str(file)!r})).points[0].scenario.model_dump_json(by_alias=True))"
    )
    assert run_command("-c", script).strip() == load(file).points[0].scenario.model_dump_json(by_alias=True)
