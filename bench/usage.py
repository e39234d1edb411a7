# SPDX-License-Identifier: MIT
"""Measures the CPU time of a whole process tree, which other work on the machine affects far less than wall time."""

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
    """The wall seconds of some work, and its CPU seconds in programs and in the kernel."""

    wall: float
    user: float
    system: float

    @property
    def cpu(self) -> float:
        """The sum of CPU seconds."""
        return self.user + self.system


def measure_usage(work: Callable[[], Any]) -> tuple[Any, Usage]:
    """Run ``work()`` in a forked process; return its result, which must be valid JSON, and the usage of its *children*.

    The process adopts orphans, so that a grandchild counts even if its parent exited without waiting for it, as the lab
    kernel does with its processes. The process's own time (Python's) is left out.
    """
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(work, readable, writable)
    os.close(writable)
    with open(readable) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    answer = json.loads(text) if text else {"error": "the measuring process died"}
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["result"], Usage(*answer["usage"])


def _child(work: Callable[[], Any], readable: int, writable: int) -> None:
    """Run ``work()``, write its result to ``writable`` and exit; never returns."""
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
