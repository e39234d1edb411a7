# SPDX-License-Identifier: MIT
"""Statistics of capture files: of each, of all of them together, or over them as repeated runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mptcplab.capture.collector import CaptureStatistics, Collector, TcpConnection
from mptcplab.capture.end import End
from mptcplab.capture.frame import FrameReader
from mptcplab.capture.packet import Endpoint
from mptcplab.capture.statistics import Statistics, combined
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
        best: dict[tuple[frozenset[Endpoint], int], TcpConnection] = {}
        for one in self.files:
            for key, connection in _keyed(one.capture.connections):
                known = best.setdefault(key, connection)
                if connection.both.length > known.both.length:
                    best[key] = connection
        rest = [one.capture.rest for one in self.files]
        return combined([*rest, *(direction for connection in best.values() for direction in connection.directions)])

    @property
    def runs(self) -> dict[str, Spread]:
        """The mean, the maximum and the minimum over the files of the values in :data:`OF_RUNS`."""
        totals = [one.capture.total for one in self.files if one.capture.total.packets]
        return spreads(totals)


def _keyed(connections: Iterable[TcpConnection]) -> Iterable[tuple[tuple[frozenset[Endpoint], int], TcpConnection]]:
    """Yield connections with the same key in every file: the two ends, and a number if ports are used again."""
    seen: dict[frozenset[Endpoint], int] = {}
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
}


def spreads(runs: Sequence[Statistics]) -> dict[str, Spread]:
    """Return mean, maximum and minimum over runs of each value in :data:`OF_RUNS` that a run has."""
    found = {}
    for name, value_of in OF_RUNS.items():
        values = [value for value in map(value_of, runs) if value is not None]
        if values:
            found[name] = Spread(sum(values) / len(values), max(values), min(values))
    return found


def statistics_of_files(files: Sequence[Path], ends: Sequence[End] = ()) -> FilesStatistics:
    """Return the statistics of the connections with these ``ends`` in capture files. At least one file has some.

    :raises InputError: if a file is not a capture, or no file has such a connection.
    :raises MissingError: if tshark is not installed.
    """
    check_files(files)
    found = FilesStatistics(tuple(_of_file(file, ends) for file in files), tshark_version())
    if not any(one.capture.connections for one in found.files):
        raise _nothing(found, ends)
    return found


def _of_file(file: Path, ends: Sequence[End]) -> FileStatistics:
    reader, collector = FrameReader(file), Collector(ends)
    with suppress(EmptyError):  # of an interface that was idle, for example
        for frame in reader:
            collector.add(frame)
    return FileStatistics(file, collector.result(), reader.is_cut_short, reader.restarts)


def _nothing(found: FilesStatistics, ends: Sequence[End]) -> InputError:
    """Return the error about captures without a connection that is selected."""
    named = ", ".join(str(one.file) for one in found.files)
    others = [pair for one in found.files for pair in one.capture.others]
    if not others:
        cut = " before the end, which is in the middle of a packet" if any(o.is_cut_short for o in found.files) else ""
        hint = "capture TCP, without a filter that excludes it, and at least 128 bytes of each packet"
        return InputError(f"{named}: no TCP packets{cut}", hint=hint)
    wanted = " and ".join(map(str, ends))
    hint = f"there are {'; '.join(' > '.join(map(str, pair)) for pair in others[:3])}"
    return InputError(f"{named}: no connection has the end {wanted}", hint=hint)


def document_of(found: FilesStatistics, *, are_runs: bool) -> dict[str, Any]:
    """Return the statistics as JSON; files that ``are_runs`` have no total."""
    return {
        "files": [_file_document(one) for one in found.files],
        "total": None if are_runs else found.total.document(),
        "runs": {name: asdict(spread) for name, spread in found.runs.items()} if are_runs else None,
        "tshark": found.tshark,
    }


def _file_document(one: FileStatistics) -> dict[str, Any]:
    return {
        "file": str(one.file),
        "cut_short": one.is_cut_short,
        "tshark_restarts": one.tshark_restarts,
        "connections": [
            {
                "ends": [str(end) for end in connection.ends],
                "both": connection.both.document(),
                "directions": [direction.document() for direction in connection.directions],
            }
            for connection in one.capture.connections
        ],
        "connections_only_counted": one.capture.only_counted,
        "total": one.capture.total.document(),
    }
