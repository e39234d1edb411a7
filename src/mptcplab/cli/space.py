# SPDX-License-Identifier: MIT
"""The space on disk that a sweep needs, and whether there is as much."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from mptcplab.metrics.values import choose_unit
from mptcplab.plan.disk import estimate_bytes
from mptcplab.scenario.load import Run, sum_estimates


def size_text(size: float) -> str:
    """Return a number of bytes as a text like ``2.35 MB``."""
    unit = choose_unit("B", (size,))
    return f"{unit.text(size)} {unit.name}"


def space_warning(runs: Iterable[Run], out: Path) -> str | None:
    """Return a sentence if the disk of ``out`` has less space than the runs are likely to take; None if it has enough.

    Runs that are recorded already count as well, and an estimate may be wrong by a factor of three: so this warns only.
    """
    size = sum_estimates(runs, estimate_bytes)
    existing = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    if size <= free:
        return None
    return (
        f"the runs take about {size_text(size)} on disk, and {out} has {size_text(free)} free: "
        "if the disk is full, the sweep stops, and what is recorded is kept"
    )
