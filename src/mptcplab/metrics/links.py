# SPDX-License-Identifier: MIT
"""Counters of every direction of every link, as the kernel recorded them, and the peak and mean of its queue.

A direction that is shaped has a chain of queueing disciplines (``tc.json``): ``netem``, which drops packets at random,
is the parent of the discipline that keeps the queue of the bottleneck. A discipline's drops are counted by its parents,
too, so netem's own drops are its count minus its child's. For a direction without shaping, the counters come from
the interface at its end (``link.json``). Both count whole Ethernet frames of all packets, ARP included.

Packets that vanish on a link that is silently down do not reach these counters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from mptcplab.errors import LabError
from mptcplab.lazy import pl
from mptcplab.metrics.column import HIDDEN, Column, Display, Scope, ScopeRow
from mptcplab.metrics.instants import is_emptied
from mptcplab.metrics.manifest import DIRECTIONS, RecordedLink, read_links
from mptcplab.network.chances import CONFIDENCE, LossChances
from mptcplab.recording.record import REPEAT_HINT, Recording

#: Reads a counter of a node, by its file.
Counters = Callable[[str, str], Any]
#: The maximum bytes and packets in the samples of each direction's queue, and the mean packets.
QueueSizes = Mapping[tuple[str, str], tuple[int, int, float]]
#: Names of the disciplines' counters of packets marked with "congestion experienced".
_MARKS = ("ecn_mark", "marked")
_NETEM = "netem"
_EMPTIED = "its interface was down, which empties queues without counting"
_FEW = "too few bursts to decide"


@dataclass(frozen=True)
class DisciplineCounters:
    """The counters of a queueing discipline: packets and bytes that left it, drops, marks, and packets still in it."""

    packets: int
    bytes: int
    drops: int = 0
    qlen: int = 0
    marked: int = 0
    kind: str = ""

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> DisciplineCounters:
        """Return the counters of a discipline in ``tc -s -j qdisc``. CAKE counts marks in each of its tins."""
        counted = (entry, *entry.get("tins", ()))
        marked = sum(counters[key] for counters in counted for key in _MARKS if key in counters)
        return cls(entry["packets"], entry["bytes"], entry["drops"], entry["qlen"], marked, entry["kind"])


@dataclass(frozen=True)
class DirectionCounters:
    """One direction of a link at the end of a run.

    ``asked`` is the loss that the scenario configures. ``packets`` and ``bytes`` have left the direction. ``lost``
    counts packets lost at random, ``dropped`` packets that the queue dropped, ``marked`` packets with an ECN mark, and
    ``waiting`` those still in the queue. The peaks are maxima over the samples of the queue, and the mean is over
    all of them; None if nothing was sampled. ``expected`` is the interval that has the number lost in 99.9 % of all
    runs; None if there is none, for the reason ``unknown``.
    """

    link: str
    direction: str
    asked: LossChances
    packets: int
    bytes: int
    lost: int
    dropped: int
    marked: int
    waiting: int
    peak_queue_bytes: int | None
    peak_queue_packets: int | None
    mean_queue_packets: float | None
    expected: tuple[int, int] | None
    unknown: str = ""

    @property
    def offered(self) -> int:
        """The number of packets that entered the direction, duplicates included."""
        return self.packets + self.lost + self.dropped + self.waiting

    @property
    def lost_percent(self) -> float | None:
        """Packets lost at random in percent of the packets that entered; None if no packet entered."""
        return 100 * self.lost / self.offered if self.offered else None

    @property
    def is_as_asked(self) -> bool:
        """True unless the number lost is outside the expected interval."""
        return self.expected is None or self.expected[0] <= self.lost <= self.expected[1]


def direction_counters(recording: Recording) -> list[DirectionCounters]:
    """Return the counters of every direction of every link, in the order of the scenario."""
    read, sizes = cache(recording.counter), _queue_sizes(recording)
    return [
        _direction(link, direction, read, sizes, emptied=is_emptied(recording, link.name))
        for link in read_links(recording).values()
        for direction in DIRECTIONS
    ]


def _direction(
    link: RecordedLink, direction: str, read: Counters, sizes: QueueSizes, *, emptied: bool
) -> DirectionCounters:
    name, settings = link.name, link.in_direction(direction)
    chain = _chain(read, *settings.shaped_at) if settings.shaped_at is not None else []
    # Without shaping there is a single discipline, which neither queues nor drops.
    first = chain[0] if chain else _passed_counters(read, link.between, direction, name)
    below = chain[1].drops if len(chain) > 1 else 0
    is_random = bool(chain) and first.kind == _NETEM
    lost, dropped = (first.drops - below, below) if is_random else (0, first.drops)
    offered = first.packets + first.drops + first.qlen
    expected = None if emptied else settings.chances.expected_losses(offered)
    peak_bytes, peak_packets, mean_packets = sizes.get((name, direction), (None, None, None))
    return DirectionCounters(
        link=name,
        direction=direction,
        asked=settings.chances,
        packets=first.packets,
        bytes=first.bytes,
        lost=lost,
        dropped=dropped,
        marked=sum(discipline.marked for discipline in chain),
        waiting=first.qlen,
        peak_queue_bytes=peak_bytes,
        peak_queue_packets=peak_packets,
        mean_queue_packets=mean_packets,
        expected=expected,
        unknown="" if expected is not None else _EMPTIED if emptied else _FEW,
    )


def _chain(read: Counters, node: str, device: str) -> list[DisciplineCounters]:
    """Return the disciplines of a device from its root down, without the hooks of filters."""
    disciplines = {q.get("parent", ""): q for q in read(node, "tc.json") if q["dev"] == device}
    chain = [disciplines[""]]
    while (below := disciplines.get(f"{chain[-1]['handle']}1")) is not None:
        chain.append(below)
    return list(map(DisciplineCounters.from_json, chain))


def _passed_counters(read: Counters, between: Sequence[str], direction: str, device: str) -> DisciplineCounters:
    """Return what arrived at the end of a direction without shaping, in the form of a discipline's counters.

    An access point has no interface of the link's name: then it is what the other end, the station, has sent.
    """
    start, end = between if direction == "forward" else reversed(between)
    for node, counted_as in ((end, "rx"), (start, "tx")):
        for port in (entry for entry in read(node, "link.json") if entry["ifname"] == device):
            counted = port["stats64"][counted_as]
            return DisciplineCounters(counted["packets"], counted["bytes"])
    raise LabError(f"the recording has no counters of link '{device}'", hint=REPEAT_HINT)


def _queue_sizes(recording: Recording) -> QueueSizes:
    queues = recording.queues
    if not queues.height:
        return {}
    sizes = queues.group_by("link", "direction").agg(
        pl.col("bytes", "packets").max(), pl.col("packets").mean().alias("mean")
    )
    return {(link, direction): (size, most, mean) for link, direction, size, most, mean in sizes.iter_rows()}


def _seeds_outside(row: ScopeRow[DirectionCounters]) -> list[int]:
    return [seed for seed, counters in row.members if not counters.is_as_asked]


def _not_compared(row: ScopeRow[DirectionCounters]) -> str:
    return next((counters.unknown for _, counters in row.members if counters.unknown), "")


def _asked_percent(row: ScopeRow[DirectionCounters]) -> list[float]:
    return [100 * row.first.asked.low, 100 * row.first.asked.high]


_OUTSIDE = "seeds_outside_99.9_percent"
_count = partial(Column[DirectionCounters], unit="packets", type=int)
_COLUMNS = (
    _count(name="packets", definition="packets that left the direction", display=Display(order=1, head="packets")),
    _count(
        name="bytes",
        unit="B",
        definition="their bytes: whole Ethernet frames, ARP included",
        display=Display(order=2, head="MB", per=1e6),
    ),
    _count(name="lost", definition="packets lost at random", display=HIDDEN),
    _count(
        name="lost_percent",
        unit="%",
        definition="packets lost at random, of all packets that entered the direction",
        type=float,
        display=Display(order=3, head="lost %", check=_OUTSIDE),
    ),
    _count(
        name="lost_expected_low",
        definition="lower end of the interval that has `lost` in 99.9 % of all runs",
        value=lambda counters: None if counters.expected is None else counters.expected[0],
        in_json=False,
        display=HIDDEN,
    ),
    _count(
        name="lost_expected_high",
        definition="its upper end",
        value=lambda counters: None if counters.expected is None else counters.expected[1],
        in_json=False,
        display=HIDDEN,
    ),
    _count(
        name="dropped",
        definition="packets dropped by the queue: no room, or the discipline dropped it",
        display=Display(order=5, head="dropped"),
    ),
    _count(
        name="marked",
        definition="packets with an ECN mark in place of a drop",
        display=Display(order=6, head="marked"),
    ),
    _count(name="waiting", definition="packets still in the queue when the run ended", display=HIDDEN),
    _count(
        name="peak_queue_bytes",
        unit="B",
        definition="the maximum of all samples of the queue; `[record] interval` sets how often they are taken",
        display=Display(order=8, head="peak kB", per=1e3),
    ),
    _count(name="peak_queue_packets", definition="the same in packets", display=Display(order=7, head="peak queue")),
    _count(
        name="mean_queue_packets",
        definition="the mean of all samples of the queue, also of those in which it was empty",
        type=float,
        display=Display(order=9, head="mean queue"),
    ),
)

LINKS = Scope(
    name="links",
    title="Links",
    order=1,
    frame="links",
    read=direction_counters,
    keys=(
        Column(name="link", definition="name of the link", type=str),
        Column(name="direction", definition="`forward` or `backward`", type=str),
    ),
    columns=_COLUMNS,
    facts=(
        Column(
            name="asked_loss_percent",
            unit="%",
            definition="the loss that the scenario asks for: minimum and maximum, if it changes during the run",
            value=_asked_percent,
            highest=100,
            display=Display(order=4, head="asked %"),
        ),
    ),
    checks=(
        Column(name=_OUTSIDE, definition="runs whose losses are outside the interval", value=_seeds_outside),
        Column(name="loss_not_compared", definition="the reason if there is no interval", value=_not_compared),
    ),
    notes=(
        "Packets and bytes that left the direction, as whole Ethernet frames, including ARP. Lost: at random, of the "
        "packets that entered. Dropped: by the queue. Marked: by ECN. Peak and mean: of the queue's samples.",
        f"A highlighted loss is outside the interval that holds in {100 * CONFIDENCE:g} % of all runs with the loss "
        "asked for. One direction in a thousand is outside by chance.",
    ),
)
