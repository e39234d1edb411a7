# SPDX-License-Identifier: MIT
"""The tables of docs/fidelity.md on single reasons of differences."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from tools.docs.making.pages import table_of
from validation.fidelity import wire
from validation.fidelity.all_scenarios import MIN_POOLED, pool
from validation.fidelity.cells import Row, cell, document, label, scenario_text, scenarios
from validation.fidelity.chance import deviation_percent, rank_p, spreads_of
from validation.fidelity.classes import COMPARED, SLOWER
from validation.fidelity.place import IN_POINTS, place, units_of
from validation.fidelity.side_tables import ON_SLOWER, SideTable

from mptcplab.report.table import interval_text
from mptcplab.stats import mean_interval, median_interval

#: Sides with offload, which are compared with the lab without it.
OFFLOADS = {"stock-7.2-offload": "stock 7.2 with", "virtual-7.2-offload": "lab with"}
_PARTS = {
    "whole": "the program, from start to end",
    "rest": "before its first packet, and after its last data",
    "wire": "from its first SYN to its last data",
    "beginning": "of that, until 1 MB was sent",
    "bulk": "of that, the other 19 MB",
}
_OF_OFFLOAD = {
    "goodput_mbps": "goodput, Mbit/s",
    "retransmitted_percent": "retransmitted, %",
    "share_percent": "share, %",
    "duration_s": "duration, s",
    "completion_mean_s": "mean completion, s",
}
_UNITS = {"goodput_mbps": "goodput, %", "share_percent": "share, points"}


def wire_table() -> str:
    """Return the parts of a file's time on both sides, and how much longer each takes on the stock kernel."""
    parts: wire.Parts = document().get("wire", {})
    lab, stock = parts.values() if parts else ([], [])
    lines = []
    for key, title in _PARTS.items():
        before, after = ([run[key] for run in runs] for runs in (lab, stock))
        if not before:
            break
        later = mean_interval([two - value for value, two in zip(before, after, strict=True)])
        percent = "" if key in ("rest", "beginning") else f"{100 * later.mean / statistics.mean(before):+.1f}"
        cells = [interval_text(mean_interval(values)) for values in (before, after)]
        lines.append([title, *cells, interval_text(later), percent, str(len(before))])
    return table_of(["part of the time", "lab, ms", "stock 7.2, ms", "stock 7.2 later, ms", "%", "n"], lines)


def chance_table() -> str:
    """Return the open rows of slower networks: how much each side differs from itself, and whether both differ."""
    lines = []
    for name, sides in scenarios().items():
        for row in sides.get(SLOWER, {}).get("rows", ()):
            both = spreads_of(row)
            if row["metric"] not in COMPARED or place(row) != "?" or both is None:
                continue
            spreads = [f"{deviation_percent(values):.1f}" for values in both]
            runs = ", ".join(str(len(values)) for values in both)
            cells = [cell(row), *spreads, runs, f"{rank_p(*both):.2f}"]
            lines.append([scenario_text(name, label(row["settings"])), row["workload"], _UNITS[row["metric"]], *cells])
    head = ["scenario", "workload", "of", "difference", "lab's deviation, %", "stock's", "runs", "p"]
    return table_of(head, lines)


def pooled_table() -> str:
    """Return the median difference of goodput over all scenarios, and over those with random losses or delays."""
    lines = []
    compared, drawn = scenarios(), document().get("drawn", ())
    for kernel, name in ON_SLOWER.items():
        for title, values in pool(compared, drawn, kernel).items():
            if len(values) < MIN_POOLED:
                continue
            interval = median_interval(values)
            ends = f"{interval.low:+.2f} to {interval.high:+.2f}"
            lower, higher = sum(value < 0 for value in values), sum(value > 0 for value in values)
            cells = [str(len(values)), f"{interval.value:+.2f}", ends, str(lower), str(higher)]
            lines.append([name, title, *cells])
    head = ["kernel", "scenarios", "number", "median difference, %", "95 % interval", "stock slower", "stock faster"]
    return table_of(head, lines)


def window_table() -> str:
    """Return goodputs of slower networks where the bug of the connection's window showed, and without those runs."""
    lines = []
    for name, sides in scenarios().items():
        for row in sides.get(SLOWER, {}).get("rows", ()):
            if row["metric"] != "goodput_mbps" or "beyond" not in row:
                continue
            runs = list(zip(*row["beyond"], *row["values"], strict=False))
            rest = [100 * (other / lab - 1) for first, two, lab, other in runs if not first and not two]
            met = (f"{sum(map(bool, counts))} of {len(counts)}" for counts in row["beyond"])
            without = interval_text(mean_interval(rest)) if rest else ""
            cells = [*met, cell(row), without, str(len(rest))]
            lines.append([scenario_text(name, label(row["settings"])), row["workload"], *cells])
    head = ["scenario", "workload", "runs of the lab", "of stock 7.2", "difference, %", "without these, %", "pairs"]
    return table_of(head, lines)


def offload_table() -> str:
    """Return the difference that segmentation offload makes, in a stock kernel and in the lab itself."""
    head = ["scenario", "workload", "metric", "lab without", *OFFLOADS.values()]
    table = SideTable(OFFLOADS, tuple(_OF_OFFLOAD))
    lines = []
    for name, sides in scenarios().items():
        for (settings, workload, metric), rows in table.rows(sides).items():
            first = next(iter(rows.values()))
            cells = [_change(rows[side]) if side in rows else "" for side in OFFLOADS]
            lines.append([scenario_text(name, settings), workload, _OF_OFFLOAD[metric], f"{first['a']:#.4g}", *cells])
    return table_of(head, lines)


def _change(row: Row) -> str:
    value, half = units_of(row)
    unit = "points" if row["metric"] in IN_POINTS else "%"
    spread = "" if row[half] is None else f" ± {row[half]:.1f}"
    return f"{row['b']:#.4g} ({row[value] or 0:+.1f}{spread} {unit})"


TABLES: dict[str, Callable[[], str]] = {
    "fidelity-chance": chance_table,
    "fidelity-pooled": pooled_table,
    "fidelity-window": window_table,
    "fidelity-wire": wire_table,
    "fidelity-offload": offload_table,
}
