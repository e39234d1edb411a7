# SPDX-License-Identifier: MIT
"""One MPTCP connection: its keys, its subflows, and the data sequence space of each direction.

A data byte is *reinjected* if it is sent again under a new subflow sequence number. A retransmission by TCP keeps the
subflow sequence number and is not a reinjection.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from mptcplab.capture.options import Capable, Dss
from mptcplab.capture.sequence import IntervalSet, Span, unwrap
from mptcplab.capture.tcp import HalfConnection, SubflowEvent, TcpFlow, WaitingSpan

# Points of a figure, thinned as they arrive: a bounded number is kept, distributed like all of them.

#: Added to every number, so that cells on both sides of zero can merge. Its bits alternate, so they merge early.
_OFFSET = 0x5555_5555_5555_5555_5555


class ThinnedPoints:
    """At most ``max_points`` points, one per cell of a grid whose cells grow when too many are occupied.

    Each cell keeps its first point. The result therefore depends on the points only, and outliers are kept.
    """

    __slots__ = ("_cells", "_height", "_max_points", "_width")

    def __init__(self, max_points: int) -> None:
        self._max_points = max_points
        self._width = self._height = 0  # powers of two: at first a cell is one number wide and high
        self._cells: dict[tuple[int, int], tuple[int, int]] = {}

    def add(self, x: int, y: int) -> None:
        """Add a point."""
        self._keep_first(x, y)
        while len(self._cells) > self._max_points:
            self._grow()

    def _grow(self) -> None:
        """Double the cells' width or height, whichever way the points span more cells."""
        columns = {column for column, _ in self._cells}
        rows = {row for _, row in self._cells}
        wide = max(columns) - min(columns) >= max(rows) - min(rows)
        self._width, self._height = self._width + wide, self._height + (not wide)
        points = self._cells.values()
        self._cells = {}
        for x, y in points:
            self._keep_first(x, y)

    def _keep_first(self, x: int, y: int) -> None:
        cell = (x + _OFFSET) >> self._width, (y + _OFFSET) >> self._height
        self._cells.setdefault(cell, (x, y))

    @property
    def points(self) -> list[tuple[int, int]]:
        """The points kept, in the order of arrival."""
        return list(self._cells.values())


#: Intervals of a data sequence space that are tracked; data before the lowest counts as sent.
_DATA_INTERVALS = 65536
_MAX_EVENTS = 500
#: By bits: data sequence numbers of one connection are within a window of each other, which is less than this.
_NEAR = {64: 1 << 31, 32: 1 << 24}
_INFINITE = 1 << 62
#: Points of a figure per subflow and direction: few for the many connections of a busy server.
_POINTS, _FEW_POINTS, _WITH_MANY_POINTS = 4000, 100, 50


@dataclass(slots=True, eq=False)
class DataSpace:
    """The data that one side of a connection sends. Positions count from its first byte, or the first byte seen."""

    origin: int | None = None
    origin_bits: int = 0
    last: int = 0
    seen: IntervalSet = field(default_factory=lambda: IntervalSet(_DATA_INTERVALS))
    total: int = 0
    acked: int | None = None
    fin: int | None = None
    reinjected: dict[int, int] = field(default_factory=dict)
    by_flow: dict[int, int] = field(default_factory=dict)
    points: dict[tuple[int, bool], ThinnedPoints] = field(default_factory=dict)

    def begin(self, key: bytes, version: int) -> None:
        """Derive the sequence number of the first byte from the sender's key."""
        if self.origin is None:
            self.origin, self.origin_bits = first_sequence(key, version), 64

    def position(self, number: int, bits: int) -> int:
        """Return ``number`` as a position: with 32 bits, or an origin of 32 bits, the one nearest to the last."""
        if self.origin is None:
            self.origin, self.origin_bits = number, bits
        if bits == 64 and self.origin_bits == 64:
            count = unwrap(number - self.origin, 0, 64)
        else:
            count = unwrap((number - self.origin) & 0xFFFFFFFF, self.last, 32)
            if bits == 64:
                self.origin, self.origin_bits = (number - count) & 0xFFFFFFFFFFFFFFFF, 64
        return count

    def is_near(self, number: int, bits: int) -> bool:
        """Return whether ``number`` can belong to this space, judged by its distance from the last position."""
        if self.origin is None:
            return False
        bits = min(bits, self.origin_bits)
        mask = (1 << bits) - 1
        return abs(unwrap((number - self.origin) & mask, self.last, bits) - self.last) < _NEAR[bits]

    def add(self, span: Span, flow: int, time_ns: int, points: int) -> None:
        """Add ``span``, sent for the first time on ``flow``."""
        start, end = span
        new = sum(stop - begin for begin, stop in self.seen.add(start, end))
        again = end - start - new
        self.last = max(self.last, end)
        self.total += new
        self.by_flow[flow] = self.by_flow.get(flow, 0) + end - start
        if again:
            self.reinjected[flow] = self.reinjected.get(flow, 0) + again
        key = (flow, bool(again))
        if key not in self.points:
            self.points[key] = ThinnedPoints(points)
        self.points[key].add(time_ns, start)


@dataclass(slots=True, eq=False)
class MptcpConnection:
    """An MPTCP connection. ``keys``, ``tokens`` and ``spaces`` are by side; side 0 opened the first subflow seen.

    ``flows`` has its subflows, each with the side that sends in the flow's direction 0. ``infinite_ns`` is when an
    infinite mapping was sent. ``is_earlier`` is set if the connection began before the capture, and ``is_nameless`` if
    no option of its single subflow names a connection. ``is_complete`` is set at the end of the capture.
    """

    number: int
    version: int | None = None
    keys: list[bytes | None] = field(default_factory=lambda: [None, None])
    tokens: list[int | None] = field(default_factory=lambda: [None, None])
    spaces: tuple[DataSpace, DataSpace] = field(default_factory=lambda: (DataSpace(), DataSpace()))
    flows: list[tuple[TcpFlow, int]] = field(default_factory=list)
    checksum_asked: bool = False
    infinite_ns: int | None = None
    failed: bool = False
    is_earlier: bool = False
    is_nameless: bool = False
    events: list[SubflowEvent] = field(default_factory=list)
    more_events: int = 0
    is_complete: bool = False

    def learn_key(self, side: int, key: bytes, version: int) -> int:
        """Store the key of one side and return its token."""
        self.version = version
        self.keys[side] = key
        token = self.tokens[side] = token_of(key, version)
        self.spaces[side].begin(key, version)
        return token

    def note(self, event: SubflowEvent) -> None:
        """Store ``event``; only count it if there are very many."""
        if len(self.events) < _MAX_EVENTS:
            self.events.append(event)
        else:
            self.more_events += 1

    def map_data(self, flow: TcpFlow, direction: int, side: int, dss: Dss, payload: Span) -> None:
        """Store the mapping in ``dss``, sent by ``side`` in a packet with this payload."""
        space, half = self.spaces[side], flow.halves[direction]
        if dss.sequence is None:
            return
        data = space.position(dss.sequence, dss.sequence_bits)
        length = dss.length - dss.fin if dss.length else _INFINITE
        if not dss.length and self.infinite_ns is None:
            self.infinite_ns = flow.end_ns
        if length <= 0 or (not dss.subflow_sequence and dss.fin):
            return
        self._find_zero(half, dss.subflow_sequence, length, payload)
        assert half.zero is not None
        start = unwrap(dss.subflow_sequence, payload[0] - half.zero, 32)
        self._map(flow, direction, side, (start, start + length), data)

    @staticmethod
    def _find_zero(half: HalfConnection, subflow_sequence: int, length: int, payload: Span) -> None:
        """Infer the position of an unseen SYN: packets begin at or after their mapping, and end in it."""
        if half.has_syn:
            return
        begin, end = payload
        zero = begin - subflow_sequence if half.zero is None else unwrap(begin - subflow_sequence, half.zero, 32)
        zero_min = zero + end - begin - length
        half.zero = zero if half.zero is None else min(half.zero, zero)
        half.zero_min = zero_min if half.zero_min is None else max(half.zero_min, zero_min)

    def map_first_data(self, flow: TcpFlow, direction: int, side: int, capable: Capable) -> None:
        """Store the mapping of the first bytes if the MP_CAPABLE has a data length."""
        if capable.data_length:
            space, key = self.spaces[side], self.keys[side]
            # In packets out of order, a later mapping may have set the origin.
            data = 0 if key is None else space.position(first_sequence(key, capable.version), 64)
            self._map(flow, direction, side, (1, 1 + capable.data_length), data)

    def add_data(self, flow: TcpFlow, direction: int, side: int, fresh: list[Span], time_ns: int) -> None:
        """Add fresh payload of a subflow. What no mapping seen so far covers waits for a later one."""
        flow.halves[direction].unmapped += sum(end - start for start, end in fresh)
        for start, end in fresh:
            self._place(flow, direction, side, WaitingSpan(start, end, time_ns))

    def _map(self, flow: TcpFlow, direction: int, side: int, mapped: Span, data: int) -> None:
        """Store a mapping, and add payload that waited for it. Data that was reinjected meanwhile was there first."""
        half = flow.halves[direction]
        half.mappings.add(*mapped, data)
        if not half.waiting or half.zero is None or half.zero + mapped[0] >= half.waiting_end:
            return
        self._place_waiting(flow, direction, side)

    def complete(self) -> None:
        """Note the end of the capture: of a subflow's unseen SYN, the upper bound is taken for its position."""
        self.is_complete = True
        for flow, first_side in self.flows:
            for direction in (0, 1):
                self._place_waiting(flow, direction, first_side ^ direction)

    def _place_waiting(self, flow: TcpFlow, direction: int, side: int) -> None:
        half = flow.halves[direction]
        waiting = list(half.waiting)
        half.waiting.clear()
        for span in waiting:
            self._place(flow, direction, side, span)

    def _place(self, flow: TcpFlow, direction: int, side: int, span: WaitingSpan) -> None:
        half = flow.halves[direction]
        if half.zero is None or not (half.is_zero_exact or self.is_complete):
            half.wait(*span)
            return
        points = _POINTS if self.number <= _WITH_MANY_POINTS else _FEW_POINTS
        for start, end, data in half.mappings.pieces(span.start - half.zero, span.end - half.zero):
            if data is None:
                half.wait(half.zero + start, half.zero + end, span.time_ns)
            else:
                half.unmapped -= end - start
                self.spaces[side].add((data, data + end - start), flow.number, span.time_ns, points)

    @property
    def ended(self) -> bool:
        """True if no subflow is open."""
        return all(flow.ended != "open" for flow, _ in self.flows)


def token_of(key: bytes, version: int) -> int:
    """Return the token by which MP_JOIN names a connection: the first 32 bits of the hash of a key."""
    return int.from_bytes(_digest(key, version)[:4])


def first_sequence(key: bytes, version: int) -> int:
    """Return the data sequence number of the first byte of data: the last 64 bits of the hash of a key, plus 1."""
    return (int.from_bytes(_digest(key, version)[-8:]) + 1) & 0xFFFFFFFFFFFFFFFF


def _digest(key: bytes, version: int) -> bytes:
    return hashlib.sha256(key).digest() if version else hashlib.sha1(key, usedforsecurity=False).digest()
