# SPDX-License-Identifier: MIT
"""The reader of capture files as a whole, with tshark: slow, a few files a second."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.files import statistics_of_files, to_json
from mptcplab.capture.packet import read_packets
from mptcplab.capture.summary import summarise

_CAPTURES = Path(__file__).resolve().parents[3] / "tests" / "unit" / "captures"
#: Whole files are longer than this; some packets suffice.
_MAX_SEED_BYTES = 4096
_PCAPNG = b"\x0a\x0d\x0d\x0a"


class PcapTarget:
    """A capture file."""

    name = "pcap"

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mptcplab-fuzz-")
        self._file = Path(self._folder.name) / "fuzz.pcap"

    def seeds(self) -> Iterator[bytes]:
        """Yield the beginnings of captures from several tools."""
        for file in (*_CAPTURES.glob("*.pcap"), *_CAPTURES.glob("*.pcapng")):
            yield _first_records(file.read_bytes())

    def read(self, data: bytes) -> None:
        """Read the file as `mptcplab capture` does, without and with --statistics."""
        self._file.write_bytes(data)
        analysis = Analysis()
        for packet in read_packets([self._file]):
            analysis.add(packet)
        summarise(analysis, [self._file.name])
        to_json(statistics_of_files([self._file]), are_runs=False)


def _first_records(capture: bytes) -> bytes:
    """Return the first complete packets (pcap) or blocks (pcapng) of a little-endian capture."""
    is_ng = capture.startswith(_PCAPNG)
    end, at, more = (0, 4, 0) if is_ng else (24, 8, 16)
    while end + at + 4 <= len(capture):
        following = end + more + int.from_bytes(capture[end + at : end + at + 4], "little")
        if following > _MAX_SEED_BYTES:
            break
        end = following
    return capture[:end]
