# SPDX-License-Identifier: MIT
"""Kinds of workloads and nodes, and engines, from outside of the package: they run, and stand in table and HTML."""

from __future__ import annotations

import json
from pathlib import Path

from tests.lab.bench import mptcplab

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
TWO_LINES = PLUGINS.parents[1] / "examples" / "two-paths.toml"


def test_run_of_a_kind_from_elsewhere(tmp_path: Path) -> None:
    plugins = {"MPTCPLAB_PLUGINS": str(PLUGINS / "echo.py")}
    done = mptcplab("run", PLUGINS / "echo.toml", "--out", tmp_path / "out", "--json", env=plugins)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    # 80 bytes in two round trips of 20 ms, to connect and to ask, and the programs' starts.
    rate = row["goodput_mbps"]["mean"]
    assert 0.5 * 8 * 80 / 0.04 < rate * 1e6 <= 8 * 80 / 0.04, rate
    report = mptcplab("report", tmp_path / "out", env=plugins)
    assert report.returncode == 0, report.stderr
    assert "bulk: echo, client" in (tmp_path / "out" / "report.html").read_text()


def test_run_of_a_node_from_elsewhere(tmp_path: Path) -> None:
    """What it does at an instant is seen by its own program, and by connections that come later."""
    plugins = {"MPTCPLAB_PLUGINS": str(PLUGINS / "clamp.py")}
    out = tmp_path / "out"
    done = mptcplab("run", PLUGINS / "clamp.toml", "--out", out, "--json", env=plugins)
    assert done.returncode == 0, done.stderr
    early, late = (row["goodput_mbps"]["mean"] for row in json.loads(done.stdout)["rows"])
    # 52 B of headers and 14 of Ethernet around 1448 or 488 B of payload.
    assert 0.9 < late / early / ((488 / 554) / (1448 / 1514)) < 1.1, (early, late)
    (recording,) = (out / "runs").iterdir()
    assert "maxseg size set 500" in (recording / "out" / "clamp.monitor-tunnel.out").read_text()
    ruleset = json.loads((recording / "counters" / "tunnel" / "nft.json").read_text())["nftables"]
    (rule,) = (entry["rule"]["expr"] for entry in ruleset if "rule" in entry)
    assert rule[-1]["counter"]["packets"] == 2, "SYN and SYN/ACK of the late connection"
    report = mptcplab("report", out, env=plugins)
    assert report.returncode == 0, report.stderr
    page = (out / "report.html").read_text()
    for words in ('<g class="node clamp"', "segments of at most 500 B", "tunnel: clamped 500"):
        assert words in page
    without = mptcplab("report", out, "--out", tmp_path / "page.html")
    assert "'clamp'" in without.stderr, without.stderr


def test_an_engine_from_elsewhere_is_chosen_by_its_name(tmp_path: Path) -> None:
    plugins = {"MPTCPLAB_PLUGINS": str(PLUGINS / "loud.py")}
    arguments = ("run", TWO_LINES, "--set", "transport.protocol=tcp", "--set", "workloads.bulk.duration=100 ms")
    done = mptcplab(*arguments, "--engine", "loud", "--out", tmp_path / "out", env=plugins)
    assert done.returncode == 0, done.stderr
    (recording,) = (tmp_path / "out" / "runs").iterdir()
    assert (recording / "loud.txt").read_text() == "here\n"
    assert json.loads((recording / "manifest.json").read_text())["facts"]["engine"] == "loud"


def test_an_engine_that_is_not_there_is_a_mistake() -> None:
    done = mptcplab("run", TWO_LINES, "--engine", "loud")
    assert done.returncode == 2
    assert "virtual" in done.stderr


def test_a_link_does_what_a_behaviour_from_elsewhere_says(tmp_path: Path) -> None:
    plugins = {"MPTCPLAB_PLUGINS": str(PLUGINS / "police.py")}
    done = mptcplab("run", PLUGINS / "police.toml", "--out", tmp_path / "out", "--json", env=plugins)
    assert done.returncode == 0, done.stderr
    slow, fast = (row["goodput_mbps"]["mean"] for row in json.loads(done.stdout)["rows"])
    # Policed to 4 and 20 Mbit/s for the first half, and to 2 Mbit/s for the second.
    assert 1 < slow < 3
    assert slow < fast < 11
    counted = [json.loads(file.read_text()) for file in sorted((tmp_path / "out").glob("runs/*/counters/r1/tc.json"))]
    assert all(
        any(discipline["kind"] == "clsact" and discipline["drops"] > 0 for discipline in each) for each in counted
    )
    report = mptcplab("report", tmp_path / "out", env=plugins)
    assert report.returncode == 0, report.stderr
    assert "policed to 4 Mbit/s | policed to 20 Mbit/s" in (tmp_path / "out" / "report.html").read_text()
    assert "police" in (tmp_path / "out" / "table.md").read_text()
