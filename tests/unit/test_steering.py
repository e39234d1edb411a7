# SPDX-License-Identifier: MIT
"""Steering in scenarios: the plan's programs, what tables it needs, the daemon's file, its log as a metric."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click.testing
import pytest
from tests.unit.written import Write, one

from mptcplab.cli.steer import steer
from mptcplab.engine.steering import archive, steer_program
from mptcplab.errors import InputError
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.steering import STEER
from mptcplab.scenario.load import load

SCENARIO = """
title = "steered"
routers = { core = {}, ap1 = {}, ap2 = {} }
links.back1 = { between = ["ap1", "core"], delay = "1 ms" }
links.back2 = { between = ["ap2", "core"], delay = "1 ms" }
links.uplink = { between = ["core", "server"], delay = "1 ms" }
[hosts.server.transport]
path_manager = "userspace"
endpoints = "none"
[steering]
at = "server"
access_points = ["ap1", "ap2"]
threshold = 1.05
[copies.terminal]
count = 2
[copies.terminal.hosts."t{n}"]
[copies.terminal.links."home{n}"]
between = ["t{n}", "ap1"]
[copies.terminal.links."other{n}"]
between = ["t{n}", "ap2"]
[copies.terminal.workloads."down{n}"]
kind = "flow"
from = "t{n}"
to = "server"
reverse = true
duration = "2 s"
"""


def test_the_programs_of_a_plan(write: Write) -> None:
    plan = compile_plan(one(load(write(SCENARIO))), seed=7)
    found = {program.name: program for program in plan.programs if program.argv[0] == STEER}
    assert {name: (program.node, program.argv[1]) for name, program in found.items()} == {
        "steering": ("server", "daemon"),
        "steering-agent.ap1": ("ap1", "agent"),
        "steering-agent.ap2": ("ap2", "agent"),
    }
    daemon, agent = (json.loads(found[name].argv[2]) for name in ("steering", "steering-agent.ap1"))
    assert (daemon["policy"], daemon["threshold"], daemon["seed"], daemon["period_s"]) == ("ratio", 1.05, 7, 1.0)
    assert agent["devices"] == ["home1", "home2"], "not the wire to the server"
    assert agent["server"] == ["10.0.3.2", daemon["listen"][1]]
    assert agent["key"] == daemon["key"]


def test_nothing_without_the_table(write: Write) -> None:
    text = SCENARIO.replace('[steering]\nat = "server"\naccess_points = ["ap1", "ap2"]\nthreshold = 1.05\n', "")
    scenario = one(load(write(text)))
    assert "steering" not in json.loads(scenario.model_dump_json())
    assert not any(program.argv[0] == STEER for program in compile_plan(scenario, seed=1).programs)


def test_the_program_is_one_file_that_needs_python_only(tmp_path: Path) -> None:
    """Every module that either side imports is in it; equal sources are equal bytes."""
    assert archive() == archive()
    program = steer_program()
    for side in ("daemon", "agent"):
        module = f"import sys; sys.path.insert(0, {str(program)!r}); import mptcplab.steering.{side} as m"
        module += "; print(m.__file__)"
        done = subprocess.run([sys.executable, "-ISc", module], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert str(program) in done.stdout
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "usage" in done.stderr


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "is not a table"),
        ('{"policy": "best"}', "no policy 'best'"),
        ('{"policy": "ratio"}', "has no listen, key, period_s, floor_dbm, threshold"),
        ('{"policy":"none","listen":["::",1],"key":"xy","period_s":1,"floor_dbm":-90}', "not hexadecimal"),
        ('{"policy":"none","listen":["::",1],"key":"00","period_s":1,"floor_dbm":-90}', "too short"),
    ],
)
def test_a_wrong_configuration_is_one_sentence(config: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "daemon.json"
    file.write_text(config)
    done = click.testing.CliRunner().invoke(steer, ["daemon", str(file)], standalone_mode=False)
    assert isinstance(done.exception, InputError), done.output
    assert said in done.exception.message
    assert done.exception.hint
