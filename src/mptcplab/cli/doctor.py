# SPDX-License-Identifier: MIT
"""``mptcplab doctor``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from mptcplab.errors import Exit

if TYPE_CHECKING:
    from rich.console import Console

    from mptcplab.doctor import Report

_EPILOG = """\b
Examples:
  mptcplab doctor
  mptcplab doctor --json | jq -r '.commands[]'

\b
Exit status:
  0    experiments can be run here; something for another purpose may be missing
  3    they cannot: what is broken is named, with the command that mends it
  130  interrupted
"""
_STYLES = {"fine": "green", "missing": "yellow", "broken": "bold red"}


@click.command(epilog=_EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def doctor(as_json: bool) -> int:
    """Say what this machine lacks for what mptcplab can do, and the command that mends it.

    Looks at Python and its packages, the programs that labs and kernel builds start, room on disk and in memory,
    limits, and the lab kernels; then it boots a lab in which nothing happens. Every line is fine, missing (for the
    purpose that is named) or broken (experiments cannot be run).
    """
    from mptcplab.doctor import examine  # imports half of the engine

    report = examine()
    if as_json:
        click.echo(json.dumps(report.to_json()))
    else:
        _show(report)
    return Exit.DONE if report.can_run else Exit.MISSING


def _show(report: Report) -> None:
    from mptcplab.cli.common import console

    out = console()
    out.print(report.machine, style="bold", markup=False)
    _show_findings(report, out)
    verdict = "Experiments can be run here." if report.can_run else "Experiments cannot be run here yet."
    out.print(f"\n{verdict}", style="bold", markup=False)
    if report.commands:
        out.print("To mend what is not fine:", markup=False)
        for command in report.commands:
            out.print(f"  {command}", markup=False, soft_wrap=True)


def _show_findings(report: Report, out: Console) -> None:
    """One line each; on a terminal, long ones are wrapped below themselves."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    width = max(len(finding.subject) for finding in report.findings)
    for finding in report.findings:
        said = f"{finding.says}, needed for {finding.needed_for}" if finding.needed_for else finding.says
        table.add_row("", Text(finding.level, style=_STYLES[finding.level]), Text(finding.subject), Text(said))
        if not out.is_terminal:
            out.print(f"  {finding.level:7}  {finding.subject:{width}}  {said}", markup=False, soft_wrap=True)
    if out.is_terminal:
        out.print(table)
