# SPDX-License-Identifier: MIT
"""Packets of one connection over a line with a queue, as captures at both ends show them, for the tests of the fit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from mptcplab.capture.packet import ACK, SYN, Packet, SocketAddress, VantagePoint

SENDER, RECEIVER = SocketAddress("10.0.1.1", 40000), SocketAddress("10.0.2.2", 5001)
SEQUENCE = 0xFFFFF000  # it wraps soon
_PAYLOAD, FRAME = 1448, 1514
_NS = 1_000_000_000
_STAMP_OFFSET = 123_456


@dataclass(frozen=True)
class ModelLine:
    """A line: rate in bit/s, round trip and longest wait in s, random loss."""

    rate: float
    rtt: float
    queue: float
    loss: float = 0.0


def _stamps(time_s: float) -> bytes:
    return b"\x01\x01\x08\x0a" + (round(time_s * 1000) + _STAMP_OFFSET).to_bytes(4) + bytes(4)


def _block(left: int, right: int) -> bytes:
    return b"\x01\x01\x05\x0a" + left.to_bytes(4) + right.to_bytes(4)


def capture(line: ModelLine, load: float, seconds: float, *, at_sender: bool = True, seed: int = 1) -> list[Packet]:
    """Return the packets of a sender that sends ``load`` times the rate, with a pause in the middle of each second.

    What is lost is sent again a second later, and arrives. Every arrival is acknowledged at once.
    """
    return sorted(_packets(line, load, seconds, at_sender=at_sender, seed=seed), key=lambda packet: packet.time_ns)


def _packet(time_s: float, *, sends: bool, seq: int, ack: int, flags: int, length: int, options: bytes) -> Packet:
    ends = (SENDER, RECEIVER) if sends else (RECEIVER, SENDER)
    return Packet(round(time_s * _NS), *ends, seq % 2**32, ack % 2**32, flags, length, options, VantagePoint(0))


def _packets(line: ModelLine, load: float, seconds: float, *, at_sender: bool, seed: int) -> Iterator[Packet]:
    draw = random.Random(seed)
    there, half = (0.0, line.rtt / 2) if at_sender else (line.rtt / 2, 0.0)
    gap = FRAME * 8 / line.rate

    yield _packet(1 + there, sends=True, seq=SEQUENCE - 1, ack=0, flags=SYN, length=0, options=b"")
    answered = 1 + line.rtt / 2 if not at_sender else 1 + line.rtt
    yield _packet(answered, sends=False, seq=0, ack=SEQUENCE, flags=SYN | ACK, length=0, options=b"")
    yield _packet(1 + line.rtt + there, sends=True, seq=SEQUENCE, ack=1, flags=ACK, length=0, options=b"")
    moments = [2 + place * gap / load for place in range(int(seconds * load / gap))]
    sending = [(time_s, number) for number, time_s in enumerate(time_s for time_s in moments if time_s % 1 < 0.6)]
    free_s = 0.0
    arrivals: list[tuple[float, int]] = []
    again: list[tuple[float, int]] = []
    for time_s, number in sending:
        wait = max(free_s - time_s, 0.0)
        if draw.random() < line.loss or wait + gap > line.queue:
            again.append((time_s + 1.0, number))
        else:
            free_s = time_s + wait + gap
            arrivals.append((free_s + line.rtt / 2, number))
        if at_sender or (arrivals and arrivals[-1][1] == number):
            moment = time_s if at_sender else arrivals[-1][0]
            yield _data(moment, time_s, number)
    quiet = max(free_s, sending[-1][0]) + 2
    for place, (time_s, number) in enumerate(again):
        moment = max(time_s, quiet + place * gap)
        arrivals.append((moment + line.rtt / 2, number))
        yield _data(moment if at_sender else moment + line.rtt / 2, moment, number)
    yield from _answers(sorted(arrivals), half)


def _data(moment: float, sent_s: float, number: int) -> Packet:
    seq = SEQUENCE + number * _PAYLOAD
    return _packet(moment, sends=True, seq=seq, ack=1, flags=ACK, length=_PAYLOAD, options=_stamps(sent_s))


def _answers(arrivals: list[tuple[float, int]], half: float) -> Iterator[Packet]:
    """Yield the acknowledgements: cumulative, and selective for what comes behind a hole."""
    there: set[int] = set()
    below = 0
    for time_s, number in arrivals:
        there.add(number)
        while below in there:
            below += 1
        options = b""
        if number > below:
            left = number
            while left - 1 in there:
                left -= 1
            options = _block((SEQUENCE + left * _PAYLOAD) % 2**32, (SEQUENCE + (number + 1) * _PAYLOAD) % 2**32)
        ack = SEQUENCE + below * _PAYLOAD
        yield _packet(
            time_s + half, sends=False, seq=1, ack=ack, flags=ACK, length=0, options=_stamps(time_s) + options
        )
