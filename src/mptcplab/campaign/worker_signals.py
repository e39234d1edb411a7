# SPDX-License-Identifier: MIT
"""Loaded by the workers of a local cluster before their first run: they ignore Ctrl-C.

On a terminal it reaches all processes of a command. The command itself ends its workers; each would print a traceback.
"""

from __future__ import annotations

import signal
from typing import Any

import polars  # noqa: F401  it installs a handler when it is imported, which must not come later


def dask_setup(worker: Any) -> None:  # noqa: ARG001  distributed defines the signature
    """Ignore the signal in the worker's process, in whose main thread ``distributed`` calls this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
