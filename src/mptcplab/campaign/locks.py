# SPDX-License-Identifier: MIT
"""Locks on places in one file: as many as there are runs and CPUs, without a file for each.

They belong to an open file, not to a process, so that threads of one process exclude each other as well, and they end
with it, however it ends.
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
    """Hold the lock on ``place`` (0 to 2**62) of ``file`` while inside; False, and nothing held, if another does."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        yield _try(descriptor, place)
    finally:
        os.close(descriptor)


def _try(descriptor: int, place: int) -> bool:
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0))
    except (BlockingIOError, PermissionError):
        return False
    return True


@contextmanager
def leased_cpu() -> Iterator[int]:
    """A CPU for one lab: one that no other lab of this user has, whichever command runs it, if there is one.

    Two labs on one CPU take turns, and each is several times slower. With more labs than CPUs they share in turn.
    """
    mine = sorted(os.sched_getaffinity(0), reverse=True)
    folder = cache_root() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "cpus", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        free = next((cpu for cpu in mine if _try(descriptor, cpu)), None)
        yield mine[next(_TURNS) % len(mine)] if free is None else free
    finally:
        os.close(descriptor)
