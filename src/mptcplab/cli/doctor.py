# SPDX-License-Identifier: MIT
"""``mptcplab doctor``."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from mptcplab import api
from mptcplab.errors import Exit

if TYPE_CHECKING:
    from rich.console import Console


_STYLES = {"fine": "green", "missing": "yellow", "broken": "bold red"}


def doctor(
    names: tuple[str, ...],
    installs: bool,
    overrides: tuple[str, ...],
    engine: str,
    beds: int | None,
    wanted: str | None,
    as_json: bool,
) -> int:
    """Examine this machine, or what it lacks for some experiments; print the findings and return the exit status."""
    if names:
        if wanted is not None:
            raise click.UsageError("--for and --packages exclude each other: leave one out")
        from mptcplab.cli.doctor_for import Request, doctor_for  # this imports what experiments do

        return doctor_for(Request(names, overrides, engine, beds), installs=installs, as_json=as_json)
    for option, value in (("--install", installs), ("--set", overrides), ("--beds", beds)):
        if value:
            raise click.UsageError(f"{option} needs --for")
    if engine != api.DEFAULT_ENGINE:
        raise click.UsageError("--engine needs --for")
    if wanted is not None:
        return _print_packages(wanted, as_json=as_json)
    report = api.examine()
    if as_json:
        click.echo(json.dumps(report.to_json()))
    else:
        _show(report)
    return Exit.DONE if report.can_run else Exit.MISSING


def _print_packages(wanted: str, *, as_json: bool) -> int:
    from mptcplab.doctor.programs import debian_programs, missing_packages, program_uses, radio_programs

    programs: dict[str, Callable[[], Iterable[str]]] = {
        "lab": program_uses,
        "gateways": lambda: itertools.chain.from_iterable(debian_programs().values()),
        "wifi": radio_programs,
    }
    packages = missing_packages(programs[wanted]())
    click.echo(json.dumps(packages) if as_json else " ".join(packages))
    return Exit.DONE


def _show(report: api.DoctorReport) -> None:
    from mptcplab.cli.common import console

    out = console()
    out.print(report.machine, style="bold", markup=False)
    show_findings(report, out)
    verdict = (
        "Experiments can run on this machine." if report.can_run else "Experiments cannot run on this machine yet."
    )
    out.print(f"\n{verdict}", style="bold", markup=False)
    if report.commands:
        use = (
            "To add what is missing, for the uses named above:"
            if report.can_run
            else "To fix what is missing or broken:"
        )
        out.print(use, markup=False)
        for command in report.commands:
            out.print(f"  {command}", markup=False, soft_wrap=True)


def show_findings(report: api.DoctorReport, out: Console) -> None:
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
