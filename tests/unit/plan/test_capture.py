# SPDX-License-Identifier: MIT
"""Captures of a scenario: their programs, and the files made of the programs' output."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mptcplab.engine import tools
from mptcplab.errors import LabError, MissingError
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.plan.script import script
from mptcplab.recording.captures import collect
from mptcplab.recording.record import Recording
from mptcplab.scenario.load import load

SCENARIO = """
title = "captures"
topology = { preset = "disjoint-paths" }
workloads.bulk = { kind = "flow", from = "client", to = "server", size = "1 MB" }
"""
SAID = "tcpdump: listening on a\n%d packets captured\n%d packets received by filter\n%d packets dropped by kernel\n"


def plan(tmp_path: Path, captures: str) -> Plan:
    file = tmp_path / "scenario.toml"
    file.write_text(f"{SCENARIO}record.captures = {captures}\n")
    return compile_plan(load(file).points[0].scenario, seed=1)


def test_one_interface_and_all_of_a_node(tmp_path: Path) -> None:
    programs = plan(tmp_path, '[{ node = "client", link = "access2" }, { node = "r1" }]').programs
    names = [program.name for program in programs if program.name.startswith("capture.")]
    assert names == ["capture.client-access2", "capture.r1-access1", "capture.r1-link1"]
    assert {program.role for program in programs[:3]} == {"server"}
    assert [program.node for program in programs[:3]] == ["client", "r1", "r1"]
    assert "tcpdump -i access2 -n -p -s 128 " in programs[0].argv[-1]
    assert programs[3].name == "bulk.server", "captures start before all other programs"


def test_loopback_only_on_request(tmp_path: Path) -> None:
    """A capture of all links of a node leaves out its loopback interface, which may have a capture of its own."""
    programs = plan(tmp_path, '[{ node = "client" }, { node = "client", link = "lo" }]').programs
    names = [program.name for program in programs if program.name.startswith("capture.")]
    assert names == ["capture.client-access1", "capture.client-access2", "capture.client-lo"]
    assert "tcpdump -i lo -n -p -s 128 " in programs[2].argv[-1]
    assert programs[2].node == "client"


def test_offloads_of_loopback_stay_unless_turned_off(tmp_path: Path) -> None:
    off = ("ethtool", "-K", "lo", "tso", "off", "gso", "off", "gro", "off")
    assert all(command.argv[:3] != off[:3] for command in plan(tmp_path, "[]").setup)
    file = tmp_path / "scenario.toml"
    file.write_text(f"{SCENARIO}hosts.client.loopback_offload = false\n")
    scenario = load(file).points[0].scenario
    assert [command.node for command in compile_plan(scenario, seed=1).setup if command.argv == off] == ["client"]


def test_the_default_of_loopback_is_not_recorded(tmp_path: Path) -> None:
    """Recordings from before the key existed have the same scenario, and stay valid."""
    file = tmp_path / "scenario.toml"
    dumped = []
    for line in ("", "hosts.client.loopback_offload = true\n", "hosts.client.loopback_offload = false\n"):
        file.write_text(SCENARIO + line)
        dumped.append(load(file).points[0].scenario.model_dump(mode="json")["hosts"]["client"])
    assert dumped[0] == dumped[1]
    assert "loopback_offload" not in dumped[0]
    assert dumped[2]["loopback_offload"] is False
    assert all("loopback_packet_time" not in record for record in dumped)


def test_packets_take_time_on_loopback_one_by_one(tmp_path: Path) -> None:
    """Aggregates may form only where offloads stay; a slot has one packet, and whole nanoseconds."""
    file = tmp_path / "scenario.toml"
    single = ("ip", "link", "set", "dev", "lo", "gso_max_segs", "1")
    for offload in ("true", "false"):
        lines = f'hosts.client.loopback_offload = {offload}\nhosts.client.loopback_packet_time = "1.28 us"\n'
        file.write_text(SCENARIO + lines)
        setup = compile_plan(load(file).points[0].scenario, seed=1).setup
        (slots,) = (command for command in setup if command.argv[:5] == ("tc", "qdisc", "replace", "dev", "lo"))
        assert slots.node == "client"
        assert " ".join(slots.argv[5:]) == "root handle 1: netem limit 1000000 slot 1280ns packets 1"
        assert [command.node for command in setup if command.argv == single] == ["client"] * (offload == "false")


def test_no_capture_no_change(tmp_path: Path) -> None:
    assert "tcpdump" not in plan(tmp_path, "[]").uses


def test_filter_and_length(tmp_path: Path) -> None:
    chosen = """[{ node = "server", link = "link1", snaplen = "256 KiB", filter = "tcp and not host '10.0.0.1'" }]"""
    line = plan(tmp_path, chosen).programs[0].argv[-1]
    assert " -s 262144 " in line
    assert """'tcp and not host '"'"'10.0.0.1'"'"''""" in line, "one word for the shell"


def test_the_script_runs_and_ends_captures(tmp_path: Path) -> None:
    text = script(plan(tmp_path, '[{ node = "client" }]'), title="t")
    assert "> capture.client-access1.out 2> capture.client-access1.err & s1=$!" in text
    assert "kill $s1" in text
    checked = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_a_machine_without_tcpdump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "tcpdump" in plan(tmp_path, '[{ node = "client" }]').uses
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingError) as missing:
        tools.find_program("tcpdump")
    assert (missing.value.message, missing.value.hint) == (
        "this machine has no 'tcpdump'",
        "sudo apt-get install tcpdump",
    )


def _write_stderr(folder: Path, stderr: str) -> Path:
    (folder / "out").mkdir()
    (folder / "out" / "capture.client-access1.out").write_bytes(b"pcap")
    (folder / "out" / "capture.client-access1.err").write_text(stderr)
    return folder


def test_captures_become_files(tmp_path: Path) -> None:
    collect(_write_stderr(tmp_path, SAID % (7, 9, 0)), ["capture.client-access1", "bulk.server"])
    (path,) = Recording(tmp_path).captures.items()
    assert (path[0], path[1].read_bytes()) == ("client-access1", b"pcap")
    assert not (tmp_path / "out" / "capture.client-access1.out").exists()


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        (SAID % (90, 100, 10), "the capture client-access1 lost 10 of 100 packets"),
        ("tcpdump: access1: you are out of luck\n", "the capture client-access1 did not end properly"),
        ("", "the capture client-access1 did not end properly"),
    ],
)
def test_captures_with_holes_fail(tmp_path: Path, stderr: str, message: str) -> None:
    with pytest.raises(LabError) as error:
        collect(_write_stderr(tmp_path, stderr), ["capture.client-access1"])
    assert error.value.message == message
