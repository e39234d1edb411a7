# SPDX-License-Identifier: MIT
"""``mptcplab report``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mptcplab.cli.common import console
from mptcplab.errors import InputError, reason

_EPILOG = """\b
Examples:
  mptcplab report results/two-paths
  mptcplab report results/reproduce/subramani2018 --out study.html
  mptcplab report results/reproduce         all studies, with the scoreboard
"""


@click.command(epilog=_EPILOG)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE.html", help="Default: DIR/report.html.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def report(folder: Path, out: Path | None, as_json: bool) -> None:
    """Write one HTML file about the results in DIR: warnings, network, tables, figures, how to repeat it.

    DIR is the results folder of `mptcplab run`, or of `mptcplab reproduce` or one study in it. Nothing is run. The file
    needs no network and no other file.
    """
    from mptcplab.pages import write_report  # late: templates and tables take longer than the other commands

    file = out or folder / "report.html"
    try:
        written = write_report(folder, file)
    except OSError as error:
        message = f"{file} cannot be written: {reason(error)}"
        raise InputError(message, hint="name another file with --out") from error
    warnings = sum(notice.level == "warning" for one in written.experiments for notice in one.notices)
    size = file.stat().st_size
    if as_json:
        said = {"scoreboard": written.board.summary} if written.board else {}
        click.echo(json.dumps({"file": str(file), "bytes": size, "title": written.title, "warnings": warnings} | said))
        return
    if written.board:
        console().print(written.board.summary, markup=False, soft_wrap=True)
    count = f"{warnings} warning{'s' if warnings != 1 else ''}"
    console().print(f"{file} ({size / 1e6:.1f} MB, {count})", markup=False)
