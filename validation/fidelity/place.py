# SPDX-License-Identifier: MIT
"""Where a difference lies: inside the margin, outside, or open."""

from __future__ import annotations

from typing import Any

from mptcplab.metrics.compare import Verdict

#: The smallest differences that matter: of goodput and times in percent, of shares in percent of the whole.
GOODPUT_MARGIN, SHARE_MARGIN = 2.0, 3.0
#: Metrics in percent, whose differences are in points.
IN_POINTS = ("share_percent", "retransmitted_percent")


def place(row: dict[str, Any]) -> str:
    """Return where a difference lies: "" inside the margin, "!" outside, "?" if its interval does not tell."""
    verdict = Verdict(row["verdict"])
    if verdict in (Verdict.IDENTICAL, Verdict.SAME_RUNS, Verdict.EQUIVALENT, Verdict.NEGLIGIBLE):
        return ""
    if verdict is not Verdict.DIFFERS:
        return "?"
    size, half = (abs(row[key] or 0) for key in units_of(row))
    margin = SHARE_MARGIN if row["metric"] == "share_percent" else GOODPUT_MARGIN
    return "!" if size - half > margin else "?"


def units_of(row: dict[str, Any]) -> tuple[str, str]:
    """Return the keys of a difference and of half its interval, in percent or in points."""
    return ("difference", "half_width") if row["metric"] in IN_POINTS else ("percent", "percent_half_width")
