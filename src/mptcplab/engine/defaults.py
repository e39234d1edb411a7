# SPDX-License-Identifier: MIT
"""The defaults of options for runs, in a module that the command line imports without an engine."""

from __future__ import annotations

#: The name of the engine.
DEFAULT_ENGINE = "virtual"
#: Wall time without progress after which a run is terminated. The slowest working labs (hundreds of flows, gigabits)
#: progress every few ms.
DEFAULT_STALL_SECONDS = 30.0
