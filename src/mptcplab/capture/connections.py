# SPDX-License-Identifier: MIT
"""Statistics of every TCP connection of a capture, in both directions.

    tshark -> Frame -> Collector -> ConnectionsOfCapture -> table, JSON
                       statistics.py has the sums of each direction

:func:`statistics_of` is a pure function of the packets.
"""

from __future__ import annotations

import ipaddress
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mptcplab.capture.packet import ACK, FIN, RST, SYN, SocketAddress
from mptcplab.capture.statistics import Frame, Statistics, combine
from mptcplab.errors import InputError

# The end of a TCP connection as a user names it: ``ADDRESS``, ``ADDRESS:PORT`` or ``:PORT``.

_HINT = "write ADDRESS, ADDRESS:PORT or :PORT, like 10.0.1.1:5001 or [fd00::1]:5001"


@dataclass(frozen=True)
class End:
    """An address, a port, or both."""

    address: str | None
    port: int | None

    def fits(self, endpoint: SocketAddress) -> bool:
        """Return whether ``endpoint`` has the address and the port, as far as these are named."""
        return self.address in (None, endpoint.address) and self.port in (None, endpoint.port)

    def __str__(self) -> str:
        if self.port is None:
            return str(self.address)
        return f":{self.port}" if self.address is None else str(SocketAddress(self.address, self.port))


def parse_end(text: str) -> End:
    """Return the end that ``text`` names. :raises InputError: if it names none."""
    address, colon, port = text.rpartition(":")
    if not colon or (address.count(":") and not address.endswith("]")):
        address, colon, port = text, "", ""  # no port; the colons belong to an IPv6 address
    bare = address.removeprefix("[").removesuffix("]")
    try:
        name = str(ipaddress.ip_address(bare)) if bare else None
    except ValueError as error:
        raise InputError(f"'{text}': '{bare}' is not an IP address", hint=_HINT) from error
    if colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise InputError(f"'{text}': '{port}' is not a port", hint=_HINT)
    if name is None and not colon:
        raise InputError("an end of a connection cannot be empty", hint=_HINT)
    return End(name, int(port) if colon else None)


def are_fitted(ends: Sequence[End], pair: Iterable[SocketAddress]) -> bool:
    """Return whether each of ``ends`` fits one of the two endpoints of a connection."""
    both = tuple(pair)
    return all(any(end.fits(item) for item in both) for end in ends)


#: Connections that are tracked. Beyond these, old ones only count in the total.
_MAX_CONNECTIONS = 50_000
#: The oldest connections; one of these that has ended goes first.
_CANDIDATES = 100
#: How many connections that were not selected are remembered, and how many are named if none is selected.
_MAX_OTHERS, _NAMED = 1 << 16, 3
_BOTH_CLOSED = 3


@dataclass(slots=True, eq=False)
class TcpConnection:
    """One TCP connection. Direction 0 is from ``ends[0]``, which opened it if that was seen; else it sent first.

    ``directions`` are the statistics of the packets from ``ends[0]`` and from ``ends[1]``. ``starts`` has the number
    before the first sequence number of each, as tshark takes it to be.
    """

    ends: tuple[SocketAddress, SocketAddress]
    directions: tuple[Statistics, Statistics] = field(default_factory=lambda: (Statistics(), Statistics()))
    starts: list[int | None] = field(default_factory=lambda: [None, None])
    previous_ns: int | None = None
    closed: int = 0

    @property
    def both(self) -> Statistics:
        """The statistics of all packets."""
        return combine(self.directions)

    def add(self, frame: Frame, direction: int) -> None:
        """Count a packet."""
        if self.starts[direction] is None:
            self.starts[direction] = frame.sequence if frame.flags & SYN else (frame.sequence - 1) & 0xFFFFFFFF
        if frame.flags & (FIN | RST):
            self.closed |= _BOTH_CLOSED if frame.flags & RST else 1 << direction
        previous = self.previous_ns
        self.previous_ns = frame.time_ns
        self.directions[direction].add(frame, None if previous is None else frame.time_ns - previous)

    def is_followed_by(self, frame: Frame, direction: int) -> bool:
        """Return whether ``frame`` opens a later connection between the same ports, by tshark's rule for streams."""
        if frame.flags & (SYN | ACK) != SYN:
            return False
        return self.starts[direction] not in (None, frame.sequence)


@dataclass(frozen=True)
class ConnectionsOfCapture:
    """The statistics of a capture: its connections in the order of their first packets, and all of them together.

    ``only_counted`` is the number of connections that are not tracked, and ``rest`` has their packets.
    ``others`` are the ends of some connections that were not selected.
    """

    connections: tuple[TcpConnection, ...]
    only_counted: int = 0
    rest: Statistics = field(default_factory=Statistics)
    others: tuple[tuple[SocketAddress, SocketAddress], ...] = ()

    @property
    def total(self) -> Statistics:
        """The statistics of the packets of all connections."""
        return combine(
            [self.rest, *(direction for connection in self.connections for direction in connection.directions)]
        )


class Collector:
    """Collects the statistics of a capture: add packets in the order of the file, then read the result.

    A connection is selected if each of ``ends`` fits one of its two.
    """

    def __init__(self, ends: Sequence[End] = ()) -> None:
        self._ends = ends
        self._connections: dict[int, TcpConnection] = {}
        self._known: dict[tuple[SocketAddress, SocketAddress], tuple[TcpConnection, int]] = {}
        self._others: set[tuple[SocketAddress, SocketAddress]] = set()
        self._named: list[tuple[SocketAddress, SocketAddress]] = []
        self._count = 0
        self._only_counted = 0
        self._rest = Statistics()

    def add(self, frame: Frame) -> None:
        """Count a packet, if its connection is selected."""
        pair = (frame.source, frame.target)
        item = self._known.get(pair)
        if item is None or item[0].is_followed_by(frame, item[1]):
            if pair in self._others:
                return
            item = self._add_connection(frame, pair)
            if item is None:
                return
        item[0].add(frame, item[1])

    def _add_connection(
        self, frame: Frame, pair: tuple[SocketAddress, SocketAddress]
    ) -> tuple[TcpConnection, int] | None:
        if not are_fitted(self._ends, pair):
            self._reject(pair)
            return None
        is_answer = frame.flags & (SYN | ACK) == SYN | ACK
        ends = pair[::-1] if is_answer else pair
        self._count += 1
        connection = self._connections[self._count] = TcpConnection((ends[0], ends[1]))
        self._known[ends[1], ends[0]] = connection, 1
        self._known[ends[0], ends[1]] = connection, 0
        if len(self._connections) > _MAX_CONNECTIONS:
            self._fold()
        return self._known[pair]

    def _reject(self, pair: tuple[SocketAddress, SocketAddress]) -> None:
        if len(self._named) < _NAMED:
            self._named.append(pair)
        if len(self._others) >= _MAX_OTHERS:
            self._others.clear()
        self._others |= {pair, (pair[1], pair[0])}

    def _fold(self) -> None:
        """Stop tracking one of the oldest connections, preferably a connection that has ended."""
        oldest = list(itertools.islice(self._connections.items(), _CANDIDATES))
        number, gone = next((item for item in oldest if item[1].closed == _BOTH_CLOSED), oldest[0])
        del self._connections[number]
        for pair in (gone.ends, (gone.ends[1], gone.ends[0])):
            if pair in self._known and self._known[pair][0] is gone:
                del self._known[pair]
        self._rest = combine([self._rest, *gone.directions])
        self._only_counted += 1

    def result(self) -> ConnectionsOfCapture:
        """Return the statistics of the packets so far."""
        connections = tuple(self._connections.values())
        return ConnectionsOfCapture(connections, self._only_counted, self._rest, tuple(self._named))


def statistics_of(frames: Iterable[Frame], ends: Sequence[End] = ()) -> ConnectionsOfCapture:
    """Return the statistics of packets in the order of a capture; only of connections with these ``ends``, if any."""
    collector = Collector(ends)
    for frame in frames:
        collector.add(frame)
    return collector.result()
