# SPDX-License-Identifier: MIT
"""examples/bisect.sh as `git bisect run` calls it, with kernels that are there instead of ones built at each step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.lab.bench import Bench, mptcplab

from mptcplab.kernel import find_kernel
from mptcplab.scenario.load import load

SCRIPT = Path(__file__).resolve().parents[3] / "examples" / "bisect.sh"
SCENARIO = """
title = "two paths"
repeats = 3
topology.preset = "disjoint-paths"
links.link1 = { rate = "RATE", delay = "10 ms", queue = "30 packets" }
links.link2 = { rate = "20 Mbit/s", delay = "40 ms", queue = "30 packets" }
workloads.bulk = { kind = "flow", from = "client", to = "server", size = "3 MB" }
"""


def step(folder: Path, *, built: str, rate: str = "20 Mbit/s") -> subprocess.CompletedProcess[str]:
    """One step, at a commit whose kernel is ``built``: what `mptcplab kernel build` prints, or nothing if it fails."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    answer = f'echo "Linux x: {built}"' if built else "exit 1"
    real = f"{sys.executable} -m mptcplab"
    keep = f'for out; do :; done; {real} "$@" && cp "$out/results.json" {folder}/tested.json'
    stub = f'#!/bin/sh\ncase "$1" in kernel) {answer} ;; run) {keep} ;; *) exec {real} "$@" ;; esac\n'
    (tools / "mptcplab").write_text(stub)
    (tools / "mptcplab").chmod(0o755)
    scenario = folder / "two.toml"
    scenario.write_text(SCENARIO.replace("RATE", rate))
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    command = [str(SCRIPT), str(scenario), str(folder / "good")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)


@pytest.fixture
def good(bench: Bench) -> Path:
    """Results of the good kernel."""
    scenario = bench.folder / "good.toml"
    scenario.write_text(SCENARIO.replace("RATE", "20 Mbit/s"))
    with bench.reuse(load(scenario).runs, bench.folder / "good"):
        done = mptcplab("run", scenario, "--out", bench.folder / "good", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    return bench.folder


def test_the_same_kernel_is_good_and_another_result_is_bad(good: Path) -> None:
    kernel = str(find_kernel("7.2").executable)
    same = step(good, built=kernel)
    assert same.returncode == 0, same.stdout + same.stderr
    # Another scenario under the same name stands for a kernel that does something else.
    other = step(good, built=kernel, rate="5 Mbit/s")
    print(other.stdout)
    assert other.returncode == 1, other.stdout + other.stderr


def test_a_step_runs_the_kernel_that_was_built(good: Path) -> None:
    """The built kernel is 6.12, although runs use 7.2 by default, and the distribution's source is 7.2."""
    kernel = str(find_kernel("6.12").executable)
    done = step(good, built=kernel)
    print(done.stdout)
    # 128: three repeats could have missed a change between these two, which is not what this is about.
    assert done.returncode in (0, 1, 128), done.stdout + done.stderr
    assert f"tested {kernel}" in done.stdout
    rows = json.loads((good / "tested.json").read_text())["rows"]
    assert all(row["kernel"].startswith("6.12.") for row in rows), [row["kernel"] for row in rows]


def test_a_commit_that_does_not_build_is_skipped(tmp_path: Path) -> None:
    assert step(tmp_path, built="").returncode == 125


def test_a_kernel_that_does_not_run_is_skipped(tmp_path: Path) -> None:
    assert step(tmp_path, built="/nowhere/linux").returncode == 125
