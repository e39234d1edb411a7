# SPDX-License-Identifier: MIT
"""Tables of scenarios on mainline and on the kernel whose sender keeps to the connection's window, side by side.

Segments that receivers dropped beyond the window stand there one number per run, in the order of the seeds.
"""

from __future__ import annotations

from pathlib import Path

from docs.beyond_window import dropped
from docs.figures.grid import Grid, Name, code, joined, setting, value

from mptcplab.metrics.rows import ResultRow

#: What stands behind a scheduler's name for each kernel.
KERNEL = {"7.2": "", "7.2-window": ", with the fix"}


def _drops(folder: Path) -> Name:
    return lambda result: ", ".join(str(dropped(folder / "runs" / run)) for run in result.runs)


def _scheduler(result: ResultRow) -> str:
    return f"`{result.scheduler}`{KERNEL[result.settings['kernel']]}"


def _both(folder: Path) -> dict[str, Name]:
    return {": Mbit/s": value(), ": dropped": _drops(folder)}


def best_path(folder: Path) -> str:
    """Goal 1 of RFC 6356 by scheduler and kernel: goodput, and what was dropped."""
    link2 = joined(setting("links.link2.forward.loss"), setting("links.link2.delay"))
    head = ["loss and delay of link2", "control"]
    return Grid(head, [link2, code("transport.congestion_control")], _scheduler, _both(folder)).table_of(folder)


def clean_paths(folder: Path) -> str:
    """Both of two empty lines, by control and kernel: goodput, and what was dropped."""
    control = code("transport.congestion_control")
    return Grid(["control"], [control], _scheduler, _both(folder)).table_of(folder)
