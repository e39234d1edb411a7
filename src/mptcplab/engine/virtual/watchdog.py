# SPDX-License-Identifier: MIT
"""When to give a lab up: its virtual clock stands still, or has run far past the end of the plan.

In virtual time a program that polls without sleeping stops the clock for ever, and a guest whose process 1 waits for
something that never comes lets it race ahead. Both are seen from outside, by looking at the clock now and then.
"""

from __future__ import annotations

import select
import time
from dataclasses import dataclass, field
from typing import Protocol

from mptcplab.engine.protocol import DEFAULT_STALL_SECONDS, RunInterruptedError
from mptcplab.engine.virtual.machine import Machine

#: Longer between two looks does not count in full: the watching process may have been stopped, and the lab with it.
LONGEST_LOOK_SECONDS = 1.0
#: Virtual time that a guest may use for set-up, and for counters after the last deadline.
ALLOWANCE_NS = 120 * 10**9


@dataclass
class Watchdog:
    """Feed it pairs of wall and virtual time; it says what is wrong, or nothing.

    Wall time is that of a clock that nobody sets, in which the lab could run.
    """

    deadline_ns: int
    stall_seconds: float = DEFAULT_STALL_SECONDS
    _last_ns: int = field(default=-1, init=False)
    _moved_at: float = field(default=0.0, init=False)

    def look(self, *, wall_seconds: float, virtual_ns: int) -> str | None:
        """One sentence when the lab has to be ended, else None."""
        if virtual_ns != self._last_ns:
            self._last_ns, self._moved_at = virtual_ns, wall_seconds
        if virtual_ns > self.deadline_ns + ALLOWANCE_NS:
            return f"the guest still ran at {virtual_ns / 1e9:.0f} s of virtual time, long after the plan's end"
        if wall_seconds - self._moved_at > self.stall_seconds:
            return (
                f"virtual time has stood still at {virtual_ns / 1e9:.6f} s for {self.stall_seconds:g} s: "
                "a program in the guest polls without ever sleeping, or the kernel hangs"
            )
        return None


class StreamPump(Protocol):
    """What carries a program's streams while its lab runs."""

    @property
    def watched(self) -> list[int]:
        """Descriptors worth waiting for."""
        ...

    def step(self) -> bool:
        """Carry what is there now. True when the lab has to wait for this side."""
        ...

    def finish(self) -> None:
        """Carry the rest; the lab has ended."""
        ...


def watch(
    machine: Machine,
    watchdog: Watchdog | None,
    look_seconds: float,
    stop: int | None,
    attendant: StreamPump | None = None,
) -> str | None:
    """Look at a machine until it is off. Returns what was wrong when it had to be ended.

    :raises RunInterruptedError: when ``stop`` became readable.
    """
    looked, running, paused = time.monotonic(), 0.0, False
    while not machine.wait(look_seconds, stop=stop, also=attendant.watched if attendant else ()):
        if stop is not None and select.select([stop], [], [], 0)[0]:
            raise RunInterruptedError("interrupted")
        waits = attendant.step() if attendant else False
        if waits != paused:
            paused = waits
            (machine.pause if paused else machine.resume)()
        now = time.monotonic()
        # Between two looks this process may have been stopped, and the lab with it.
        running += 0.0 if paused or machine.is_stopped() else min(now - looked, LONGEST_LOOK_SECONDS)
        looked, virtual_ns = now, machine.virtual_ns()
        wrong = watchdog and virtual_ns is not None and watchdog.look(wall_seconds=running, virtual_ns=virtual_ns)
        if wrong:
            return wrong
    return None
