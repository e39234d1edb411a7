# SPDX-License-Identifier: MIT
"""Measures a whole sweep: its use of all CPUs, and the accuracy of its estimates of the remaining time."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import scenarios
from bench.extent import FULL, Extent
from bench.ratios import Ratio
from bench.usage import measure_usage
from mptcplab import api

_TICKS = os.sysconf("SC_CLK_TCK")


def all_cpus(repeats: int, report: Callable[[str], None], extent: Extent = FULL) -> Ratio:
    """Measure the CPU time of a sweep of short runs, from the command's start to its end, by wall time x CPUs.

    The detail names the CPU time of other programs, which the sweep could not use.
    """
    ratio = Ratio(f"CPU time by wall time x CPUs, a sweep of {extent.sweep_runs} runs of 0.1 s", 0.9, key="sweep-cpus")
    cpus = len(os.sched_getaffinity(0))
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as name:
            file = Path(name, "bench.toml")
            file.write_text(f"repeats = {extent.sweep_runs}{scenarios.two_paths('flow', '100 ms')}")
            busy = _busy()
            _, usage = measure_usage(lambda file=file: _run(file))  # type: ignore[misc]
            others = max(0.0, _busy() - busy - usage.cpu)
        ratio.values.append(usage.cpu / (usage.wall * cpus))
        left = usage.cpu / (usage.wall * cpus - others)
        ratio.detail.append(
            f"{usage.cpu:.0f} CPU s in {usage.wall:.0f} wall s on {cpus} CPUs; others used {others:.0f} CPU s, "
            f"{left:.0%} of the rest"
        )
        report(f"{ratio.name}: {ratio.values[-1]:.2f} ({ratio.detail[-1]})")
    return ratio


def _run(file: Path) -> None:
    command = [sys.executable, "-m", "mptcplab", "run", str(file), "--out", str(file.parent / "out")]
    subprocess.run(command, check=True, capture_output=True)


def _busy() -> float:
    """CPU seconds of everything on this machine since it was started."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    idle, waiting = ticks[3:5]
    return (sum(ticks) - idle - waiting) / _TICKS


def estimates(repeats: int, report: Callable[[str], None], extent: Extent = FULL) -> Ratio:
    """Measure the estimated by the real remaining time, from one tenth to nine tenths of a mixed sweep."""
    shortest, longest = min(extent.mixed_s), max(extent.mixed_s)
    title = f"remaining time, estimated by real, a sweep of runs of {shortest:g} to {longest:g} s, median"
    ratio = Ratio(title, 0.5, key="sweep-estimates")
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as name:
            file = Path(name, "bench.toml")
            file.write_text(
                f"repeats = {extent.mixed_repeats}{scenarios.two_paths('flow', '1 s')}{_sweep_text(extent)}"
            )
            factors = estimate_factors(file)
        if not factors:
            ratio.left_out = "no run ended in the middle of the sweep, so there was no estimate"
            return ratio
        ratio.values.append(statistics.median(factors))
        ratio.detail.append(f"{min(factors):.2f} to {max(factors):.2f} in {len(factors)} estimates")
        report(f"{ratio.name}: {ratio.values[-1]:.2f} ({ratio.detail[-1]})")
    return ratio


def _sweep_text(extent: Extent) -> str:
    durations = ", ".join(f'"{seconds} s"' for seconds in extent.mixed_s)
    return f"""
[sweep]
"workloads.load.duration" = [{durations}]
"transport.protocol" = ["tcp", "mptcp"]
"""


def estimate_factors(file: Path) -> list[float]:
    """Return estimated by real remaining time for each run of the sweep that ends in its middle eight tenths.

    :raises LabError: if a run fails.
    """
    started = time.monotonic()
    estimated: list[tuple[float, float]] = []
    ended = started

    def note(progress: api.Progress) -> None:
        nonlocal ended
        if progress.completed is not None:
            ended = time.monotonic()
            if progress.seconds_left:
                estimated.append((ended, progress.seconds_left))

    api.run(api.load(file), file.parent / "out", progress=note)
    span = ended - started
    middle = [(at, left) for at, left in estimated if 0.1 * span <= at - started <= 0.9 * span]
    return [left / (ended - at) for at, left in middle]
