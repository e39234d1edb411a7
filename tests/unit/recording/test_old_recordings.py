# SPDX-License-Identifier: MIT
"""Every reader refuses a recording whose manifest has another format, in one sentence with a hint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.campaign.test_sweep import Hand, execute, experiment_of
from tests.unit.command_output import output_of as run
from tests.unit.example_studies import measure_table
from tests.unit.results_folders import make_results

from mptcplab.campaign import identity
from mptcplab.errors import Exit, LabError
from mptcplab.metrics.links import direction_counters
from mptcplab.metrics.measure import measure
from mptcplab.metrics.network import network_counters
from mptcplab.metrics.rows import result_rows, run_result
from mptcplab.metrics.subflows import ends_of
from mptcplab.pages import build_report, write_report
from mptcplab.recording.record import FORMAT, REPEAT_HINT, Recording, relabel
from mptcplab.report.origin import scenario_of, to_toml
from mptcplab.results import open_every, open_results

READERS: dict[str, Callable[[Recording], Any]] = {
    "manifest": lambda recording: recording.manifest,
    "program": lambda recording: recording.program("bulk.client"),
    "labels": lambda recording: relabel(recording, {"seed": 2}),
    "ends": ends_of,
    "links": lambda recording: list(direction_counters(recording)),
    "network": network_counters,
    "measure": measure,
    "run": run_result,
    "rows": lambda recording: result_rows([recording]),
    "scenario": scenario_of,
    "scenario file": lambda recording: to_toml(recording, title="t"),
}
FOLDER_READERS: dict[str, Callable[[Path], Any]] = {
    "results": open_results,
    "every": open_every,
    "page": build_report,
    "report": lambda folder: write_report(folder, folder / "report.html"),
}
FORMATS = {"none": None, "older": FORMAT - 1, "newer": FORMAT + 1, "text": str(FORMAT)}


def _relabel(manifest: Path, number: object) -> None:
    document = json.loads(manifest.read_text())
    del document["format"]
    # What readers of today ask for is not there either, so that only the number can be what they complain of.
    for key in ("workloads", "links", "nodes", "paths", "programs"):
        document.pop(key, None)
    manifest.write_text(json.dumps(document if number is None else {**document, "format": number}))


def _manifests(folder: Path) -> list[Path]:
    return sorted((folder / "runs").glob("*/manifest.json"))


@pytest.fixture(scope="module")
def results_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "r"
    make_results(folder, keep=lambda run: run.seed == 1)
    return folder


@pytest.fixture
def old(results_folder: Path, tmp_path: Path) -> Path:
    """A results folder of an older format."""
    folder = shutil.copytree(results_folder, tmp_path / "r")
    for manifest in _manifests(folder):
        _relabel(manifest, FORMAT - 1)
    return folder


def _check(error: LabError) -> None:
    assert f"and this version of mptcplab reads only format {FORMAT}" in error.message
    assert "\n" not in error.message
    assert error.hint


@pytest.mark.parametrize("number", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_readers_of_a_run(
    read: Callable[[Recording], Any], number: object, results_folder: Path, tmp_path: Path
) -> None:
    place = shutil.copytree(_manifests(results_folder)[0].parent, tmp_path / "run")
    _relabel(place / "manifest.json", number)
    with pytest.raises(LabError) as raised:
        read(Recording(place))
    _check(raised.value)
    said = "no format number" if number is None else f"format {number}"
    assert raised.value.message.startswith(f"the recording {place} has {said}, ")
    assert raised.value.hint == REPEAT_HINT


@pytest.mark.parametrize("read", FOLDER_READERS.values(), ids=FOLDER_READERS)
def test_readers_of_a_folder(read: Callable[[Path], Any], old: Path) -> None:
    with pytest.raises(LabError) as raised:
        read(old)
    _check(raised.value)
    assert not (old / "report.html").exists()


def test_commands(
    old: Path, results_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run(monkeypatch, capsys, "report", old)
    assert said.status == Exit.FAILED
    assert said.err.count("reads only format") == 1
    assert "Traceback" not in said.err
    compared = run(monkeypatch, capsys, "compare", results_folder, old)
    assert compared.status == Exit.DONE, "results.json has the values, and no recording is read"


def test_one_among_others_is_named(old: Path, results_folder: Path) -> None:
    """The page is about the others, and says so."""
    for before, after in zip(_manifests(results_folder)[1:], _manifests(old)[1:], strict=True):
        shutil.copy(before, after)
    (damaged,) = open_results(old).damaged
    assert "reads only format" in damaged
    (experiment,) = build_report(old).experiments
    assert [notice for notice in experiment.notices if "reads only format" in str(notice.where)]


@pytest.mark.slow
def test_a_study(tmp_path: Path) -> None:
    """Its table has the rows of its document, and each run is named that cannot be shown beside it."""
    folder = tmp_path / "subramani2018"
    measure_table(folder, "subramani2018/4.3", repeats=1)
    for manifest in _manifests(folder):
        _relabel(manifest, None)
    (section,) = build_report(folder).experiments
    assert [notice for notice in section.notices if "reads only format" in str(notice.where)]


def test_runs_of_another_format_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By `run`, `exec` and `reproduce`: a run of another format has another identity."""
    hand = Hand(lambda _: 1)
    monkeypatch.setattr(identity, "FORMAT", FORMAT - 1)
    execute(tmp_path, experiment_of(tmp_path), hand)
    monkeypatch.undo()
    done, _ = execute(tmp_path, experiment_of(tmp_path), hand)
    assert len(hand.made) == len(set(hand.made)) == 2 * len(done)


def test_a_folder_that_was_changed_by_hand(tmp_path: Path) -> None:
    """The identity fits, and the format does not: the run fails, and nothing is overwritten."""
    hand = Hand(lambda _: 1)
    execute(tmp_path, experiment_of(tmp_path), hand)
    for manifest in _manifests(tmp_path / "out"):
        _relabel(manifest, FORMAT - 1)
    done, _ = execute(tmp_path, experiment_of(tmp_path), hand)
    for completed in done:
        assert completed.error is not None
        _check(completed.error)
