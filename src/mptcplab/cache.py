# SPDX-License-Identifier: MIT
"""The cache folder: things built once and kept, locks for building them, and working folders.

    ~/.cache/mptcplab/tmp/     working folders, each locked by its process
                      locks/   one empty file per thing that one process at a time may build
                      logs/    logs of failed builds

Everything else in it belongs to other modules: kernels, our own programs, selftests.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: Digits of the hash of a thing's inputs, in the name of its folder.
KEY_CHARS = 12


def cache_root() -> Path:
    """Return `$XDG_CACHE_HOME/mptcplab`, or `~/.cache/mptcplab`."""
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # By its specification, a relative path is ignored.
    base = configured if configured.is_absolute() else Path.home() / ".cache"
    return base / "mptcplab"


@contextmanager
def hold_lock(name: str, cache: Path, *, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock `name` among all processes; call `waiting` first if another process holds it."""
    directory = cache / "locks"
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / f"{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting is not None:
                waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def make_work_folder(name: str, cache: Path) -> Iterator[Path]:
    """Create a working directory in the cache, and always remove it afterwards.

    Directories of killed processes are removed first; the lock on its pid file, which ends
    with the process, shows that a directory is in use.
    """
    parent = cache / "tmp"
    parent.mkdir(parents=True, exist_ok=True)
    # One process at a time: a new directory has no lock for an instant.
    with hold_lock("tmp", cache):
        _remove_leftovers(parent)
        directory = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))
        pid_file = (directory / "pid").open("w")
        fcntl.flock(pid_file, fcntl.LOCK_EX)
    try:
        with pid_file:
            pid_file.write(f"{os.getpid()}\n")
            pid_file.flush()
            yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _remove_leftovers(parent: Path) -> None:
    for directory in parent.iterdir():
        try:
            with (directory / "pid").open() as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        except OSError:
            pass  # No pid file: its process died before it created one.
        shutil.rmtree(directory, ignore_errors=True)
