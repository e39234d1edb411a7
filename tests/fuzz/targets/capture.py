# SPDX-License-Identifier: MIT
"""The analysis of captures after tshark: any packets, in lines that tshark could write, or any other lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tests.unit.capture_packets import CLIENT, SERVER, Pipe, first_data, option, second

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.connections import statistics_of
from mptcplab.capture.files import FilesStatistics, FileStatistics, to_json
from mptcplab.capture.packet import Packet, packets_of_lines
from mptcplab.capture.statistics import frames_of_lines
from mptcplab.capture.summary import summarise
from mptcplab.report.capture import connection_table, headline, statistics_tables

#: A packet in compact form: time step, ends and direction, flags, sequence, acknowledgment, length, options' length.
_HEAD = 10
_TEXT, _PACKETS, _FRAMES = b"T", b"P", b"F"
_IP = "{time}\t{interface}\t\t\t{source}\t{target}\t6\t\t\t"
_TCP = "{sport}\t{dport}\t{seq}\t{ack}\t0x{flags:04x}\t{length}\t{options}\t{header}\t{number}\n"


class CaptureTarget:
    """Lines of tshark (T...), those for statistics (F...), or packets in a compact form that becomes lines (P...)."""

    name = "capture"

    def seeds(self) -> Iterator[bytes]:
        """Yield a complete connection with two subflows for each kind of end, and its lines."""
        for end in (Pipe.close, Pipe.reset):
            packets: list[Packet] = []
            first, other = Pipe(packets), second(packets)
            first.open_capable()
            other.open_join()
            start = first_data(CLIENT)
            first.data(0, start, 1000)
            other.data(0, start + 1000, 1000)
            other.data(0, start, 1000)
            first.send(1, 0x10, option(bytes([0x30, 7, 10, 0, 5, 1]) + b"h" * 8))
            first.send(1, 0x10, option(bytes([0x40, 2, 3])))
            first.send(0, 0x10, option(bytes([0x70]) + SERVER))
            end(first)
            compact = b"".join(_compact(packet) for packet in packets)
            yield _PACKETS + compact
            yield _TEXT + "".join(_lines(compact)).encode()
            yield _FRAMES + "".join(_frame_line(packet) for packet in packets).encode()

    def read(self, data: bytes) -> None:
        """Analyse the packets, summarise them, and make tables."""
        kind, rest = data[:1], data[1:]
        if kind == _FRAMES:
            frames = frames_of_lines(rest.decode(errors="replace").splitlines(keepends=True), Path("fuzz.pcap"))
            statistics = FilesStatistics((FileStatistics(Path("fuzz.pcap"), statistics_of(frames)),), "4.0")
            json.dumps(to_json(statistics, are_runs=True))
            statistics_tables(statistics, are_runs=False)
            return
        lines = list(_lines(rest)) if kind == _PACKETS else rest.decode(errors="replace").splitlines(keepends=True)
        analysis = Analysis()
        for packet in packets_of_lines(lines, Path("fuzz.pcap"), 0):
            analysis.add(packet)
        summary = summarise(analysis, ["fuzz.pcap", "other.pcap"])
        json.dumps(summary.document())
        headline(summary)
        for connection in summary.connections:
            connection_table(connection).to_markdown()


def _compact(packet: Packet) -> bytes:
    other, back = packet.source.address[5] in "34", packet.source.port == 5001
    head = bytes([1, other * 2 + back, packet.flags & 0xFF])
    numbers = packet.sequence.to_bytes(4)[2:] + packet.acknowledgment.to_bytes(4)[2:] + packet.length.to_bytes(2)
    return head + numbers + bytes([len(packet.options)]) + packet.options


def _frame_line(packet: Packet) -> str:
    (source, sport), (target, dport) = packet.source, packet.target
    seconds, nanos = divmod(packet.time_ns, 10**9)
    said = "\t1" + "\t" * 5 if packet.flags & 1 else "\t" * 6
    addresses = f"{source}\t{target}\t6\t\t\t{sport}\t{dport}"
    numbers = f"{packet.sequence}\t0x{packet.flags:04x}\t{packet.length}"
    return f"{seconds}.{nanos:09d}\t{54 + packet.length}\t{addresses}\t{numbers}{said}\n"


def _lines(data: bytes) -> Iterator[str]:
    at, time = 0, 1_700_000_000_000
    while at + _HEAD <= len(data):
        step, ends, flags = data[at], data[at + 1], data[at + 2]
        seq, ack, length = (int.from_bytes(data[at + 3 + 2 * n : at + 5 + 2 * n]) for n in range(3))
        size = data[at + 9] % 41
        time += step
        ports = (40000 + (ends & 2), 5001)
        # The addresses of `Pipe` and `second`: an answer comes from where the question went.
        addresses = (f"10.0.{1 + (ends & 2)}.1", f"10.0.{2 + (ends & 2)}.2")
        yield (_IP + _TCP).format(
            time=f"{time // 1000}.{time % 1000:03d}000000",
            interface=(ends >> 2) & 3,
            source=addresses[ends & 1],
            target=addresses[1 - (ends & 1)],
            sport=ports[ends & 1],
            dport=ports[1 - (ends & 1)],
            # The upper half of the ends' byte makes numbers wrap.
            seq=(seq - ((ends >> 4) & 3) * 1000) % 2**32,
            ack=(ack - (ends >> 6) * 1000) % 2**32,
            flags=flags,
            length=length,
            options=data[at + _HEAD : at + _HEAD + size].hex(),
            header=20 + size,
            number=f"0x{at & 0xFFFF:04x}",
        )
        at += _HEAD + size
