# SPDX-License-Identifier: MIT
"""Analyse packet captures and write what they show: connections of MPTCP, or the statistics of all packets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.connections import parse_end
from mptcplab.capture.files import (
    FilesStatistics,
    refuse_several_of_a_run,
    refuse_several_runs,
    statistics_of_files,
    to_json,
)
from mptcplab.capture.packet import read_packets
from mptcplab.capture.summary import ConnectionSummary, Summary, summarise
from mptcplab.errors import InputError, reason
from mptcplab.files import list_paths
from mptcplab.report.capture import connection_table, save_data_sequence, statistics_tables
from mptcplab.report.table import Table, write_json, write_table

#: Connections of which tables are written.
MAX_TABLES = 10
SUFFIXES = (".svg", ".png")


@dataclass(frozen=True)
class CaptureReport:
    """The MPTCP connections in captures. ``summary`` has the connections and their subflows."""

    analysis: Analysis
    summary: Summary

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of ``mptcplab capture --json``."""
        return self.summary.document()

    @property
    def largest(self) -> list[ConnectionSummary]:
        """The ten connections with the most data, in the order of their numbers."""
        chosen = sorted(self.summary.connections, key=_order)[:MAX_TABLES]
        return sorted(chosen, key=lambda connection: connection.number)

    @property
    def left_out(self) -> int:
        """The number of connections of MPTCP that are not among the largest."""
        known = len(self.summary.connections)
        return known + self.summary.connections_only_counted - min(known, MAX_TABLES)

    def tables(self) -> list[Table]:
        """Return a table of the subflows of each of the largest connections."""
        return [connection_table(connection) for connection in self.largest]

    def write(
        self, *, out: Path | None = None, figure: Path | None = None, connection: int | None = None
    ) -> list[Path]:
        """Write files and return them: tables, JSON and figures into the folder ``out``, and the file ``figure``.

        Figures show the data sequence of the ``connection`` with this number, by default that with the most data.

        :raises InputError: if there is no such connection, or a file cannot be written.
        """
        drawn = self._find(connection) if figure or out else None
        try:
            return self._write(drawn, figure, out)
        except OSError as error:
            hint = "name another file or folder"
            raise InputError(f"{error.filename or out}: {reason(error)}", hint=hint) from error

    def _find(self, number: int | None) -> ConnectionSummary | None:
        """Return connection ``number``, or the one with the most data. :raises InputError: if it does not exist."""
        connections = self.summary.connections
        if number is None:
            return min(connections, key=lambda connection: (_order(connection), connection.number), default=None)
        selected = next((connection for connection in connections if connection.number == number), None)
        if selected is None:
            hint = f"there are {len(connections)} in the capture"
            raise InputError(f"there is no MPTCP connection {number} to draw", hint=hint)
        return selected

    def _write(self, drawn: ConnectionSummary | None, figure: Path | None, out: Path | None) -> list[Path]:
        written: list[Path] = []
        figures = [figure] if figure is not None else []
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            write_json(self.document, out / "capture.json")
            written.append(out / "capture.json")
            for summary in self.largest:
                write_table(connection_table(summary), out, f"connection-{summary.number}")
                written.append(out / f"connection-{summary.number}.md")
            figures += [out / f"data-sequence{suffix}" for suffix in SUFFIXES]
        connection = self.analysis.connections.get(drawn.number) if drawn is not None else None
        if drawn is None or connection is None:
            if figure is not None:
                hint = "leave --figure out to see the connections"
                raise InputError("there is no MPTCP connection to draw", hint=hint)
            return written
        for file in figures:
            assert self.summary.start_ns is not None, "a capture with a connection has packets"
            save_data_sequence(connection, drawn, self.summary.start_ns, file)
        return written + figures


def _order(connection: ConnectionSummary) -> int:
    return -sum(connection.data_bytes)


def analyse_captures(files: str | Path | Sequence[str | Path]) -> CaptureReport:
    """Return what MPTCP did in captures: connections, subflows and their shares, reinjections, fallbacks.

    Several files are read as one capture: of several interfaces of a host, or of both hosts.

    :raises InputError: if a file cannot be read, or files are of several runs.
    :raises MissingError: if tshark is not installed.
    """
    paths = list_paths(files)
    refuse_several_runs(paths)
    analysis = Analysis()
    for packet in read_packets(paths):
        analysis.add(packet)
    return CaptureReport(analysis, summarise(analysis, [str(file) for file in paths]))


@dataclass(frozen=True)
class CaptureStatistics:
    """Throughput and the times between packets of TCP connections. With ``are_runs``, each file is a run."""

    statistics: FilesStatistics
    are_runs: bool

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of ``mptcplab capture --statistics --json``."""
        return to_json(self.statistics, are_runs=self.are_runs)

    def tables(self) -> list[Table]:
        """Return the tables that ``mptcplab capture --statistics`` prints."""
        return statistics_tables(self.statistics, are_runs=self.are_runs)

    def write(self, out: Path) -> list[Path]:
        """Write JSON and tables into a folder, and return the files. :raises InputError: if that fails."""
        tables = self.tables()
        try:
            out.mkdir(parents=True, exist_ok=True)
            write_json(self.document, out / "statistics.json")
            for number, table in enumerate(tables, start=1):
                write_table(table, out, f"statistics-{number}")
        except OSError as error:
            raise InputError(f"{error.filename or out}: {reason(error)}", hint="name another folder") from error
        return [out / "statistics.json", *(out / f"statistics-{number}.md" for number in range(1, len(tables) + 1))]

    def check_whole(self) -> None:
        """:raises InputError: if a file ends in the middle of a packet: the statistics are of those before."""
        cut = [file for file in self.statistics.files if file.is_cut_short]
        if cut:
            names = ", ".join(str(statistics.file) for statistics in cut)
            message = f"{names}: ends in the middle of a packet; the statistics are of the packets before"
            raise InputError(message, hint=f"keep the complete packets: editcap {cut[0].file} whole.pcap")


def measure_captures(
    files: str | Path | Sequence[str | Path], *, ends: Sequence[str] = (), are_runs: bool = False
) -> CaptureStatistics:
    """Return throughput and the times between packets of every TCP connection, without retransmissions.

    ``ends`` are texts ``ADDRESS[:PORT]`` or ``:PORT``: only connections with these ends count. Several files are read
    as one capture; with ``are_runs``, each file is a run, and means are over the runs.

    :raises InputError: if a file cannot be read, or files do not belong together.
    :raises MissingError: if tshark is not installed.
    """
    paths = list_paths(files)
    if are_runs:
        refuse_several_of_a_run(paths)
    else:
        refuse_several_runs(paths)
    return CaptureStatistics(statistics_of_files(paths, [parse_end(end) for end in ends]), are_runs)
