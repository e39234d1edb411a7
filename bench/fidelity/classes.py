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
_OF_THE_CPU = "the CPU: inside where the network is 64 times slower"
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
        return Class.OUTSIDE, _OF_THE_CPU if _places(sides.get(SLOWEST, {})) == {""} else ""
    return (Class.OPEN if "?" in places else Class.INSIDE), ""


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
