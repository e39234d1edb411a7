# SPDX-License-Identifier: MIT
"""Statistics of capture files: of each, of all together, at several interfaces of a node, and of recordings."""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mptcplab.cache import cache_root
from mptcplab.capture.connections import Collector, ConnectionsOfCapture, End, TcpConnection
from mptcplab.capture.packet import SocketAddress
from mptcplab.capture.statistics import Frame, FrameReader, Statistics, combine
from mptcplab.capture.tshark import EmptyError, check_files, tshark_version
from mptcplab.errors import InputError, LabError
from mptcplab.fields import LOOPBACK
from mptcplab.files import write_text
from mptcplab.recording.record import Recording, is_complete

# Statistics of capture files: of each, of all of them together, or over them as repeated runs.


@dataclass(frozen=True)
class FileStatistics:
    """The statistics of one file.

    ``tshark_restarts`` is how often tshark's analysis began anew in it.
    """

    file: Path
    capture: ConnectionsOfCapture
    is_cut_short: bool = False
    tshark_restarts: int = 0


@dataclass(frozen=True)
class FilesStatistics:
    """The statistics of several files, and the version of the tshark that recognised retransmissions."""

    files: tuple[FileStatistics, ...]
    tshark: str = field(compare=False)

    @property
    def total(self) -> Statistics:
        """The statistics of all files. A connection that is in several counts where it has most bytes."""
        best: dict[tuple[frozenset[SocketAddress], int], TcpConnection] = {}
        for file in self.files:
            for key, connection in _key_connections(file.capture.connections):
                known = best.setdefault(key, connection)
                if connection.both.length > known.both.length:
                    best[key] = connection
        rest = [file.capture.rest for file in self.files]
        return combine([*rest, *(direction for connection in best.values() for direction in connection.directions)])

    @property
    def runs(self) -> dict[str, Spread]:
        """The mean, the maximum and the minimum over the files of the values in :data:`OF_RUNS`."""
        totals = [file.capture.total for file in self.files if file.capture.total.packets]
        return spreads(totals)


def _key_connections(
    connections: Iterable[TcpConnection],
) -> Iterable[tuple[tuple[frozenset[SocketAddress], int], TcpConnection]]:
    """Yield connections with the same key in every file: the two ends, and a number if ports are used again."""
    seen: dict[frozenset[SocketAddress], int] = {}
    for connection in connections:
        ends = frozenset(connection.ends)
        seen[ends] = seen.get(ends, 0) + 1
        yield (ends, seen[ends]), connection


@dataclass(frozen=True)
class Spread:
    """A value over several runs."""

    mean: float
    max: float
    min: float


#: Values of a run by their names in JSON.
OF_RUNS: dict[str, Callable[[Statistics], float | None]] = {
    "throughput_mbps": lambda run: None if run.throughput_bps is None else run.throughput_bps / 1e6,
    "duration_s": lambda run: run.duration_s,
    "mean_delta_us": lambda run: run.mean_delta_us,
    "min_delta_us": lambda run: run.min_delta_us,
    "max_delta_us": lambda run: run.max_delta_us,
    "delta_variance_s2": lambda run: run.delta_variance_s2,
    "throughput_mibps": lambda run: run.throughput_mibps,
}


def spreads(runs: Sequence[Statistics]) -> dict[str, Spread]:
    """Return mean, maximum and minimum over runs of each value in :data:`OF_RUNS` that a run has."""
    by_name = {}
    for name, value_of in OF_RUNS.items():
        values = [value for value in map(value_of, runs) if value is not None]
        if values:
            by_name[name] = Spread(sum(values) / len(values), max(values), min(values))
    return by_name


def statistics_of_files(files: Sequence[Path], ends: Sequence[End] = ()) -> FilesStatistics:
    """Return the statistics of the connections with these ``ends`` in capture files. At least one file has some.

    :raises InputError: if a file is not a capture, or no file has such a connection.
    :raises MissingError: if tshark is not installed.
    """
    check_files(files)
    files_statistics = FilesStatistics(tuple(_read_statistics(file, ends) for file in files), tshark_version())
    if not any(statistics.capture.connections for statistics in files_statistics.files):
        raise _no_connection_error(files_statistics, ends)
    return files_statistics


def _read_statistics(file: Path, ends: Sequence[End]) -> FileStatistics:
    reader, collector = FrameReader(file), Collector(ends)
    with suppress(EmptyError):  # of an interface that was idle, for example
        for frame in reader:
            collector.add(frame)
    return FileStatistics(file, collector.result(), reader.is_cut_short, reader.restarts)


def _no_connection_error(statistics: FilesStatistics, ends: Sequence[End]) -> InputError:
    """Return the error about captures without a connection that is selected."""
    named = ", ".join(str(file.file) for file in statistics.files)
    others = [pair for file in statistics.files for pair in file.capture.others]
    if not others:
        cut = (
            " before the end, which is in the middle of a packet"
            if any(o.is_cut_short for o in statistics.files)
            else ""
        )
        hint = "capture TCP, without a filter that excludes it, and at least 128 bytes of each packet"
        return InputError(f"{named}: no TCP packets{cut}", hint=hint)
    wanted = " and ".join(map(str, ends))
    hint = f"there are {'; '.join(' > '.join(map(str, pair)) for pair in others[:3])}"
    return InputError(f"{named}: no connection has the end {wanted}", hint=hint)


def to_json(statistics: FilesStatistics, *, are_runs: bool) -> dict[str, Any]:
    """Return the statistics as JSON; files that ``are_runs`` have no total."""
    return {
        "files": [_file_document(file) for file in statistics.files],
        "total": None if are_runs else statistics.total.document(),
        "runs": {name: asdict(spread) for name, spread in statistics.runs.items()} if are_runs else None,
        "tshark": statistics.tshark,
    }


def _file_document(statistics: FileStatistics) -> dict[str, Any]:
    return {
        "file": str(statistics.file),
        "cut_short": statistics.is_cut_short,
        "tshark_restarts": statistics.tshark_restarts,
        "connections": [
            {
                "ends": [str(end) for end in connection.ends],
                "both": connection.both.document(),
                "directions": [direction.document() for direction in connection.directions],
            }
            for connection in statistics.capture.connections
        ],
        "connections_only_counted": statistics.capture.only_counted,
        "total": statistics.capture.total.document(),
    }


# Statistics of captures at several interfaces of one node, of the connections and of all their packets as one stream.
#
# A download by MPTCP is captured at every interface that has a subflow. Two statistics have a meaning: TCP deltas,
# which are times between packets of the same subflow, and times between any two packets of the download, in the order
# in which they passed the node.

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


def _combine_data(captured: ConnectionsOfCapture) -> Statistics:
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


# Captures in recordings: the statistics of a run, and which runs files are of.

_FOLDER = "captures"
_MAX_NAMED = 8


def recorded_statistics(recording: Recording, node: str, ends: Sequence[End] = ()) -> FilesStatistics:
    """Return the statistics of all connections with these ``ends`` in the captures at the interfaces of ``node``.

    :raises InputError: if the run captured nothing there, or no such connection.
    :raises MissingError: if tshark is not installed.
    """
    return statistics_of_files(captures_of(recording, node), ends)


def captures_of(recording: Recording, node: str) -> list[Path]:
    """Return the captures at the interfaces of ``node``, in the order of the scenario's links; loopback comes last.

    :raises InputError: if there are none.
    """
    captures = recording.captures
    names = [f"{node}-{name}" for name in (*links_of(recording, node), LOOPBACK)]
    paths = [captures[name] for name in names if name in captures]
    if not paths:
        hint = f'add to the scenario: record.captures = [{{ node = "{node}" }}]'
        raise InputError(f"the run in {recording.folder} has no capture at {node}", hint=hint)
    return paths


def links_of(recording: Recording, node: str) -> list[str]:
    """Return the links that end at ``node``, in the order of the scenario."""
    return [link["name"] for link in recording.manifest["links"] if node in link["between"]]


def refuse_several_runs(files: Sequence[Path]) -> None:
    """Refuse files of several recorded runs as one capture: clocks, addresses and tokens of all runs are alike.

    :raises InputError: with the folders of the runs, and the point and seed of each.
    """
    runs = _files_by_run(files)
    if len(runs) > 1:
        example = next(iter(runs)) / _FOLDER / "*.pcap"
        texts = [f"{folder.name}: {_point(folder)}" for folder in list(runs)[:_MAX_NAMED]]
        more = f"; and {len(runs) - _MAX_NAMED} more" if len(runs) > _MAX_NAMED else ""
        hint = f"name files of one run, like {example}. The runs are {'; '.join(texts)}{more}"
        raise InputError(f"the files are of {len(runs)} runs, which do not form one capture", hint=hint)


def refuse_several_of_a_run(files: Sequence[Path]) -> None:
    """Refuse several files of one run where each is to be a run. :raises InputError: with the files of one place."""
    for folder, captures in _files_by_run(files).items():
        if len(captures) > 1:
            example = folder.parent / "*" / _FOLDER / captures[0].name
            message = f"{len(captures)} of the files are of the run {folder.name}, and --runs takes each file for a run"
            raise InputError(message, hint=f"name one file of each run, like {example}")


def _files_by_run(files: Sequence[Path]) -> dict[Path, list[Path]]:
    """Return the files that are in recordings, by the folder of the run."""
    paths: dict[Path, list[Path]] = {}
    for file in files:
        if file.parent.name == _FOLDER and is_complete(file.parent.parent):
            paths.setdefault(file.parent.parent, []).append(file)
    return paths


def _point(folder: Path) -> str:
    """Return the settings and the seed of a run in words."""
    return ", ".join(_settings(folder))


def _settings(folder: Path) -> Iterator[str]:
    try:
        manifest = Recording(folder).manifest
        yield from (f"{key} {value}" for key, value in manifest["settings"])
        yield f"seed {manifest['seed']}"
    except (LabError, KeyError, TypeError, ValueError):
        yield "not readable"
