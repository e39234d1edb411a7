# SPDX-License-Identifier: MIT
"""The note about workloads that ran underneath later ones, but only in some runs of a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.comparisons import output, row_of, write
from tests.unit.results_folders import make_results

from mptcplab.metrics.rows import ResultRow, run_result
from mptcplab.recording.record import Recording
from mptcplab.report.notes import collect_beginnings, overlap_notes
from mptcplab.report.result_table import result_table

TWO_WORKLOADS = """
title = "One after another"
question = "Does the first one end in time?"
topology.preset = "disjoint-paths"
workloads.first = { kind = "flow", from = "client", to = "server", size = "1 MB" }
workloads.beside = { kind = "flow", from = "client", to = "server", size = "1 MB" }
workloads.later = { kind = "flow", from = "client", to = "server", start = "1 s", size = "1 MB" }
"""


def _row(name: str, overlaps: Mapping[str, Sequence[int]], workload: str = "pages", key: str = "name") -> ResultRow:
    row = row_of({key: name} if name else {}, {1: 10.0, 2: 10.0, 3: 10.0}, workload=workload)
    return replace(row, overlaps={earlier: tuple(seeds) for earlier, seeds in overlaps.items()})


def _notes(*rows: ResultRow) -> list[str]:
    return list(overlap_notes(collect_beginnings(rows)))


def test_rows_in_which_workloads_overlap_are_named() -> None:
    every = {"download": (1, 2, 3)}
    rows = [_row("VDSL", {}), _row("LTE", every), _row("both", {"download": (2,)})]
    (note,) = _notes(*rows, _row("VDSL", {}, "call"), _row("LTE", every, "call"), _row("both", every, "call"))
    assert note.startswith(
        "Overlap in some runs only: pages began while download was still running in LTE; both (1 of 3 runs); and call "
        "began while download was still running in LTE; both. Results differ by that, too. "
    ), note
    (note,) = _notes(*rows, *(replace(row, workload="call") for row in rows))
    assert "only: pages, call began while download was still running in LTE; both (1 of 3 runs). " in note, note
    assert note in result_table("Lines", rows + [replace(row, workload="call") for row in rows]).notes


def test_runs_of_one_point_that_differ_are_counted() -> None:
    (note,) = _notes(_row("", {"download": (1, 3)}))
    assert "still running in 2 of 3 runs. " in note, note


@pytest.mark.parametrize("overlaps", [{}, {"download": (1, 2, 3)}])
def test_no_note_where_all_runs_are_alike(overlaps: Mapping[str, Sequence[int]]) -> None:
    assert not _notes(_row("VDSL", overlaps), _row("LTE", overlaps)), "workloads are mixed on purpose, or never"


@pytest.mark.parametrize("workload", ["pages", "download", "*"])
def test_no_note_where_the_start_is_swept(workload: str) -> None:
    key = f"workloads.{workload}.start"
    rows = [_row("10 s", {"download": (1, 2, 3)}, key=key), _row("60 s", {}, key=key)]
    assert not _notes(*rows), "the overlap is what the sweep compares"


def test_many_rows_and_overlaps_are_not_all_named() -> None:
    names = [f"line{number}" for number in range(9)]
    (note,) = _notes(_row("none", {}), *(_row(name, {"download": (1, 2, 3)}) for name in names))
    assert "line5; and 3 more. " in note, note
    (note,) = _notes(_row("none", {}), _row("LTE", dict.fromkeys(names, (1, 2, 3))))
    assert "line2 was still running in LTE; and 6 more overlaps. " in note, note


@pytest.mark.parametrize(
    ("begin_s", "running", "why"),
    [
        (1.0, True, "the data of the first ones are over after 2 s"),
        (1.95, False, "so little overlap changes nothing"),
        (2.5, False, "one after another"),
    ],
)
def test_what_was_still_running(tmp_path: Path, begin_s: float, running: bool, why: str) -> None:
    make_results(tmp_path / "made", TWO_WORKLOADS)
    (folder,) = (tmp_path / "made" / "runs").iterdir()
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text())
    for program in manifest["programs"]:
        if program["name"] == "later.client":
            program["start_ns"] = int(begin_s * 1e9)
    file.write_text(json.dumps(manifest))
    result = run_result(Recording(folder))
    durations = {measurement.workload: measurement.duration_s for measurement in result.measured}
    assert durations["first"] == pytest.approx(2.0, abs=0.05), "times below count on it"
    parts = result.earlier["later"]
    assert {name: part > 0 for name, part in parts.items()} == {"first": running, "beside": running}, why
    part = (durations["first"] - begin_s) / durations["later"] if running else 0.0
    assert parts["first"] == pytest.approx(min(1.0, part)), why


def test_results_have_overlaps_only_where_there_are_any() -> None:
    assert "overlaps" not in _row("VDSL", {}).to_json()
    assert _row("LTE", {"download": (1, 3)}).to_json()["overlaps"] == {"download": [1, 3]}


def test_compare_tells_of_compared_rows_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [_row("VDSL", {}), _row("LTE", {"download": (1, 2, 3)})]
    rows += [replace(row, workload="download", overlaps={}) for row in rows]
    place = write(tmp_path / "lines", rows)
    told = " ".join(output(capsys, monkeypatch, place, "--by", "name").out.split())
    assert "Overlap in some runs only: pages began while download was still running in LTE. " in told, told
    told = output(capsys, monkeypatch, place, "--by", "name", "--metric", "download:goodput").out
    assert "Overlap" not in told, "pages are not compared"
    before = write(tmp_path / "before", [replace(row, overlaps={}) for row in rows])
    told = " ".join(output(capsys, monkeypatch, before, place).out.split())
    assert "still running in B LTE. " in told, told


def test_overlaps_of_different_lengths_are_told() -> None:
    """A download of a fixed size ends earlier over both lines, so that a call beside it is alone most of the time."""
    rows = [_row("LTE", {"download": (1, 2, 3)}, "call"), _row("both", {"download": (1, 2, 3)}, "call")]
    slow, fast = (replace(row, overlap_parts={"download": part}) for row, part in zip(rows, (1.0, 0.32), strict=True))
    (note,) = _notes(slow, fast)
    assert note.startswith(
        "Overlap of different lengths: download was still running during 32 % of call in both and 100 % in LTE. "
    ), note
    assert not _notes(slow, replace(fast, overlap_parts={"download": 0.95})), "alike"
