# SPDX-License-Identifier: MIT
"""A pack that travels: elsewhere, without any result, its runs give the numbers that it has recorded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.lab.bench import mptcplab

SCENARIO = """
title = "a pack that travels"
repeats = 2

[topology]
preset = "disjoint-paths"
paths = 2

[links.link1]
trace = "lte.csv"
delay = "10 ms"
loss = "1 %"

[links.link2]
rate = "5 Mbit/s"
delay = "30 ms"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "1 s"
"""
TRACE = "time_s,rate_mbit_s\n0,8\n0.5,16\n"


def test_a_pack_gives_the_same_bytes_elsewhere(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    (home / "s.toml").write_text(SCENARIO)
    (home / "lte.csv").write_text(TRACE)
    done = mptcplab("run", home / "s.toml", "--out", home / "r")
    assert done.returncode == 0, done.stderr
    pack = elsewhere / "s.mptcplab.zip"
    done = mptcplab("pack", home / "s.toml", "--recordings", home / "r", "-o", pack)
    assert done.returncode == 0, done.stderr
    assert "2 files of the scenario, 2 recordings" in done.stdout
    shutil.rmtree(home)

    done = mptcplab("run", pack, "--out", elsewhere / "r", "--json")
    assert done.returncode == 0, done.stderr
    assert "2 runs: " in done.stderr, "the runs are executed, not read"
    assert "The numbers of 2 runs are the same bytes as those in the pack." in done.stderr
    assert json.loads(done.stdout)["file"] == str(pack)

    # Another delay gives other runs, and the pack knows none of them.
    done = mptcplab("run", pack, "--out", elsewhere / "r2", "--set", "links.link2.delay=31 ms", "--repeats", "1")
    assert done.returncode == 0, done.stderr
    assert "None of these runs is in the pack" in done.stderr


def test_other_numbers_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "lte.csv").write_text(TRACE)
    done = mptcplab("run", tmp_path / "s.toml", "--out", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    output = sorted((tmp_path / "r/runs").glob("*/out/*.out"))[0]
    output.write_text(f"{output.read_text()}\n")
    pack = tmp_path / "s.mptcplab.zip"
    done = mptcplab("pack", tmp_path / "s.toml", "--recordings", tmp_path / "r", "-o", pack)
    assert done.returncode == 0, done.stderr
    done = mptcplab("run", pack, "--out", tmp_path / "r2")
    assert done.returncode == 0, done.stderr
    assert "The numbers of 1 of 2 runs differ from those in the pack:" in done.stderr
    assert output.name in done.stderr
