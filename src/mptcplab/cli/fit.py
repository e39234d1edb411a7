# SPDX-License-Identifier: MIT
"""``mptcplab fit``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from mptcplab import api
from mptcplab.cli.common import print_table
from mptcplab.cli.progress import ProgressPrinter
from mptcplab.errors import InputError
from mptcplab.fit.lines import format_rate
from mptcplab.fit.typed import Direction


def fit(
    files: tuple[Path, ...],
    lines: tuple[str, ...],
    direction: Direction,
    out: Path,
    repeats: int,
    no_run: bool,
    advise: bool,
    tried: tuple[str, ...],
    sample: int | None,
    jobs: int | None,
    engine: str,
    cluster: str | None,
    fresh: bool,
    as_json: bool,
) -> None:
    """Write the twin of what ``files`` and ``lines`` say, run it, and try changes of it."""
    _check_options(no_run=no_run, advise=advise, tried=tried, sample=sample)
    twin = api.fit(files, lines=lines, direction=direction, out=out, repeats=repeats)
    if not as_json:
        print_table(twin.table)
        click.echo(f"Written: {out}")
    document = twin.document
    if not no_run:
        changes = twin.list_changes(tried=tried, sample=sample) if advise else []
        with ProgressPrinter() as printer:
            outcome = api.run_twin(
                twin,
                changes,
                jobs=jobs,
                engine=engine,
                cluster=cluster,
                fresh=fresh,
                progress=printer.show,
                warn=printer.warn,
            )
        document = outcome.document
        if not as_json:
            _show(outcome)
    if as_json:
        click.echo(json.dumps(document))


def _check_options(*, no_run: bool, advise: bool, tried: Sequence[str], sample: int | None) -> None:
    if no_run and advise:
        raise InputError("--no-run and --advise exclude each other", hint="leave out --no-run: changes have to run")
    if not advise and (tried or sample):
        option = "--try" if tried else "--sample"
        raise InputError(f"{option} does nothing without --advise", hint="add --advise")


def _show(outcome: api.TwinOutcome) -> None:
    if not outcome.comparisons:
        name, goodput = outcome.twin.observation.name, format_rate(outcome.goodput_bps)
        click.echo(f"Goodput of the twin of {name}: {goodput}. No transfer was observed beside it.")
    for table in outcome.tables():
        print_table(table)
