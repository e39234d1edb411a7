# SPDX-License-Identifier: MIT
"""A results folder: recordings by their identities, runs in progress, and the locks of both."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import platform
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from mptcplab.cache import cache_root, make_work_folder, report_cache_errors
from mptcplab.engine.protocol import DiskFullError, RunInterruptedError
from mptcplab.errors import InputError, LabError, reason
from mptcplab.recording.record import finish_failed

# Locks on bytes of one file: one for each run or CPU, without a file for each.
#
# They belong to an open file description, not to a process. Therefore threads of one process exclude each other as
# well, and the locks end with the file, however the process ends.

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
    with report_cache_errors():
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / "cpus", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        rows = itertools.count(step=_ROW)
        yield next(cpu for row in rows for cpu in available if _try_lock(descriptor, row + cpu))
    finally:
        os.close(descriptor)


# A results folder: recordings by their identities, and runs in progress.
#
# OUT/runs/IDENTITY/   one recording each, renamed into place when complete
#     failed/IDENTITY/ the files of a failed run, until it succeeds
#     log.jsonl        when, where and how fast each run was executed, which is not part of its identity
#     .work/           runs in progress; the next command removes the files of a killed process
#     .work/lock       locked at the byte of an identity by the process that records it

_PLACES = 1 << 62


class Store:
    """One results folder, created if it is missing. :raises InputError: if it cannot be written."""

    def __init__(self, out: Path) -> None:
        self.out = out.resolve()
        self._runs = self.out / "runs"
        self._work = self.out / ".work"
        self._log = self.out / "log.jsonl"
        self._log_lock = threading.Lock()
        try:
            self._runs.mkdir(parents=True, exist_ok=True)
            # This removes leftovers, and shows early whether the folder can be written.
            with make_work_folder("start", self._work), self._log.open("a"):
                pass
        except OSError as error:
            hint = "name another folder with --out"
            raise InputError(f"{out}: {reason(error)}", hint=hint) from error

    def folder_of(self, identity: str) -> Path:
        """Return the folder of a recording, which need not exist."""
        return self._runs / identity

    def claim(self, identity: str) -> AbstractContextManager[bool]:
        """Hold the lock to create or rename this recording; yield False if another thread or process has it."""
        return hold_place(self._work / "lock", int(identity, 16) % _PLACES)

    @contextlib.contextmanager
    def new_folder(self, identity: str) -> Iterator[Path]:
        """Yield an empty folder to record in, which becomes the recording if the block succeeds.

        The files of a failed run move to ``failed/``, which the hint of its error names. Files of an interrupted run,
        and of a run for which the disk was full, are removed.
        """
        target, failed = self.folder_of(identity), self.out / "failed" / identity
        with make_work_folder(identity, self._work) as work:
            folder = work / "run"
            folder.mkdir()
            try:
                yield folder
            except (RunInterruptedError, DiskFullError):
                raise
            except LabError as error:
                if any(folder.iterdir()):
                    finish_failed(folder, error.message)
                    _replace(failed, folder, work / "replaced")
                    files = f"files of the failed run: {failed}"
                    error.hint = f"{error.hint}\n  {files}" if error.hint else files
                raise
            _replace(target, folder, work / "replaced")
            with contextlib.suppress(OSError):
                failed.rename(work / "failed")
                failed.parent.rmdir()

    def note(self, identity: str, *, wall_seconds: float, virtual_ns: int, worker: str = "") -> None:
        """Append a line about an executed run to the log. ``worker`` names the worker that executed it."""
        host = {"kernel": platform.release(), "machine": platform.machine(), "cpus": os.cpu_count()}
        line = {
            "run": identity,
            "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "wall_seconds": round(wall_seconds, 3),
            "virtual_seconds": virtual_ns / 1e9,
            "host": {"worker": worker} if worker else host,
        }
        with self._log_lock, self._log.open("a") as log:
            log.write(json.dumps(line, sort_keys=True) + "\n")


def _replace(target: Path, folder: Path, old: Path) -> None:
    """Move ``folder`` to ``target``, and the previous one to ``old``."""
    with contextlib.suppress(FileNotFoundError):
        target.rename(old)
    target.parent.mkdir(exist_ok=True)
    folder.rename(target)
