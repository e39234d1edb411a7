# SPDX-License-Identifier: MIT
"""Detects labs to terminate: the virtual clock has stopped, or has run far past the end of the plan.

In virtual time, a program that polls without sleeping stops the clock forever, and a guest whose process 1 waits for
an event that never happens lets it race ahead. Reading the clock from outside from time to time reveals both.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from mptcplab.engine.defaults import DEFAULT_STALL_SECONDS
from mptcplab.engine.process import GuestProcess
from mptcplab.engine.protocol import RunInterruptedError

#: A longer interval between two checks counts only this much: the watching process and the lab may have been stopped.
MAX_CHECK_SECONDS = 1.0
#: Virtual time that a guest can use for set-up, and for counters after the last deadline.
ALLOWANCE_NS = 120 * 10**9


@dataclass
class Watchdog:
    """Judges a lab by pairs of wall and virtual time.

    Wall time is monotonic and counts only while the lab could run.
    """

    deadline_ns: int
    stall_seconds: float = DEFAULT_STALL_SECONDS
    _last_ns: int = field(default=-1, init=False)
    _moved_at: float = field(default=0.0, init=False)

    def check(
        self, *, wall_seconds: float, virtual_ns: int, cause: Callable[[], str | None] = lambda: None
    ) -> str | None:
        """Return the reason to terminate the lab, else None; ``cause`` is asked why a clock stopped."""
        if virtual_ns != self._last_ns:
            self._last_ns, self._moved_at = virtual_ns, wall_seconds
        if virtual_ns > self.deadline_ns + ALLOWANCE_NS:
            return f"the guest was still running at {virtual_ns / 1e9:.0f} s of virtual time, long after the plan's end"
        if wall_seconds - self._moved_at > self.stall_seconds:
            usual = "a program in the guest computes or polls without sleeping, or the kernel hangs"
            why = cause() or usual
            return f"virtual time has stopped at {virtual_ns / 1e9:.6f} s for {self.stall_seconds:g} s: {why}"
        return None


class StreamPump(Protocol):
    """Carries a program's streams while its lab runs."""

    @property
    def watched(self) -> list[int]:
        """The descriptors to poll."""
        ...

    def step(self) -> bool:
        """Carry the available data; return True if the lab must wait for this side."""
        ...

    def finish(self) -> None:
        """Carry the remaining data after the end of the lab."""
        ...


def watch(
    machine: GuestProcess,
    watchdog: Watchdog | None,
    poll_seconds: float,
    stop: int | None,
    pump: StreamPump | None = None,
) -> str | None:
    """Watch a machine until it is off; return the reason if it must be terminated.

    :raises RunInterruptedError: if ``stop`` becomes readable.
    """
    checked, running, paused = time.monotonic(), 0.0, False
    while not machine.wait(poll_seconds, stop=stop, also=pump.watched if pump else ()):
        if stop is not None and select.select([stop], [], [], 0)[0]:
            raise RunInterruptedError("interrupted")
        waits = pump.step() if pump else False
        if waits != paused:
            paused = waits
            (machine.pause if paused else machine.resume)()
        now = time.monotonic()
        if pump is None and now - checked < poll_seconds:  # it has printed a line on its console
            continue
        # Between two checks this process may have been stopped, and the lab with it.
        running += 0.0 if paused or machine.is_stopped() else min(now - checked, MAX_CHECK_SECONDS)
        checked, virtual_ns = now, machine.virtual_ns()
        if watchdog is None or virtual_ns is None:
            continue
        problem = watchdog.check(wall_seconds=running, virtual_ns=virtual_ns, cause=machine.cause_of_stall)
        if problem:
            return problem
    return None
