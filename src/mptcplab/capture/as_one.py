# SPDX-License-Identifier: MIT
"""Statistics of captures at several interfaces of one node, of the connections and of all their packets as one stream.

A download by MPTCP is captured at every interface that has a subflow. Two statistics have a meaning: TCP deltas, which
are times between packets of the same subflow, and times between any two packets of the download,
in the order in which they passed the node.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mptcplab.cache import cache_root
from mptcplab.capture.connections import CaptureStatistics, Collector
from mptcplab.capture.frame import Frame, FrameReader
from mptcplab.capture.statistics import Statistics, combine
from mptcplab.capture.tshark import EmptyError, check_files, tshark_version
from mptcplab.files import write_text

#: Connections with a smaller share of the bytes of the largest one are for control, such as FTP's, which is idle
#: while the data flows.
_MIN_SHARE = 0.01


@dataclass(frozen=True)
class NodeStatistics:
    """Statistics of what a node's interfaces captured.

    ``connections`` has the TCP deltas of the connections with data, each within its own. ``as_one`` is of all packets
    of all connections, and its deltas are the times between any two packets that follow each other.
    """

    connections: Statistics = field(default_factory=Statistics)
    as_one: Statistics = field(default_factory=Statistics)


def node_statistics(files: Sequence[Path], identity: str) -> NodeStatistics:
    """Return the statistics of the captures of one node in a recording with this ``identity``.

    The result is kept in the cache: tshark takes longer for a large capture than the run that made it.

    :raises InputError: if a file is not a capture. :raises MissingError: if tshark is not installed.
    """
    check_files(files)
    kept = cache_root() / "captures" / f"{_key(files, identity)}.json"
    with suppress(OSError, ValueError, TypeError):
        document = json.loads(kept.read_text())
        return NodeStatistics(**{name: Statistics(**values) for name, values in document.items()})
    statistics = statistics_of_frames([_frames(file) for file in files])
    _keep(kept, statistics)
    return statistics


def statistics_of_frames(sources: Sequence[Iterator[Frame]]) -> NodeStatistics:
    """Return the statistics of packets from several interfaces, each in the order of time."""
    collector, as_one, previous_ns = Collector(), Statistics(), None
    for frame in heapq.merge(*sources, key=lambda frame: frame.time_ns):
        collector.add(frame)
        as_one.add(frame, None if previous_ns is None else frame.time_ns - previous_ns)
        previous_ns = frame.time_ns
    return NodeStatistics(_combine_data(collector.result()), as_one)


def _combine_data(captured: CaptureStatistics) -> Statistics:
    both = [connection.both for connection in captured.connections]
    largest = max((statistics.length for statistics in both), default=0)
    return combine(statistics for statistics in both if statistics.length >= _MIN_SHARE * largest)


def _frames(file: Path) -> Iterator[Frame]:
    with suppress(EmptyError):  # of an interface that was idle
        yield from FrameReader(file)


def _key(files: Sequence[Path], identity: str) -> str:
    """Return the name under which a result is kept: it depends on the packets, on tshark, and on this code."""
    digest = hashlib.sha256(f"{identity}\0{tshark_version()}".encode())
    for file in files:
        digest.update(f"\0{file.name}\0{file.stat().st_size}".encode())
    for module in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(module.read_bytes())
    return digest.hexdigest()[:24]


def _keep(file: Path, statistics: NodeStatistics) -> None:
    with suppress(OSError):  # A result that cannot be kept is computed again.
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps(asdict(statistics)))
