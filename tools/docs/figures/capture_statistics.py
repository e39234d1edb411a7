# SPDX-License-Identifier: MIT
"""The table of docs/captures.md about large captures: the memory and the speed of ``mptcplab capture --statistics``.

The captures are made here: downloads in full segments, an acknowledgment for every two of them, MPTCP's option in all,
and a retransmission now and then. Each is read in a process of its own, which reports what it and tshark used.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_GB = 10**9
_PAYLOAD = 1428
_SEGMENT_NS, _ACK_NS = 8000, 1300
#: Segments between retransmissions.
_RETRANSMISSION = 20_000
_EPOCH_S = 1_767_225_600
_CLIENT, _SERVER = bytes([10, 0, 1, 1]), bytes([10, 0, 2, 2])
_SYN, _ACK = 0x02, 0x10
_READ = """
import json, resource, sys
from pathlib import Path
from typing import Any
from mptcplab.capture.files import statistics_of_files

total = statistics_of_files([Path(sys.argv[1])]).total
used = {}
for name, who in (("own", resource.RUSAGE_SELF), ("tshark", resource.RUSAGE_CHILDREN)):
    usage = resource.getrusage(who)
    used[name] = (usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6)
print(json.dumps({"packets": total.packets + total.left_out, "bytes": total.length, **used}))
"""


@dataclass(frozen=True)
class Large:
    """A capture: bytes on the wire, connections that take turns, and how much of each packet is kept."""

    name: str
    wire: float
    connections: int = 1
    snaplen: int = 128


_CASES = (
    Large("1.5 GB, whole packets", 1.5 * _GB, snaplen=65535),
    Large("1.5 GB in 10,000 connections", 1.5 * _GB, connections=10_000),
    Large("5 GB", 5 * _GB),
)


def table_of(work: Path) -> str:
    """Return CPU times in s, rates in MB/s (10^6 bytes on the wire), and peaks of resident memory in MB."""
    lines = ["| on the wire | packets | CPU s of tshark | CPU s of mptcplab | MB/s | MB of tshark | MB of mptcplab |"]
    lines.append("| --- " * lines[0].count(" | ") + "| --- |")
    work.mkdir(parents=True, exist_ok=True)
    file = work / "large.pcap"
    for case in _CASES:
        try:
            write(case, file)
            results = _read(file)
        finally:
            file.unlink(missing_ok=True)
        (tshark_s, tshark_mb), (lab_s, lab_mb) = results["tshark"], results["own"]
        rate = results["bytes"] / 1e6 / max(tshark_s, lab_s)
        cells = (case.name, f"{results['packets']:,}", f"{tshark_s:.0f}", f"{lab_s:.0f}", f"{rate:.0f}")
        lines.append(f"| {' | '.join(cells)} | {tshark_mb:.0f} | {lab_mb:.0f} |")
    return "\n".join(lines) + "\n"


def _read(file: Path) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", _READ, str(file)], check=True, capture_output=True, text=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


class _Writer:
    """Writes packets with their times to a pcap file, until enough bytes were on the wire."""

    def __init__(self, case: Large, file: Path) -> None:
        self._case = case
        self._out = file.open("wb", buffering=1 << 22)
        self._out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, case.snaplen, 1))
        self._payload = bytes(range(256)) * (_PAYLOAD // 256 + 1)
        self.wire = self.time_ns = 0

    def packet(self, client: int, seq: int, ack: int, flags: int, length: int, *, up: bool, after: int) -> None:
        """Write a packet of the connection from the port ``client``, ``after`` ns after the one before."""
        options = b"\x01\x01\x08\x0a" + bytes(8) + b"\x1e\x12\x20\x05" + bytes(14) + b"\x01\x01"
        source, target = (_CLIENT, _SERVER) if up else (_SERVER, _CLIENT)
        ports = (client, 20) if up else (20, client)
        tcp = struct.pack("!HHIIBBHHH", *ports, seq % 2**32, ack % 2**32, 13 << 4, flags, 65535, 0, 0) + options
        size = 20 + len(tcp) + length
        ip = struct.pack("!BBHHHBBH", 0x45, 0, size, 0, 0x4000, 64, 6, 0) + source + target
        frame = bytes(12) + b"\x08\x00" + ip + tcp + self._payload[:length]
        kept = frame[: self._case.snaplen]
        self.time_ns += after
        seconds, nanos = divmod(self.time_ns, 10**9)
        self._out.write(struct.pack("<IIII", _EPOCH_S + seconds, nanos, len(kept), len(frame)) + kept)
        self.wire += len(frame)

    def close(self) -> None:
        """Close the file."""
        self._out.close()


def write(case: Large, file: Path) -> None:
    """Write the capture."""
    out = _Writer(case, file)
    clients = range(20_000, 20_000 + case.connections)
    sent = dict.fromkeys(clients, 1)
    for client in clients:
        out.packet(client, 0, 0, _SYN, 0, up=True, after=_ACK_NS)
        out.packet(client, 0, 1, _SYN | _ACK, 0, up=False, after=_ACK_NS)
        out.packet(client, 1, 1, _ACK, 0, up=True, after=_ACK_NS)
    segments = 0
    while out.wire < case.wire:
        for client in clients:
            seq = sent[client]
            for number in range(2):
                out.packet(client, seq + number * _PAYLOAD, 1, _ACK, _PAYLOAD, up=False, after=_SEGMENT_NS)
            segments += 2
            if segments % _RETRANSMISSION == 0:
                out.packet(client, seq, 1, _ACK, _PAYLOAD, up=False, after=_SEGMENT_NS)
            sent[client] = seq + 2 * _PAYLOAD
            out.packet(client, 1, sent[client], _ACK, 0, up=True, after=_ACK_NS)
            if out.wire >= case.wire:
                break
    out.close()
