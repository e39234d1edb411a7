# SPDX-License-Identifier: MIT
"""TCP connections as packets show them: what each direction sent, and how often, as seen from each vantage point.

A packet that passes several vantage points is counted by each of them for itself. Of each direction the vantage point
counts that saw most payload, and of equals the first: what is lost or filtered on the way only makes later ones see
less, so it is the one nearest to the sender. A byte is *fresh* when no vantage point has seen it before.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from mptcplab.capture.options import maximum_segment
from mptcplab.capture.packet import ACK, FIN, RST, SYN, Endpoint, Packet, VantagePoint
from mptcplab.capture.sequence import IntervalSet, Span, unwrap

_MAPPINGS = 256


@dataclass(slots=True, eq=False)
class View:
    """One direction from one vantage point. ``with_option`` and ``without_option`` count its SYNs by MPTCP's option."""

    seen: IntervalSet = field(default_factory=IntervalSet)
    packets: int = 0
    payload: int = 0
    retransmitted_bytes: int = 0
    retransmitted_packets: int = 0
    with_option: int = 0
    without_option: int = 0
    fin: int | None = None
    largest: int = 0


@dataclass(slots=True, eq=False)
class Mapping:
    """Subflow positions from ``start`` to ``end``, counted from the SYN, and the data position of the first."""

    start: int
    end: int
    data: int


@dataclass(slots=True, eq=False)
class HalfConnection:
    """One direction of a TCP connection. Positions are sequence numbers without their wrap.

    ``zero`` is the position of the SYN, known from it or, in a capture that begins later, from the mappings.
    ``acked`` is what the other side has acknowledged; ``fresh`` counts payload once, however often it was sent.
    """

    views: dict[VantagePoint, View] = field(default_factory=dict)
    union: IntervalSet | None = None
    last: int | None = None
    zero: int | None = None
    has_syn: bool = False
    acked: int | None = None
    fresh: int = 0
    unmapped: int = 0
    mss: int | None = None
    finished: bool = False
    reset: bool = False
    mappings: deque[Mapping] = field(default_factory=lambda: deque(maxlen=_MAPPINGS))

    def position(self, sequence: int) -> int:
        """``sequence`` without its wrap, near the last one."""
        if self.last is None:
            self.last = sequence
            return sequence
        found = unwrap(sequence, self.last, 32)
        self.last = max(self.last, found)
        return found

    @property
    def best(self) -> tuple[VantagePoint, View] | None:
        """The vantage point that counts."""
        return max(self.views.items(), key=lambda item: (item[1].payload, item[1].packets), default=None)

    @property
    def packets_seen(self) -> int:
        """Packets of this direction, at all vantage points together."""
        return sum(view.packets for view in self.views.values())

    @property
    def unseen(self) -> int:
        """Payload that the capture lacks: acknowledged, or followed by more, but never seen."""
        seen = self.union or (self.best[1].seen if self.best else None)
        if seen is None or seen.span is None:
            return 0
        end = seen.span[1] + self.finished
        return seen.missing + (max(0, self.acked - end) if self.acked is not None else 0)

    def count(self, packet: Packet) -> tuple[int, list[Span]]:
        """Count ``packet``; the position of its first payload byte, and which parts of its payload are fresh."""
        position = self.position(packet.sequence)
        view = self.views.get(packet.vantage)
        if view is None:
            view = self._new_view(packet.vantage)
        view.packets += 1
        if packet.flags & SYN:
            self._count_syn(packet, view, position)
            position += 1
        fresh: list[Span] = []
        if packet.length:
            fresh = self._count_payload(view, position, position + packet.length)
        if packet.flags & FIN:
            if view.fin is not None and not packet.length:
                view.retransmitted_packets += 1
            view.fin = position + packet.length
            self.finished = True
        self.reset = self.reset or bool(packet.flags & RST)
        return position, fresh

    def _new_view(self, vantage: VantagePoint) -> View:
        if len(self.views) == 1:  # from now on, what one has seen and what all have seen are not the same
            self.union = next(iter(self.views.values())).seen.copy()
        view = self.views[vantage] = View()
        return view

    def _count_syn(self, packet: Packet, view: View, position: int) -> None:
        self.zero, self.has_syn = position, True
        self.mss = maximum_segment(packet.options) or self.mss
        view.retransmitted_packets += bool(view.with_option or view.without_option)

    def _count_payload(self, view: View, start: int, end: int) -> list[Span]:
        view.payload += end - start
        view.largest = max(view.largest, end - start)
        new = view.seen.add(start, end)
        again = end - start - sum(stop - begin for begin, stop in new)
        # One byte that has been acknowledged already only asks whether the other side is still there.
        is_probe = again == 1 == end - start and self.acked is not None and self.acked >= end
        if again and not is_probe:
            view.retransmitted_bytes += again
            view.retransmitted_packets += 1
        fresh = new if self.union is None else self.union.add(start, end)
        self.fresh += sum(stop - begin for begin, stop in fresh)
        return fresh

    def acknowledge(self, number: int) -> None:
        """The other side has acknowledged everything before ``number``."""
        if self.last is not None:
            position = unwrap(number, self.last, 32)
            self.acked = position if self.acked is None else max(self.acked, position)


@dataclass(slots=True, eq=False)
class Flow:
    """A TCP connection, perhaps a subflow. Direction 0 is from ``ends[0]``, which sent the first SYN if one was seen.

    ``join_token`` is that of an MP_JOIN; ``is_capable`` says that an MP_CAPABLE was seen.
    """

    number: int
    ends: tuple[Endpoint, Endpoint]
    start_ns: int
    end_ns: int
    halves: tuple[HalfConnection, HalfConnection] = field(default_factory=lambda: (HalfConnection(), HalfConnection()))
    initiated: bool = False
    is_capable: bool = False
    answered: bool = False
    confirmed: bool = False
    join_token: int | None = None
    is_join: bool = False
    backup: list[bool] = field(default_factory=lambda: [False, False])
    address_ids: list[int | None] = field(default_factory=lambda: [None, None])
    has_dss: bool = False
    has_checksum: bool = False

    def add(self, packet: Packet, direction: int) -> tuple[int, list[Span]]:
        """Count ``packet``, see :meth:`Half.count`."""
        self.end_ns = max(self.end_ns, packet.time_ns)
        self.start_ns = min(self.start_ns, packet.time_ns)
        counted = self.halves[direction].count(packet)
        if packet.flags & ACK:
            self.halves[1 - direction].acknowledge(packet.acknowledgment)
        return counted

    @property
    def ended(self) -> str:
        """How it ended: ``reset``, ``closed``, or ``open`` when the capture ends before."""
        if any(half.reset for half in self.halves):
            return "reset"
        return "closed" if all(half.finished for half in self.halves) else "open"

    def is_another(self, packet: Packet, direction: int) -> bool:
        """Whether ``packet`` is the first SYN of a later connection between the same ports."""
        half = self.halves[direction]
        if packet.flags & (SYN | ACK) != SYN or half.last is None:
            return False
        return not half.has_syn or (half.zero is not None and (half.zero - packet.sequence) & 0xFFFFFFFF != 0)
