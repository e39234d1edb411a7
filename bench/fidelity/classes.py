# SPDX-License-Identifier: MIT
"""The class of every scenario: on a fast CPU inside the margins, outside, or open; or why it is none of these."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from bench.fidelity.place import place
from mptcplab.scenario.schema import Scenario

#: The side whose CPU is fast, by a network that is slower.
SLOWER = "stock-7.2-slower"
#: The side whose network is so slow that no CPU limits it.
SLOWEST = "stock-7.2-slowest"
_OF_THE_CPU = "the CPU: no longer where the network is 64 times slower"
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
    found = sides.get(SLOWER, {})
    if unlimited:
        return Class.UNLIMITED, unlimited
    if "refused" in found:
        return Class.REFUSED, found["refused"]
    places = _places(found)
    if not places:
        return Class.NOT_MEASURED, ""
    if "!" in places:
        return Class.OUTSIDE, _OF_THE_CPU if _is_of_the_cpu(found, sides.get(SLOWEST, {})) else ""
    return (Class.OPEN if "?" in places else Class.INSIDE), ""


def _is_of_the_cpu(slower: dict[str, Any], slowest: dict[str, Any]) -> bool:
    """Return whether goodputs differ less where no CPU limits: they are not outside, in intervals apart from these."""
    if not _places(slowest) or "!" in _places(slowest):
        return False
    after = {(str(row["settings"]), row["workload"]): row for row in slowest["rows"] if row["metric"] == COMPARED[0]}
    outside = [row for row in slower["rows"] if row["metric"] == COMPARED[0] and place(row) == "!"]
    keys = [(str(row["settings"]), row["workload"]) for row in outside]
    return bool(outside) and all(
        key in after and _are_apart(row, after[key]) for key, row in zip(keys, outside, strict=True)
    )


def _are_apart(one: dict[str, Any], other: dict[str, Any]) -> bool:
    halves = one["percent_half_width"] + other["percent_half_width"]
    return bool(abs(one["percent"] - other["percent"]) > halves)


def _places(side: dict[str, Any]) -> set[str]:
    return {place(row) for row in side.get("rows", ()) if row["metric"] in COMPARED}


def not_of_rates(scenario: Scenario) -> str:
    """Return what limits a scenario in place of the rates of its links; empty if these do."""
    if scenario.has_radios:
        return "radios"
    if any(node.cpu is not None for node in scenario.nodes.values()):
        return "a node's CPU"
    if all(side.rate is None for link in scenario.links.values() for side in (link.forward, link.backward)):
        return "no link has a rate"
    return ""
