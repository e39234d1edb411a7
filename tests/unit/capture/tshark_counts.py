# SPDX-License-Identifier: MIT
"""Data counted a second time, from tshark's fields: every mapping applied to every payload, byte by byte.

It knows nothing of :mod:`mptcplab.capture`. Captures have one connection of MPTCP 1 to :data:`PORT`.
"""

from __future__ import annotations

import hashlib
import itertools
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PORT = "5001"
#: What tshark prints of each packet. Its sequence numbers are relative: 0 is the SYN. Its MPTCP analysis numbers the
#: connections.
FIELDS = (
    "frame.number",
    "tcp.stream",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq",
    "tcp.len",
    "tcp.options.mptcp.datafin.flag",
    "tcp.options.mptcp.rawdataseqno",
    "tcp.options.mptcp.subflowseqno",
    "tcp.options.mptcp.datalvllen",
    "tcp.options.mptcp.sendkey",
    "mptcp.stream",
)


@dataclass(frozen=True)
class Count:
    """Bytes from side 0, which opened the connection, and from side 1; and unmapped payload of both."""

    connections: int
    data: tuple[int, int]
    reinjected: tuple[int, int]
    unmapped: int


def count_by_tshark(files: Sequence[Path], *, after: int = 0) -> Count:
    """Count the data of captures, without the first ``after`` packets of each. Subflows have their SYN in the files."""
    connections = set[str]()
    payload: dict[tuple[str, bool], set[range]] = {}
    mappings: dict[tuple[str, bool], set[tuple[int, int, int]]] = {}
    for file_number, file in enumerate(files):
        run = ["tshark", "-n", "-r", str(file), "-Y", "tcp", "-T", "fields", "-E", "occurrence=f"]
        command = [*run, *itertools.chain(*(("-e", field) for field in FIELDS))]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for line in lines.splitlines():
            number, stream, source, target, at, length, fin, data, subflow, mapped, key, connection = line.split("\t")
            if PORT not in (source, target) or int(number) <= after:
                continue
            connections |= {connection} - {""}
            half = (f"{file_number} {stream}", source == PORT)
            if int(length):
                payload.setdefault(half, set()).add(range(int(at), int(at) + int(length)))
            if mapped and data:
                size = int(mapped) - (fin in ("1", "True"))
                mappings.setdefault(half, set()).add((int(subflow), size, int(data)))
            elif mapped:  # MP_CAPABLE with the first data, whose number follows from the key
                first = int.from_bytes(hashlib.sha256(int(key).to_bytes(8)).digest()[-8:]) + 1
                mappings.setdefault(half, set()).add((1, int(mapped), first))
    unmapped, mapped_bytes, sent = 0, [0, 0], (set[int](), set[int]())
    for half, spans in payload.items():
        positions = set(itertools.chain(*spans))
        known = set[int]()
        for begin, size, data_begin in mappings.get(half, ()):
            mapped_here = positions & set(range(begin, begin + size))
            known |= mapped_here
            sent[half[1]].update((data_begin + position - begin) % 2**32 for position in mapped_here)
        mapped_bytes[half[1]] += len(known)
        unmapped += len(positions - known)
    up, down = map(len, sent)
    return Count(len(connections), (up, down), (mapped_bytes[0] - up, mapped_bytes[1] - down), unmapped)
