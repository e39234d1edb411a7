# SPDX-License-Identifier: MIT
"""CPU time of a whole process tree, which other work on the machine changes far less than wall time."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Usage:
    """What something took: wall seconds, and CPU seconds in programs and in the kernel."""

    wall: float
    user: float
    system: float

    @property
    def cpu(self) -> float:
        """All CPU seconds."""
        return self.user + self.system


def measured(work: Callable[[], Any]) -> tuple[Any, Usage]:
    """``work()`` in a forked process: its result, which must survive JSON, and what its *children* took.

    The process adopts orphans, so that a grandchild counts even when its own parent ended without waiting for it, as
    the lab kernel does with its processes. Its own time (Python's) is left out.
    """
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(work, readable, writable)
    os.close(writable)
    with open(readable) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    answer = json.loads(said) if said else {"error": "the measuring process died"}
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["result"], Usage(*answer["usage"])


def _child(work: Callable[[], Any], readable: int, writable: int) -> None:
    """Never returns."""
    answer: dict[str, Any] = {}
    try:
        os.close(readable)
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        started = time.monotonic()
        answer["result"] = work()
        wall = time.monotonic() - started
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        answer["usage"] = [wall, used.ru_utime, used.ru_stime]
    except BaseException as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    with open(writable, "w") as pipe:
        json.dump(answer, pipe)
    os._exit(0)
