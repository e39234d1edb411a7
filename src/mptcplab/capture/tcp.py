# SPDX-License-Identifier: MIT
"""TCP connections as packets show them: what each direction sent, and how often, as seen from each vantage point.

Each vantage point has its own counts. A direction's counts come from the vantage point that saw most
payload, the first of equals: loss and filters on the path only reduce what later ones see, so it is the one nearest to
the sender. A byte is *fresh* if no vantage point has seen it before.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from mptcplab.capture.options import maximum_segment
from mptcplab.capture.packet import ACK, FIN, RST, SYN, Packet, SocketAddress, VantagePoint
from mptcplab.capture.sequence import IntervalSet, MappingTable, Span, unwrap

#: Spans of payload per direction that wait for their mapping: beyond these, the oldest stay unmapped.
WAITING_SPANS = 4096
#: How a subflow was assigned: by the keys in MP_CAPABLE, by the token in MP_JOIN, or by its data sequence numbers.
Recognition = Literal["keys", "token", "numbers"]


@dataclass(slots=True, eq=False)
class View:
    """Counts of one direction at one vantage point.

    ``with_option`` and ``without_option`` count its SYNs with and without an MPTCP option; ``newest_syn_asked`` is
    True if the newest one has it. ``answers_asking`` is set in the view of a SYN/ACK: True if the SYN before it has
    the option.
    """

    seen: IntervalSet = field(default_factory=IntervalSet)
    packets: int = 0
    payload: int = 0
    retransmitted_bytes: int = 0
    retransmitted_packets: int = 0
    with_option: int = 0
    without_option: int = 0
    newest_syn_asked: bool | None = None
    answers_asking: bool | None = None
    fin: int | None = None
    largest: int = 0


class WaitingSpan(NamedTuple):
    """Payload from position ``start`` to ``end``, seen at ``time_ns`` before a mapping of it."""

    start: int
    end: int
    time_ns: int


@dataclass(slots=True, eq=False)
class HalfConnection:
    """One direction of a TCP connection. Positions are unwrapped sequence numbers.

    ``zero`` is the position of the SYN, taken from it or, if the capture begins later, from the mappings, which give a
    highest position and a lowest one, ``zero_min``: where both meet, it is exact. ``acked`` is
    the position up to which the other side has acknowledged; ``first`` and ``last`` are the lowest and the highest
    sequence number seen. ``fresh`` counts each byte of payload once, and
    ``unmapped`` those for which no mapping has been seen: they are ``waiting`` for one, all before ``waiting_end``.
    ``mappings`` count positions from ``zero``. ``option_end`` is the end of the newest packet with an MPTCP option.
    ``is_acknowledged`` is set if the other side has acknowledged packets of this direction, seen or not.
    ``cut_packets`` counts packets of whose TCP options the capture has only a part.
    """

    views: dict[VantagePoint, View] = field(default_factory=dict)
    union: IntervalSet | None = None
    first: int | None = None
    last: int | None = None
    zero: int | None = None
    zero_min: int | None = None
    has_syn: bool = False
    acked: int | None = None
    fresh: int = 0
    unmapped: int = 0
    mss: int | None = None
    finished: bool = False
    reset: bool = False
    mappings: MappingTable = field(default_factory=MappingTable)
    waiting: deque[WaitingSpan] = field(default_factory=lambda: deque(maxlen=WAITING_SPANS))
    waiting_end: int = 0
    option_end: int | None = None
    is_acknowledged: bool = False
    cut_packets: int = 0

    def position(self, sequence: int) -> int:
        """Return ``sequence`` unwrapped: the position nearest to the last one."""
        if self.first is None or self.last is None:
            self.first = self.last = sequence
            return sequence
        unwrapped = unwrap(sequence, self.last, 32)
        self.first, self.last = min(self.first, unwrapped), max(self.last, unwrapped)
        return unwrapped

    @property
    def best(self) -> tuple[VantagePoint, View] | None:
        """The vantage point whose counts are used."""
        return max(self.views.items(), key=lambda item: (item[1].payload, item[1].packets), default=None)

    @property
    def packets_seen(self) -> int:
        """The number of packets of this direction, summed over vantage points."""
        return sum(view.packets for view in self.views.values())

    @property
    def seen(self) -> IntervalSet | None:
        """The payload that any vantage point has seen."""
        return self.union or (self.best[1].seen if self.best else None)

    @property
    def unseen(self) -> int:
        """Bytes of payload missing from the capture: acknowledged, or followed by later ones, but never seen."""
        seen = self.seen
        if seen is None or seen.span is None:
            return 0
        end = seen.span[1] + self.finished
        return seen.missing_bytes + (max(0, self.acked - end) if self.acked is not None else 0)

    def count(self, packet: Packet) -> tuple[int, list[Span]]:
        """Count ``packet``. Return the position of its first payload byte, and the fresh parts of its payload."""
        position = self.position(packet.sequence)
        view = self.views.get(packet.vantage)
        if view is None:
            view = self._new_view(packet.vantage)
        view.packets += 1
        self.cut_packets += packet.is_cut
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

    @property
    def is_zero_exact(self) -> bool:
        """True if the position of the SYN is known, and not only its bounds."""
        if self.zero is None:
            return False
        return self.has_syn or (self.zero_min is not None and self.zero_min >= self.zero)

    def _new_view(self, vantage: VantagePoint) -> View:
        if len(self.views) == 1:  # from the second vantage point on, the union differs from what the first has seen
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
        # A single byte that was acknowledged already is a keep-alive or window probe.
        is_probe = again == 1 == end - start and self.acked is not None and self.acked >= end
        if again and not is_probe:
            view.retransmitted_bytes += again
            view.retransmitted_packets += 1
        fresh = new if self.union is None else self.union.add(start, end)
        self.fresh += sum(stop - begin for begin, stop in fresh)
        return fresh

    def wait(self, start: int, end: int, time_ns: int) -> None:
        """Keep payload until a mapping of it is seen."""
        self.waiting_end = max(self.waiting_end, end) if self.waiting else end
        self.waiting.append(WaitingSpan(start, end, time_ns))

    def acknowledge(self, number: int) -> None:
        """Note that the other side has acknowledged everything before ``number``."""
        if self.last is not None:
            position = unwrap(number, self.last, 32)
            self.acked = position if self.acked is None else max(self.acked, position)


@dataclass(slots=True)
class PlainTail:
    """The part of a subflow after its last MPTCP option, from the first payload on, which ``direction`` sent.

    ``is_unmapped`` is set when there was payload without mapping since, and ``is_answered`` when the other side has
    sent.
    """

    since_ns: int
    direction: int
    is_unmapped: bool = False
    is_answered: bool = False


@dataclass(frozen=True, slots=True)
class SubflowEvent:
    """An MPTCP option or signal that one side sent on a subflow. ``about`` has the option's values."""

    time_ns: int
    flow: TcpFlow
    direction: int
    kind: str
    about: dict[str, Any]
    vantage: Any


@dataclass(slots=True, eq=False)
class TcpFlow:
    """A TCP connection, perhaps a subflow. Direction 0 is from ``ends[0]``, which sent the first SYN if one was seen.

    ``join_token`` is the token in an MP_JOIN; ``is_capable`` is set if an MP_CAPABLE was seen. ``recognised_by`` is
    what assigned the subflow to its connection, and ``events`` are options seen before that. ``plain`` is the end of
    the subflow, if neither side sent an MPTCP option from some payload on.
    """

    number: int
    ends: tuple[SocketAddress, SocketAddress]
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
    has_mptcp: bool = False
    recognised_by: Recognition | None = None
    events: list[SubflowEvent] = field(default_factory=list)
    plain: PlainTail | None = None
    has_dss: bool = False
    has_checksum: bool = False

    def add(self, packet: Packet, direction: int) -> tuple[int, list[Span]]:
        """Count ``packet``; see :meth:`HalfConnection.count`."""
        self.end_ns = max(self.end_ns, packet.time_ns)
        self.start_ns = min(self.start_ns, packet.time_ns)
        counted = self.halves[direction].count(packet)
        self.initiated = self.initiated or packet.flags & (SYN | ACK) == SYN
        if packet.flags & ACK:
            self.halves[1 - direction].acknowledge(packet.acknowledgment)
            # A reset may have any number, of a side that has received nothing.
            self.halves[1 - direction].is_acknowledged |= not packet.flags & RST
        return counted

    def count_syn_option(self, packet: Packet, direction: int, *, has_option: bool) -> None:
        """Count whether a SYN or SYN/ACK has an MPTCP option, and whether the SYN asked that a SYN/ACK answers."""
        view = self.halves[direction].views[packet.vantage]
        view.with_option += has_option
        view.without_option += not has_option
        view.newest_syn_asked = has_option
        asking = self.halves[1 - direction].views.get(packet.vantage)
        if packet.flags & ACK and view.answers_asking is None and asking is not None:
            view.answers_asking = asking.newest_syn_asked

    def note_option(self, packet: Packet, direction: int, position: int) -> None:
        """Note a packet with an MPTCP option, whose payload begins at ``position``."""
        self.plain = None
        self.halves[direction].option_end = position + packet.length

    def note_plain(self, packet: Packet, direction: int, position: int, *, is_unmapped: bool) -> None:
        """Note a packet without MPTCP option. ``is_unmapped`` says that it has payload without mapping.

        Payload after a gap begins no plain tail: the option may be in a segment that the capture misses.
        """
        if self.plain is None and packet.length:
            half = self.halves[direction]
            begin = half.seen.begin_of(position) if half.seen is not None else None
            if begin is not None and half.option_end is not None and begin <= half.option_end <= position:
                self.plain = PlainTail(packet.time_ns, direction)
        if self.plain is not None:
            self.plain.is_unmapped = self.plain.is_unmapped or is_unmapped
            self.plain.is_answered = self.plain.is_answered or direction != self.plain.direction

    @property
    def is_one_way(self) -> bool:
        """True if the capture has only one direction, and the other side has sent as well, as acknowledgments show."""
        return any(half.is_acknowledged and not half.packets_seen for half in self.halves)

    @property
    def ended(self) -> str:
        """The state at the end of the capture: ``reset``, ``closed`` or ``open``."""
        if any(half.reset for half in self.halves):
            return "reset"
        return "closed" if all(half.finished for half in self.halves) else "open"

    def is_followed_by(self, packet: Packet, direction: int) -> bool:
        """Return whether ``packet`` is the first SYN of a later connection between the same ports."""
        half = self.halves[direction]
        if packet.flags & (SYN | ACK) != SYN or half.last is None:
            return False
        if direction == 0 and not half.has_syn and half.first == packet.sequence + 1 and self.ended == "open":
            return False  # its own SYN, which was overtaken
        return not half.has_syn or (half.zero is not None and (half.zero - packet.sequence) & 0xFFFFFFFF != 0)
