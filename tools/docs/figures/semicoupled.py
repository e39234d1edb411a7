# SPDX-License-Identifier: MIT
"""The table of docs/add-a-congestion-control.md, on a kernel that is built by that page's commands."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from pathlib import Path

import polars as pl

from mptcplab.kernel import find_kernel
from mptcplab.kernel.build import build_kernel
from mptcplab.kernel.data import data_dir, load_inputs
from mptcplab.report.table import interval_text, number
from mptcplab.results import open_results
from mptcplab.stats import Interval, mean_interval

ROOT = Path(__file__).resolve().parents[3]
GUIDE = ROOT / "docs" / "add-a-congestion-control.md"
_STEP = "3. One file in `kernel/net/mptcp/`"


def commands(heading: str) -> str:
    """Return the commands of one section of the page."""
    pattern = rf"^## {re.escape(heading)}\n(.*?)^## "
    (section,) = re.findall(pattern, GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    return "\n".join(line[4:] for line in section.splitlines() if line.startswith("    "))


def built_kernel(folder: Path) -> str:
    """Follow the page in a copy of the project below ``folder``, and return the entry of the built kernel.

    With a kept tree this takes seconds; without one, it is a whole build.
    """
    copy = folder / "project"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(data_dir(), copy / "kernel")
    shutil.copytree(ROOT / "examples" / "semicoupled", copy / "examples" / "semicoupled")
    subprocess.run(["sh", "-ec", commands(_STEP)], cwd=copy, check=True)
    version = find_kernel().version
    return str(build_kernel(inputs=load_inputs(version, directory=copy / "kernel")).path)


def table_of(folder: Path) -> str:
    """Return goodput by congestion control and number of paths, and sqrt(n) times one of Reno's paths."""
    values: dict[tuple[str, int], list[float]] = {}
    for control, paths, goodput in _runs(folder):
        values.setdefault((control, paths), []).append(goodput)
    intervals = {place: mean_interval(of_place) for place, of_place in values.items()}
    counts = sorted({paths for _, paths in intervals})
    widest = counts[-1]
    path = intervals["reno", widest].mean / widest
    rows = [_row(f"`{control}`", [intervals[control, n] for n in counts]) for control in ("reno", "semicoupled")]
    rows.append(["equation", *(number(math.sqrt(n) * path) for n in counts)])
    rows.append(_row("`lia`", [intervals["lia", n] for n in counts]))
    head = ["goodput, Mbit/s", *(f"{n} path{'s' if n > 1 else ''}" for n in counts)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)) + "\n"


def _row(name: str, values: list[Interval]) -> list[str]:
    return [name, *map(interval_text, values)]


def _runs(folder: Path) -> list[tuple[str, int, float]]:
    frame = open_results(folder).runs.select(
        "transport.congestion_control", pl.col("topology.paths").cast(pl.Int64), "goodput_mbps"
    )
    return [(str(control), int(paths), float(goodput)) for control, paths, goodput in frame.iter_rows()]
