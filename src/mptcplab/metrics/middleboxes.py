# SPDX-License-Identifier: MIT
"""Packets that middleboxes dropped or altered, by the counters of their rules (``nft.json``), one per action."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mptcplab.metrics.column import Column, Display, Scope
from mptcplab.metrics.manifest import read_nodes
from mptcplab.recording.record import Recording

_TABLE = "middlebox"


@dataclass(frozen=True)
class MiddleboxCount:
    """The number of packets to which a router applied one action: ``verb`` (drop, strip, mangle, damage) ``option``."""

    router: str
    verb: str
    option: str
    packets: int


def middlebox_counts(recording: Recording) -> list[MiddleboxCount]:
    """Return the counts of every rule of every router, in the order of the scenario."""
    return [
        MiddleboxCount(node.name, verb, option, packets)
        for node in read_nodes(recording).values()
        if node.middlebox
        for (verb, option), packets in zip(node.middlebox, _read_counts(recording, node.name), strict=True)
    ]


def _read_counts(recording: Recording, router: str) -> Iterator[int]:
    for entry in recording.counter(router, "nft.json")["nftables"]:
        rule = entry.get("rule", {})
        if rule.get("table") == _TABLE:
            yield from (part["counter"]["packets"] for part in rule["expr"] if "counter" in part)


MIDDLEBOXES = Scope(
    name="middleboxes",
    title="Middleboxes",
    place=4,
    read=middlebox_counts,
    keys=(
        Column(name="router", definition="name of the router", type=str, display=Display(head="router")),
        Column(name="verb", definition="`drop`, `strip`, `mangle` or `damage`", type=str, display=Display(head="does")),
        Column(name="option", definition="the option of TCP or MPTCP", type=str, display=Display(head="to")),
    ),
    columns=(
        Column(
            name="packets",
            unit="packets",
            definition="packets to which it did so",
            type=int,
            display=Display(place=1, head="packets"),
        ),
    ),
)
