# SPDX-License-Identifier: MIT
"""A TCP packet as statistics see it: its time, its length, and what tshark's analysis says about it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from mptcplab.capture.packet import ADDRESSES, PORTS, Endpoints, SocketAddress, nanoseconds
from mptcplab.capture.tshark import CutShortError, Query, lines_about, parse_lines

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
        """How often tshark forgot what it knew of connections: see :data:`SESSION_PACKETS`."""
        return max(0, self.packets - 1) // self.session_packets


def frames_of_lines(lines: Iterable[str], file: Path) -> Iterator[Frame]:
    """Yield the packets in tshark's output about ``file``. :raises InputError: if a line is not valid."""
    return parse_lines(lines, file, FrameLines().frame)
