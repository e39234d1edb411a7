# SPDX-License-Identifier: MIT
"""Statistics of TCP packets and of the times between them, as a published study defines them.

Sriaimsard (2019) takes the packets of a connection without the retransmissions, and the *TCP delta* of each: the time
since the previous packet of the same TCP connection, in either direction. From these it computes throughput, download
time, delay (the mean TCP delta) and jitter (the variance of TCP deltas). docs/captures.md has the formulas, and the
reading of each ambiguity of the definition.

They need constant memory, however many packets there are. All sums are integers, hence exact.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from mptcplab.capture.packet import ADDRESSES, PORTS, Endpoints, SocketAddress, nanoseconds
from mptcplab.capture.tshark import CutShortError, Query, lines_about, parse_lines

# A TCP packet as statistics see it: its time, its length, and what tshark's analysis says about it.

#: What tshark may say about a packet. Fast and spurious retransmissions have RETRANSMISSION, too; segments that follow
#: the newest segment within the handshake's round-trip time have OUT_OF_ORDER instead. GAP means that the previous
#: segment was not captured, UNSEEN that the segment which the packet acknowledges was not.
RETRANSMISSION, FAST_RETRANSMISSION, OUT_OF_ORDER, DUPLICATE_ACK, GAP, UNSEEN = (1 << bit for bit in range(6))
_MARKS = {
    "tcp.analysis.retransmission": RETRANSMISSION,
    "tcp.analysis.fast_retransmission": FAST_RETRANSMISSION,
    "tcp.analysis.out_of_order": OUT_OF_ORDER,
    "tcp.analysis.duplicate_ack": DUPLICATE_ACK,
    "tcp.analysis.lost_segment": GAP,
    "tcp.analysis.ack_lost_segment": UNSEEN,
}
FIELDS = ("frame.time_epoch", "frame.len", *ADDRESSES, *PORTS, "tcp.seq", "tcp.flags", "tcp.len", *_MARKS)
#: tshark's analysis of sequence numbers keeps about 150 bytes per packet. After this many packets tshark forgets all
#: and begins anew, which bounds its memory at 1.5 GB. With fewer packets per session it would need more memory, not
#: less: each beginning leaves about 10 MB behind (tshark 4.0).
SESSION_PACKETS = 8_000_000
_PREFERENCES = ("tcp.analyze_sequence_numbers:TRUE", "ip.defragment:FALSE")


class Frame(NamedTuple):
    """A TCP packet. ``length`` is the whole frame's on the wire, ``payload`` the length of its TCP payload.

    Both are right if the packet was cut. ``marks`` are RETRANSMISSION and others.
    """

    time_ns: int
    source: SocketAddress
    target: SocketAddress
    length: int
    payload: int
    flags: int
    sequence: int
    marks: int = 0


class FrameLines:
    """Parser of the lines about one file."""

    def __init__(self) -> None:
        self._endpoints = Endpoints()
        self._marks: dict[tuple[str, ...], int] = {}

    def frame(self, line: str) -> Frame | None:
        """Return the packet of a line; None if it is not TCP, or was cut inside the fixed part of the TCP header.

        :raises ValueError: if tshark does not write such lines.
        """
        time, length, *rest = line.rstrip("\n").split("\t")
        sequence, flags, payload = rest[7:10]
        if not payload or not flags:
            return None
        source, target = self._endpoints.pair(rest[:5], rest[5:7])
        said = tuple(rest[10:])
        marks = self._marks.get(said)
        if marks is None:
            marks = self._marks[said] = sum(mark for mark, text in zip(_MARKS.values(), said, strict=True) if text)
        return Frame(nanoseconds(time), source, target, int(length), int(payload), int(flags, 16), int(sequence), marks)


class FrameReader:
    """The TCP packets of one capture file, in the order of the file. Iterate once.

    Afterwards, ``packets`` is the number of all packets in the file, and ``is_cut_short`` says whether the file ends in
    the middle of one.
    """

    def __init__(self, file: Path, *, session_packets: int = SESSION_PACKETS) -> None:
        self.file = file
        self.packets = 0
        self.is_cut_short = False
        self.session_packets = session_packets

    def __iter__(self) -> Iterator[Frame]:
        """Yield the packets.

        :raises EmptyError: if the file has no packets. :raises InputError: if it is not a capture.
        :raises MissingError: if tshark is not installed.
        """
        query = Query(FIELDS, _PREFERENCES, ("-M", str(self.session_packets)))
        with closing(lines_about(self.file, query)) as lines:
            yield from frames_of_lines(self._count_packets(lines), self.file)

    def _count_packets(self, lines: Generator[str]) -> Iterator[str]:
        try:
            for line in lines:
                self.packets += 1
                yield line
        except CutShortError:
            self.is_cut_short = True

    @property
    def restarts(self) -> int:
        """The number of times that tshark forgot all connections: see :data:`SESSION_PACKETS`."""
        return max(0, self.packets - 1) // self.session_packets


def frames_of_lines(lines: Iterable[str], file: Path) -> Iterator[Frame]:
    """Yield the packets in tshark's output about ``file``. :raises InputError: if a line is not valid."""
    return parse_lines(lines, file, FrameLines().frame)


_LEFT_OUT = RETRANSMISSION | FAST_RETRANSMISSION
_SECOND = 1e9
_MICROSECOND = 1e3
_MEBI = 2**20


@dataclass(slots=True)
class Statistics:
    """Statistics of some packets: of a direction, of a connection, or of several. They are sums that can be added.

    Packets that are ``left_out`` count nowhere else, except among what tshark says of packets: ``out_of_order``,
    ``duplicate_acks``, ``gaps`` (the previous segment was not captured), ``unseen`` (the acknowledged one was not). The
    first packet of a connection has a TCP delta of zero, which is in the mean and in the variance, but is neither the
    minimum nor the maximum. ``backward`` counts packets that are earlier than the one before.
    """

    packets: int = 0
    length: int = 0
    payload: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    delta_sum: int = 0
    delta_squares: int = 0
    min_delta_ns: int | None = None
    max_delta_ns: int | None = None
    left_out: int = 0
    out_of_order: int = 0
    duplicate_acks: int = 0
    gaps: int = 0
    unseen: int = 0
    backward: int = 0

    def add(self, frame: Frame, delta_ns: int | None) -> None:
        """Count a packet; ``delta_ns`` is its TCP delta, None for the first of its connection."""
        if frame.marks:
            self._mark(frame.marks)
            if frame.marks & _LEFT_OUT:
                return
        self.packets += 1
        self.length += frame.length
        self.payload += frame.payload
        time = frame.time_ns
        if self.first_ns is None or time < self.first_ns:
            self.first_ns = time
        if self.last_ns is None or time > self.last_ns:
            self.last_ns = time
        if delta_ns is None:
            return
        self.delta_sum += delta_ns
        self.delta_squares += delta_ns * delta_ns
        if self.min_delta_ns is None or delta_ns < self.min_delta_ns:
            self.min_delta_ns = delta_ns
        if self.max_delta_ns is None or delta_ns > self.max_delta_ns:
            self.max_delta_ns = delta_ns
        self.backward += delta_ns < 0

    def _mark(self, marks: int) -> None:
        self.left_out += bool(marks & _LEFT_OUT)
        self.out_of_order += bool(marks & OUT_OF_ORDER)
        self.duplicate_acks += bool(marks & DUPLICATE_ACK)
        self.gaps += bool(marks & GAP)
        self.unseen += bool(marks & UNSEEN)

    @property
    def duration_s(self) -> float | None:
        """The time from the first packet to the last one; None without packets."""
        if self.first_ns is None or self.last_ns is None:
            return None
        return (self.last_ns - self.first_ns) / _SECOND

    @property
    def throughput_bps(self) -> float | None:
        """All bits of the packets, by the duration; None without one."""
        duration = self.duration_s
        return 8 * self.length / duration if duration else None

    @property
    def throughput_mibps(self) -> float | None:
        """The throughput in Mibit/s (2^20 bit/s), which the study prints as Mbps."""
        throughput = self.throughput_bps
        return None if throughput is None else throughput / _MEBI

    @property
    def mean_delta_us(self) -> float | None:
        """The sum of TCP deltas by the number of packets: the study's delay."""
        return self.delta_sum / self.packets / _MICROSECOND if self.packets else None

    @property
    def min_delta_us(self) -> float | None:
        """The shortest TCP delta; None without a packet that follows another."""
        return None if self.min_delta_ns is None else self.min_delta_ns / _MICROSECOND

    @property
    def max_delta_us(self) -> float | None:
        """The longest TCP delta."""
        return None if self.max_delta_ns is None else self.max_delta_ns / _MICROSECOND

    @property
    def delta_variance_s2(self) -> float | None:
        """The sample variance of TCP deltas: the study's jitter. None with fewer than two packets."""
        count = self.packets
        if count < 2:
            return None
        return (count * self.delta_squares - self.delta_sum**2) / (count * (count - 1)) / _SECOND**2

    def document(self) -> dict[str, Any]:
        """Return the statistics as JSON."""
        throughput = self.throughput_bps
        return {
            "packets": self.packets,
            "bytes": self.length,
            "payload_bytes": self.payload,
            "first_ns": self.first_ns,
            "duration_s": self.duration_s,
            "throughput_mbps": None if throughput is None else throughput / 1e6,
            "throughput_mibps": self.throughput_mibps,
            "mean_delta_us": self.mean_delta_us,
            "min_delta_us": self.min_delta_us,
            "max_delta_us": self.max_delta_us,
            "delta_variance_s2": self.delta_variance_s2,
            "retransmissions_left_out": self.left_out,
            "out_of_order": self.out_of_order,
            "duplicate_acks": self.duplicate_acks,
            "previous_segment_not_captured": self.gaps,
            "acked_segment_not_captured": self.unseen,
        }


_BOUNDS: dict[str, Callable[..., int | None]] = {
    "first_ns": min,
    "last_ns": max,
    "min_delta_ns": min,
    "max_delta_ns": max,
}
_SUMS = tuple(field.name for field in fields(Statistics) if field.name not in _BOUNDS)


def combine(parts: Iterable[Statistics]) -> Statistics:
    """Return the statistics of all packets of ``parts``. TCP deltas remain within the packets' own connections."""
    of = list(parts)
    whole = Statistics(**{name: sum(getattr(part, name) for part in of) for name in _SUMS})
    for name, choose in _BOUNDS.items():
        known = (getattr(part, name) for part in of)
        setattr(whole, name, choose((value for value in known if value is not None), default=None))
    return whole
