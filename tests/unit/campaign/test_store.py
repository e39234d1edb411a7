# SPDX-License-Identifier: MIT
"""The places of runs: complete recordings in one folder, files of failed runs in another, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mptcplab.campaign.store import Store
from mptcplab.engine.protocol import DiskFullError, RunInterruptedError
from mptcplab.errors import LabError
from mptcplab.recording.captures import PREFIX

RUN = "00ab"


def _record(store: Store, *, error: BaseException | None = None, output: str = "words") -> None:
    with store.new_folder(RUN) as folder:
        (folder / "out").mkdir()
        (folder / "out" / "bulk.client.out").write_text(output)
        (folder / "out" / f"{PREFIX}client-link1.out").write_bytes(b"packets")
        (folder / "guest.json").write_text("{}")
        if error is not None:
            raise error


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_files_of_a_failed_run_stay_until_it_succeeds(tmp_path: Path) -> None:
    store, failed = Store(tmp_path), tmp_path / "failed" / RUN
    for output in ("first", "second"):
        with pytest.raises(LabError) as error:
            _record(store, error=LabError("it did not end", hint="look"), output=output)
        assert error.value.hint == f"look\n  files of the failed run: {failed}"
        assert _files(failed) == {"error.txt", "out/bulk.client.out", "captures/client-link1.pcap"}
        assert (failed / "error.txt").read_text() == "it did not end\n"
        assert (failed / "out" / "bulk.client.out").read_text() == output, "the output of the last attempt"
    assert not store.folder_of(RUN).exists()
    _record(store)
    assert store.folder_of(RUN).is_dir()
    assert not (tmp_path / "failed").exists()
    assert not list((tmp_path / ".work" / "tmp").iterdir())


def test_other_failed_runs_stay(tmp_path: Path) -> None:
    store = Store(tmp_path)
    other = tmp_path / "failed" / "00cd"
    other.mkdir(parents=True)
    with pytest.raises(LabError):
        _record(store, error=LabError("no"))
    _record(store)
    assert [path.name for path in other.parent.iterdir()] == [other.name]


def _stop_before_output(store: Store) -> None:
    with store.new_folder(RUN):
        raise LabError("no kernel")


@pytest.mark.parametrize(
    "attempt",
    [
        lambda store: _record(store, error=RunInterruptedError("interrupted")),
        lambda store: _record(store, error=DiskFullError("no space left on device")),
        lambda store: _record(store, error=KeyboardInterrupt()),
        _stop_before_output,
    ],
    ids=["interrupted", "disk full", "Ctrl-C", "nothing there"],
)
def test_nothing_is_left(tmp_path: Path, attempt: Callable[[Store], None]) -> None:
    store = Store(tmp_path)
    with pytest.raises((LabError, KeyboardInterrupt)) as error:
        attempt(store)
    assert "files of the failed run" not in str(getattr(error.value, "hint", ""))
    assert not (tmp_path / "failed").exists()
    assert not list((tmp_path / "runs").iterdir())
    assert not list((tmp_path / ".work" / "tmp").iterdir())
