# SPDX-License-Identifier: MIT
"""The cache folder: things built once and kept, locks for building them, and working folders.

    ~/.cache/mptcplab/tmp/     working folders, each locked by its process
                      locks/   one empty file per thing that one process at a time may build
                      logs/    logs of failed builds

Everything else in it belongs to other modules: kernels, our own programs, selftests.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from mptcplab.errors import MissingError, reason

#: The command that chooses another cache folder.
OTHER_CACHE = "export XDG_CACHE_HOME=/a/writable/folder/with/room"
#: Why a file or folder cannot be written. A file that is not there is another mistake, unless it is above the folder.
_UNWRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENOSPC, errno.EDQUOT}
_LOCKS = "locks"
#: Digits of the hash of a thing's inputs, in the name of its folder.
KEY_CHARS = 12


def cache_root() -> Path:
    """Return `$XDG_CACHE_HOME/mptcplab`, or `~/.cache/mptcplab`."""
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # By its specification, a relative path is ignored.
    base = configured if configured.is_absolute() else Path.home() / ".cache"
    return base / "mptcplab"


@contextmanager
def report_cache_errors() -> Iterator[None]:
    """Turn an error that prevents a file in the cache folder from being written into one sentence. Others pass.

    :raises MissingError: for such an OSError that names a file in the folder, the folder, or one above it.
    """
    try:
        yield
    except OSError as error:
        root = cache_root()
        file = Path(error.filename) if isinstance(error.filename, (str, os.PathLike)) else None
        if file is not None and file.is_relative_to(root) and file != root and error.errno in _UNWRITABLE:
            cause = f"{file}: {reason(error)}"
        elif file is not None and root.is_relative_to(file):
            cause = reason(error)
        else:
            raise
        raise _unwritable_error(cause) from error


def check_cache() -> Path:
    """Check that this process can write to the cache folder, without creating it. Return the part that exists.

    :raises MissingError: if it cannot.
    """
    folder = cache_root() / _LOCKS
    existing = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    if not existing.is_dir():
        raise _unwritable_error(f"{existing} is not a folder")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise _unwritable_error(f"{existing} is not writable")
    return existing


def _unwritable_error(cause: str) -> MissingError:
    return MissingError(f"the cache folder {cache_root()} cannot be written: {cause}", hint=OTHER_CACHE)


@contextmanager
def open_log(name: str, cache: Path) -> Iterator[TextIO]:
    """Open the log `name` in the cache to write it anew. :raises MissingError: if the cache cannot be written."""
    file = cache / "logs" / f"{name}.log"
    with report_cache_errors():
        file.parent.mkdir(parents=True, exist_ok=True)
        opened = file.open("w")
    with opened:
        yield opened


@contextmanager
def hold_lock(name: str, cache: Path, *, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock `name` among all processes; call `waiting` first if another process holds it.

    :raises MissingError: if `cache` is the cache folder and cannot be written. :raises OSError: if it is another.
    """
    directory = cache / _LOCKS
    with report_cache_errors():
        directory.mkdir(parents=True, exist_ok=True)
        file = (directory / f"{name}.lock").open("w")
    with file:
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
    :raises MissingError: if `cache` is the cache folder and cannot be written. :raises OSError: if it is another.
    """
    import tempfile  # late, since the command line imports this module for its errors

    parent = cache / "tmp"
    # One process at a time: a new directory has no lock for an instant.
    with hold_lock("tmp", cache), report_cache_errors():
        parent.mkdir(exist_ok=True)
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
