# SPDX-License-Identifier: MIT
"""Captures of several recorded runs: their tokens and addresses are alike, so they are never read as one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.unit.command_output import Output, output_of

from mptcplab.recording.record import FORMAT

CAPTURES = Path(__file__).parents[1] / "captures"


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Captures at two interfaces of three runs."""
    folders = []
    for seed in (1, 2, 3):
        folder = tmp_path / "runs" / f"run{seed}"
        (folder / "captures").mkdir(parents=True)
        settings = [["links.link1.delay", f"{seed} ms"]]
        (folder / "manifest.json").write_text(json.dumps({"format": FORMAT, "settings": settings, "seed": seed}))
        for link in ("link1", "link2"):
            shutil.copy(CAPTURES / "any-sll2.pcap", folder / "captures" / f"client-{link}.pcap")
            folders.append(folder / "captures" / f"client-{link}.pcap")
    return folders


def _capture(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object) -> Output:
    monkeypatch.setenv("COLUMNS", "400")
    result = output_of(monkeypatch, capsys, "capture", *words)
    return result._replace(err=" ".join(result.err.split()))


@pytest.mark.parametrize("options", [(), ("--json",), ("--statistics",)])
def test_files_of_several_runs_are_refused(
    runs: list[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    status, out, err = _capture(capsys, monkeypatch, *runs, *options)
    assert (status, out) == (2, ""), out
    assert "the files are of 3 runs" in err, err
    assert f"{runs[0].parent}/*.pcap" in err, err
    assert "run2: links.link1.delay 2 ms, seed 2" in err, err


@pytest.mark.slow
def test_files_of_one_run_are_one_capture(
    runs: list[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, err = _capture(capsys, monkeypatch, *runs[:2], "--json")
    assert status == 0, err
    document = json.loads(_capture(capsys, monkeypatch, runs[0], "--json")[1])
    both = json.loads(out)
    assert both["connections"][0]["data_bytes"] == document["connections"][0]["data_bytes"], (
        "in two files, counted once"
    )


@pytest.mark.slow
def test_each_file_of_runs_is_of_another_run(
    runs: list[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three runs with two interfaces would be six runs, and the spread over them too small."""
    status, _, err = _capture(capsys, monkeypatch, "--statistics", "--runs", *runs)
    assert (status, "2 of the files are of the run run1" in err) == (2, True), err
    assert "runs/*/captures/client-link1.pcap" in err, err
    status, out, err = _capture(capsys, monkeypatch, "--statistics", "--runs", "--json", *runs[::2])
    assert status == 0, err
    assert len(json.loads(out)["files"]) == 3, out[:300]
