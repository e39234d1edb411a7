# SPDX-License-Identifier: MIT
"""Presents measurements as tables and figures. Its only side effect is writing files."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from bench import algorithms, machines, overhead
from bench.curves import Curve
from bench.ratios import Ratio
from bench.usage import Usage
from mptcplab.figure import lines as figure
from mptcplab.report.table import Table, number, number_columns
from mptcplab.stats import mean_interval

_SPREAD_NOTE = "Median (minimum to maximum) of n repeats. CPU s: user and system of the whole process tree."


def machine() -> str:
    """Return a description of this machine, without its name."""
    facts = machines.present()
    kind = "virtual machine" if facts["virtual"] else "machine"
    return f"{facts['cores']}-core {kind}, {facts['cpu']}, Linux {facts['kernel']}, Python {facts['python']}"


def spread(values: Sequence[float]) -> str:
    """Return the median with minimum and maximum: ``2.10 (2.05 to 2.31)``."""
    if len(values) == 1:
        return number(values[0])
    return f"{number(statistics.median(values))} ({number(min(values))} to {number(max(values))})"


def ratio_table(ratios: Sequence[Ratio], load: tuple[float, float]) -> Table:
    """Return a table with one row per ratio: its target, and whether the median reached it."""
    rows = []
    for ratio in ratios:
        if ratio.left_out:
            rows.append((ratio.name, "left out", number(ratio.target), "", "0", ratio.left_out))
            continue
        reached = "yes" if statistics.median(ratio.values) >= ratio.target else "no"
        middle = ratio.detail[_middle(ratio.values)]
        rows.append((ratio.name, spread(ratio.values), number(ratio.target), reached, str(len(ratio.values)), middle))
    notes = (_SPREAD_NOTE, f"On a {machine()}.", f"Load average before and after: {load[0]:.1f}, {load[1]:.1f}.")
    columns = ("ratio", *number_columns("measured", "target, at least"), "reached", "n", "of the median repeat")
    return Table.build("Ratios", columns, rows, notes)


def _middle(values: Sequence[float]) -> int:
    return sorted(range(len(values)), key=lambda index: values[index])[len(values) // 2]


def algorithm_table(costs: Sequence[algorithms.Cost]) -> Table:
    """Return a table with one row per congestion control and scheduler; the first compares two equal runs."""
    rows = [
        (
            cost.name,
            *map(spread, (cost.one_path, cost.two_paths, cost.whole_one, cost.whole_two)),
            "yes" if max(map(statistics.median, (cost.one_path, cost.two_paths))) <= algorithms.MAX_RATIO else "no",
        )
        for cost in costs
    ]
    columns = (
        "algorithm",
        *number_columns(
            "one path: per packet and hop",
            "two paths: per packet and hop",
            "one path: whole run",
            "two paths: whole run",
        ),
    )
    notes = (
        "Wall time divided by mainline's default's just before; median (minimum to maximum), "
        f"n = {len(costs[0].one_path)}.",
        f"On a {machine()}.",
    )
    title = "Cost of congestion controls and schedulers"
    return Table.build(title, (*columns, f"at most {algorithms.MAX_RATIO:g}"), rows, notes)


def overhead_table(results: dict[str, list[Usage]]) -> Table:
    """Return a table of the stages, each with its difference of medians; the last row is the whole run."""
    medians = [statistics.median(usage.cpu for usage in results[stage]) for stage in overhead.STAGES]
    walls = [statistics.median(usage.wall for usage in results[stage]) for stage in overhead.STAGES]
    shares = [medians[0], *(after - before for before, after in pairwise(medians))]
    wall_shares = [walls[0], *(after - before for before, after in pairwise(walls))]
    rows = [
        (stage, f"{cpu:.3f}", f"{wall:.3f}", "")
        for stage, cpu, wall in zip(overhead.STAGES, shares, wall_shares, strict=True)
    ]
    whole = results[overhead.STAGES[-1]]
    reached = "yes" if walls[-1] <= overhead.target() else "no"
    cpu_text = spread([usage.cpu for usage in whole])
    wall_text = spread([usage.wall for usage in whole])
    rows.append(("whole run", cpu_text, wall_text, f"at most {overhead.target():g} wall s: {reached}"))
    notes = (
        f"n = {len(whole)}. Stages: differences of medians of plans that each do one thing more.",
        "recording is Python on this side, which counts in wall time only.",
    )
    return Table.build("Overhead of a run", ("stage", "CPU s", "wall s", "target"), rows, notes)


def curve_table(curve: Curve) -> Table:
    """Return a table of the points, with their proportionality in the notes."""
    rows = tuple(
        (point.label, str(point.packet_hops), spread(point.carrying), spread(point.ns_per_packet_hop))
        for point in curve.points
    )
    notes = (f"{proportionality(curve)}", f"{_SPREAD_NOTE} Boot and set-up subtracted.")
    columns = (curve.axis, *number_columns("packets x hops", "CPU s", "ns per packet and hop"))
    return Table.build(f"Cost against {curve.name}", columns, rows, notes)


def proportionality(curve: Curve) -> str:
    """Return a sentence about the proportionality of cost."""
    text = f"Largest cost of a packet and hop by smallest: {curve.spread:.2f}"
    if curve.exponent is not None:
        text += f"; cost grows as (packets x hops)^{curve.exponent:.2f}"
    return text + "."


def draw(curve: Curve, folder: Path) -> list[Path]:
    """Draw the microseconds per packet and hop at every point: a horizontal line is exact proportionality."""
    positions = tuple(point.label for point in curve.points)
    series = figure.FigureSeries(
        "lab", tuple(mean_interval([cost / 1000 for cost in point.ns_per_packet_hop]) for point in curve.points)
    )
    repeats = len(curve.points[0].cpu)
    interval = "mean and 95 % confidence interval (Student's t)" if repeats > 1 else "no interval"
    note = f"{proportionality(curve)}\nn = {repeats}, {interval}. {machine()}."
    picture = figure.Figure(
        title=f"Cost of a packet on one hop, by {curve.name}",
        x_label=curve.axis,
        y_label="CPU µs per packet and hop",
        positions=positions,
        series=(series,),
        note=note,
    )
    return figure.save(picture, folder, f"cost-{curve.name}")
