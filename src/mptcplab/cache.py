# SPDX-License-Identifier: MIT
"""The cache folder: what is made once and kept, the locks around making it, and folders to work in.

    ~/.cache/mptcplab/tmp/     folders to work in, each locked by its process
                      locks/   one empty file per thing that only one process may make
                      logs/    logs of what failed to be made

All else in it belongs to those who make it: kernels, our own programs, selftests.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: Digits of the hash of all that went into something, in the name of its folder.
KEY_CHARS = 12


def cache_root() -> Path:
    """`$XDG_CACHE_HOME/mptcplab`, or `~/.cache/mptcplab`."""
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # Its specification: a relative path there does not count.
    base = configured if configured.is_absolute() else Path.home() / ".cache"
    return base / "mptcplab"


@contextmanager
def locked(name: str, cache: Path, *, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock `name` among all processes; `waiting` is called when another one has it."""
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
def work_dir(name: str, cache: Path) -> Iterator[Path]:
    """A directory in the cache to work in, removed afterwards whatever happens.

    Directories left behind by processes that were killed are removed first; one is known
    to be in use by the lock on its pid file, which ends with the process.
    """
    parent = cache / "tmp"
    parent.mkdir(parents=True, exist_ok=True)
    # One at a time: a new directory has no lock on it for an instant.
    with locked("tmp", cache):
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
            pass  # No pid file: its process died before it wrote one.
        shutil.rmtree(directory, ignore_errors=True)
