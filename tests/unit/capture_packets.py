# SPDX-License-Identifier: MIT
"""Hand-made packets of MPTCP connections, for the tests of the analysis."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.packet import ACK, FIN, RST, SYN, Packet, SocketAddress, VantagePoint
from mptcplab.capture.summary import Summary, summarise

CLIENT, SERVER = b"client!!", b"server!!"
HERE, THERE = VantagePoint(0), VantagePoint(1)


def token(key: bytes) -> bytes:
    """Return the token of a key in version 1."""
    return hashlib.sha256(key).digest()[:4]


def first_data(key: bytes) -> int:
    """Return the data sequence number of the first byte that the owner of ``key`` sends, in version 1."""
    return (int.from_bytes(hashlib.sha256(key).digest()[-8:]) + 1) % 2**64


def option(body: bytes) -> bytes:
    """Return an MPTCP option, padded, from its bytes after kind and length."""
    text = bytes([30, 2 + len(body)]) + body
    return text + b"\x01" * (-len(text) % 4)


def capable(*keys: bytes, flags: int = 0x01, length: int | None = None) -> bytes:
    """Return an MP_CAPABLE of version 1."""
    more = b"" if length is None else length.to_bytes(2)
    return option(bytes([0x01, flags]) + b"".join(keys) + more)


def join_syn(of: bytes, address_id: int = 1, *, backup: bool = False) -> bytes:
    """Return the MP_JOIN of a SYN, with the token of the key ``of``."""
    return option(bytes([0x10 | backup, address_id]) + token(of) + b"rand")


def join_answer(address_id: int = 1) -> bytes:
    """Return the MP_JOIN of a SYN/ACK."""
    return option(bytes([0x10, address_id]) + b"hmachmac" + b"rand")


def dss(
    sequence: int | None = None,
    subflow: int = 0,
    length: int = 0,
    *,
    ack: int | None = None,
    bits: int = 64,
    fin: bool = False,
    checksum: bool = False,
) -> bytes:
    """Return a DSS; numbers are truncated to ``bits``."""
    flags, body = 0x10 * fin, b""
    if ack is not None:
        flags |= 0x01 | (0x02 if bits == 64 else 0)
        body += (ack % 2**bits).to_bytes(bits // 8)
    if sequence is not None:
        flags |= 0x04 | (0x08 if bits == 64 else 0)
        body += (sequence % 2**bits).to_bytes(bits // 8) + subflow.to_bytes(4) + length.to_bytes(2)
        body += b"\xab\xcd" if checksum else b""
    return option(bytes([0x20, flags]) + body)


@dataclass
class Pipe:
    """A TCP connection that appends its packets to a list. Side 0 opened it."""

    packets: list[Packet]
    ends: tuple[SocketAddress, SocketAddress] = (SocketAddress("10.0.1.1", 40000), SocketAddress("10.0.2.2", 5001))
    starts: tuple[int, int] = (1000, 9000)
    vantages: tuple[VantagePoint, ...] = (HERE,)
    sent: list[int] = field(default_factory=lambda: [1, 1])

    def send(
        self,
        side: int,
        flags: int = ACK,
        options: bytes = b"",
        *,
        at: int | None = None,
        length: int = 0,
        vantages: Iterable[VantagePoint] | None = None,
    ) -> None:
        """Send a packet whose first payload byte is number ``at`` after the SYN; without it, new data."""
        if at is None:
            at = 0 if flags & SYN else self.sent[side]
            self.sent[side] = max(self.sent[side], at + length + bool(flags & FIN)) if not flags & SYN else 1
        number = len(self.packets) + 1
        time = (number - 1) * 1000 + 1
        acked = (self.starts[1 - side] + self.sent[1 - side]) % 2**32
        for vantage in self.vantages if vantages is None else vantages:
            self.packets.append(
                Packet(
                    time,
                    self.ends[side],
                    self.ends[1 - side],
                    (self.starts[side] + at) % 2**32,
                    acked if flags & ACK else 0,
                    flags,
                    length,
                    options,
                    vantage,
                    identification=number,
                )
            )

    def open_capable(self, *, flags: int = 0x01) -> None:
        """Send the handshake of a connection's first subflow."""
        self.send(0, SYN, capable(flags=flags))
        self.send(1, SYN | ACK, capable(SERVER, flags=flags))
        self.send(0, ACK, capable(CLIENT, SERVER, flags=flags))

    def open_join(self, *, of: bytes = SERVER, backup: bool = False) -> None:
        """Send the handshake of an additional subflow."""
        self.send(0, SYN, join_syn(of, backup=backup))
        self.send(1, SYN | ACK, join_answer())
        self.send(0, ACK, option(bytes([0x10, 0]) + b"h" * 20))

    def close(self) -> None:
        """Send FINs in both directions."""
        self.send(0, FIN | ACK)
        self.send(1, FIN | ACK)
        self.send(0)

    def reset(self, side: int = 0) -> None:
        """Send a RST."""
        self.send(side, RST | ACK)

    def data(self, side: int, sequence: int, length: int, **more: bool | int) -> None:
        """Send new payload with a mapping of its own."""
        self.send(side, ACK, dss(sequence, self.sent[side] % 2**32, length, ack=0, **more), length=length)  # type: ignore[arg-type]


def second(packets: list[Packet], **more: object) -> Pipe:
    """Return a second pipe, between other addresses."""
    ends = (SocketAddress("10.0.3.1", 40001), SocketAddress("10.0.4.2", 5001))
    return Pipe(packets, ends=ends, starts=(77, 88), **more)  # type: ignore[arg-type]


def analyse(packets: Iterable[Packet], files: tuple[str, ...] = ("a.pcap", "b.pcap")) -> Summary:
    """Return the summary of hand-made packets."""
    analysis = Analysis()
    for packet in packets:
        analysis.add(packet)
    return summarise(analysis, files)
