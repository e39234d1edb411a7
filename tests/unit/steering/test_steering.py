# SPDX-License-Identifier: MIT
"""Steering in scenarios: the plan's programs, what tables it needs, the daemon's file, its log as a metric."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click.testing
import pytest
from tests.unit.scenario_files import Write, first_scenario

from mptcplab.cli.commands.steer import steer
from mptcplab.engine.tools import archive, steer_program
from mptcplab.errors import InputError
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.steering import STEER
from mptcplab.scenario.load import load
from mptcplab.steering.configuration import agent_config, daemon_config
from mptcplab.steering.policies import policy_classes

ROOT = Path(__file__).resolve().parents[3]
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
    plan = compile_plan(first_scenario(load(write(SCENARIO))), seed=7)
    programs = {program.name: program for program in plan.programs if program.argv[0] == STEER}
    assert {name: (program.node, program.argv[1]) for name, program in programs.items()} == {
        "steering": ("server", "daemon"),
        "steering-agent.ap1": ("ap1", "agent"),
        "steering-agent.ap2": ("ap2", "agent"),
    }
    daemon, agent = (json.loads(programs[name].argv[2]) for name in ("steering", "steering-agent.ap1"))
    assert (daemon["policy"], daemon["threshold"], daemon["seed"], daemon["period_s"]) == ("ratio", 1.05, 7, 1.0)
    assert daemon["access_points"]["ap1"]["networks"] == ["10.0.4.0/24", "10.0.6.0/24"]
    assert daemon["access_points"]["ap1"]["wired"], "a router is not an access point of 802.11"
    assert agent["devices"] == ["home1", "home2"], "not the wire to the server"
    assert agent["server"] == "10.0.3.2:9100"
    assert agent["key"] == daemon["access_points"]["ap1"]["key"]


@pytest.mark.parametrize("policy", ["ratio", "fair", "none"])
def test_both_programs_take_what_a_plan_gives_them(write: Write, policy: str) -> None:
    """For each policy, with its keys."""
    more = {"ratio": 'threshold = 1.2\npick = "strongest"', "fair": 'hold = "7 s"\nmargin_db = 4', "none": ""}[policy]
    text = SCENARIO.replace("threshold = 1.05", f'policy = "{policy}"\n{more}')
    plan = compile_plan(first_scenario(load(write(text))), seed=7)
    programs = {program.name: program.argv[2] for program in plan.programs if program.argv[0] == STEER}
    assert daemon_config(programs["steering"]).policy.name == policy
    assert agent_config(programs["steering-agent.ap2"]).access_point == "ap2"


def test_nothing_without_the_table(write: Write) -> None:
    text = SCENARIO.replace('[steering]\nat = "server"\naccess_points = ["ap1", "ap2"]\nthreshold = 1.05\n', "")
    scenario = first_scenario(load(write(text)))
    assert "steering" not in json.loads(scenario.model_dump_json())
    assert not any(program.argv[0] == STEER for program in compile_plan(scenario, seed=1).programs)


def test_the_program_is_one_file_that_needs_python_only(tmp_path: Path) -> None:
    """Every module that either side imports is in it; equal sources are equal bytes."""
    assert archive() == archive()
    program = steer_program()
    modules = ["daemon", "agent", "configuration", "control", *(f"policies.{name}" for name in policy_classes())]
    for module in modules:
        code = f"import sys; sys.path.insert(0, {str(program)!r}); import mptcplab.steering.{module} as m"
        code += "; print(m.__file__)"
        done = subprocess.run([sys.executable, "-ISc", code], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert str(program) in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [([], "not a command"), (["daemon", "{}"], "listen is missing"), (["agent", "no.toml"], "cannot be read")],
)
def test_the_file_alone_says_what_is_wrong(words: list[str], said: str, tmp_path: Path) -> None:
    done = subprocess.run([steer_program(), *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2, done
    assert said in done.stderr
    assert "hint: " in done.stderr
    assert "Traceback" not in done.stderr


DAEMON = """
listen = "127.0.0.1:9100"
period_s = 1
policy = "ratio"
threshold = 1.15
floor_dbm = -90
[access_points.ap1]
key = "000102030405060708090a0b0c0d0e0f"
[access_points.ap2]
key = "000102030405060708090a0b0c0d0e0f"
"""
AGENT = """
access_point = "ap1"
devices = ["lo"]
server = "127.0.0.1:9100"
period_s = 1
key = "000102030405060708090a0b0c0d0e0f"
"""


def _private(file: Path, text: str) -> Path:
    file.write_text(text)
    file.chmod(0o600)
    return file


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("period_s = 1", "period_s =", "cannot be parsed"),
        ("period_s = 1", "", "period_s is missing"),
        ("period_s = 1", 'period_s = "1 s"', "period_s is not a number from 0.1 to 3600"),
        ("period_s = 1", "period_s = inf", "period_s is not a number"),
        ("period_s = 1", "period_s = true", "period_s is not a number"),
        ('listen = "127.0.0.1:9100"', 'listen = "127.0.0.1"', "listen is not an address and a port"),
        ('listen = "127.0.0.1:9100"', 'listen = "server:9100"', "listen is not an address and a port"),
        ('"ratio"', '"best"', "policy is none of the choices"),
        ('"ratio"', '["ratio"]', "policy is none of the choices"),
        ("threshold = 1.15", "", "threshold is missing"),
        ("threshold = 1.15", "treshold = 1.15\nthreshold = 1.15", "treshold is not a key here"),  # codespell:ignore
        ("threshold = 1.15", "threshold = 1.15\nhold_s = 5", "hold_s is not a key here"),
        ("[access_points.ap2]", "[access_points.ap2]\nnetworks = ['10.0.0.1/8']", "access_points.ap2.networks has"),
        ("[access_points.ap2]", "[access_points.ap1.more]", "access_points.ap1.more is not a key here"),
        ("period_s = 1", 'period_s = 1\n"a\\u007fb" = 1', "a\ufffdb is not a key here"),
        ("[access_points.ap2]", '[access_points."\\u007f"]', "access_points.\ufffd. is not a name"),
        ("0e0f", "", "key has fewer than 16 bytes"),
        ("0e0f", "0eff0x", "key has something else than hexadecimal digits"),
        ("key = ", "keyfile = ", "key is missing"),
        ("key = ", "key_file = ", "names"),
    ],
)
def test_a_wrong_configuration_is_one_sentence(old: str, new: str, said: str, tmp_path: Path) -> None:
    file = _private(tmp_path / "daemon.toml", DAEMON.replace(old, new))
    done = click.testing.CliRunner().invoke(steer, ["--config", str(file), "--check"], standalone_mode=False)
    assert isinstance(done.exception, InputError), done.output
    assert said in done.exception.message
    assert str(file) in done.exception.message
    assert done.exception.hint


def test_configurations_that_are_right(tmp_path: Path) -> None:
    """A key of its own file is found beside the configuration."""
    _private(tmp_path / "ap1.key", "000102030405060708090a0b0c0d0e0f\n")
    text = DAEMON.replace('key = "000102030405060708090a0b0c0d0e0f"', 'key_file = "ap1.key"')
    file = tmp_path / "daemon.toml"
    file.write_text(text)
    done = click.testing.CliRunner().invoke(steer, ["--config", str(file), "--check"], standalone_mode=False)
    assert done.exception is None, done.exception
    assert "is valid" in done.output
    assert agent_config(str(_private(tmp_path / "agent.toml", AGENT))).key == bytes(range(16))


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "daemon.toml"
    file.write_text(DAEMON)
    file.chmod(0o644)
    with pytest.raises(InputError, match="others may use the file"):
        daemon_config(str(file))
    secret = tmp_path / "ap1.key"
    secret.write_text("00" * 16)
    secret.chmod(0o640)
    file.write_text(AGENT.replace('key = "000102030405060708090a0b0c0d0e0f"', 'key_file = "ap1.key"'))
    with pytest.raises(InputError, match="others may use"):
        agent_config(str(file))


def test_options_are_checked() -> None:
    for words, said in (([], "no configuration"), (["--config", "x", "status"], "come without 'status'")):
        done = click.testing.CliRunner().invoke(steer, words, standalone_mode=False)
        assert isinstance(done.exception, InputError)
        assert said in done.exception.message


def test_the_documented_configurations() -> None:
    """docs/steering.md shows the files of examples/steering, and its table has every key of the daemon."""
    page = (ROOT / "docs" / "steering.md").read_text()
    for name in ("daemon", "ap1"):
        _, _, text = (ROOT / "examples" / "steering" / f"{name}.toml").read_text().partition("--config")
        assert text.partition("\n")[2] in page
    source = (ROOT / "src" / "mptcplab" / "steering" / "configuration.py").read_text()
    keys = set(re.findall(r'table\.\w+\("(\w+)"', source)) - {"access_point", "devices", "server", "probe"}
    assert len(keys) > 10
    assert {key for key in keys if key not in page} == set()


@pytest.mark.parametrize("name", ["daemon", "ap1"])
def test_the_example_files_are_valid(name: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "steering" / f"{name}.toml", tmp_path)
    for key in ("ap1", "ap2"):
        _private(tmp_path / f"{key}.key", "5a" * 32)
    file = str(tmp_path / f"{name}.toml")
    if name == "daemon":
        assert [point.name for point in daemon_config(file).access_points] == ["ap1", "ap2"]
    else:
        assert agent_config(file).devices == ["wlan0"]


@pytest.mark.parametrize("name", ["mptcplab-steer", "mptcplab-steer-agent"])
def test_systemd_accepts_the_units(name: str, tmp_path: Path) -> None:
    """What they leave the programs is tried on 802.11 (tests/wifi/test_steering.py)."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("this machine has no systemd-analyze")
    text = (ROOT / "examples" / "steering" / f"{name}.service").read_text()
    assert "/usr/local/bin/steer" in text
    unit = tmp_path / f"{name}.service"
    # It wants the programs to be there.
    unit.write_text(text.replace("/usr/local/bin/steer", sys.executable))
    done = subprocess.run([analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
