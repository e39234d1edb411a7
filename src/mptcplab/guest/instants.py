# SPDX-License-Identifier: MIT
"""Fixed instants and reseeded random numbers, which make a run independent of its preparation.

Virtual time advances a little whenever a process reads the clock, and random numbers depend on the number drawn before.
Both vary with conditions that are not part of a run's identity, such as whether Python found its compiled files or had
to compile them. Therefore the guest continues at instants that are far enough apart to absorb such differences, and
starts a new random sequence at each stage.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time

from mptcplab.guest.libc import function

_clock_nanosleep = function("clock_nanosleep")
_TIMESPEC = struct.Struct("=qq")

#: The instant at which process 1 begins to set up the network: later than any start of Python takes.
SET_UP_NS = 500_000_000
#: Interval between commands of the set-up. The longest known one, a `tc -batch`, advances the clock 1/50 of it.
COMMAND_STEP_NS = 1_000_000
_SECOND = 1_000_000_000
_TIMER_ABSTIME = 1
#: include/uapi/linux/random.h
_RNDRESEEDCRNG = 0x5207


def take_priority() -> None:
    """Give this process a real-time priority, which children do not inherit.

    It removes the kernel's timer slack (50 us) for this process, and lets it run first at an instant.
    :raises PermissionError: without root.
    """
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def sleep_until(instant_ns: int) -> None:
    """Sleep until the monotonic clock is exactly ``instant_ns``; return at once if that has passed."""
    _clock_nanosleep(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, _TIMESPEC.pack(*divmod(instant_ns, _SECOND)), None)


def sleep_for(time_ns: int) -> None:
    """Sleep for ``time_ns`` from now."""
    sleep_until(time.monotonic_ns() + time_ns)


def sleep_to_next(step_ns: int) -> int:
    """Sleep until the next multiple of ``step_ns``, and return it."""
    instant_ns = (time.monotonic_ns() // step_ns + 1) * step_ns
    sleep_until(instant_ns)
    return instant_ns


def reseed() -> None:
    """Begin a new sequence of random numbers, which depends only on the seed and the number of earlier sequences.

    Our patch gives reseeding this effect: kernel/patches/0001-um-seed-random-numbers.patch.
    """
    device = os.open("/dev/urandom", os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(device, _RNDRESEEDCRNG)
    finally:
        os.close(device)
