# SPDX-License-Identifier: MIT
"""The cache folder: its place, the removal of leftovers, and mutual exclusion by its locks."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from mptcplab.cache import cache_root, hold_lock, make_work_folder


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
    """While another process holds the lock, ``waiting`` is called; then the lock is acquired."""
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

    def waiting() -> None:
        calls.append("waiting")
        (tmp_path / "waiting").touch()

    with hold_lock("x", tmp_path, waiting=waiting):
        assert calls == ["waiting"]
    os.waitpid(child, 0)
