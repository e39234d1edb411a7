# SPDX-License-Identifier: MIT
"""Links as they were: what the kernel counted of every direction of every link, and what its queue held.

A direction that is shaped is a chain of queueing disciplines (``tc.json``): ``netem``, which loses packets at random,
above what keeps the queue of the bottleneck. What a discipline drops is counted by those above it as well, so netem's
own drops are those that the one below it does not have. Of a direction that nothing shapes, the interface at its end
tells what arrived (``link.json``). Both count whole Ethernet frames, and all packets, ARP included.

Packets that vanish in a link that is silently down do not come as far, and are not counted here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import polars as pl

from mptcplab.metrics.instants import is_emptied
from mptcplab.metrics.loss import Chances
from mptcplab.recording.record import Recording

Qdisc = Mapping[str, Any]
#: The most bytes and packets that samples of a direction's queue have.
Peaks = Mapping[tuple[str, str], tuple[int, int]]
DIRECTIONS = ("forward", "backward")
#: What disciplines call the packets that they have marked with "congestion experienced".
_MARKS = ("ecn_mark", "marked")
_NETEM = "netem"
_EMPTIED = "its interface was down, which empties queues without counting"
_FEW = "too few bursts to tell"


@dataclass(frozen=True)
class DirectionCounters:
    """One direction of a link at the end of a run.

    ``asked`` is the loss that the scenario asks for. ``packets`` and ``bytes`` have left it; ``lost`` are those that
    chance took, ``dropped`` those that the queue had no room for or gave up, ``marked`` those with a mark of ECN,
    ``waiting`` those still in it. The peaks of the queue are those of its samples, None if nothing was sampled.
    ``expected`` is the number of lost ones that chance makes, in 99.9 % of all runs; None if that cannot be told, for
    the reason ``unknown``.
    """

    link: str
    direction: str
    asked: Chances
    packets: int
    bytes: int
    lost: int
    dropped: int
    marked: int
    waiting: int
    peak_bytes: int | None
    peak_packets: int | None
    expected: tuple[int, int] | None
    unknown: str = ""

    @property
    def offered(self) -> int:
        """All that came, copies included."""
        return self.packets + self.lost + self.dropped + self.waiting

    @property
    def lost_percent(self) -> float | None:
        """Of all that came; None if nothing did."""
        return 100 * self.lost / self.offered if self.offered else None

    @property
    def is_as_asked(self) -> bool:
        """Whether chance makes this many losses, as far as can be told."""
        return self.expected is None or self.expected[0] <= self.lost <= self.expected[1]


def direction_counters(recording: Recording) -> list[DirectionCounters]:
    """Every direction of every link, in the order of the scenario."""
    links, read, peaks = recording.manifest["links"], cache(recording.counter), _peaks(recording)
    return [
        _direction(link, direction, read, peaks, emptied=is_emptied(recording, link["name"]))
        for link in links
        for direction in DIRECTIONS
    ]


def _direction(
    link: Mapping[str, Any], direction: str, read: Callable[[str, str], Any], peaks: Peaks, *, emptied: bool
) -> DirectionCounters:
    name, described = link["name"], link[direction]
    chain = _chain(read, *described["shaped_at"]) if described["shaped_at"] is not None else []
    # Without disciplines of its own it has one that neither queues nor drops.
    first = chain[0] if chain else _arrived(read, link["between"][direction == "forward"], name)
    below = chain[1]["drops"] if len(chain) > 1 else 0
    is_random = bool(chain) and first["kind"] == _NETEM
    lost, dropped = (first["drops"] - below, below) if is_random else (0, first["drops"])
    offered = first["packets"] + first["drops"] + first["qlen"]
    asked = Chances.of(described["chances"])
    expected = None if emptied else asked.expected(offered)
    peak_bytes, peak_packets = peaks.get((name, direction), (None, None))
    return DirectionCounters(
        link=name,
        direction=direction,
        asked=asked,
        packets=first["packets"],
        bytes=first["bytes"],
        lost=lost,
        dropped=dropped,
        marked=sum(map(_marked, chain)),
        waiting=first["qlen"],
        peak_bytes=peak_bytes,
        peak_packets=peak_packets,
        expected=expected,
        unknown="" if expected is not None else _EMPTIED if emptied else _FEW,
    )


def _chain(read: Callable[[str, str], Any], node: str, device: str) -> list[Qdisc]:
    """The disciplines of a device from its root down; without the hooks of filters, which stand beside these."""
    found = {q.get("parent", ""): q for q in read(node, "tc.json") if q["dev"] == device}
    chain = [found[""]]
    while (below := found.get(f"{chain[-1]['handle']}1")) is not None:
        chain.append(below)
    return chain


def _arrived(read: Callable[[str, str], Any], node: str, device: str) -> Qdisc:
    """What came to the end of a direction that nothing shapes, as a discipline would tell it."""
    (port,) = (one for one in read(node, "link.json") if one["ifname"] == device)
    received = port["stats64"]["rx"]
    return {"packets": received["packets"], "bytes": received["bytes"], "drops": 0, "qlen": 0}


def _marked(discipline: Qdisc) -> int:
    """CAKE counts in each of its tins."""
    places = (discipline, *discipline.get("tins", ()))
    return sum(place[key] for place in places for key in _MARKS if key in place)


def _peaks(recording: Recording) -> Peaks:
    queues = recording.queues
    if not queues.height:
        return {}
    most = queues.group_by("link", "direction").agg(pl.col("bytes", "packets").max())
    return {(link, direction): (held, packets) for link, direction, held, packets in most.iter_rows()}
