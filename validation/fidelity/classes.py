# SPDX-License-Identifier: MIT
"""The class of every scenario: on a fast CPU inside the margins, outside, or open; or why it is none of these."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from validation.fidelity.place import place, units_of
from validation.fidelity.slower import MANY_TIMES, MOST_TIMES
from validation.fidelity.totals import TOGETHER

from mptcplab.scenario.schema import Scenario

#: The side whose CPU is fast, by a network that is slower.
SLOWER = "stock-7.2-slower"
#: The sides whose network is so slow that no CPU limits it: as slow as their delays allow.
FAR_SLOWER, SLOWEST = "stock-7.2-far-slower", "stock-7.2-slowest"
_TIMES = {FAR_SLOWER: MANY_TIMES, SLOWEST: MOST_TIMES}
#: What the margins are for.
COMPARED = ("goodput_mbps", "share_percent")


class Class(StrEnum):
    """The result of comparing a scenario on a fast CPU, or why there is none."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    OPEN = "open"
    REFUSED = "cannot be compared"
    UNLIMITED = "not limited by rates"
    NOT_MEASURED = "not measured"


def class_of(sides: dict[str, Any], unlimited: str) -> tuple[Class, str]:
    """Return the class of a scenario with these compared sides, and the reason if it has one.

    ``unlimited`` is what limits it in place of rates, or empty.
    """
    slower = sides.get(SLOWER, {})
    if unlimited:
        return Class.UNLIMITED, unlimited
    if "refused" in slower:
        return Class.REFUSED, slower["refused"]
    places = _places(slower)
    if not places:
        return Class.NOT_MEASURED, ""
    if "!" in places:
        return Class.OUTSIDE, _find_reason(slower, sides)
    return (Class.OPEN if "?" in places else Class.INSIDE), ""


def _find_reason(slower: dict[str, Any], sides: dict[str, Any]) -> str:
    """Return the reason that a still slower network shows for what is outside; empty if none does.

    Where the intervals of many single flows are too wide for that, the goodput of all together may show it.
    """
    outside = [row for row in slower["rows"] if row["metric"] in COMPARED and place(row) == "!"]
    has_sum = any(row["workload"] == TOGETHER for row in outside)
    sums = [row for row in outside if row["workload"] == TOGETHER or row["metric"] != "goodput_mbps"]
    for rows, of in ((outside, ""), *([(sums, "all flows together ")] if has_sum else [])):
        for side, times in _TIMES.items():
            if _are_of_the_cpu(rows, sides.get(side, {})):
                return f"the CPU: {of}no longer where the network is {times} times slower"
    return ""


def _are_of_the_cpu(outside: list[dict[str, Any]], slowest: dict[str, Any]) -> bool:
    """Return whether rows that are outside are nearer where no CPU limits, and nothing is outside there."""
    after = {_key(row): row for row in slowest.get("rows", ()) if row["metric"] in COMPARED}
    if not after or "!" in _places(slowest):
        return False
    return all(_key(row) in after and _is_nearer(after[_key(row)], row) for row in outside)


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["metric"], str(row["settings"]), row["workload"]


def _is_nearer(row: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether the largest difference in the interval of ``row`` is below the smallest in ``other``'s."""
    if place(row) == "":
        return True
    (value, half), (other_value, other_half) = (tuple(row[key] for key in units_of(row)) for row in (row, other))
    if None in (value, half, other_value, other_half):
        return False
    return bool(abs(value) + half < abs(other_value) - other_half)


def _places(side: dict[str, Any]) -> set[str]:
    return {place(row) for row in side.get("rows", ()) if row["metric"] in COMPARED}


def find_other_limit(scenario: Scenario) -> str:
    """Return what limits a scenario in place of the rates of its links; empty if these do."""
    if scenario.has_radios:
        return "radios"
    if any(node.cpu is not None for node in scenario.nodes.values()):
        return "a node's CPU"
    if all(side.rate is None for link in scenario.links.values() for side in (link.forward, link.backward)):
        return "no link has a rate"
    return ""
