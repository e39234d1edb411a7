# SPDX-License-Identifier: MIT
"""Captures made by hand: TCP segments whose times and lengths are chosen, as pcap files.

``python -m tests.unit.capture.tcp_captures`` writes the captures of examples/captures/ again.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mptcplab.capture.packet import ACK, FIN, RST, SYN, SocketAddress

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "captures"
CLIENT, SERVER = SocketAddress("10.0.1.1", 40000), SocketAddress("10.0.2.2", 20)
#: Bytes of Ethernet, IPv4 and TCP without options.
HEADERS = 54
#: 2026-01-01, in microseconds.
_EPOCH = 1_767_225_600 * 10**6
_STARTS = (1000, 7_000_000)


@dataclass(frozen=True)
class Segment:
    """A TCP segment at ``time`` (us) from the client (side 0) or the server (1).

    ``at`` is the position of its first byte in the side's stream, where the SYN is 0; ``acked`` is a position in the
    other side's stream.
    """

    time: int
    side: int
    flags: int = ACK
    at: int = 1
    acked: int = 1
    length: int = 0
    ends: tuple[SocketAddress, SocketAddress] = (CLIENT, SERVER)
    starts: tuple[int, int] = _STARTS

    @property
    def packet(self) -> bytes:
        """The Ethernet frame."""
        source, target = self.ends if self.side == 0 else self.ends[::-1]
        sequence = (self.starts[self.side] + self.at) % 2**32
        acked = (self.starts[1 - self.side] + self.acked) % 2**32 if self.flags & ACK else 0
        tcp = struct.pack("!HHIIBBHHH", source.port, target.port, sequence, acked, 5 << 4, self.flags, 65535, 0, 0)
        addresses = b"".join(bytes(map(int, end.address.split("."))) for end in (source, target))
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 40 + self.length, 0, 0x4000, 64, 6, 0) + addresses
        return b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0" + ip + tcp + bytes(self.length)


def pcap(segments: Iterable[Segment | tuple[int, bytes]], *, snaplen: int = 65535) -> bytes:
    """Return a pcap file, with times in microseconds, of segments or of (time, frame)."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snaplen, 1)]
    for segment in segments:
        time, packet = (segment.time, segment.packet) if isinstance(segment, Segment) else segment
        kept = packet[:snaplen]
        seconds, micros = divmod(_EPOCH + time, 10**6)
        parts += [struct.pack("<IIII", seconds, micros, len(kept), len(packet)), kept]
    return b"".join(parts)


def handshake(
    begin: int = 0, *, ends: tuple[SocketAddress, SocketAddress] = (CLIENT, SERVER), starts: tuple[int, int] = _STARTS
) -> list[Segment]:
    """Return the first three segments; the round trip takes 10.1 ms."""
    return [
        Segment(begin, 0, SYN, at=0, ends=ends, starts=starts),
        Segment(begin + 10_000, 1, SYN | ACK, at=0, ends=ends, starts=starts),
        Segment(begin + 10_100, 0, ends=ends, starts=starts),
    ]


def download() -> list[Segment]:
    """Return a download of 3000 bytes, of which 1000 are retransmitted after 40 ms: examples/captures/download.pcap."""
    return [
        *handshake(),
        Segment(20_100, 1, at=1, length=1000),
        Segment(20_200, 1, at=1001, length=1000),
        Segment(20_300, 1, at=2001, length=1000),
        Segment(20_400, 0, acked=1001),
        Segment(20_500, 0, acked=1001),
        Segment(60_500, 1, at=1001, length=1000),
        Segment(60_600, 0, acked=3001),
        Segment(60_700, 1, FIN | ACK, at=3001),
        Segment(60_800, 0, FIN | ACK, acked=3002),
        Segment(70_800, 1, at=3002, acked=2),
    ]


def reset(time: int) -> Segment:
    """Return a RST of the client."""
    return Segment(time, 0, RST | ACK)


def main() -> None:
    """Write the captures of the examples."""
    EXAMPLES.mkdir(exist_ok=True)
    (EXAMPLES / "download.pcap").write_bytes(pcap(download()))


if __name__ == "__main__":
    main()
