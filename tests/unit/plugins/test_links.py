# SPDX-License-Identifier: MIT
"""A plugin's link behaviour and discipline, one file outside of the package, appear everywhere."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from tests.unit.plugins.test_plugins import PLUGINS, run

pytestmark = pytest.mark.slow

SCENARIO = PLUGINS / "police.toml"
POLICE = PLUGINS / "police.py"
police = partial(run, plugins=str(POLICE))
#: A trace in place of the event, and a host as the sender.
TRACED = """
title = "A line whose policer follows a trace"
topology = { preset = "disjoint-paths" }
links.link1 = { rate = "10 Mbit/s", trace = "police.csv" }
links.access1 = { rate = "10 Mbit/s", forward.police = "5 Mbit/s" }
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
size = "1 MB"
"""


def capture_output(*arguments: str) -> str:
    """Return the output of a command that must succeed."""
    done = police("-m", "mptcplab", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_schema() -> None:
    """Links, their directions, events and the discipline's table have the keys."""
    definitions = json.loads(capture_output("schema"))["definitions"]
    places = [name for name, definition in definitions.items() if "police" in definition.get("properties", {})]
    assert sorted(places) == ["DirectionSettings", "Event", "WrittenLink"]
    assert "perturb" in definitions["Aqm"]["properties"]
    assert "sfq" in definitions["DirectionSettings"]["properties"]["discipline"]["enum"]


def test_reference() -> None:
    done = police("-c", "from mptcplab.scenario.reference import reference; print(reference())")
    for line in (
        "| `police` | rate |  | rate above which packets are dropped, without a queue |",
        "| `police` | rate |  | new rate of the policer |",
        "| police | `police` | `police_mbit_s` | `drops` of `clsact`: packets that the policer dropped |",
        "| `perturb` | whole number, 1 to 3600 |  | seconds between changes of the hash: sfq |",
        "a file with values of rate, delay, jitter, loss or police over time",
    ):
        assert line in done.stdout, done.stderr


def test_show() -> None:
    shown = capture_output("show", str(SCENARIO))
    assert 'police = "4 Mbit/s"' in shown
    assert 'police = "2 Mbit/s"' in shown
    assert "20 Mbit/s" in shown


def test_plan() -> None:
    """The filters precede the queueing disciplines, and an event replaces one at one instant."""
    plan = capture_output("plan", str(SCENARIO))
    action = "matchall action police rate {}000000bit burst 20000 conform-exceed drop/continue"
    assert "tc filter add dev link1 egress pref 2 " + action.format(4) in plan
    assert "tc filter add dev link1 ingress pref 2 " + action.format(4) in plan
    assert plan.count(action.format(2)) == 2
    assert "tc filter delete dev link1 egress pref 2\n" in plan
    assert "parent 2:1 handle 3: sfq limit 825 perturb 10" in plan


def test_what_it_admits_is_the_capacity() -> None:
    """The smallest that any behaviour admits: less by the policer, at both points, than by the rate."""
    script = (
        "from pathlib import Path; from mptcplab.campaign.contract import describe_scenario\n"
        "from mptcplab.scenario.load import load\n"
        "from mptcplab.scenario.network import Network\n"
        f"for point in load(Path({str(SCENARIO)!r})).points:\n"
        "    made = describe_scenario(Network(point.scenario), point.scenario.server_ports)\n"
        "    print(next(link['forward']['payload_bps'] for link in made['links'] if link['name'] == 'link1'))"
    )
    assert [float(line) for line in police("-c", script).stdout.split()] == [4e6 * 1448 / 1514, 2e7 * 1448 / 1514]


def test_trace(tmp_path: Path) -> None:
    """Its steps change only the policer; for a sending host, the policer is at the far end of the link."""
    (tmp_path / "police.csv").write_text("time_s,police_mbit_s\n0,4\n1,2\n2,4\n")
    (tmp_path / "s.toml").write_text(TRACED)
    lines = capture_output("plan", str(tmp_path / "s.toml")).splitlines()
    tc = "ip netns exec r1 tc filter"
    action = "pref 2 matchall action police rate {}000000bit burst 20000 conform-exceed drop/continue"
    assert f"{tc} add dev access1 ingress {action.format(5)}" in lines
    step = next(number for number, line in enumerate(lines) if action.format(2) in line)
    assert [line.strip() for line in lines[step - 1 : step + 3]] == [
        f"{tc} delete dev link1 egress pref 2",
        f"{tc} add dev link1 egress {action.format(2)}",
        f"{tc} delete dev link1 ingress pref 2",
        f"{tc} add dev link1 ingress {action.format(2)}",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("links.link1.forward.police=1 kbit/s",), "drops almost every packet"),
        (("links.link2.aqm.target=5 ms",), "does nothing with discipline = sfq"),
        (("links.link2.aqm.perturb=0",), "is out of range"),
        (("events.0.link=link2",), "cannot change a direction without a police"),
        (("events.0.rate=5 Mbit/s", "links.link1.police=2 Mbit/s"), ""),
    ],
)
def test_mistakes_are_those_of_the_scenario(change: tuple[str, ...], message: str) -> None:
    sets = [word for each in change for word in ("--set", each)]
    done = police("-m", "mptcplab", "show", str(SCENARIO), *sets)
    assert done.returncode == (2 if message else 0)
    assert message in done.stderr


def test_an_engine_without_a_capability_is_refused() -> None:
    """Filters are features, like disciplines."""
    done = run("-m", "mptcplab", "run", str(SCENARIO), "--engine", "loud", plugins=f"{POLICE}:{PLUGINS / 'loud.py'}")
    assert done.returncode == 2
    assert "does not support what the scenario does to packets: police, sfq" in done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('name = "police"', 'name = "loss"'), "Behaviour loss exists already"),
        (
            ("    police: Rate", "    jitter: Rate"),
            "the key jitter of the behaviour police belongs to another behaviour already",
        ),
        (
            ("    perturb: Whole", "    target: Whole"),
            "defines the parameter target differently from another discipline",
        ),
    ],
)
def test_a_duplicate_name_is_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(POLICE.read_text().replace(*change))
    done = run("-m", "mptcplab", "show", str(SCENARIO), plugins=str(file))
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
