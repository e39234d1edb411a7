# SPDX-License-Identifier: MIT
"""The tables of docs/fidelity.md, from what ``python -m bench.fidelity --write`` wrote."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from docs.making.pages import table_of

from bench.fidelity import wire
from bench.fidelity.chance import deviation_percent, rank_p, spreads_of
from bench.fidelity.classes import COMPARED, SLOWER, SLOWEST, Class, class_of
from bench.fidelity.gather import FILE
from bench.fidelity.kept import is_of_earlier_kernel
from bench.fidelity.place import IN_POINTS, place, units_of
from bench.fidelity.pooled import MIN_POOLED, pooled
from bench.fidelity.slower import MOST_TIMES, TIMES
from mptcplab.metrics.points import short_names
from mptcplab.report.table import interval_text
from mptcplab.stats import mean_interval, median_interval

#: The sides of the main tables with the heads of their columns.
STOCK = {"stock-7.2": "stock 7.2", "stock-6.12": "stock 6.12", "stock-6.1": "stock 6.1", "local": "local"}
#: Sides with offload, which are compared with the lab without it.
OFFLOADS = {"stock-7.2-offload": "stock 7.2 with", "virtual-7.2-offload": "lab with"}
#: The side with larger token buckets, which is compared with the lab with the same.
BUCKETS = "stock-7.2-burst"
#: The lab with the grain of Debian's timers on a slower network.
TIMERS = "virtual-7.2-hz250-slower"
_WITH_SLOWER = {**STOCK, SLOWER: "stock 7.2, slower network"}
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
_TIMES = {
    "duration_s": "duration, s",
    "completion_mean_s": "mean completion, s",
    "response_p50_ms": "median response, ms",
    "gap_s": "gap, s",
    "mos": "MOS",
}
#: The mark of a difference that was measured with an earlier build of a kernel.
_EARLIER = "†"
#: Rows of a scenario, by settings, workload and metric.
_Key = tuple[str, str, str]
_Row = dict[str, Any]


def document() -> dict[str, Any]:
    """Return the measurements."""
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def scenarios() -> dict[str, dict[str, Any]]:
    """Return the compared sides of each scenario, whose rows know whether they are of an earlier kernel."""
    written = document()
    return {
        name: {side: _marked(one, side, written["kernels"]) for side, one in found["sides"].items()}
        for name, found in written["scenarios"].items()
    }


def _marked(one: dict[str, Any], side: str, kernels: dict[str, Any]) -> dict[str, Any]:
    if not is_of_earlier_kernel(one, side, kernels):
        return one
    return one | {"rows": [row | {"earlier": True} for row in one["rows"]]}


def goodput_table() -> str:
    """Return the goodput of every scenario in the lab, and the difference of each stock kernel from it."""
    return _differences(("goodput_mbps",), "lab, Mbit/s", lambda row: row["percent"], lambda row: f"{row['a']:#.4g}")


def share_table() -> str:
    """Return the shares of paths in the lab, and the difference of each stock kernel in percent of the whole."""
    return _differences(("share_percent",), "lab, %", lambda row: row["difference"], lambda row: f"{row['a']:.1f}")


def time_table() -> str:
    """Return completion times, gaps and scores in the lab, and the difference of each stock kernel."""
    return _differences(tuple(_TIMES), "lab", lambda row: row["percent"], lambda row: f"{row['a']:#.4g}")


def retransmission_table() -> str:
    """Return retransmitted bytes in percent of the sent ones, in the lab and in each stock kernel."""
    head = ["scenario", "workload", "lab 7.2", *STOCK.values()]
    lines = []
    for name, sides in scenarios().items():
        for key, found in _by_key(sides, ("retransmitted_percent",)).items():
            lab = next(iter(found.values()))["a"]
            cells = (found[side]["b"] if side in found else None for side in STOCK)
            lines.append([_scenario(name, key[0]), key[1], *map(_percent_text, (lab, *cells))])
    return table_of(head, lines)


def _percent_text(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def summary_table() -> str:
    """Return how many rows of each side are shown to be inside the margins, outside, or neither."""
    head = [
        "compared with the lab",
        "goodputs",
        "inside 2 %",
        "outside",
        "open",
        "shares",
        "inside 3 %",
        "outside",
        "open",
    ]
    lines = []
    for side, title in _WITH_SLOWER.items():
        rows = [row for sides in scenarios().values() for row in sides.get(side, {}).get("rows", ())]
        cells = []
        for metric in ("goodput_mbps", "share_percent"):
            own = [place(row) for row in rows if row["metric"] == metric]
            cells += [len(own), *(own.count(one) for one in ("", "!", "?"))]
        lines.append([title, *map(str, cells)])
    return table_of(head, lines)


def class_table() -> str:
    """Return all scenarios by what is known of them on a fast CPU, and by their folder."""
    written = document()
    found: dict[tuple[Class, str, str], list[str]] = {}
    for name, unlimited in written["all"].items():
        folder, _, own = name.rpartition("/")
        kind, reason = class_of(written["scenarios"].get(name, {}).get("sides", {}), unlimited)
        found.setdefault((kind, reason, folder), []).append(own)
    lines = [
        [f"{kind}{f' ({reason})' if reason else ''}", folder, str(len(names)), ", ".join(f"`{one}`" for one in names)]
        for kind in Class
        for (one_kind, reason, folder), names in found.items()
        if one_kind is kind
    ]
    return table_of(["class", "folder", "number", "scenarios"], lines)


def refused_table() -> str:
    """Return what a stock kernel cannot run, with the reason that the engine gives."""
    lines = []
    for name, sides in scenarios().items():
        reasons: dict[str, list[str]] = {}
        for side, found in sides.items():
            if "refused" in found and side in STOCK:
                reasons.setdefault(found["refused"], []).append(STOCK[side])
        lines += [[f"`{name}`", ", ".join(where), reason] for reason, where in reasons.items()]
    return table_of(["scenario", "kernel", "reason"], lines)


def _differences(
    metrics: Sequence[str], lab: str, value: Callable[[_Row], float | None], of_lab: Callable[[_Row], str]
) -> str:
    several = len(metrics) > 1
    head = ["scenario", "workload", *(["metric"] if several else []), lab, *STOCK.values()]
    lines = []
    for name, sides in scenarios().items():
        for key, found in _by_key(sides, metrics).items():
            first = next(iter(found.values()))
            cells = [_cell(found[side], value) if side in found else "" for side in STOCK]
            metric = [_TIMES[key[2]]] if several else []
            lines.append([_scenario(name, key[0]), key[1], *metric, of_lab(first), *cells])
    return table_of(head, lines)


def _cell(row: _Row, value: Callable[[_Row], float | None]) -> str:
    number, half = value(row), row[units_of(row)[1]]
    if number is None:
        return "0" if not row["b"] else ""
    spread = "" if half is None else f" ± {half:.1f}"
    return " ".join(filter(None, (f"{number:+.1f}{spread}", place(row), _EARLIER if row.get("earlier") else "")))


def _by_key(sides: dict[str, Any], metrics: Sequence[str]) -> dict[_Key, dict[str, _Row]]:
    """Return the rows of the main sides by settings, workload and metric."""
    found: dict[_Key, dict[str, _Row]] = {}
    for side in STOCK:
        for row in sides.get(side, {}).get("rows", ()):
            if row["metric"] in metrics:
                found.setdefault((_label(row["settings"]), row["workload"], row["metric"]), {})[side] = row
    return found


def _label(settings: dict[str, str]) -> str:
    names = short_names(list(settings))
    return ", ".join(f"{names[key]} {value}" for key, value in settings.items())


def _scenario(name: str, label: str) -> str:
    return f"`{name}`{f': {label}' if label else ''}"


def form_table() -> str:
    """Return the points of each scenario that ran, and what was changed in it."""
    lines = []
    for name, found in document()["scenarios"].items():
        if found["form"]["points"]:
            points, changes = ("; ".join(found["form"][key]) for key in ("points", "changes"))
            seeds = (str(found["sides"].get(side, {}).get("seeds", "")) for side in _WITH_SLOWER)
            lines.append([f"`{name}`", points or "the only one", changes, *seeds])
    return table_of(["scenario", "points", "changes", *(f"seeds, {title}" for title in _WITH_SLOWER.values())], lines)


def wire_table() -> str:
    """Return the parts of a file's time on both sides, and how much longer each takes on the stock kernel."""
    found: wire.Parts = document().get("wire", {})
    lab, stock = found.values() if found else ([], [])
    lines = []
    for key, title in _PARTS.items():
        before, after = ([run[key] for run in runs] for runs in (lab, stock))
        if not before:
            break
        later = mean_interval([two - one for one, two in zip(before, after, strict=True)])
        percent = "" if key in ("rest", "beginning") else f"{100 * later.mean / statistics.mean(before):+.1f}"
        cells = [interval_text(mean_interval(values)) for values in (before, after)]
        lines.append([title, *cells, interval_text(later), percent, str(len(before))])
    return table_of(["part of the time", "lab, ms", "stock 7.2, ms", "stock 7.2 later, ms", "%", "n"], lines)


def slower_share_table() -> str:
    """Return the shares of paths on a slower network, and the difference of the stock kernel from the lab."""
    lines = []
    for name, sides in scenarios().items():
        for (label, workload), row in _of_side(sides.get(SLOWER, {}), "share_percent").items():
            cell = _cell(row, lambda one: one["difference"])
            lines.append([_scenario(name, label), workload, f"{row['a']:.1f}", cell])
    return table_of(["scenario", "workload", "lab, slower, %", "stock 7.2, slower"], lines)


def _value_of(row: _Row) -> float | None:
    """Return a difference in its own unit, percent or points."""
    found: float | None = row[units_of(row)[0]]
    return found


def chance_table() -> str:
    """Return the open rows of slower networks: how much each side differs from itself, and whether both differ."""
    lines = []
    for name, sides in scenarios().items():
        for row in sides.get(SLOWER, {}).get("rows", ()):
            both = spreads_of(row)
            if row["metric"] not in COMPARED or place(row) != "?" or both is None:
                continue
            spreads = [f"{deviation_percent(one):.1f}" for one in both]
            runs = ", ".join(str(len(one)) for one in both)
            cells = [_cell(row, _value_of), *spreads, runs, f"{rank_p(*both):.2f}"]
            lines.append([_scenario(name, _label(row["settings"])), row["workload"], _UNITS[row["metric"]], *cells])
    head = ["scenario", "workload", "of", "difference", "lab's deviation, %", "stock's", "runs", "p"]
    return table_of(head, lines)


def pooled_table() -> str:
    """Return the median difference of goodput over all scenarios, and over those with random losses or delays."""
    lines = []
    for title, values in pooled(scenarios(), document().get("drawn", ())).items():
        if len(values) < MIN_POOLED:
            continue
        found = median_interval(values)
        ends = f"{found.low:+.2f} to {found.high:+.2f}"
        lower, higher = sum(one < 0 for one in values), sum(one > 0 for one in values)
        lines.append([title, str(len(values)), f"{found.value:+.2f}", ends, str(lower), str(higher)])
    head = ["scenarios", "number", "median difference, %", "95 % interval", "stock slower", "stock faster"]
    return table_of(head, lines)


def window_table() -> str:
    """Return goodputs of slower networks where the bug of the connection's window showed, and without those runs."""
    lines = []
    for name, sides in scenarios().items():
        for row in sides.get(SLOWER, {}).get("rows", ()):
            if row["metric"] != "goodput_mbps" or "beyond" not in row:
                continue
            runs = list(zip(*row["beyond"], *row["values"], strict=False))
            rest = [100 * (other / lab - 1) for one, two, lab, other in runs if not one and not two]
            met = (f"{sum(map(bool, one))} of {len(one)}" for one in row["beyond"])
            without = interval_text(mean_interval(rest)) if rest else ""
            cells = [*met, _cell(row, lambda one: one["percent"]), without, str(len(rest))]
            lines.append([_scenario(name, _label(row["settings"])), row["workload"], *cells])
    head = ["scenario", "workload", "runs of the lab", "of stock 7.2", "difference, %", "without these, %", "pairs"]
    return table_of(head, lines)


def spread_table() -> str:
    """Return how much the lab's own goodputs differ between seeds, and how many seeds a comparison needs."""
    lines = [
        [
            _scenario(name, _label(row["settings"])),
            row["workload"],
            f"{row['mean']:#.4g}",
            f"{row['percent']:.2f}",
            str(row["n"]),
            str(row["needed"] or "over 10,000"),
        ]
        for name, found in document()["spread"].items()
        for row in found["rows"]
    ]
    head = ["scenario", "workload", "lab, Mbit/s", "deviation, %", "seeds", "seeds for 2 %"]
    return table_of(head, lines)


def _beside(first: str, second: str, metric: str = "goodput_mbps", *, heads: Sequence[str]) -> str:
    """Return the differences of a metric on two sides, each from its own lab."""
    lines = []
    for name, sides in scenarios().items():
        before, after = (_of_side(sides.get(side, {}), metric) for side in (first, second))
        for key in after:
            small, large = (_cell(found[key], _value_of) if key in found else "" for found in (before, after))
            lines.append([_scenario(name, key[0]), key[1], small, f"{after[key]['a']:#.4g}", large])
    return table_of(["scenario", "workload", *heads], lines)


def _of_side(side: dict[str, Any], metric: str) -> dict[tuple[str, str], _Row]:
    rows = (row for row in side.get("rows", ()) if row["metric"] == metric)
    return {(_label(row["settings"]), row["workload"]): row for row in rows}


def offload_table() -> str:
    """Return the difference that segmentation offload makes, in a stock kernel and in the lab itself."""
    head = ["scenario", "workload", "metric", "lab without", *OFFLOADS.values()]
    lines = []
    for name, sides in scenarios().items():
        found: dict[_Key, dict[str, _Row]] = {}
        for side in OFFLOADS:
            for row in sides.get(side, {}).get("rows", ()):
                if row["metric"] in _OF_OFFLOAD:
                    found.setdefault((_label(row["settings"]), row["workload"], row["metric"]), {})[side] = row
        for (label, workload, metric), rows in found.items():
            first = next(iter(rows.values()))
            cells = [_changed(rows[side]) if side in rows else "" for side in OFFLOADS]
            lines.append([_scenario(name, label), workload, _OF_OFFLOAD[metric], f"{first['a']:#.4g}", *cells])
    return table_of(head, lines)


def _changed(row: _Row) -> str:
    value, half = units_of(row)
    unit = "points" if row["metric"] in IN_POINTS else "%"
    spread = "" if row[half] is None else f" ± {row[half]:.1f}"
    return f"{row['b']:#.4g} ({row[value] or 0:+.1f}{spread} {unit})"


#: Tables of two sides: what both are, the metric if it is not goodput, and the heads of the last three columns.
_BESIDE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "fidelity-buckets": (
        ("stock-7.2", BUCKETS),
        ("buckets of a packet, %", "lab with 15 kB, Mbit/s", "buckets of 15 kB, %"),
    ),
    "fidelity-slower": (("stock-7.2", SLOWER), ("network as it is, %", "lab, slower, Mbit/s", "slower, %")),
    "fidelity-slowest": (
        (SLOWER, SLOWEST),
        (f"{TIMES} times slower, %", f"lab, {MOST_TIMES} times slower, Mbit/s", f"{MOST_TIMES} times slower, %"),
    ),
    "fidelity-timers": ((SLOWER, TIMERS), ("stock 7.2, %", "lab, slower, Mbit/s", "lab with a grain of 4 ms, %")),
    "fidelity-timer-shares": (
        (SLOWER, TIMERS, "share_percent"),
        ("stock 7.2, points", "lab, slower, %", "lab with a grain of 4 ms, points"),
    ),
}
_TABLES: dict[str, Callable[[], str]] = {
    **{name: partial(_beside, *sides, heads=heads) for name, (sides, heads) in _BESIDE.items()},
    "fidelity-summary": summary_table,
    "fidelity-classes": class_table,
    "fidelity-goodput": goodput_table,
    "fidelity-shares": share_table,
    "fidelity-times": time_table,
    "fidelity-retransmissions": retransmission_table,
    "fidelity-slower-shares": slower_share_table,
    "fidelity-chance": chance_table,
    "fidelity-pooled": pooled_table,
    "fidelity-window": window_table,
    "fidelity-wire": wire_table,
    "fidelity-spread": spread_table,
    "fidelity-offload": offload_table,
    "fidelity-refused": refused_table,
    "fidelity-forms": form_table,
}


def tables() -> dict[str, Callable[[], str]]:
    """Return the functions that make tables by their names on the page, of those for which anything was measured."""
    head_and_rule = 2
    return {name: make for name, make in _TABLES.items() if len(make().splitlines()) > head_and_rule}
