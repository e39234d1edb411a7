# SPDX-License-Identifier: MIT
"""The packets of each path of a capture: when each segment was sent and delivered, and which were lost.

A *path* is a pair of addresses, in the direction of the payload. All connections on it share a line. At the sender, an
acknowledgement, cumulative or selective, shows when a segment arrived, one constant return delay later. At the
receiver, the arrival itself does, and the sender's time stamp (RFC 7323) shows when it was sent, in milliseconds of a
clock with an unknown offset. Either way, the difference is a constant plus the time that the segment waited in a queue.

Times are in seconds since the first packet of the capture, sizes in bytes of the frame with its Ethernet header, as
a scenario counts its rates.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from mptcplab.capture.options import has_mptcp
from mptcplab.capture.packet import ACK, RST, SYN, Packet, SocketAddress

_ETHERNET, _TCP, _IP4, _IP6 = 14, 20, 20, 40
_NS = 1_000_000_000
_SACK, _TIMESTAMPS, _NOP, _END = 5, 8, 1, 0
#: Linux counts time stamps in milliseconds.
_STAMP_S = 0.001
#: Segments of one burst leave within this time, and the shortest delay of an acknowledgement (RFC 1122) is longer than
#: the other.
_BURST_S, _PROMPT_S = 0.001, 0.02
_WRAP, _HALF_WRAP = 1 << 32, 1 << 31
#: A gap at the receiver that would make more losses than this for each arrival, with some to begin with, is a gap of
#: the capture: packets that nobody recorded.
_LOSSES_AN_ARRIVAL, _FIRST_LOSSES = 10, 100
#: Direction of a packet on the device ``any``: it was sent by the host itself.
_OUTGOING = "4"


class DeliveredSegment(NamedTuple):
    """A segment that arrived. ``order`` counts the path's first transmissions.

    ``is_timed`` is True if ``delivered_s - sent_s`` shows its delay: it was sent once, and nothing held back the
    acknowledgement. If it was sent once (not ``is_repeated``), the difference is at least an upper bound.
    """

    order: int
    sent_s: float
    delivered_s: float
    frame: int
    payload: int
    is_timed: bool
    is_repeated: bool
    flow: int


class LostSegment(NamedTuple):
    """A first transmission that was lost: its place among the path's first transmissions, and when it was sent."""

    order: int
    sent_s: float


@dataclass
class PathTrace:
    """One path in a capture: addresses of sender and receiver, deliveries, losses, and round trips.

    ``at_sender`` says where the packets were captured. ``handshakes_s`` are round trips of SYNs, ``sent`` counts first
    transmissions, ``retransmitted`` their repetitions. ``opened_by_sender`` is True if the sender opened connections.
    """

    sender: str
    receiver: str
    at_sender: bool
    deliveries: list[DeliveredSegment] = field(default_factory=list)
    losses: list[LostSegment] = field(default_factory=list)
    handshakes_s: list[float] = field(default_factory=list)
    sent: int = 0
    retransmitted: int = 0
    opened_by_sender: bool | None = None
    flows: dict[int, FlowTrace] = field(default_factory=dict)

    @property
    def payload(self) -> int:
        """The payload that was delivered."""
        return sum(flow.payload for flow in self.flows.values())


@dataclass
class FlowTrace:
    """One TCP connection or subflow on a path: its ends (address, port), payload, retransmissions, first and last time.

    ``token`` is the connection that it belongs to, as its MPTCP options tell.
    """

    number: int
    sender: SocketAddress
    receiver: SocketAddress
    is_mptcp: bool = False
    payload: int = 0
    sent: int = 0
    retransmitted: int = 0
    begin_s: float = 0.0
    end_s: float = 0.0


@dataclass(slots=True)
class _Segment:
    start: int
    end: int
    sent_s: float
    order: int
    frame: int
    is_delivered: bool = False
    is_repeated: bool = False


@dataclass(slots=True)
class _FlowDirection:
    """One direction of a flow at one vantage point: the segments in flight, by sequence number."""

    trace: PathTrace
    flow: FlowTrace
    at_sender: bool
    highest: int | None = None
    segments: list[_Segment] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    head: int = 0
    last: _Segment | None = None
    last_s: float = 0.0
    holes: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class _Handshake:
    syn_s: float | None = None
    answer_s: float | None = None
    opener: SocketAddress | None = None
    is_mptcp: bool = False
    #: The part of the round trip beyond the vantage point, as the opener sees it; None until the handshake is complete.
    beyond_s: float | None = None
    round_trip_s: float | None = None
    is_repeated: bool = False


class PathReader:
    """Reads the packets of captures in the order of their times; :attr:`paths` has what they show."""

    def __init__(self) -> None:
        self._traces: dict[tuple[int, str, str], PathTrace] = {}
        self._halves: dict[tuple[int, SocketAddress, SocketAddress], _FlowDirection] = {}
        self._handshakes: dict[tuple[int, frozenset[SocketAddress]], _Handshake] = {}
        self._zero_ns: int | None = None
        self._flows = 0

    def read(self, packets: Iterable[Packet]) -> list[PathTrace]:
        """Read all packets, and return the paths that carried payload: those with the most first."""
        for packet in packets:
            self.add(packet)
        carrying = [trace for trace in self._traces.values() if trace.payload]
        return sorted(carrying, key=lambda trace: -trace.payload)

    def add(self, packet: Packet) -> None:
        """Add one packet."""
        if self._zero_ns is None:
            self._zero_ns = packet.time_ns
        time_s = (packet.time_ns - self._zero_ns) / _NS
        file = packet.vantage.file
        handshake = self._shake(packet, time_s, file)
        if packet.flags & RST:
            return
        if packet.length:
            half = self._half_of(packet, file, handshake)
            half.flow.end_s = time_s
            (self._add_sent if half.at_sender else self._add_arrived)(half, packet, time_s)
        if packet.flags & ACK:
            back = self._halves.get((file, packet.target, packet.source))
            if back is not None and back.at_sender:
                self._acknowledge(back, packet, time_s)

    # -- the begin of connections

    def _shake(self, packet: Packet, time_s: float, file: int) -> _Handshake:
        ends: frozenset[SocketAddress] = frozenset((packet.source, packet.target))
        handshake = self._handshakes.get((file, ends))
        if packet.flags & SYN and not packet.flags & ACK:
            if handshake is not None and handshake.syn_s is not None and handshake.round_trip_s is None:
                handshake.is_repeated = True
            else:
                handshake = _Handshake(syn_s=time_s, opener=packet.source)
                self._handshakes[file, ends] = handshake
                for pair in ((packet.source, packet.target), (packet.target, packet.source)):
                    self._halves.pop((file, pair[0], pair[1]), None)
            handshake.is_mptcp = has_mptcp(packet.options)
            return handshake
        if handshake is None:
            handshake = self._handshakes[file, ends] = _Handshake()
        if packet.flags & SYN:
            handshake.answer_s = time_s
            handshake.opener = handshake.opener or packet.target
        elif (
            handshake.round_trip_s is None
            and handshake.answer_s is not None
            and handshake.syn_s is not None
            and packet.source == handshake.opener
            and not handshake.is_repeated
        ):
            handshake.beyond_s = handshake.answer_s - handshake.syn_s
            handshake.round_trip_s = time_s - handshake.syn_s
            self._note_round_trip(packet, handshake, file)
        return handshake

    def _note_round_trip(self, packet: Packet, handshake: _Handshake, file: int) -> None:
        assert handshake.round_trip_s is not None
        for sender, receiver in ((packet.source, packet.target), (packet.target, packet.source)):
            trace = self._trace(file, sender.address, receiver.address, at_sender=True)
            trace.handshakes_s.append(handshake.round_trip_s)

    def _trace(self, file: int, sender: str, receiver: str, *, at_sender: bool) -> PathTrace:
        key = (file, sender, receiver)
        if key not in self._traces:
            self._traces[key] = PathTrace(sender, receiver, at_sender)
        return self._traces[key]

    def _half_of(self, packet: Packet, file: int, handshake: _Handshake) -> _FlowDirection:
        key = (file, packet.source, packet.target)
        half = self._halves.get(key)
        if half is None:
            at_sender = _is_at_sender(packet, handshake)
            trace = self._trace(file, packet.source.address, packet.target.address, at_sender=at_sender)
            trace.at_sender = at_sender
            if handshake.opener is not None:
                trace.opened_by_sender = handshake.opener == packet.source
            self._flows += 1
            assert self._zero_ns is not None
            begin_s = handshake.syn_s
            begin_s = (packet.time_ns - self._zero_ns) / _NS if begin_s is None else begin_s
            flow = FlowTrace(self._flows, packet.source, packet.target, is_mptcp=handshake.is_mptcp, begin_s=begin_s)
            trace.flows[flow.number] = flow
            half = self._halves[key] = _FlowDirection(trace, flow, at_sender)
        half.flow.is_mptcp = half.flow.is_mptcp or has_mptcp(packet.options)
        return half

    # -- at the sender

    def _add_sent(self, half: _FlowDirection, packet: Packet, time_s: float) -> None:
        start = _unwrap(packet.sequence, half.highest)
        end = start + packet.length
        trace, flow = half.trace, half.flow
        if half.highest is not None and start < half.highest:
            trace.retransmitted += 1
            flow.retransmitted += 1
            self._repeat(half, start, end)
            if end <= half.highest:
                return
            start = half.highest
        half.highest = end
        trace.sent += 1
        flow.sent += 1
        half.segments.append(_Segment(start, end, time_s, trace.sent, frame_bytes(packet)))
        half.starts.append(start)

    @staticmethod
    def _repeat(half: _FlowDirection, start: int, end: int) -> None:
        """Note that segments were sent again: unless an acknowledgement says otherwise, they were lost."""
        place = bisect_left(half.starts, start, half.head)
        place -= place > half.head and half.segments[place - 1].end > start
        for segment in half.segments[place:]:
            if segment.start >= end:
                break
            if not segment.is_delivered and not segment.is_repeated:
                segment.is_repeated = True
                half.trace.losses.append(LostSegment(segment.order, segment.sent_s))

    def _acknowledge(self, half: _FlowDirection, packet: Packet, time_s: float) -> None:
        acked = _unwrap(packet.acknowledgment, half.highest)
        newest: list[_Segment] = []
        before = half.head
        while half.head < len(half.segments) and half.segments[half.head].end <= acked:
            segment = half.segments[half.head]
            if not segment.is_delivered:
                newest.append(segment)
            half.head += 1
        is_prompt = half.head - before >= 2 and self._is_followed(half)
        blocks = sack_blocks(packet.options) if len(packet.options) > 12 else []
        for left, right in blocks:
            start, end = _unwrap(left, half.highest), _unwrap(right, half.highest)
            if end <= acked:
                self._take_back(half, start, end)
                continue
            selected = self._select(half, start, end)
            if selected:
                is_prompt = True
                newest += selected
        if not newest:
            return
        last = max(newest, key=lambda segment: segment.order)
        # An acknowledgement of a single segment may have been delayed, unless the one before it shows otherwise.
        is_prompt = is_prompt or self._follows(half, last, time_s)
        half.last, half.last_s = last, time_s
        for segment in newest:
            segment.is_delivered = True
            is_timed = segment is last and is_prompt and not segment.is_repeated
            half.trace.deliveries.append(
                DeliveredSegment(
                    segment.order,
                    segment.sent_s,
                    time_s,
                    segment.frame,
                    segment.end - segment.start,
                    is_timed,
                    segment.is_repeated,
                    half.flow.number,
                )
            )
            half.flow.payload += segment.end - segment.start
        if half.head > 4096:
            del half.segments[: half.head], half.starts[: half.head]
            half.head = 0

    @staticmethod
    def _is_followed(half: _FlowDirection) -> bool:
        """Return whether the next segment left soon after the last acknowledged one.

        Otherwise the acknowledgement may have been delayed, however much it acknowledges: nothing more came.
        """
        if not 0 < half.head < len(half.segments):
            return False
        return half.segments[half.head].sent_s - half.segments[half.head - 1].sent_s < _PROMPT_S

    @staticmethod
    def _follows(half: _FlowDirection, segment: _Segment, time_s: float) -> bool:
        """Return whether the segment left right behind another, whose acknowledgement has just come, too.

        Then both waited in the same queue, and the receiver does not delay acknowledgements at the moment.
        """
        if half.last is None or segment.start != half.last.end:
            return False
        return segment.sent_s - half.last.sent_s < _BURST_S and time_s - half.last_s < _PROMPT_S

    @staticmethod
    def _select(half: _FlowDirection, start: int, end: int) -> list[_Segment]:
        """Return the segments of a selective acknowledgement that are new. A known block grows at its two ends."""
        first = bisect_left(half.starts, start, half.head)
        after = bisect_left(half.starts, end, half.head)
        selected: list[_Segment] = []
        for place in range(after - 1, first - 1, -1):
            if half.segments[place].is_delivered:
                break
            selected.append(half.segments[place])
        for place in range(first, after - len(selected)):
            if half.segments[place].is_delivered:
                break
            selected.append(half.segments[place])
        for segment in selected:
            segment.is_delivered = True
        return selected

    @staticmethod
    def _take_back(half: _FlowDirection, start: int, end: int) -> None:
        """Take back a loss: the receiver reports a duplicate (RFC 2883), so the first transmission had arrived."""
        place = bisect_left(half.starts, start)
        for segment in half.segments[place : place + 1]:
            if segment.start < end and segment.is_repeated:
                losses = half.trace.losses
                for number in range(len(losses) - 1, -1, -1):
                    if losses[number].order == segment.order:
                        del losses[number]
                        break

    # -- at the receiver

    def _add_arrived(self, half: _FlowDirection, packet: Packet, time_s: float) -> None:
        start = _unwrap(packet.sequence, half.highest)
        end = start + packet.length
        trace, flow = half.trace, half.flow
        stamp = time_stamp(packet.options)
        if half.highest is not None and start < half.highest:
            if not self._fill(half, start, end):
                trace.retransmitted += 1
                flow.retransmitted += 1
                return
            # It was sent again, since what it fills was lost.
            trace.retransmitted += 1
            flow.retransmitted += 1
            is_timed = False
        else:
            if half.highest is not None and start > half.highest:
                lost = -(-(start - half.highest) // packet.length)
                most = _LOSSES_AN_ARRIVAL * (len(trace.deliveries) + _FIRST_LOSSES)
                if len(trace.losses) + lost <= most:
                    half.holes.append((half.highest, start))
                    trace.losses += [LostSegment(trace.sent + number, time_s) for number in range(1, lost + 1)]
                    trace.sent += lost
                    flow.sent += lost
            half.highest = end
            trace.sent += 1
            flow.sent += 1
            is_timed = stamp is not None
        sent_s = time_s if stamp is None else stamp * _STAMP_S
        trace.deliveries.append(
            DeliveredSegment(
                trace.sent, sent_s, time_s, frame_bytes(packet), packet.length, is_timed, not is_timed, flow.number
            )
        )
        flow.payload += packet.length

    @staticmethod
    def _fill(half: _FlowDirection, start: int, end: int) -> bool:
        """Return whether payload fills a hole, and remove what it fills."""
        for number, (left, right) in enumerate(half.holes):
            if start < right and end > left:
                rest = [(left, start)] if left < start else []
                rest += [(end, right)] if end < right else []
                half.holes[number : number + 1] = rest
                return True
        return False


def _is_at_sender(packet: Packet, handshake: _Handshake) -> bool:
    """Return whether the capture was made nearer to the sender of ``packet``."""
    if packet.vantage.direction:
        return packet.vantage.direction == _OUTGOING
    if handshake.beyond_s is None or handshake.round_trip_s is None:
        return True
    near_opener = handshake.beyond_s >= handshake.round_trip_s / 2
    return near_opener == (packet.source == handshake.opener)


def frame_bytes(packet: Packet) -> int:
    """Return the size of a packet's frame with its Ethernet header."""
    header = _IP6 if ":" in packet.source.address else _IP4
    return _ETHERNET + header + _TCP + len(packet.options) + packet.length


def _unwrap(number: int, near: int | None) -> int:
    """Return a sequence number without its wrap: the one nearest to ``near``."""
    if near is None:
        return number
    return near + ((number - near + _HALF_WRAP) % _WRAP) - _HALF_WRAP


def _option(options: bytes, kind: int) -> bytes | None:
    place = 0
    while place < len(options):
        number = options[place]
        if number == _END:
            return None
        if number == _NOP:
            place += 1
            continue
        length = options[place + 1] if place + 1 < len(options) else 0
        if length < 2:
            return None
        if number == kind:
            return options[place + 2 : place + length]
        place += length
    return None


def sack_blocks(options: bytes) -> list[tuple[int, int]]:
    """Return the blocks of a selective acknowledgement (RFC 2018), in the packet's order."""
    content = _option(options, _SACK) or b""
    return [
        (int.from_bytes(content[place : place + 4]), int.from_bytes(content[place + 4 : place + 8]))
        for place in range(0, len(content) - 7, 8)
    ]


def time_stamp(options: bytes) -> int | None:
    """Return the sender's time stamp (RFC 7323)."""
    content = _option(options, _TIMESTAMPS)
    return None if content is None or len(content) < 8 else int.from_bytes(content[:4])
