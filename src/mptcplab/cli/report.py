# SPDX-License-Identifier: MIT
"""``mptcplab report``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mptcplab.cli.common import console
from mptcplab.errors import InputError, reason

_SUFFIXES = (".html", ".htm")


def report(folder: Path, out: Path | None, as_json: bool) -> None:
    """Write the page about the results in ``folder``."""
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
    warnings = sum(notice.level == "warning" for experiment in written.experiments for notice in experiment.notices)
    size = file.stat().st_size
    if as_json:
        board = {"scoreboard": written.board.summary} if written.board else {}
        click.echo(json.dumps({"file": str(file), "bytes": size, "title": written.title, "warnings": warnings} | board))
        return
    if written.board:
        console().print(written.board.summary, markup=False, soft_wrap=True)
    count = f"{warnings} warning{'s' if warnings != 1 else ''}"
    console().print(f"{file} ({size / 1e6:.1f} MB, {count})", markup=False)
