# SPDX-License-Identifier: MIT
"""The defaults of options for runs, in a module that the command line imports without an engine."""

from __future__ import annotations

import os

#: The name of the engine.
DEFAULT_ENGINE = "virtual"
#: Wall time without progress after which a run is terminated. The slowest working labs (hundreds of flows, gigabits)
#: progress every few ms.
DEFAULT_STALL_SECONDS = 30.0


def default_jobs() -> int:
    """Return the number of CPUs that this process may use: one lab on each."""
    return len(os.sched_getaffinity(0))
