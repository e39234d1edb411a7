# SPDX-License-Identifier: MIT
"""The log: one JSON object per line on standard output, with its instant and its event. docs/steering.md has all."""

from __future__ import annotations

import json
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def log(event: str, **values: Any) -> None:
    """Write one line. ``t_ns`` is the monotonic clock, ``time`` the time of day, in s since 1970."""
    line = {"t_ns": time.monotonic_ns(), "time": round(time.time(), 6), "event": event, **values}
    print(json.dumps(line, separators=(",", ":")), flush=True)
