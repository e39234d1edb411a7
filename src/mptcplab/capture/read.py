# SPDX-License-Identifier: MIT
"""Read the packets of capture files: tshark dissects them, and they are merged by time."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Generator, Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path

from mptcplab.capture.packet import FIELDS, LineReader, Packet
from mptcplab.capture.tshark import Query, check_files, lines_about, parse_lines

#: Without analysis, tshark keeps no state per packet: its memory stays constant however long a capture is.
_QUERY = Query(FIELDS, ("tcp.analyze_sequence_numbers:FALSE",))


def read_packets(files: Sequence[Path]) -> Iterator[Packet]:
    """Yield the TCP packets of all ``files`` in the order of their times; each has the number of its file.

    :raises InputError: if a file is not a capture, is truncated, or has no packets.
    :raises MissingError: if tshark is not installed.
    """
    check_files(files)
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(contextlib.closing(_packets(file, number))) for number, file in enumerate(files)]
        yield from streams[0] if len(streams) == 1 else heapq.merge(*streams, key=attrgetter("time_ns"))


def _packets(file: Path, number: int) -> Generator[Packet]:
    with contextlib.closing(lines_about(file, _QUERY)) as lines:
        yield from packets_of_lines(lines, file, number)


def packets_of_lines(lines: Iterable[str], file: Path, number: int) -> Iterator[Packet]:
    """Yield the packets in tshark's output about ``file``. :raises InputError: if a line is not valid."""
    return parse_lines(lines, file, LineReader(number).packet)
