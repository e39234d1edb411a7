# SPDX-License-Identifier: MIT
"""``mptcplab capture``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from mptcplab import api
from mptcplab.cli.common import console, print_table
from mptcplab.report.capture import headline
from mptcplab.report.capture_files import SUFFIXES


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
    if statistics:
        _print_statistics(files, ends, are_runs=runs, out=out, as_json=as_json)
        return
    report = api.analyse_captures(files)
    written = report.write(out=out, figure=figure, connection=connection)
    if as_json:
        click.echo(json.dumps(report.document))
        return
    _show(report)
    _print_files(written)


def _check(figure: Path | None, connection: int | None, *, statistics: bool, ends: tuple[str, ...], runs: bool) -> None:
    """Check the options. :raises click.UsageError: if they do not fit together."""
    if figure is not None and figure.suffix not in SUFFIXES:
        raise click.BadParameter(f"'{figure}' does not end with .svg or .png", param_hint="--figure")
    if statistics and (figure is not None or connection is not None):
        raise click.UsageError("--statistics draws nothing: leave out --figure and --connection")
    if not statistics and (ends or runs):
        raise click.UsageError(f"{'--end' if ends else '--runs'} needs --statistics")


def _print_statistics(
    files: Sequence[Path], ends: Sequence[str], *, are_runs: bool, out: Path | None, as_json: bool
) -> None:
    """Print the statistics of captures, and write them to ``out``.

    :raises InputError: if a file cannot be read; after printing, if one ends in the middle of a packet.
    """
    measured = api.measure_captures(files, ends=ends, are_runs=are_runs)
    written = measured.write(out) if out is not None else []
    if as_json:
        click.echo(json.dumps(measured.document))
    else:
        for table in measured.tables():
            print_table(table)
        _print_files(written)
    measured.check_whole()


def _show(report: api.CaptureReport) -> None:
    console().print(headline(report.summary), style="bold", markup=False)
    for table in report.tables():
        print_table(table)
    if report.left_out:
        text = f"... and {report.left_out} MPTCP connections with less data: see --json"
        console().print(text, style="dim", markup=False)


def _print_files(written: Sequence[Path]) -> None:
    if written:
        console().print(f"Written: {', '.join(map(str, written))}", markup=False)
