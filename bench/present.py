# SPDX-License-Identifier: MIT
"""What was measured as tables and figures. Pure but for writing the files."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from bench import algorithms, machines, overhead
from bench.curves import Curve
from bench.ratios import Ratio
from bench.usage import Usage
from mptcplab.report import figure
from mptcplab.report.table import Table, number
from mptcplab.stats import mean_interval

_SPREAD_NOTE = "Median (least to largest) of n repeats. CPU s: user and system of the whole process tree."


def machine() -> str:
    """Kind of machine, without its name."""
    what = machines.present()
    kind = "virtual machine" if what["virtual"] else "machine"
    return f"{what['cores']}-core {kind}, {what['cpu']}, Linux {what['kernel']}, Python {what['python']}"


def spread(values: Sequence[float]) -> str:
    """``2.10 (2.05 to 2.31)``."""
    if len(values) == 1:
        return number(values[0])
    return f"{number(statistics.median(values))} ({number(min(values))} to {number(max(values))})"


def ratio_table(ratios: Sequence[Ratio], load: tuple[float, float]) -> Table:
    """One row per ratio, with its target and whether the median reached it."""
    rows = []
    for ratio in ratios:
        if ratio.left_out:
            rows.append((ratio.name, "left out", number(ratio.target), "", "0", ratio.left_out))
            continue
        reached = "yes" if statistics.median(ratio.values) >= ratio.target else "no"
        middle = ratio.detail[_middle(ratio.values)]
        rows.append((ratio.name, spread(ratio.values), number(ratio.target), reached, str(len(ratio.values)), middle))
    notes = (_SPREAD_NOTE, f"On a {machine()}.", f"Load average before and after: {load[0]:.1f}, {load[1]:.1f}.")
    columns = ("ratio", "measured", "target, at least", "reached", "n", "of the median repeat")
    return Table("Ratios", columns, tuple(rows), frozenset({"measured", "target, at least"}), notes)


def _middle(values: Sequence[float]) -> int:
    return sorted(range(len(values)), key=lambda index: values[index])[len(values) // 2]


def algorithm_table(costs: Sequence[algorithms.Cost]) -> Table:
    """One row per congestion control and scheduler; the first compares two equal runs."""
    rows = [
        (
            cost.name,
            *map(spread, (cost.one, cost.two, cost.whole_one, cost.whole_two)),
            "yes" if max(map(statistics.median, (cost.one, cost.two))) <= algorithms.MOST else "no",
        )
        for cost in costs
    ]
    columns = (
        "algorithm",
        "one line: per packet and hop",
        "two lines: per packet and hop",
        "one line: whole run",
        "two lines: whole run",
    )
    notes = (
        f"Wall time by that of mainline's default just before; median (least to largest), n = {len(costs[0].one)}.",
        f"On a {machine()}.",
    )
    title = "Cost of congestion controls and schedulers"
    return Table(title, (*columns, f"at most {algorithms.MOST:g}"), tuple(rows), frozenset(columns[1:]), notes)


def overhead_table(results: dict[str, list[Usage]]) -> Table:
    """Every stage's own share is the difference of medians; the last line is the whole run."""
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
    return Table("Overhead of a run", ("stage", "CPU s", "wall s", "target"), tuple(rows), frozenset(), notes)


def curve_table(curve: Curve) -> Table:
    """Points, and how proportional they are."""
    rows = tuple(
        (point.label, str(point.packet_hops), spread(point.carrying), spread(point.ns_per_packet_hop))
        for point in curve.points
    )
    notes = (f"{proportionality(curve)}", f"{_SPREAD_NOTE} Boot and set-up subtracted.")
    columns = (curve.axis, "packets x hops", "CPU s", "ns per packet and hop")
    return Table(f"Cost against {curve.name}", columns, rows, frozenset(columns[1:]), notes)


def proportionality(curve: Curve) -> str:
    """One sentence."""
    text = f"Dearest packet-hop by cheapest: {curve.spread:.2f}"
    if curve.exponent is not None:
        text += f"; cost grows as (packets x hops)^{curve.exponent:.2f}"
    return text + "."


def draw(curve: Curve, folder: Path) -> list[Path]:
    """Microseconds per packet and hop at every point: a level line is exact proportionality."""
    positions = tuple(point.label for point in curve.points)
    series = figure.Series(
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
