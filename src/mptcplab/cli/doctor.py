# SPDX-License-Identifier: MIT
"""``mptcplab doctor``."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from mptcplab.cli.options import json_option
from mptcplab.errors import Exit

if TYPE_CHECKING:
    from rich.console import Console

    from mptcplab.doctor import Report

_EPILOG = """\b
Examples:
  mptcplab doctor
  mptcplab doctor --json | jq -r '.commands[]'
  mptcplab doctor --packages lab

\b
Exit status:
  0    experiments can run on this machine; something for another purpose may be missing
  3    experiments cannot run: the report names what is broken and the command that fixes it
  130  interrupted
"""
_STYLES = {"fine": "green", "missing": "yellow", "broken": "bold red"}


@click.command(epilog=_EPILOG)
@click.option(
    "--packages",
    "wanted",
    type=click.Choice(["lab", "gateways", "wifi"]),
    help="Print only the Debian packages that this machine lacks: of the programs that scenarios and captures start,"
    " of those gateways that Debian has, or of radio links.",
)
@json_option
def doctor(wanted: str | None, as_json: bool) -> int:
    """Check what this machine lacks, and name the commands that fix it.

    It checks Python and its packages, the programs that labs and kernel builds use, space on disk and in memory,
    limits, and the lab kernels. Then it boots an empty lab. Each line is fine, missing (something is needed for the
    purpose that the line names) or broken (experiments cannot run).
    """
    from mptcplab.doctor import examine  # this imports much of the engine

    if wanted is not None:
        return _print_packages(wanted, as_json=as_json)
    report = examine()
    if as_json:
        click.echo(json.dumps(report.to_json()))
    else:
        _show(report)
    return Exit.DONE if report.can_run else Exit.MISSING


def _print_packages(wanted: str, *, as_json: bool) -> int:
    from mptcplab.doctor.programs import missing_packages, of_radios, uses
    from mptcplab.doctor.proxies import debian_programs

    programs: dict[str, Callable[[], Iterable[str]]] = {
        "lab": uses,
        "gateways": lambda: itertools.chain.from_iterable(debian_programs().values()),
        "wifi": of_radios,
    }
    packages = missing_packages(programs[wanted]())
    click.echo(json.dumps(packages) if as_json else " ".join(packages))
    return Exit.DONE


def _show(report: Report) -> None:
    from mptcplab.cli.common import console

    out = console()
    out.print(report.machine, style="bold", markup=False)
    _show_findings(report, out)
    verdict = (
        "Experiments can run on this machine." if report.can_run else "Experiments cannot run on this machine yet."
    )
    out.print(f"\n{verdict}", style="bold", markup=False)
    if report.commands:
        out.print("To fix what is missing or broken:", markup=False)
        for command in report.commands:
            out.print(f"  {command}", markup=False, soft_wrap=True)


def _show_findings(report: Report, out: Console) -> None:
    """Print one line per finding; on a terminal, long lines are wrapped within their column."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    width = max(len(finding.subject) for finding in report.findings)
    for finding in report.findings:
        text = f"{finding.message}, needed for {finding.needed_for}" if finding.needed_for else finding.message
        table.add_row("", Text(finding.level, style=_STYLES[finding.level]), Text(finding.subject), Text(text))
        if not out.is_terminal:
            out.print(f"  {finding.level:7}  {finding.subject:{width}}  {text}", markup=False, soft_wrap=True)
    if out.is_terminal:
        out.print(table)
