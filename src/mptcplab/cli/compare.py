# SPDX-License-Identifier: MIT
"""``mptcplab compare``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mptcplab import api
from mptcplab.cli.common import console, print_table
from mptcplab.cli.options import split_commas
from mptcplab.errors import Exit, InputError
from mptcplab.report.choosing import choose
from mptcplab.report.compare import check_suffix, swept_keys_of


def compare(
    a: Path,
    b: Path | None,
    by: str | None,
    reference: str | None,
    metrics: tuple[str, ...],
    margin: float,
    fail_if_different: bool,
    fail_if_uncertain: bool,
    columns: str | None,
    sort: str | None,
    files: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Compare results and return the exit status."""
    if b is not None and by is not None:
        raise click.UsageError("a second folder and --by exclude each other: leave one out")
    if b is None and by is None:
        raise _nothing_to_compare(a)
    if reference is not None and by is None:
        raise click.UsageError("--reference needs --by")
    for file in files:
        check_suffix(file)
    comparison = api.compare(a, b, by=split_commas(by), reference=reference, metrics=metrics, margin_percent=margin)
    tables = [choose(table, split_commas(columns), sort) for table in comparison.tables]
    for file in files:
        comparison.write(file, tables)
    if as_json:
        click.echo(json.dumps(comparison.document))
    else:
        for table in tables:
            print_table(table)
        if files:
            console().print(f"\nWritten: {', '.join(map(str, files))}", markup=False, soft_wrap=True)
    if fail_if_different or fail_if_uncertain:
        comparison.require_rows()
    failed = (fail_if_different and comparison.is_different) or (fail_if_uncertain and comparison.is_uncertain)
    return Exit.FAILED if failed else Exit.DONE


def _nothing_to_compare(folder: Path) -> InputError:
    """Return the error of a single folder without --by; its hint names the swept keys of these results."""
    keys = swept_keys_of(folder)
    hint = f"this folder has {' and '.join(f'--by {key}' for key in keys)}" if keys else "see `mptcplab compare --help`"
    return InputError("name a second folder, or a swept key with --by", hint=hint)
