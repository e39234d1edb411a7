# SPDX-License-Identifier: MIT
"""From a run to its report and its notebook: the way a person goes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from tests.lab.bench import Bench, mptcplab

from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.results import open_results
from mptcplab.results.columns import FRAMES, RUN
from mptcplab.scenario.load import load

ROOT = Path(__file__).resolve().parents[3]
_SECONDS = "workloads.bulk.duration=2 s"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory, engines: Mapping[str, VirtualEngine], shared_results: Path) -> Path:
    """A folder in which the first example was run."""
    folder, file = tmp_path_factory.mktemp("work"), ROOT / "examples" / "two-paths.toml"
    runs = load(file, overrides=[_SECONDS]).runs
    with Bench(engines, folder, shared_results).reuse(runs, folder / "results" / "two-paths"):
        said = mptcplab("run", file, "--set", _SECONDS, "--jobs", "1", cwd=folder)
    assert said.returncode == 0, said.stderr
    assert "mptcplab report results/two-paths" in said.stdout, "the command says how to go on"
    shorter = ("--set", "workloads.visits.duration=5 s", "--repeats", "1")
    said = mptcplab("run", ROOT / "examples" / "web.toml", *shorter, "--jobs", "1", cwd=folder)
    assert said.returncode == 0, said.stderr
    return folder


def test_report_of_a_run(work: Path) -> None:
    said = mptcplab("report", "results/two-paths", "--json", cwd=work)
    assert said.returncode == 0, said.stderr
    answer = json.loads(said.stdout)
    file = work / answer["file"]
    text = file.read_text()
    assert (answer["title"], answer["bytes"], answer["warnings"]) == (
        "Two equal paths of 100 Mbit/s",
        file.stat().st_size,
        0,
    )
    rows = (work / "results" / "two-paths" / "table.md").read_text().splitlines()
    for row in (row for row in rows if row.startswith(("| tcp", "| mptcp"))):
        goodput = row.split(" | ")[1]
        assert f">{goodput}</td>" in text, "the same numbers as in the table"


def test_the_resolved_scenario_gives_the_same_recording(work: Path) -> None:
    """What the report prints as scenario is enough: run alone it has the identity of the run that it is about."""
    from mptcplab.report.origin import to_toml

    first = open_results(work / "results" / "two-paths").recorded[0]
    (work / "again.toml").write_text(to_toml(first.recording, title="Again"))
    said = mptcplab("run", "again.toml", "--jobs", "1", "--out", "again", cwd=work)
    assert said.returncode == 0, said.stderr
    assert [path.name for path in (work / "again" / "runs").iterdir()] == [first.result.identity]


def test_notebook(work: Path, engines: Mapping[str, VirtualEngine], shared_results: Path) -> None:
    """The example runs from beginning to end, and draws; what is kept of its outputs stays small."""
    file = ROOT / "docs" / "notebook.ipynb"
    assert file.stat().st_size < 100_000
    notebook = nbformat.read(file, as_version=4)
    runs = load(ROOT / "examples" / "two-paths.toml").runs
    with Bench(engines, work, shared_results).reuse(runs, work / "results" / "two-paths"):
        client = NotebookClient(
            notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(work)}}
        )
        client.execute()
    kinds = [kind for cell in notebook.cells for output in cell.get("outputs", []) for kind in output.get("data", {})]
    assert "image/png" in kinds
    frames = [kind for kind in kinds if kind == "text/html"]
    assert len(frames) == 4, "table, runs, samples, objects"


@pytest.mark.parametrize("name", ["two-paths", "web"])
def test_every_column_has_a_meaning(work: Path, name: str) -> None:
    results = open_results(work / "results" / name)
    seen = 0
    for frame, columns in FRAMES.items():
        names = [
            column
            for column in getattr(results, frame).columns
            if "." not in column and not column.startswith("share ")
        ]
        unknown = [column for column in names if column not in columns and column not in RUN]
        assert not unknown, f"{frame}: {unknown}"
        seen += len(names)
    assert seen > 100, f"only {seen} columns were seen"


def test_what_cannot_be_reported(work: Path) -> None:
    empty = work / "empty"
    empty.mkdir()
    said = mptcplab("report", empty)
    assert (said.returncode, said.stdout) == (2, "")
    assert "has no recorded runs" in said.stderr
    assert "hint:" in said.stderr
    said = mptcplab("report", "results/two-paths", "--out", "/proc/report.html", cwd=work)
    assert said.returncode == 2
    assert "cannot be written" in said.stderr
