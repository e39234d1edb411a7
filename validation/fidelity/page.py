# SPDX-License-Identifier: MIT
"""The tables of docs/fidelity.md, from what ``python -m validation.fidelity --write`` wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from tools.docs.making.pages import table_of
from validation.fidelity import clock, reasons, side_tables
from validation.fidelity.cells import document, label, scenario_text, scenarios
from validation.fidelity.classes import FAR_SLOWER, SLOWEST, Class, class_of
from validation.fidelity.place import place
from validation.fidelity.side_tables import AS_IT_IS, ON_SLOWER
from validation.fidelity.slower import MANY_TIMES, MOST_TIMES

_SIDES = {**AS_IT_IS, **ON_SLOWER}
_ALL = _SIDES | {FAR_SLOWER: f"{MANY_TIMES} times slower", SLOWEST: f"{MOST_TIMES} times slower"}


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
    compared = scenarios()
    for side, title in _SIDES.items():
        rows = [row for sides in compared.values() for row in sides.get(side, {}).get("rows", ())]
        cells = []
        for metric in ("goodput_mbps", "share_percent"):
            places = [place(row) for row in rows if row["metric"] == metric]
            cells += [len(places), *(places.count(mark) for mark in ("", "!", "?"))]
        lines.append([title, *map(str, cells)])
    return table_of(head, lines)


def class_table() -> str:
    """Return all scenarios by what is known of them on a fast CPU, and by their folder."""
    written = document()
    classes: dict[tuple[Class, str, str], list[str]] = {}
    for name, unlimited in written["all"].items():
        folder, _, variant = name.rpartition("/")
        kind, reason = class_of(written["scenarios"].get(name, {}).get("sides", {}), unlimited)
        reason = reason or (clock.reason(name) if kind is Class.OUTSIDE else "")
        classes.setdefault((kind, reason, folder), []).append(variant)
    lines = [
        [f"{kind}{f' ({reason})' if reason else ''}", folder, str(len(names)), ", ".join(f"`{name}`" for name in names)]
        for kind in Class
        for (one_kind, reason, folder), names in classes.items()
        if one_kind is kind
    ]
    return table_of(["class", "folder", "number", "scenarios"], lines)


def refused_table() -> str:
    """Return what a stock kernel cannot run, with the reason that the engine gives."""
    lines = []
    for name, sides in scenarios().items():
        refusals: dict[str, list[str]] = {}
        for side, entry in sides.items():
            if "refused" in entry and side in _SIDES:
                refusals.setdefault(entry["refused"], []).append(_SIDES[side])
        lines += [[f"`{name}`", ", ".join(where), reason] for reason, where in refusals.items()]
    return table_of(["scenario", "kernel", "reason"], lines)


def form_table() -> str:
    """Return the points of each scenario that ran, and what was changed in it."""
    lines = []
    for name, scenario in document()["scenarios"].items():
        if scenario["form"]["points"]:
            points, changes = ("; ".join(scenario["form"][key]) for key in ("points", "changes"))
            lines.append([f"`{name}`", points or "the only one", changes, _seeds_text(scenario["sides"])])
    return table_of(["scenario", "points", "changes", "seeds"], lines)


def _seeds_text(sides: dict[str, Any]) -> str:
    """Return how many seeds each compared side ran, in words; one number if all ran as many."""
    scenarios: dict[int, list[str]] = {}
    for side, title in _ALL.items():
        if "seeds" in sides.get(side, {}):
            scenarios.setdefault(sides[side]["seeds"], []).append(title)
    if len(scenarios) == 1:
        return str(*scenarios)
    return "; ".join(f"{number} ({', '.join(titles)})" for number, titles in sorted(scenarios.items()))


def spread_table() -> str:
    """Return how much the lab's own goodputs differ between seeds, and how many seeds a comparison needs."""
    lines = [
        [
            scenario_text(name, label(row["settings"])),
            row["workload"],
            f"{row['mean']:#.4g}",
            f"{row['percent']:.2f}",
            str(row["n"]),
            str(row["needed"] or "over 10,000"),
        ]
        for name, rows in document()["spread"].items()
        for row in rows["rows"]
    ]
    head = ["scenario", "workload", "lab, Mbit/s", "deviation, %", "seeds", "seeds for 2 %"]
    return table_of(head, lines)


_TABLES: dict[str, Callable[[], str]] = {
    **side_tables.TABLES,
    **reasons.TABLES,
    "fidelity-summary": summary_table,
    "fidelity-classes": class_table,
    "fidelity-spread": spread_table,
    "fidelity-refused": refused_table,
    "fidelity-forms": form_table,
}
#: Tables with a row for each scenario, which are data and on no page.
_ROWS = (
    "fidelity-goodput",
    "fidelity-shares",
    "fidelity-times",
    "fidelity-retransmissions",
    "fidelity-slower",
    "fidelity-slower-shares",
    "fidelity-slower-times",
    "fidelity-slower-retransmissions",
    "fidelity-chance",
    "fidelity-spread",
    "fidelity-forms",
)


@cache
def tables() -> dict[str, Callable[[], str]]:
    """Return the functions that make tables by their names on the page, of those for which anything was measured."""
    return _measured_tables(name for name in _TABLES if name not in _ROWS)


@cache
def row_tables() -> dict[str, Callable[[], str]]:
    """Return the functions that make the tables that are on no page, by name, of which anything was measured."""
    return _measured_tables(name for name in _TABLES if name in _ROWS)


def _measured_tables(names: Iterable[str]) -> dict[str, Callable[[], str]]:
    """Return the tables of which anything was measured; each is made once, as the measurements are read once."""
    head_and_rule = 2
    tables_made_once = {name: cache(_TABLES[name]) for name in names}
    return {name: make for name, make in tables_made_once.items() if len(make().splitlines()) > head_and_rule}
