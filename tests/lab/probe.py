# SPDX-License-Identifier: MIT
"""Numbered datagrams over a link, and when each arrived: what links do to packets is measured with them.

Both ends read the same virtual clock, so that one-way delays need no synchronisation.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mptcplab.steps import Counter, Program

from .bench import Bench, LabOutput, client, server

#: Two routers, with the link under test between them: both of its ends forward.
LINE = """
[topology]
preset = "chain"
routers = 2

# Multicast reports of the nodes themselves, at random instants, would be counted with the datagrams.
[routers.r1.sysctl]
"net.ipv6.conf.all.disable_ipv6" = 1
[routers.r2.sysctl]
"net.ipv6.conf.all.disable_ipv6" = 1
"""
TARGET = "10.0.3.2"
#: UDP, IPv4 and Ethernet headers.
HEADERS = 8 + 20 + 14
_START_NS = 2 * 10**9
_MARK = struct.Struct("=IQ")
_ARRIVAL = struct.Struct("=IQQ")
#: 33 and 32 are SO_RCVBUFFORCE and SO_SNDBUFFORCE.
_RECEIVE = """
import os, signal, socket, struct, sys, time
s = socket.socket(type=socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)
s.bind(("", 9000))
out, clock = [], time.clock_gettime_ns
def end(*_):
    with open(1, "wb") as file:
        file.write(b"".join(out))
    os._exit(0)
signal.signal(signal.SIGTERM, end)
while True:
    data = s.recv(65536)
    out.append(data[:12] + struct.pack("=Q", clock(time.CLOCK_MONOTONIC)))
"""
_SEND = """
import socket, struct, sys, time
bursts, per_burst, size, gap_ns = map(int, sys.argv[2:])
s = socket.socket(type=socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 32, 1 << 26)
s.connect((sys.argv[1], 9000))
clock, rest, number = time.clock_gettime_ns, bytes(size - 12), 0
first = clock(time.CLOCK_MONOTONIC)
for burst in range(bursts):
    left = first + burst * gap_ns - clock(time.CLOCK_MONOTONIC)
    if left > 0:
        time.sleep(left / 1e9)
    for _ in range(per_burst):
        s.send(struct.pack("=IQ", number, clock(time.CLOCK_MONOTONIC)) + rest)
        number += 1
"""


@dataclass(frozen=True)
class Arrival:
    """One datagram at the receiver."""

    number: int
    sent_ns: int
    received_ns: int

    @property
    def delay_ms(self) -> float:
        """One way."""
        return (self.received_ns - self.sent_ns) / 1e6


@dataclass(frozen=True)
class ProbeResult:
    """What became of ``sent`` datagrams, in the order of arrival."""

    sent: int
    arrivals: tuple[Arrival, ...]
    lived: LabOutput

    @property
    def delays_ms(self) -> list[float]:
        """Of all that arrived."""
        return [arrival.delay_ms for arrival in self.arrivals]

    @property
    def lost(self) -> list[bool]:
        """For each datagram in the order of sending, whether it never came."""
        came = {arrival.number for arrival in self.arrivals}
        return [number not in came for number in range(self.sent)]

    @property
    def bursts(self) -> list[int]:
        """Lengths of the runs of lost datagrams."""
        return [len(list(run)) for is_lost, run in itertools.groupby(self.lost) if is_lost]

    @property
    def overtaken(self) -> int:
        """The number of datagrams that overtook an earlier datagram: falls in the sequence of numbers."""
        return sum(1 for before, after in itertools.pairwise(self.arrivals) if after.number < before.number)


def probe_programs(
    *, bursts: int, per_burst: int = 1, size: int = 64, gap_us: float = 1000, target: str = TARGET, rest_s: float = 5
) -> tuple[Program, ...]:
    """``bursts`` of ``per_burst`` datagrams with ``size`` bytes of payload, one burst each ``gap_us``."""
    words = (target, str(bursts), str(per_burst), str(size), str(round(gap_us * 1000)))
    lasts = bursts * gap_us / 1e6 + rest_s
    return (
        server("receive", "python3", "-IS", "-c", _RECEIVE),
        client("warm", "ping", "-n", "-c", "5", "-i", "0.2", "-W", "1", target),
        client("send", "python3", "-IS", "-c", _SEND, *words, start_ns=_START_NS),
        client("quiet", "sleep", str(_START_NS / 1e9 + lasts)),
    )


def probe(
    bench: Bench,
    *settings: str,
    text: str = LINE,
    programs: Iterable[Program] = (),
    counters: Iterable[Counter] = (),
    bursts: int,
    per_burst: int = 1,
    size: int = 64,
    gap_us: float = 1000,
    seed: int = 1,
) -> ProbeResult:
    """Send datagrams over a network with ``settings`` of it, beside other ``programs``."""
    load = probe_programs(bursts=bursts, per_burst=per_burst, size=size, gap_us=gap_us)
    lived = bench.live(bench.plan(text, *settings, programs=(*load, *programs), counters=counters), seed=seed)
    return ProbeResult(bursts * per_burst, arrivals(lived.folder / "out" / "receive.out"), lived)


def arrivals(file: Path) -> tuple[Arrival, ...]:
    """What the receiver wrote."""
    return tuple(Arrival(*fields) for fields in _ARRIVAL.iter_unpack(file.read_bytes()))
