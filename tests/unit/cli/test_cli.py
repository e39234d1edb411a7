# SPDX-License-Identifier: MIT
"""The command line: exit statuses, one sentence and a hint, never a traceback, JSON alone on standard output."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.command_output import output_of as run

from mptcplab.doctor.programs import program_uses
from mptcplab.engine import tools
from mptcplab.guest.sampler import SAMPLER
from mptcplab.kernel import KernelBuild
from mptcplab.plan.compile import compile_plan
from mptcplab.scenario.load import load
from mptcplab.workload.context import FLOW

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
GOOD = """
title = "two paths"
question = "Which?"
repeats = 3
topology = { preset = "disjoint-paths", paths = 2 }
links.link1.rate = "10 Mbit/s"
links.link2.rate = "10 Mbit/s"
workloads.bulk = { kind = "iperf3", from = "client", to = "server", duration = "1 s" }
sweep."transport.protocol" = ["tcp", "mptcp"]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "two.toml"
    file.write_text(GOOD)
    return file


def test_show_is_readable(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scenario: Path) -> None:
    output = run(monkeypatch, capsys, "show", scenario)
    assert output.status == 0, output.err
    assert "6 runs" in output.out
    assert "Which?" in output.out


@pytest.mark.parametrize(
    ("flags", "note"),
    [
        ("fullmesh", "has the flag fullmesh: without subflow, it opens subflows only to addresses that the other side"),
        (
            "fullmesh backup",
            "has the flags fullmesh, backup: without subflow, it opens subflows only to addresses that",
        ),
        ("backup", "has the flag backup: it opens no subflow, and only marks subflows that have its address"),
        ("subflow fullmesh", None),
        ("signal backup", None),
        ("subflow", None),
    ],
)
def test_show_notes_an_endpoint_that_opens_nothing_by_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scenario: Path, flags: str, note: str | None
) -> None:
    endpoint = f'hosts.client.transport.endpoints=[{{ link = "access2", flags = {flags.split()} }}]'
    output = run(monkeypatch, capsys, "show", scenario, "--set", endpoint)
    assert output.status == 0, output.err
    shown = " ".join(output.out.split())
    assert ("Note: the endpoint of client on access2" in shown) == (note is not None)
    assert str(note or "") in shown


def test_an_engine_that_clusters_cannot_execute_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Workers are told an image's release only."""
    words = ("--engine", "stock:6.12,cpus=2", "--cluster", "local:2", "--out", tmp_path / "out")
    output = run(monkeypatch, capsys, "run", EXAMPLES / "ssh/two-cables.toml", *words)
    assert output.status == 2
    message, hint = output.err.splitlines()
    assert message.endswith("--cluster local:2: a cluster cannot execute runs of the engine 'stock:6.12,cpus=2'")
    assert "leave out --cluster" in hint
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["unequal-paths", "train", "failure", "call"])
def test_show_prints_its_first_point_as_a_scenario(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    """It gives the same plan: a base, presets and sweep values are resolved, and only defaults are left out."""
    file = EXAMPLES / f"{name}.toml"
    shutil.copy(EXAMPLES / "train.csv", tmp_path)
    output = run(monkeypatch, capsys, "show", file)
    begin, end = output.out.index("\nkernel = "), output.out.index("\nRuns")
    copy = tmp_path / "copy.toml"
    copy.write_text(f'title = "A copy"\n{output.out[begin:end]}')
    first = compile_plan(load(file).points[0].scenario, seed=1)
    assert compile_plan(load(copy).points[0].scenario, seed=1) == first


def test_show_says_what_a_trace_contains(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With a column of ms for one of s, a ride of minutes was 30 ms long, and nothing said so."""
    shown = run(monkeypatch, capsys, "show", EXAMPLES / "train.toml").out
    assert (
        "# 44 s, then its last values; mean 13.18 Mbit/s, from 0 to 24; 6 s at 0, in which packets wait: an event "
        "`down` loses them\n[links.link1.trace]\n"
    ) in shown
    both = run(monkeypatch, capsys, "show", EXAMPLES / "ride" / "7-ride.toml").out
    assert "# 90 s, then again; mean 28.57 Mbit/s, from 1.47 to 54.64\n[links.link1.backward.trace]\n" in both


def test_a_report_is_no_other_kind_of_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    done = run(monkeypatch, capsys, "report", tmp_path, "--out", tmp_path / "r.pdf")
    assert done.status == 2
    assert "does not end with .html" in done.err
    assert not (tmp_path / "r.pdf").exists()


def test_a_point_has_the_values_that_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Several keys together name one point; with fewer there is a choice, which the hint shows."""
    words = ("plan", EXAMPLES / "questions" / "which-scheduler.toml", "--point", "scheduler=ecf")
    both = run(monkeypatch, capsys, *words, "--point", "transport.congestion_control=balia")
    assert "(transport.scheduler = ecf, transport.congestion_control = balia)" in both.out.splitlines()[1]
    result = run(monkeypatch, capsys, *words)
    assert (result.status, "5 points have scheduler=ecf" in result.err) == (2, True), result.err
    assert "add --point KEY=VALUE for congestion_control = cubic, reno" in result.err


def test_show_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scenario: Path) -> None:
    output = run(monkeypatch, capsys, "show", scenario, "--json", "--seed", "5", "--repeats", "2")
    document = json.loads(output.out)
    assert (document["runs"], document["seeds"], len(document["points"])) == (4, [5, 6], 2)
    assert output.err == ""


def test_plan_of_a_point(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scenario: Path) -> None:
    first = run(monkeypatch, capsys, "plan", scenario)
    second = run(monkeypatch, capsys, "plan", scenario, "--point", "2")
    assert (first.status, second.status) == (0, 0)
    assert "mptcpize" not in first.out
    assert "mptcpize run iperf3" in second.out
    checked = subprocess.run(["sh", "-n"], input=second.out, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("show", "/no/such/file.toml"), "file.toml"),
        (("run", "/no/such/file.toml"), "file.toml"),
        (("plan", "FILE", "--point", "3"), "no point '3': the sweep has 2"),
        (("plan", "FILE", "--point", "x"), "'x' is not a point"),
        (("plan", "FILE", "--point", "1", "--point", "2"), "the number '1' cannot be combined"),
        (("plan", "FILE", "--point", "protocol=tpc"), "did you mean --point protocol=tcp?"),
        (("plan", "FILE", "--point", "cc=cubic"), "'cc' is not a swept key"),
        (("plan", "FILE", "--node", "clint"), "no node 'clint'"),
        (("plan", "FILE", "--node", "client", "--format", "ini"), "'ini'"),
        (("plan", "FILE", "--format", "uci"), "--format needs --node"),
        (("plan", "FILE", "--device", "access1=eth0"), "--device needs --node"),
        (("plan", "FILE", "--out", "OUT"), "--out needs --node"),
        (("plan", "FILE", "--password-file", "x"), "--password-file needs --node"),
        (("plan", "FILE", "--node", "client", "--seed", "2"), "--seed has no effect with --node"),
        (("run", "FILE", "--set", "links.link9.rate=1 Mbit/s"), "link9"),
        (("run", "FILE", "--repeats", "0"), "--repeats"),
        (("run", "FILE", "--jobs", "0"), "--jobs"),
        (("run", "FILE", "--seed", "-1"), "--seed"),
        (("run", "FILE", "--engine", "magic"), "magic"),
        (("run",), "FILE"),
        (("nosuch",), "nosuch"),
        (("plot", "FILE"), "did you mean figure?"),
        (("reproduce", "nosuch"), "nosuch"),
        (("show", "FILE", "--no-such-option"), "--no-such-option"),
        (("run", "FILE", "-j", "1"), "did you mean --junit or --jobs or --json?"),
        (("run", "FILE", "--seeds", "10"), "use --repeats for the number of seeds"),
    ],
)
def test_wrong_input_is_status_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    scenario: Path,
    arguments: tuple[str, ...],
    word: str,
) -> None:
    output = run(monkeypatch, capsys, *(scenario if argument == "FILE" else argument for argument in arguments))
    assert output.status == 2, output.err
    assert output.err.startswith("mptcplab: "), output.err
    assert word in output.err, output.err
    assert output.out == ""


@pytest.mark.slow
def test_no_kernel_is_status_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scenario: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    output = run(monkeypatch, capsys, "run", scenario, "--out", tmp_path / "out")
    assert output.status == 3, output.err
    assert "mptcplab kernel build" in output.err
    assert not (tmp_path / "out").exists()


def _fake_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace our own programs, so that none is compiled."""
    tools = dict.fromkeys((FLOW, SAMPLER), Path("/bin/true"))
    monkeypatch.setattr("mptcplab.campaign.record.compile_tools", lambda: tools)


def _fake_kernel(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "kernel").mkdir()
    (folder / "kernel" / "System.map").write_text("0000000060000000 b time_travel_time\n")
    (folder / "kernel" / "linux").symlink_to("/bin/false")
    fake = KernelBuild("7.2", "7.2.1-fake", "k" * 64, folder / "kernel", "c" * 64)
    monkeypatch.setattr("mptcplab.engine.virtual.engine.find_kernel", lambda _: fake)


def _search(monkeypatch: pytest.MonkeyPatch, folder: Path, without: str) -> None:
    """Set a PATH with links to every program that plans use, except one."""
    links = folder / "bin"
    links.mkdir()
    for name in program_uses():
        path = shutil.which(name, path=tools._SEARCH)
        if path is not None and name != without:
            (links / name).symlink_to(path)
    monkeypatch.setattr(tools, "_SEARCH", str(links))


@pytest.mark.parametrize(("tool", "package"), [("iperf3", "iperf3"), ("tc", "iproute2"), ("gcc", "gcc")])
def test_missing_tool_is_status_3(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    scenario: Path,
    tmp_path: Path,
    tool: str,
    package: str,
) -> None:
    _fake_kernel(monkeypatch, tmp_path)
    if tool != "gcc":
        _fake_tools(monkeypatch)
    _search(monkeypatch, tmp_path, without=tool)
    output = run(monkeypatch, capsys, "run", scenario, "--out", tmp_path / "out")
    assert output.status == 3, output.err
    assert f"no '{tool}'" in output.err
    assert f"mptcplab doctor --for {scenario} --install" in output.err
    assert re.search(rf"apt-get install ([\w-]+ )*{package}\b", output.err), output.err


def test_failed_runs_are_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scenario: Path, tmp_path: Path
) -> None:
    """The first error, the command that repeats it, and the others are printed; no partial recording remains."""
    _fake_kernel(monkeypatch, tmp_path)
    _fake_tools(monkeypatch)
    out = tmp_path / "out"
    output = run(monkeypatch, capsys, "run", scenario, "--out", out, "--jobs", "2")
    assert output.status == 1, output.err
    assert "6 of 6 runs failed" in output.err
    assert "ended without a result (status 1)" in output.err
    assert "--seed 1 --repeats 1 --set transport.protocol=tcp" in output.err
    assert output.out == ""
    assert not list((out / "runs").iterdir())
    assert not list((out / ".work" / "tmp").iterdir())


def test_no_time_travel_is_status_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scenario: Path, tmp_path: Path
) -> None:
    _fake_kernel(monkeypatch, tmp_path)
    (tmp_path / "kernel" / "System.map").write_text("0000000060000000 T _start\n")
    _fake_tools(monkeypatch)
    output = run(monkeypatch, capsys, "run", scenario, "--out", tmp_path / "out")
    assert output.status == 3, output.err
    assert "time travel" in output.err


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("run", "--help"), ("kernel", "--help")])
def test_help_is_status_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    output = run(monkeypatch, capsys, *arguments)
    assert output.status == 0
    assert output.out


@pytest.mark.slow
def test_reader_that_closes_the_pipe(scenario: Path) -> None:
    """``mptcplab plan FILE | head -1`` prints no error."""
    line = f'"{sys.executable}" -m mptcplab plan "{scenario}" | head -1 >/dev/null'
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=os.environ, check=False)
    assert done.stderr == ""
