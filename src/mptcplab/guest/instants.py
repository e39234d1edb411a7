# SPDX-License-Identifier: MIT
"""Fixed instants and fresh random numbers: what makes a run independent of how it came about.

Virtual time moves a little whenever a process reads the clock, and random numbers depend on how many were drawn
before. Both vary with things that do not belong to a run's identity, such as whether Python found its compiled files
or had to compile them. So the guest goes on at instants that are far enough apart to swallow such differences, and
draws from a new sequence at each beginning.
"""

from __future__ import annotations

import ctypes
import os
import time

_libc = ctypes.CDLL(None, use_errno=True)

#: When process 1 begins to set the network up: later than any Python needs to start.
SET_UP_NS = 500_000_000
#: Between commands of the set-up. The longest that we know of, a `tc -batch`, reads the clock for a fiftieth of this.
COMMAND_STEP_NS = 1_000_000
_SECOND = 1_000_000_000
_TIMER_ABSTIME = 1
#: include/uapi/linux/random.h
_RNDRESEEDCRNG = 0x5207


def take_priority() -> None:
    """A real-time priority, which children do not inherit.

    It takes the kernel's timer slack (50 us) away from this process, and lets it go first at an instant.
    """
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def sleep_until(instant_ns: int) -> None:
    """Sleep until the monotonic clock says exactly ``instant_ns``; at once if that is over."""
    until = (ctypes.c_long * 2)(*divmod(instant_ns, _SECOND))
    _libc.clock_nanosleep(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, until, None)


def sleep_for(time_ns: int) -> None:
    """Sleep for ``time_ns`` from now."""
    sleep_until(time.monotonic_ns() + time_ns)


def sleep_to_next(step_ns: int) -> int:
    """Sleep until the next multiple of ``step_ns``, which is returned."""
    instant_ns = (time.monotonic_ns() // step_ns + 1) * step_ns
    sleep_until(instant_ns)
    return instant_ns


def reseed() -> None:
    """Begin a new sequence of random numbers, which only the seed and the number of earlier ones determine.

    That is what our patch of the kernel makes of a reseeding: kernel/patches/0001-um-seed-random-numbers.patch.
    """
    device = os.open("/dev/urandom", os.O_RDONLY | os.O_CLOEXEC)
    failed = _libc.ioctl(device, _RNDRESEEDCRNG)
    os.close(device)
    if failed:
        raise OSError(ctypes.get_errno(), "the random numbers cannot be reseeded")
