# SPDX-License-Identifier: MIT
"""What `mptcplab fit` reads: words and tables of typed lines, and options of packets."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from mptcplab.capture.packet import ACK, SYN, Packet, SocketAddress, VantagePoint
from mptcplab.fit.lines import estimate_line
from mptcplab.fit.observation import Observation
from mptcplab.fit.packets import PathReader
from mptcplab.fit.twin import build_twin
from mptcplab.fit.typed import line_of, parse_line
from mptcplab.scenario.writing import uncomment, write_scenario

_ENDS = (SocketAddress("10.0.1.1", 1), SocketAddress("10.0.2.2", 2))
_PACKET = 12
_TYPED, _PACKETS = b"t", b"p"


class FitTarget:
    """Text to a scenario that is read again as the same tables; bytes to packets of one connection, in any order."""

    name = "fit"

    def seeds(self) -> Iterator[bytes]:
        """Yield a line of each spelling, and the begin of a connection."""
        yield b"tlte: 40 Mbit/s down, 10 Mbit/s up, ping 45 ms, loaded ping 300 ms, loss 0.1 %"
        yield b"tdsl: 8 Mbit/s down, queue 80 ms"
        yield b"p" + bytes(range(_PACKET * 4))

    def read(self, data: bytes) -> None:
        """Read the text or the packets; the first byte decides."""
        if data[:1] == _TYPED:
            line = line_of(parse_line(data[1:].decode(errors="replace")), "down")
            tables = build_twin(Observation(name=line.name, lines=(line,)))
            assert tomllib.loads(write_scenario(tables)) == uncomment(tables)
        else:
            for trace in PathReader().read(_packets(data.removeprefix(_PACKETS))):
                estimate_line(trace, "line1")


def _packets(data: bytes) -> Iterator[Packet]:
    """Yield a packet for each block of bytes: direction, flags, sequence, acknowledgement, length, and an option."""
    for place in range(0, len(data) - _PACKET + 1, _PACKET):
        block = data[place : place + _PACKET]
        ends = _ENDS if block[0] & 1 else _ENDS[::-1]
        flags = (SYN if block[0] & 2 else 0) | (ACK if block[0] & 4 else 0)
        left = int.from_bytes(block[3:5]) * 100
        options = bytes([block[8] % 32, block[9] % 16]) + block[3:5] * 4
        yield Packet(
            place * 1000 * (1 + block[1]),
            *ends,
            left,
            int.from_bytes(block[5:7]) * 100,
            flags,
            block[7] * 10,
            options,
            VantagePoint(0, "", "", str(block[10] % 5)),
        )
