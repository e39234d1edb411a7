# SPDX-License-Identifier: MIT
"""The program that ``test_metric`` runs with the plugin loaded. It prints all that knows of the metric."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.unit.results_folders import make_results, write_run

from mptcplab.campaign.lab import CompletedRun
from mptcplab.campaign.rounds import Rounds
from mptcplab.metrics.rows import RunResult, run_result
from mptcplab.pages import write_report
from mptcplab.recording.record import Recording
from mptcplab.report.result_table import result_table
from mptcplab.results import open_results
from mptcplab.scenario.load import load
from mptcplab.scenario.reference import reference
from mptcplab.study.library import SelectedTable
from mptcplab.study.measurement import index_results
from mptcplab.study.schema import Study

NAME = "per_subflow_mbps"
SCENARIO = """
title = "Until it is certain"
repeats = { until = "0.1 %", of = "NAME", min = 3, max = 8 }
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "2 s" }
sweep."transport.protocol" = ["mptcp", "tcp"]
"""
TABLE = {
    "title": "t",
    "scenario": "s.toml",
    "along": "transport.protocol",
    "along_label": "protocol",
    "columns": {"each": {"title": "each"}},
    "value": NAME,
    "unit": "Mbit/s",
    "place": "p",
    "tolerance": "5%",
    "why_tolerance": "w",
    "published": {"mptcp": {"each": 30.0}},
}
STUDY = {"name": "made", "title": "t", "authors": "a", "year": 2020, "where": "w", "test_bed": "b"}


def runs_until_certain(folder: Path, of: str) -> list[int]:
    """Return how many runs each point gets. The metric varies by a few tenths of a percent from run to run."""
    folder.mkdir()
    file = folder / "until.toml"
    file.write_text(SCENARIO.replace("NAME", of))
    rounds = Rounds(load(file))
    todo, counts = rounds.first(), [0, 0]
    while todo:
        run = todo.pop(0)
        counts[rounds.points.index(run.point)] += 1
        todo += rounds.plan_next_round(CompletedRun(run, result=run_result(write_run(folder, run))))
    return counts


def of_study(results: list[RunResult]) -> float:
    """Its mean in a table of a study."""
    study = Study.model_validate({**STUDY, "tables": {"1": TABLE}})
    measured = index_results(SelectedTable(study, Path("made"), "1", study.tables["1"]), results)
    return measured["mptcp", "each"].interval.mean


def main(folder: Path) -> None:
    """Print all as JSON."""
    make_results(folder / "r")
    results = open_results(folder / "r")
    table = result_table("t", results.rows)
    write_report(folder / "r", folder / "r.html")
    first = Recording(next((folder / "r" / "runs").iterdir()))
    assert NAME in run_result(first).measured[0].metrics
    result = {
        "table": [dict(zip(table.headings, row, strict=True)) for row in table.rows],
        "numeric": sorted(column.heading for column in table.columns if column.is_numeric),
        "json": [row.to_json()["metrics"][NAME] for row in results.rows],
        "frame": results.runs[NAME].to_list(),
        "study": of_study([run.result for run in results.recorded]),
        "until": runs_until_certain(folder / "until", NAME),
        "until duration": runs_until_certain(folder / "other", "duration"),
        "reference": reference(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
