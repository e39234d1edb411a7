# SPDX-License-Identifier: MIT
"""A results folder: recordings by their identities, and runs in progress.

OUT/runs/IDENTITY/   one recording each, added complete by one rename
    failed/IDENTITY/ the files of a failed run, until it succeeds
    log.jsonl        when, where and how fast each run was executed, which is not part of its identity
    .work/           runs in progress; the next command removes the files of a killed process
    .work/lock       locked at the byte of an identity by the process that records it
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from mptcplab.cache import make_work_folder
from mptcplab.campaign.locks import hold_place
from mptcplab.engine.protocol import DiskFullError, RunInterruptedError
from mptcplab.errors import InputError, LabError, reason
from mptcplab.recording.record import finish_failed

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

    def place(self, identity: str) -> Path:
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
        target, failed = self.place(identity), self.out / "failed" / identity
        with make_work_folder(identity, self._work) as place:
            folder = place / "run"
            folder.mkdir()
            try:
                yield folder
            except (RunInterruptedError, DiskFullError):
                raise
            except LabError as error:
                if any(folder.iterdir()):
                    finish_failed(folder, error.message)
                    _replace(failed, folder, place / "replaced")
                    files = f"files of the failed run: {failed}"
                    error.hint = f"{error.hint}\n  {files}" if error.hint else files
                raise
            _replace(target, folder, place / "replaced")
            with contextlib.suppress(OSError):
                failed.rename(place / "failed")
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
