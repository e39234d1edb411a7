# SPDX-License-Identifier: MIT
"""``mptcplab capture``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.read import read_packets
from mptcplab.capture.recorded import refuse_several_of_a_run, refuse_several_runs
from mptcplab.capture.summary import ConnectionSummary, Summary, summarise
from mptcplab.cli.capture_statistics import show_statistics
from mptcplab.cli.common import console, print_table
from mptcplab.errors import InputError, reason
from mptcplab.report.capture import connection_table, headline
from mptcplab.report.capture_figure import save_data_sequence
from mptcplab.report.files import write_json, write_table

_MAX_SHOWN = 10
_FIGURES = (".svg", ".png")


def capture(
    files: tuple[Path, ...],
    figure: Path | None,
    connection: int | None,
    statistics: bool,
    ends: tuple[str, ...],
    runs: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Analyse captures and print what MPTCP did in them, or their statistics."""
    _check(figure, connection, statistics=statistics, ends=ends, runs=runs)
    if runs:
        refuse_several_of_a_run(files)
    else:
        refuse_several_runs(files)
    if statistics:
        show_statistics(files, ends, are_runs=runs, out=out, as_json=as_json)
        return
    analysis = Analysis()
    for packet in read_packets(files):
        analysis.add(packet)
    summary = summarise(analysis, [str(file) for file in files])
    drawn = _to_draw(summary, connection) if figure or out else None
    try:
        written = _write(analysis, summary, drawn, figure, out)
    except OSError as error:
        hint = "name another file or folder"
        raise InputError(f"{error.filename or out}: {reason(error)}", hint=hint) from error
    if as_json:
        click.echo(json.dumps(summary.document()))
        return
    _show(summary)
    if written:
        console().print(f"Written: {', '.join(map(str, written))}", markup=False)


def _check(figure: Path | None, connection: int | None, *, statistics: bool, ends: tuple[str, ...], runs: bool) -> None:
    """Check the options. :raises click.UsageError: if they do not fit together."""
    if figure is not None and figure.suffix not in _FIGURES:
        raise click.BadParameter(f"'{figure}' does not end with .svg or .png", param_hint="--figure")
    if statistics and (figure is not None or connection is not None):
        raise click.UsageError("--statistics draws nothing: leave out --figure and --connection")
    if not statistics and (ends or runs):
        raise click.UsageError(f"{'--end' if ends else '--runs'} needs --statistics")


def _to_draw(summary: Summary, number: int | None) -> ConnectionSummary | None:
    """Return connection ``number``, or the one with the most data. :raises InputError: if it does not exist."""
    if number is None:
        return max(
            summary.connections,
            key=lambda connection_summary: (sum(connection_summary.data_bytes), -connection_summary.number),
            default=None,
        )
    connection = next(
        (connection_summary for connection_summary in summary.connections if connection_summary.number == number), None
    )
    if connection is None:
        hint = f"there are {len(summary.connections)} in the capture"
        raise InputError(f"there is no MPTCP connection {number} to draw", hint=hint)
    return connection


def _write(
    analysis: Analysis, summary: Summary, drawn: ConnectionSummary | None, figure: Path | None, out: Path | None
) -> list[Path]:
    """Write the requested files and return them."""
    written: list[Path] = []
    figures = [figure] if figure is not None else []
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_json(summary.document(), out / "capture.json")
        written.append(out / "capture.json")
        for connection_summary in _largest_connections(summary):
            write_table(connection_table(connection_summary), out, f"connection-{connection_summary.number}")
            written.append(out / f"connection-{connection_summary.number}.md")
        figures += [out / f"data-sequence{suffix}" for suffix in _FIGURES]
    connection = analysis.connections.get(drawn.number) if drawn is not None else None
    if drawn is None or connection is None:
        if figure is not None:
            raise InputError("there is no MPTCP connection to draw", hint="leave --figure out to see the connections")
        return written
    for file in figures:
        assert summary.start_ns is not None, "a capture with a connection has packets"
        save_data_sequence(connection, drawn, summary.start_ns, file)
    return written + figures


def _largest_connections(summary: Summary) -> list[ConnectionSummary]:
    """Return the connections with the most data, in the order of their numbers."""
    chosen = sorted(summary.connections, key=lambda connection_summary: -sum(connection_summary.data_bytes))[
        :_MAX_SHOWN
    ]
    return sorted(chosen, key=lambda connection_summary: connection_summary.number)


def _show(summary: Summary) -> None:
    console().print(headline(summary), style="bold", markup=False)
    for connection in _largest_connections(summary):
        print_table(connection_table(connection))
    left_out = len(summary.connections) + summary.connections_only_counted - min(len(summary.connections), _MAX_SHOWN)
    if left_out:
        text = f"... and {left_out} MPTCP connections with less data: see --json"
        console().print(text, style="dim", markup=False)
