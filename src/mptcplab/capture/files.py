# SPDX-License-Identifier: MIT
"""Statistics of capture files: of each, of all of them together, or over them as repeated runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mptcplab.capture.connections import CaptureStatistics, Collector, TcpConnection
from mptcplab.capture.end import End
from mptcplab.capture.frame import FrameReader
from mptcplab.capture.packet import SocketAddress
from mptcplab.capture.statistics import Statistics, combine
from mptcplab.capture.tshark import EmptyError, check_files, tshark_version
from mptcplab.errors import InputError


@dataclass(frozen=True)
class FileStatistics:
    """The statistics of one file.

    ``tshark_restarts`` is how often tshark's analysis began anew in it, see :data:`frame.SESSION_PACKETS`.
    """

    file: Path
    capture: CaptureStatistics
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
    found_spreads = {}
    for name, value_of in OF_RUNS.items():
        values = [value for value in map(value_of, runs) if value is not None]
        if values:
            found_spreads[name] = Spread(sum(values) / len(values), max(values), min(values))
    return found_spreads


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
