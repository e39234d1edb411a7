# SPDX-License-Identifier: MIT
"""Results of runs that were measured before: the same as new ones, and only as long as nothing has changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.results_folders import make_results

from mptcplab.errors import LabError
from mptcplab.metrics import kept
from mptcplab.metrics.kept import cached_result
from mptcplab.metrics.rows import RunResult, run_result
from mptcplab.recording.record import Recording


@pytest.fixture
def recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Recording]:
    """Recordings, and an empty cache."""
    make_results(tmp_path / "made")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return [Recording(file.parent) for file in sorted((tmp_path / "made").glob("runs/*/manifest.json"))]


@pytest.fixture
def measured_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that were measured, as they are."""
    done: list[str] = []

    def measure(recording: Recording) -> RunResult:
        done.append(recording.folder.name)
        return run_result(recording)

    monkeypatch.setattr(kept, "run_result", measure)
    return done


@pytest.mark.slow
def test_a_kept_result_is_the_measured_one(recordings: list[Recording], measured_runs: list[str]) -> None:
    first = [cached_result(recording) for recording in recordings]
    again = [cached_result(Recording(recording.folder)) for recording in recordings]
    assert again == first == [run_result(recording) for recording in recordings]
    assert len(measured_runs) == len(recordings) > 1, "each is measured once"
    other = cached_result(recordings[0], (("transport.protocol", "mptcp"),))
    assert (other.settings, other.measured) == ((("transport.protocol", "mptcp"),), first[0].measured)


def test_what_has_changed_is_measured_again(
    recordings: list[Recording], measured_runs: list[str], tmp_path: Path
) -> None:
    (recording, *_) = recordings
    cached_result(recording)
    for file in (tmp_path / "cache" / "mptcplab" / "measured").iterdir():
        file.write_bytes(file.read_bytes()[:100])
    assert cached_result(recording) == run_result(recording), "a file that was cut short"
    assert len(measured_runs) == 2
    (recording.folder / "manifest.json").write_text("{}")
    with pytest.raises(LabError, match="has no format number"):
        cached_result(Recording(recording.folder))


def test_plugins_measure_what_they_like(
    recordings: list[Recording], measured_runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "plugins", lambda: (kept,))
    for _ in range(2):
        cached_result(recordings[0])
    assert len(measured_runs) == 2


def test_a_cache_that_cannot_be_written_is_no_obstacle(
    recordings: list[Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cached_result(recordings[0]) == run_result(recordings[0])
