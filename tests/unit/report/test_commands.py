# SPDX-License-Identifier: MIT
"""The commands of a report make its results again in its own folder, wherever that is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.results_folders import TWO_LINES, make_results

from mptcplab.pages import build_report
from mptcplab.report.html import ExperimentSection
from mptcplab.results import PARTIAL


def _make(folder: Path, file: str, *, planned: bool = False) -> ExperimentSection:
    """The report of a folder whose results name the scenario ``file``, finished or of 6 of 18 runs."""
    make_results(folder, TWO_LINES, keep=lambda run: run.seed == 1 or not planned)
    document = json.loads((folder / "results.json").read_text()) | {"file": file}
    (folder / "results.json").unlink()
    if planned:
        del document["rows"]
        document |= {"planned": "18 runs", "seed": 1, "repeats": 3}
    (folder / (PARTIAL if planned else "results.json")).write_text(json.dumps(document))
    (section,) = build_report(folder).experiments
    return section


def _commands(section: ExperimentSection) -> list[str]:
    lines = [notice.command for notice in section.notices if notice.command]
    return [*lines, *(each.line for each in section.repeat.commands), section.repeat.runs[0].command]


@pytest.mark.slow
def test_an_unfinished_sweep_continues_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --out, it began from scratch in results/two; and it had as many seeds as were recorded so far."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.toml").write_text(TWO_LINES)
    notice, whole, single = _commands(_make(Path("some where"), "two.toml", planned=True))
    assert notice == whole == "mptcplab run two.toml --out 'some where' --seed 1 --repeats 3"
    assert single.startswith("mptcplab run two.toml --out 'some where' --seed 1 --repeats 1 --set ")


@pytest.mark.slow
def test_finished_results_are_made_again_in_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole, _ = _commands(_make(Path("mine"), str(tmp_path / "two.toml")))
    assert whole == f"mptcplab run {tmp_path}/two.toml --out {tmp_path}/mine --seed 1 --repeats 3"
    whole, _ = _commands(_make(Path("other"), "elsewhere/two.toml"))
    assert f"--out {tmp_path}/other " in whole, "the file is not here, so the command runs somewhere else"


@pytest.mark.slow
@pytest.mark.parametrize("planned", [False, True])
def test_the_default_folder_needs_no_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planned: bool) -> None:
    monkeypatch.chdir(tmp_path)
    commands = _commands(_make(tmp_path / "results" / "two", "examples/two.toml", planned=planned))
    assert all(line.startswith("mptcplab run examples/two.toml --seed 1 --repeats ") for line in commands)


@pytest.mark.slow
def test_a_partial_document_without_seeds_gives_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of recorded runs are not all, and older versions did not write them."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "two"
    _make(folder, "two.toml", planned=True)
    document = json.loads((folder / PARTIAL).read_text())
    (folder / PARTIAL).write_text(json.dumps({**document, "seed": None, "repeats": None}))
    (section,) = build_report(folder).experiments
    assert _commands(section)[:2] == ["mptcplab run two.toml"] * 2
