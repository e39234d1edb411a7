# SPDX-License-Identifier: MIT
"""``mptcplab capture --statistics``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from mptcplab.capture.end import parse_end
from mptcplab.capture.files import FilesStatistics, statistics_of_files, to_json
from mptcplab.cli.common import console, print_table
from mptcplab.errors import InputError, reason
from mptcplab.report.capture_statistics import statistics_tables
from mptcplab.report.files import write_json, write_table
from mptcplab.report.table import Table


def show_statistics(
    files: Sequence[Path], ends: Sequence[str], *, are_runs: bool, out: Path | None, as_json: bool
) -> None:
    """Print the statistics of captures, and write them to ``out``.

    :raises InputError: if a file cannot be read; after printing, if one ends in the middle of a packet.
    """
    statistics = statistics_of_files(files, [parse_end(end) for end in ends])
    document = to_json(statistics, are_runs=are_runs)
    tables = statistics_tables(statistics, are_runs=are_runs)
    written = _write(document, tables, out) if out is not None else []
    if as_json:
        click.echo(json.dumps(document))
    else:
        for table in tables:
            print_table(table)
        if written:
            console().print(f"Written: {', '.join(map(str, written))}", markup=False)
    _check_whole(statistics)


def _write(document: dict[str, Any], tables: Sequence[Table], out: Path) -> list[Path]:
    """Write JSON and tables, and return the files."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_json(document, out / "statistics.json")
        for number, table in enumerate(tables, start=1):
            write_table(table, out, f"statistics-{number}")
    except OSError as error:
        raise InputError(f"{error.filename or out}: {reason(error)}", hint="name another folder") from error
    return [out / "statistics.json", *(out / f"statistics-{number}.md" for number in range(1, len(tables) + 1))]


def _check_whole(statistics: FilesStatistics) -> None:
    cut = [file for file in statistics.files if file.is_cut_short]
    if cut:
        names = ", ".join(str(statistics.file) for statistics in cut)
        message = f"{names}: ends in the middle of a packet; the statistics are of the packets before"
        raise InputError(message, hint=f"keep the complete packets: editcap {cut[0].file} whole.pcap")
