# SPDX-License-Identifier: MIT
"""Tables of scenarios on mainline and on the kernel whose sender keeps within the connection's window.

Segments that receivers dropped beyond the window are shown as one number per run, in the order of the seeds.
"""

from __future__ import annotations

from pathlib import Path

from tools.docs.beyond_window import count_dropped
from tools.docs.figures.grid import Grid, Name, code, join, setting, value

from mptcplab.metrics.rows import ResultRow

#: Suffix of a scheduler's name for each kernel.
KERNEL = {"7.2": "", "7.2-window": ", with the fix"}


def _drops(folder: Path) -> Name:
    return lambda result: ", ".join(str(count_dropped(folder / "runs" / run)) for run in result.runs)


def _scheduler(result: ResultRow) -> str:
    return f"`{result.scheduler}`{KERNEL[result.settings['kernel']]}"


def _rate_and_drops(folder: Path) -> dict[str, Name]:
    return {": Mbit/s": value(), ": dropped": _drops(folder)}


def best_path(folder: Path) -> str:
    """Return goal 1 of RFC 6356 by scheduler and kernel: goodput and drops."""
    link2 = join(setting("links.link2.forward.loss"), setting("links.link2.delay"))
    head = ["loss and delay of link2", "congestion control"]
    return Grid(head, [link2, code("transport.congestion_control")], _scheduler, _rate_and_drops(folder)).table_of(
        folder
    )


def clean_paths(folder: Path) -> str:
    """Return both of two clean paths, by congestion control and kernel: goodput and drops."""
    control = code("transport.congestion_control")
    return Grid(["congestion control"], [control], _scheduler, _rate_and_drops(folder)).table_of(folder)
