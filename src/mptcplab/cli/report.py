# SPDX-License-Identifier: MIT
"""``mptcplab report``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mptcplab.cli.common import console
from mptcplab.cli.options import json_option
from mptcplab.errors import InputError, reason

_EPILOG = """\b
Examples:
  mptcplab report results/two-paths
  mptcplab report results/reproduce/subramani2018 --out study.html
  mptcplab report results/reproduce         all studies, with the scoreboard
"""


_SUFFIXES = (".html", ".htm")


@click.command(epilog=_EPILOG)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE.html", help="File to write. Default: DIR/report.html."
)
@json_option
def report(folder: Path, out: Path | None, as_json: bool) -> None:
    """Write one HTML page about the results in DIR: warnings, network, tables, figures, commands to repeat it.

    DIR is the results folder of `mptcplab run`, or that of `mptcplab reproduce` or of one study in it. Nothing is
    executed. The page is self-contained: it needs no network access and no other files.
    """
    from mptcplab.pages import write_report  # late, since loading templates and tables takes long

    file = out or folder / "report.html"
    if file.suffix.lower() not in _SUFFIXES:
        raise InputError(
            f"{file} does not end with {_SUFFIXES[0]}, and a report is a page of HTML",
            hint=f"write --out {file.with_suffix(_SUFFIXES[0])}; a browser prints it as PDF",
        )
    try:
        written = write_report(folder, file)
    except OSError as error:
        message = f"{file} cannot be written: {reason(error)}"
        raise InputError(message, hint="name another file with --out") from error
    warnings = sum(notice.level == "warning" for one in written.experiments for notice in one.notices)
    size = file.stat().st_size
    if as_json:
        board = {"scoreboard": written.board.summary} if written.board else {}
        click.echo(json.dumps({"file": str(file), "bytes": size, "title": written.title, "warnings": warnings} | board))
        return
    if written.board:
        console().print(written.board.summary, markup=False, soft_wrap=True)
    count = f"{warnings} warning{'s' if warnings != 1 else ''}"
    console().print(f"{file} ({size / 1e6:.1f} MB, {count})", markup=False)
