# SPDX-License-Identifier: MIT
"""Locks on bytes of one file: one for each run or CPU, without a file for each.

They belong to an open file description, not to a process. Therefore threads of one process exclude each other as well,
and the locks end with the file, however the process ends.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mptcplab.cache import cache_root

#: ``struct flock`` of 64-bit Linux: type, whence, start, length, process.
_FLOCK = "hhqqi4x"
_TURNS = itertools.count()


@contextmanager
def locked_place(file: Path, place: int) -> Iterator[bool]:
    """Hold the lock on byte ``place`` (0 to 2**62) of ``file`` while inside; yield False if another holder has it."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        yield _try_lock(descriptor, place)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, place: int) -> bool:
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0))
    except (BlockingIOError, PermissionError):
        return False
    return True


@contextmanager
def leased_cpu() -> Iterator[int]:
    """Yield a CPU for one lab: one that no lab of any command of this user has, if there is one.

    Two labs on one CPU take turns, and each becomes several times slower. More labs than CPUs share them in turn.
    """
    available = sorted(os.sched_getaffinity(0), reverse=True)
    folder = cache_root() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "cpus", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        free = next((cpu for cpu in available if _try_lock(descriptor, cpu)), None)
        yield available[next(_TURNS) % len(available)] if free is None else free
    finally:
        os.close(descriptor)
