# SPDX-License-Identifier: MIT
"""Trials of a plan's needs in the kernel of a machine, before the plan runs there."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.engine.needs import needs_of
from mptcplab.plan.compile import compile_plan
from mptcplab.scenario.load import load

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "two-paths.toml"


@pytest.mark.parametrize(
    ("keys", "is_tried"),
    [
        ({"extra_delay": '["0 ms", "2 ms", "40 ms"]'}, False),
        ({"jitter": '"2 ms"', "distribution": '"normal"'}, True),
    ],
    ids=["a table of the plan", "a table of tc"],
)
def test_a_trial_reads_no_table_that_only_the_run_has(keys: dict[str, str], is_tried: bool) -> None:
    overrides = [f"links.link1.{key}={value}" for key, value in keys.items()]
    plan = compile_plan(load(EXAMPLE, overrides=overrides).points[0].scenario, seed=1)
    assert any("distribution" in command.argv for command in plan.commands)
    trials = [need.trial[-1] for need in needs_of(plan).values() if need.name == "netem"]
    assert trials
    assert any("distribution" in trial for trial in trials) == is_tried, trials
    jittered = [trial for trial in trials if len(trial) > trial.index("delay") + 2]
    assert jittered, f"the jitter itself is tried: {trials}"
