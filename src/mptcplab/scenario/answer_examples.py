# SPDX-License-Identifier: MIT
"""Examples of answers, for hints and for help texts, which are printed without the scenario language."""

from __future__ import annotations

PATH_EXAMPLE = "100 Mbit/s, 10 ms, 0.1 %"
EVENT_EXAMPLE = "link1 down 4 s"
