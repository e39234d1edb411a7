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
#: Bytes from a lab's CPU to the CPU of the next lab with the same: more than Linux has CPUs.
_ROW = 1 << 16


@contextmanager
def hold_place(file: Path, place: int) -> Iterator[bool]:
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
    """Yield a CPU for one lab: the CPU with the fewest labs of all commands of this user.

    Two labs on one CPU take turns, and each becomes several times slower. So a CPU has a second lab only if all have
    one: each lab holds the lock on the byte of its CPU in the first row of bytes where one is free.
    """
    available = sorted(os.sched_getaffinity(0), reverse=True)
    folder = cache_root() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "cpus", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        rows = itertools.count(step=_ROW)
        yield next(cpu for row in rows for cpu in available if _try_lock(descriptor, row + cpu))
    finally:
        os.close(descriptor)
