# SPDX-License-Identifier: MIT
"""The defaults of options for runs, in a module that the command line imports without an engine."""

from __future__ import annotations

import os

from mptcplab.errors import InputError

#: The name of the engine.
DEFAULT_ENGINE = "virtual"
#: Wall time without progress after which a run is terminated. The slowest working labs (hundreds of flows, gigabits)
#: progress every few ms.
DEFAULT_STALL_SECONDS = 30.0


def check_jobs(jobs: int | None) -> None:
    """Refuse a number of parallel labs below 1; None is the default. :raises InputError: if it is."""
    if jobs is not None and jobs < 1:
        raise InputError(f"{jobs} labs in parallel are not possible", hint="give at least 1 as jobs, or leave it out")


def default_jobs() -> int:
    """Return the number of CPUs that this process may use: one lab on each."""
    return len(os.sched_getaffinity(0))
