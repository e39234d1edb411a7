# SPDX-License-Identifier: MIT
"""The default interval between samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.plan.compile import compile_plan
from mptcplab.plan.estimate import sample_interval_ns
from mptcplab.scenario.load import load

TEXT = """
title = "t"
topology.preset = "direct"
links.link1 = { rate = "80 Mbit/s", delay = "10 ms" }
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
"""


@pytest.mark.parametrize(
    ("goal", "milliseconds"),
    [
        ('duration = "100 ms"', 10),
        ('duration = "1 s"', 10),
        ('duration = "5 s"', 50),
        ('duration = "10 s"', 100),
        ('duration = "10 s"\nstart = "10 s"', 200),
        ('duration = "30 s"', 200),
        ('duration = "60 s"', 500),
        ('duration = "1 h"\ntimeout = "2 h"', 1000),
        ('size = "100 MB"', 100),
        ('size = "2 GB"', 1000),
        ('duration = "10 s"\n[record]\ninterval = "2 s"', 2000),
    ],
)
def test_about_a_hundred_samples(tmp_path: Path, goal: str, milliseconds: int) -> None:
    file = tmp_path / "t.toml"
    file.write_text(TEXT + goal)
    scenario = load(file).points[0].scenario
    assert sample_interval_ns(scenario) == milliseconds * 10**6
    plan = compile_plan(scenario, seed=1)
    assert plan.sample_interval_ns == milliseconds * 10**6
    assert all(f"--interval-ms {milliseconds}" in " ".join(program.argv) for program in plan.programs)
