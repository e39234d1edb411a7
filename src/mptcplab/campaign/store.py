# SPDX-License-Identifier: MIT
"""A results folder: recordings under the names of their identities, and what is under way.

OUT/runs/IDENTITY/   one recording each; it appears whole, by one rename, or not at all
    failed/IDENTITY/ what a run left that failed, until it succeeds
    log.jsonl        when, where and how fast each run was executed: all that is not part of its identity
    .work/           runs under way; what a killed process left there goes when the next command begins
    .work/lock       held at the place that an identity names by whoever makes that recording
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

from mptcplab.cache import work_dir
from mptcplab.campaign.locks import locked_place
from mptcplab.engine.protocol import DiskFullError, RunInterruptedError
from mptcplab.errors import InputError, LabError, reason
from mptcplab.recording.record import finish_failed

_PLACES = 1 << 62


class Store:
    """One results folder, made if need be. :raises InputError: when nothing can be written there."""

    def __init__(self, out: Path) -> None:
        self.out = out.resolve()
        self._runs = self.out / "runs"
        self._work = self.out / ".work"
        self._log = self.out / "log.jsonl"
        self._log_lock = threading.Lock()
        try:
            self._runs.mkdir(parents=True, exist_ok=True)
            # Removes leftovers, and finds out now whether anything can be written here.
            with work_dir("start", self._work), self._log.open("a"):
                pass
        except OSError as error:
            hint = "name another folder with --out"
            raise InputError(f"{out}: {reason(error)}", hint=hint) from error

    def place(self, identity: str) -> Path:
        """The folder of a recording, there or not."""
        return self._runs / identity

    def claimed(self, identity: str) -> AbstractContextManager[bool]:
        """Hold the right to make or rename this recording; False when someone else, in any process, has it."""
        return locked_place(self._work / "lock", int(identity, 16) % _PLACES)

    @contextlib.contextmanager
    def new_folder(self, identity: str) -> Iterator[Path]:
        """An empty folder to record in; becomes the recording when the block ends well.

        What a failed run left moves to ``failed/``, which is said in the hint of its error; what an interrupted one
        left goes, as does all where the disk is full.
        """
        target, failed = self.place(identity), self.out / "failed" / identity
        with work_dir(identity, self._work) as place:
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
                    error.hint = f"{error.hint}\n  what it left: {failed}" if error.hint else f"what it left: {failed}"
                raise
            _replace(target, folder, place / "replaced")
            with contextlib.suppress(OSError):
                failed.rename(place / "failed")
                failed.parent.rmdir()

    def note(self, identity: str, *, wall_seconds: float, virtual_ns: int, where: str = "") -> None:
        """Append a line about an executed run to the log. ``where`` names another machine."""
        host = {"kernel": platform.release(), "machine": platform.machine(), "cpus": os.cpu_count()}
        line = {
            "run": identity,
            "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "wall_seconds": round(wall_seconds, 3),
            "virtual_seconds": virtual_ns / 1e9,
            "host": {"worker": where} if where else host,
        }
        with self._log_lock, self._log.open("a") as log:
            log.write(json.dumps(line, sort_keys=True) + "\n")


def _replace(target: Path, folder: Path, old: Path) -> None:
    """Let ``folder`` stand at ``target``, and what stood there at ``old``."""
    with contextlib.suppress(FileNotFoundError):
        target.rename(old)
    target.parent.mkdir(exist_ok=True)
    folder.rename(target)
