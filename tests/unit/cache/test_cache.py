# SPDX-License-Identifier: MIT
"""The cache folder: its place, the removal of leftovers, and mutual exclusion by its locks."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from pathlib import Path

import pytest

from mptcplab.cache import (
    OTHER_CACHE,
    cache_root,
    check_cache,
    hold_lock,
    make_work_folder,
    open_log,
    report_cache_errors,
)
from mptcplab.cli.main import main
from mptcplab.errors import MissingError


def test_cache_root_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_root() == tmp_path / "mptcplab"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_root() == tmp_path / "home" / ".cache" / "mptcplab"


def test_work_dir_is_gone_after_a_failure(tmp_path: Path) -> None:
    def fail() -> None:
        with make_work_folder("job", tmp_path) as work:
            (work / "half").touch()
            raise RuntimeError("the build failed")

    with pytest.raises(RuntimeError):
        fail()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_leftovers_are_removed_unless_in_use(tmp_path: Path) -> None:
    for name in ("dead", "alive", "bare"):
        (tmp_path / "tmp" / name).mkdir(parents=True)
    (tmp_path / "tmp" / "dead" / "pid").write_text("1\n")
    with (tmp_path / "tmp" / "alive" / "pid").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with make_work_folder("job", tmp_path) as work:
            assert {path.name for path in (tmp_path / "tmp").iterdir()} == {"alive", work.name}
            assert (work / "pid").read_text() == f"{os.getpid()}\n"


def test_a_second_one_waits_for_the_lock(tmp_path: Path) -> None:
    """While another process holds the lock, ``announce_wait`` is called; then the lock is acquired."""
    calls: list[str] = []
    ready, tell_ready = os.pipe()
    child = os.fork()
    if child == 0:
        with hold_lock("x", tmp_path):
            os.write(tell_ready, b".")
            # Ends, and releases the lock, when the parent reports that it waits.
            while not (tmp_path / "waiting").exists():
                os.sched_yield()
        os._exit(0)
    os.read(ready, 1)

    def announce_wait() -> None:
        calls.append("waiting")
        (tmp_path / "waiting").touch()

    with hold_lock("x", tmp_path, waiting=announce_wait):
        assert calls == ["waiting"]
    os.waitpid(child, 0)


@pytest.fixture
def file_as_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file in the place of the folder in which the cache folder would be."""
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    return file


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "run @two-paths --out out",
        "reproduce subramani2018/4.1 --quick --out out",
        "doctor --for subramani2018/4.1",
        "kernel build",
        "kernel stock 6.12",
        "gateways build",
        "steer program",
    ],
)
def test_commands_name_a_cache_folder_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    file_as_cache: Path,
    tmp_path: Path,
    command: str,
) -> None:
    """It is named, and not the results folder, which is not even created."""
    monkeypatch.chdir(tmp_path)
    for module in ("build", "debian"):
        monkeypatch.setattr(f"mptcplab.kernel.{module}.require_tools", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["mptcplab", *command.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 3, said
    message, hint = said.splitlines()
    assert message.startswith(f"mptcplab: the cache folder {file_as_cache}/mptcplab cannot be written: {file_as_cache}")
    assert hint == f"  hint: {OTHER_CACHE}"
    assert not (tmp_path / "out").exists()


def test_what_needs_the_cache_folder_names_it(file_as_cache: Path) -> None:
    root = cache_root()
    for context in (hold_lock("x", root), make_work_folder("x", root), open_log("x", root)):
        with pytest.raises(MissingError, match=r"the cache folder .* cannot be written: .*not a directory"), context:
            pytest.fail(f"{file_as_cache} is not a folder")


def test_another_folder_is_not_taken_for_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Results have locks and working folders, too, and their errors another remedy."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "results").touch()
    with pytest.raises(NotADirectoryError), make_work_folder("x", tmp_path / "results"):
        pass


@pytest.mark.parametrize(
    ("file", "number", "is_reported"),
    [
        ("mptcplab/tools/flow", errno.EACCES, True),
        ("mptcplab/tools/flow", errno.ENOSPC, True),
        # A file that should be there is a fault of ours, a folder above it one of the machine's.
        ("mptcplab/tools/flow", errno.ENOENT, False),
        ("", errno.ENOENT, True),
        ("other/file", errno.EACCES, False),
    ],
)
def test_errors_of_writing_are_told_from_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, number: int, is_reported: bool
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(MissingError if is_reported else OSError), report_cache_errors():
        raise OSError(number, os.strerror(number), str(tmp_path / file))


def test_a_folder_without_permission_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Root may write everywhere, so the answer of the system is replaced. The check creates nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert check_cache() == tmp_path
    monkeypatch.setattr(os, "access", lambda path, _mode: path != tmp_path)
    with pytest.raises(MissingError, match=f"{tmp_path} is not writable"):
        check_cache()
    assert list(tmp_path.iterdir()) == []
