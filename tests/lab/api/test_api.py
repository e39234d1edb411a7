# SPDX-License-Identifier: MIT
"""A program that uses the API: it loads a scenario, runs it, and reads and compares the results. Nothing is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mptcplab import api

_SCENARIO = """
title = "Two paths"
repeats = 2
topology = { preset = "disjoint-paths" }
links.link1 = { rate = "10 Mbit/s", delay = "5 ms" }
links.link2 = { rate = "10 Mbit/s", delay = "5 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "500 ms" }
sweep."transport.protocol" = ["mptcp", "tcp"]
"""


@pytest.fixture
def experiment(tmp_path: Path) -> api.Experiment:
    file = tmp_path / "two.toml"
    file.write_text(_SCENARIO)
    return api.load(file)


def test_a_program_runs_an_experiment(
    experiment: api.Experiment, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    states: list[api.Progress] = []
    outcome = api.run(experiment, tmp_path / "out", jobs=2, progress=states.append)
    assert [row.settings["transport.protocol"] for row in outcome.rows] == ["mptcp", "tcp"]
    both, single = (row.metrics["goodput_mbps"].mean for row in outcome.rows)
    print(f"{both:.2f} and {single:.2f} Mbit/s")
    assert both > 1.5 * single, "two equal paths, less what the second subflow misses of half a second"
    assert json.loads((outcome.folder / "results.json").read_text()) == json.loads(json.dumps(outcome.document))
    assert outcome.open().runs.height == 4
    assert [run.folder is not None and run.error is None for run in outcome.runs] == [True] * 4
    assert [state.count for state in states] == [0, 0, 1, 2, 3, 4, 4], "begin, workers known, four runs, end"
    assert [state.completed is not None for state in states] == [False, False, True, True, True, True, False]
    assert (states[0].total, states[0].recorded, states[0].seconds_left) == (4, 0, None)
    assert states[-1].ended
    assert states[-1].seconds_left == 0
    again: list[api.Progress] = []
    repeated = api.run(experiment, tmp_path / "out", progress=again.append)
    assert again[0].recorded == 4
    assert [run.wall_seconds for run in repeated.runs] == [None] * 4, "recorded runs are only read"
    assert repeated.document == outcome.document
    comparison = api.compare(outcome.folder, by="transport.protocol")
    assert comparison.is_different
    assert capfd.readouterr().err == ""


def test_single_runs_are_executed_without_a_table(experiment: api.Experiment, tmp_path: Path) -> None:
    last, first = experiment.runs[-1], experiment.runs[0]
    done = api.execute_runs([last, first], tmp_path / "out", jobs=2)
    assert [run.run for run in done] == [last, first], "in the order in which they were given"
    assert all(run.result is not None for run in done)
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {"runs", "log.jsonl", ".work"}
    changes = {"transport.sysctl": '{ "net.ipv4.no_such" = 1 }'}
    broken = api.load(experiment.file, set=changes).runs[:1]
    with pytest.raises(api.LabError) as failed:
        api.execute_runs(broken, tmp_path / "out")
    (kept,) = api.execute_runs(broken, tmp_path / "out", allow_failures=True)
    assert kept.error is not None
    assert kept.error.message == failed.value.message


def test_a_run_that_fails(experiment: api.Experiment, tmp_path: Path) -> None:
    changes = {"transport.sysctl": [{"net.ipv4.no_such": 1}, {"net.ipv4.tcp_sack": 1}]}
    broken = api.load(experiment.file, set=changes, repeats=1)
    with pytest.raises(api.LabError, match="2 of 4 runs failed") as failed:
        api.run(broken, tmp_path / "out")
    assert "to repeat this run alone: mptcplab run" in (failed.value.hint or "")
    outcome = api.run(broken, tmp_path / "out", allow_failures=True)
    assert len(outcome.failed) == 2
    assert len(outcome.rows) == 2, "the other runs have results"
    assert (tmp_path / "out" / "failed.sh").read_text().count("mptcplab run") == 2
    with pytest.raises(api.LabError, match="2 of 4 runs failed"):
        outcome.check()
