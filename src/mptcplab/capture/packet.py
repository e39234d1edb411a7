# SPDX-License-Identifier: MIT
"""A TCP packet as the analysis sees it, parsed from tshark's output, and the packets of capture files by time."""

from __future__ import annotations

import contextlib
import datetime
import heapq
from collections.abc import Generator, Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from mptcplab.capture.tshark import Query, check_files, lines_about, parse_lines

# A TCP packet as the analysis sees it, parsed from one line of tshark's output.

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
#: The fields that :class:`Endpoints` reads.
ADDRESSES = ("ip.src", "ip.dst", "ip.proto", "ipv6.src", "ipv6.dst")
PORTS = ("tcp.srcport", "tcp.dstport")
#: The fields of every line, in this order. A field that occurs several times (tunnels) has the innermost value. All
#: exist since Wireshark 3.4. Sequence numbers are as in the packet, because relative ones are switched off.
FIELDS = (
    "frame.time_epoch",
    "frame.interface_id",
    "sll.ifindex",
    "sll.pkttype",
    *ADDRESSES,
    *PORTS,
    "tcp.seq",
    "tcp.ack",
    "tcp.flags",
    "tcp.len",
    "tcp.options",
    "tcp.hdr_len",
    "ip.id",
)
_NANOSECONDS = 1_000_000_000
_TCP = "6"
_FIXED_HEADER = 20
#: Packets among which a copy is looked for, and the time within which it comes, with an IPv4 identification or without.
_RECENT, _SOON_NS, _AT_ONCE_NS = 512, 10_000_000, 100_000


class SocketAddress(NamedTuple):
    """An address and a port."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


class VantagePoint(NamedTuple):
    """Where packets were seen: file, interface (of a pcapng file or of Linux) and, on ``any``, incoming or outgoing."""

    file: int
    interface: str = ""
    device: str = ""
    direction: str = ""


class Packet(NamedTuple):
    """A TCP packet. ``length`` is the payload's length by the headers, even if it was cut. Numbers are raw.

    ``is_cut`` is set if the capture has only a part of the ``options``. ``identification`` is IPv4's, 0 in IPv6.
    """

    time_ns: int
    source: SocketAddress
    target: SocketAddress
    sequence: int
    acknowledgment: int
    flags: int
    length: int
    options: bytes
    vantage: VantagePoint
    is_cut: bool = False
    identification: int = 0


class Endpoints:
    """Parser of addresses and ports. Equal endpoints are shared objects."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], SocketAddress] = {}

    def pair(self, addresses: Sequence[str], ports: Sequence[str]) -> tuple[SocketAddress, SocketAddress]:
        """Return source and target of a packet, from the fields :data:`ADDRESSES` and the two ports."""
        source4, target4, protocol, source6, target6 = addresses
        # If one IP version is tunnelled in the other, the inner one carries TCP.
        is_v4 = bool(source4) and (protocol == _TCP or not source6)
        source, target = (source4, target4) if is_v4 else (source6, target6)
        return self._endpoint(source, ports[0]), self._endpoint(target, ports[1])

    def _endpoint(self, address: str, port: str) -> SocketAddress:
        endpoint = self._known.get((address, port))
        if endpoint is None:
            if len(self._known) > 1 << 16:
                self._known.clear()
            endpoint = self._known[address, port] = SocketAddress(address, int(port))
        return endpoint


class CopyFilter:
    """Recognises packets that one vantage point saw twice: on an interface and on the bridge above it, or at a mirror.

    A kernel gives a retransmission another IPv4 identification, so a copy is sure if it comes soon: some programs that
    make packets use a single one. Without an identification (IPv6), it has to come sooner than a retransmission can.
    """

    def __init__(self) -> None:
        self._recent: dict[tuple[object, ...], int] = {}

    def is_copy(self, packet: Packet) -> bool:
        """Return whether ``packet`` equals one of the last :data:`_RECENT` packets; and remember it."""
        key = packet[1:]
        before = self._recent.get(key)
        if before is None:
            if len(self._recent) >= _RECENT:
                del self._recent[next(iter(self._recent))]
            self._recent[key] = packet.time_ns
            return False
        self._recent[key] = packet.time_ns
        gap_ns = abs(packet.time_ns - before)
        if packet.identification:
            return gap_ns < _SOON_NS
        return self._carries(packet) and gap_ns < _AT_ONCE_NS

    @staticmethod
    def _carries(packet: Packet) -> bool:
        """Return whether TCP counts the packet: other ACKs may come twice, each with its own meaning."""
        return bool(packet.length or packet.flags & (SYN | FIN | RST))


class LineReader:
    """Parser of the lines about one file. Equal endpoints and vantage points are shared objects."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._endpoints = Endpoints()
        self._vantages: dict[tuple[str, str, str], VantagePoint] = {}

    def packet(self, line: str) -> Packet | None:
        """Return the packet of a line; None if it is not TCP, or was cut inside the fixed part of the TCP header.

        :raises ValueError: if tshark does not write such lines.
        """
        columns = line.rstrip("\n").split("\t")
        (time, interface, device, pkttype), addresses, ports = columns[:4], columns[4:9], columns[9:11]
        sequence, acknowledgment, flags, length, options, header, identification = columns[11:]
        if not length or not flags:
            return None
        kept_options = bytes.fromhex(options.replace(":", ""))
        source, target = self._endpoints.pair(addresses, ports)
        return Packet(
            time_ns=nanoseconds(time),
            source=source,
            target=target,
            sequence=int(sequence),
            acknowledgment=int(acknowledgment or 0),
            flags=int(flags, 16),
            length=int(length),
            options=kept_options,
            vantage=self._vantage(interface, device, pkttype),
            is_cut=bool(header) and int(header) - _FIXED_HEADER > len(kept_options),
            identification=int(identification, 0) if identification else 0,
        )

    def _vantage(self, interface: str, device: str, direction: str) -> VantagePoint:
        key = (interface, device, direction)
        vantage = self._vantages.get(key)
        if vantage is None:
            vantage = self._vantages[key] = VantagePoint(self._file, *key)
        return vantage


def nanoseconds(text: str) -> int:
    """Parse a time that tshark wrote: seconds since 1970 up to version 4.2, a date in UTC since 4.4."""
    seconds, _, fraction = text.rstrip("Z").partition(".")
    if "T" in seconds:
        moment = datetime.datetime.fromisoformat(seconds).replace(tzinfo=datetime.UTC)
        seconds = str(int(moment.timestamp()))
    return int(seconds) * _NANOSECONDS + int(f"{fraction:0<9}"[:9])


# Read the packets of capture files: tshark dissects them, and they are merged by time.

#: Without analysis, tshark keeps no state per packet: its memory stays constant however long a capture is.
_QUERY = Query(FIELDS, ("tcp.analyze_sequence_numbers:FALSE",))


def read_packets(files: Sequence[Path]) -> Iterator[Packet]:
    """Yield the TCP packets of all ``files`` in the order of their times; each has the number of its file.

    :raises InputError: if a file is not a capture, is truncated, or has no packets.
    :raises MissingError: if tshark is not installed.
    """
    check_files(files)
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(contextlib.closing(_packets(file, number))) for number, file in enumerate(files)]
        yield from streams[0] if len(streams) == 1 else heapq.merge(*streams, key=attrgetter("time_ns"))


def _packets(file: Path, number: int) -> Generator[Packet]:
    with contextlib.closing(lines_about(file, _QUERY)) as lines:
        yield from packets_of_lines(lines, file, number)


def packets_of_lines(lines: Iterable[str], file: Path, number: int) -> Iterator[Packet]:
    """Yield the packets in tshark's output about ``file``. :raises InputError: if a line is not valid."""
    return parse_lines(lines, file, LineReader(number).packet)
