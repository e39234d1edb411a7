# SPDX-License-Identifier: MIT
"""Events as commands, in a plan and in a script; link presets; the path manager's configuration."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.plan.script import script
from mptcplab.scenario.load import load
from mptcplab.scenario.presets import LINK_PRESETS, LinkPresetName

ROOT = Path(__file__).resolve().parents[3]
#: Exactly as written: these tests compare instants and delays.
TWO_PATHS = """
title = "t"
phases = "fixed"
{top}
[topology]
preset = "disjoint-paths"
[links.link1]
rate = "8 Mbit/s"
{more}
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "10 s"
"""


def _plan(folder: Path, more: str, top: str = "") -> Plan:
    file = folder / "s.toml"
    file.write_text(TWO_PATHS.format(top=top, more=more))
    return compile_plan(load(file).points[0].scenario, seed=1)


def _event(at: str, type_: str, link: str, **more: str) -> str:
    keys = {"at": at, "type": type_, "link": link, **more}
    return "[[events]]\n" + "".join(f'{key} = "{value}"\n' for key, value in keys.items())


def _lines(plan: Plan) -> list[list[str]]:
    return [[f"{command.node}: {shlex.join(command.argv)}" for command in event.commands] for event in plan.events]


def test_no_events_no_commands(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "")
    assert plan.events == ()
    assert not [command for command in plan.setup if command.argv[:3] == ("tc", "qdisc", "replace")]


def test_silent_failures_drop_before_the_queue(tmp_path: Path) -> None:
    """On the router that sends, or at the far end of the link if a host sends."""
    plan = _plan(tmp_path, _event("1 s", "down", "link1") + _event("2 s", "up", "link1", direction="forward"))
    assert _lines(plan) == [
        [
            "r1: tc filter add dev link1 egress pref 1 matchall action drop",
            "r1: tc filter add dev link1 ingress pref 1 matchall action drop",
        ],
        ["r1: tc filter delete dev link1 egress pref 1"],
    ]
    hooks = [command for command in plan.setup if command.argv[:3] == ("tc", "qdisc", "replace")]
    assert [shlex.join(command.argv) for command in hooks] == ["tc qdisc replace dev link1 clsact"] * 2
    assert plan.setup.index(hooks[0]) > max(
        n for n, command in enumerate(plan.setup) if command.argv[-1] == "clsact" and command not in hooks
    )


@pytest.mark.parametrize(("mode", "node"), [("carrier", "r1"), ("interface", "client")])
def test_an_end_is_set_down_and_fully_restored(tmp_path: Path, mode: str, node: str) -> None:
    down, up = _lines(_plan(tmp_path, _event("1 s", "down", "access1", mode=mode) + _event("2 s", "up", "access1")))
    assert down == [f"{node}: ip link set dev access1 down"]
    assert up[0] == f"{node}: ip link set dev access1 up"
    assert up[1].startswith(f"{node}: ip address replace 10.0.1.")
    routes = [line for line in up[2:] if "route replace" in line]
    assert len(routes) == len(up) - 2
    assert (f"{node}: ip route replace 10.0.2.0/24 via 10.0.1.2 dev access1 table 100" in routes) == (node == "client")


def test_an_ipv6_end_gets_its_address_at_once(tmp_path: Path) -> None:
    events = _event("1 s", "down", "access1", mode="interface") + _event("2 s", "up", "access1")
    _, up = _lines(_plan(tmp_path, events, top='family = "ipv6"'))
    assert up[0] == "client: sysctl -qw net.ipv6.conf.access1.accept_dad=0"
    assert up[2].endswith("nodad")


def test_endpoints_follow_their_address(tmp_path: Path) -> None:
    gone, back = _lines(
        _plan(tmp_path, _event("1 s", "address-removed", "link2") + _event("2 s", "address-added", "link2"))
    )
    assert gone == ["server: ip mptcp endpoint delete id 1", "server: ip address delete 10.0.4.2/24 dev link2"]
    assert back[0] == "server: ip address replace 10.0.4.2/24 dev link2"
    assert back[-1] == "server: ip mptcp endpoint add 10.0.4.2 dev link2 id 1 signal"


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_a_link_that_is_down_gets_its_routes_when_it_is_up(tmp_path: Path, family: str) -> None:
    order = (("down", "interface"), ("address-removed", ""), ("address-added", ""), ("up", ""))
    events = [
        _event(f"{n} s", type_, "access1", **({"mode": mode} if mode else {})) for n, (type_, mode) in enumerate(order)
    ]
    _, removed, added, up = _lines(_plan(tmp_path, "".join(events), top=f'family = "{family}"'))
    assert len([line for line in removed if "address delete" in line]) == (family == "ipv4")
    assert [line.split()[1:4] for line in added if "endpoint" not in line] == [["ip", "address", "replace"]]
    assert any("route replace" in line for line in up)


def test_a_link_without_its_address_comes_up_without_routes(tmp_path: Path) -> None:
    order = (("address-removed", ""), ("down", "interface"), ("up", ""), ("address-added", ""))
    events = [
        _event(f"{n} s", type_, "access1", **({"mode": mode} if mode else {})) for n, (type_, mode) in enumerate(order)
    ]
    _, _, up, added = _lines(_plan(tmp_path, "".join(events)))
    assert up == ["client: ip link set dev access1 up"]
    assert any("route replace" in line for line in added)


def test_changes_add_up(tmp_path: Path) -> None:
    events = _event("2 s", "change", "link1", loss="1 %", direction="forward")
    events += _event("1 s", "change", "link1", delay="5 ms", direction="forward")
    plan = _plan(tmp_path, events)
    assert [event.at_ns for event in plan.events] == [10**9, 2 * 10**9]
    assert "delay 5000.000us" in _lines(plan)[1][0]
    assert "loss random 1%" in _lines(plan)[1][0]
    # The set-up has a netem that can be changed.
    assert any("netem" in command.argv and "link1" in command.argv for command in plan.setup)


def test_script_has_events_at_their_time(tmp_path: Path) -> None:
    plan = _plan(tmp_path, _event("1.5 s", "down", "access1", mode="interface") + _event("4 s", "up", "access1"))
    text = script(plan, title="t")
    match = re.search(
        r"& c1=.*?\nsleep 1\.5\n# down access1 both interface\n(.*?)\nsleep 2\.5\n# up access1", text, re.DOTALL
    )
    assert match is not None, text
    assert match[1] == "ip netns exec client ip link set dev access1 down"


def test_script_repeats_traces(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_s,rate_mbit_s\n0,8\n1,2\n")
    text = script(_plan(tmp_path, '[links.link2]\ntrace = { file = "t.csv" }\n'), title="t")
    assert text.count("(sleep 0; while :; do") == 1
    assert "kill $loops" in text


def test_members_of_lists_can_be_swept(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        TWO_PATHS.format(top="", more=_event("1 s", "down", "access1"))
        + '[sweep]\n"events.0.mode" = ["silent", "carrier"]\n"events.0.at" = ["1 s", "2 s"]\n'
    )
    points = load(tmp_path / "s.toml").points
    assert [(point.scenario.events[0].mode, str(point.scenario.events[0].at)) for point in points] == [
        ("silent", "1 s"), ("silent", "2 s"), ("carrier", "1 s"), ("carrier", "2 s"),
    ]  # fmt: skip


def test_keys_of_links_override_link_presets(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        TWO_PATHS.format(top="", more='preset = "lte-2014"\nforward = { delay = "1 ms" }\n')
    )
    link = load(tmp_path / "s.toml").points[0].scenario.links["link1"]
    assert (str(link.forward.rate), str(link.forward.delay)) == ("8 Mbit/s", "1 ms")
    assert (str(link.backward.rate), str(link.backward.delay)) == ("8 Mbit/s", "26.55 ms")


def test_every_link_preset_has_its_source_in_the_documentation() -> None:
    text = (ROOT / "docs" / "events.md").read_text()
    assert set(LinkPresetName.__args__) == set(LINK_PRESETS)  # type: ignore[attr-defined]
    for name, preset in LINK_PRESETS.items():
        (row,) = [row.split(" | ") for row in text.splitlines() if row.startswith(f"| `{name}` |")]
        assert [row[1].strip(), row[2].strip()] == [
            "" if rate is None else f"{rate:g}" for rate in (preset.up, preset.down)
        ]
        assert preset.source in text, name


def test_path_manager_knows_the_addresses_behind_each_link(tmp_path: Path) -> None:
    more = '[transport]\npath_manager = "userspace"\n[hosts.client.transport]\nmodes = { access2 = "backup" }\n'
    plan = _plan(tmp_path, more)
    managers = [program for program in plan.programs if program.name.startswith("path-manager.")]
    assert [(program.node, program.role) for program in managers] == [("client", "server"), ("server", "server")]
    assert json.loads(managers[0].argv[1])["paths"] == [
        {"link": "access1", "address": "10.0.1.1", "id": 1, "mode": "on", "reaches": ["10.0.2.2"]},
        {"link": "access2", "address": "10.0.3.1", "id": 2, "mode": "backup", "reaches": ["10.0.4.2"]},
    ]


def test_routes_prefer_the_master(tmp_path: Path) -> None:
    text = """
title = "t"
[topology]
preset = "shared-bottleneck"
[links.bottleneck]
rate = "8 Mbit/s"
[transport]
path_manager = "userspace"
[hosts.client.transport]
modes = { MODES }
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "10 s"
"""
    firsts = {}
    for modes in ('access1 = "on"', 'access2 = "master"', 'access1 = "backup"', 'access1 = "off"'):
        (tmp_path / "s.toml").write_text(text.replace("MODES", modes))
        plan = compile_plan(load(tmp_path / "s.toml").points[0].scenario, seed=1)
        routes = [command.argv for command in plan.setup if command.node == "client" and "src" in command.argv]
        firsts[modes] = {argv[argv.index("dev") + 1] for argv in routes}
    assert list(firsts.values()) == [{"access1"}, {"access2"}, {"access2"}, {"access2"}]
