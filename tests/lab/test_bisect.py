# SPDX-License-Identifier: MIT
"""examples/bisect.sh as `git bisect run` calls it, with kernels that are there instead of ones built at each step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mptcplab.kernel import find_kernel

from .bench import mptcplab

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "bisect.sh"
SCENARIO = """
title = "two lines"
repeats = 3
topology.preset = "disjoint-lines"
links.line1 = { rate = "RATE", delay = "10 ms", queue = "30 packets" }
links.line2 = { rate = "20 Mbit/s", delay = "40 ms", queue = "30 packets" }
workloads.bulk = { kind = "flow", from = "client", to = "server", size = "3 MB" }
"""


def step(folder: Path, *, built: str, rate: str = "20 Mbit/s") -> subprocess.CompletedProcess[str]:
    """One step, at a commit whose kernel is ``built``: what `mptcplab kernel build` prints, or nothing if it fails."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    answer = f'echo "Linux x: {built}"' if built else "exit 1"
    stub = f'#!/bin/sh\nif [ "$1" = kernel ]; then {answer}; exit; fi\nexec {sys.executable} -m mptcplab "$@"\n'
    (tools / "mptcplab").write_text(stub)
    (tools / "mptcplab").chmod(0o755)
    scenario = folder / "two.toml"
    scenario.write_text(SCENARIO.replace("RATE", rate))
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    command = [str(SCRIPT), str(scenario), str(folder / "good")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """Results of the good kernel."""
    scenario = tmp_path / "good.toml"
    scenario.write_text(SCENARIO.replace("RATE", "20 Mbit/s"))
    done = mptcplab("run", scenario, "--out", tmp_path / "good", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    return tmp_path


def test_the_same_kernel_is_good_and_another_result_is_bad(good: Path) -> None:
    kernel = str(find_kernel("7.2").executable)
    same = step(good, built=kernel)
    assert same.returncode == 0, same.stdout + same.stderr
    # Another scenario under the same name stands for a kernel that does something else.
    other = step(good, built=kernel, rate="15 Mbit/s")
    print(other.stdout)
    assert other.returncode == 1, other.stdout + other.stderr


def test_a_commit_that_does_not_build_is_skipped(tmp_path: Path) -> None:
    assert step(tmp_path, built="").returncode == 125


def test_a_kernel_that_does_not_run_is_skipped(tmp_path: Path) -> None:
    assert step(tmp_path, built="/nowhere/linux").returncode == 125
