# SPDX-License-Identifier: MIT
"""``mptcplab doctor --for``: what scenarios and tables need and this machine lacks, and the command that gets it."""

from __future__ import annotations

import json
from dataclasses import dataclass

import click

from mptcplab import api
from mptcplab.cli.common import console
from mptcplab.cli.doctor import show_findings
from mptcplab.cli.main import report_error
from mptcplab.doctor.lacks import install
from mptcplab.errors import Exit, MissingError


@dataclass(frozen=True)
class Request:
    """The experiments of one command: scenario files and tables by name, with the options that decide what they need.

    With ``beds``, the tables come from `mptcplab reproduce --beds`.
    """

    names: tuple[str, ...]
    overrides: tuple[str, ...]
    engine: str
    beds: int | None

    def find_lacks(self) -> api.Lacks:
        """Return what this machine lacks. :raises InputError: if there is no such file or study, or it is wrong."""
        return api.find_lacks(self.names, set=self.overrides, engine=self.engine, beds=self.beds)


def doctor_for(request: Request, *, installs: bool, as_json: bool) -> int:
    """Report what is missing, after an attempt to get it if ``installs``, and return the exit status.

    :raises MissingError: if this user cannot install the packages that are missing.
    """
    lacks = request.find_lacks()
    if lacks and installs:
        failures = install(lacks)
        lacks = request.find_lacks()
        for failure in failures:
            report_error(MissingError(failure, hint="its own messages are above"))
    if as_json:
        click.echo(json.dumps({"for": list(request.names), **lacks.to_json()}))
    else:
        _show(lacks, request, installs=installs)
    return Exit.MISSING if lacks else Exit.DONE


def _show(lacks: api.Lacks, request: Request, *, installs: bool) -> None:
    out, names = console(), ", ".join(request.names)
    out.print(lacks.report.machine, style="bold", markup=False)
    if not lacks:
        out.print(f"\nThis machine has everything that {names} needs.", style="bold", markup=False, soft_wrap=True)
        return
    show_findings(lacks.report, out)
    out.print(f"\nThis machine lacks {_count(lacks)} for {names}.", style="bold", markup=False, soft_wrap=True)
    if lacks.command:
        out.print("To get what is missing:", markup=False)
        out.print(f"  {lacks.command}", markup=False, soft_wrap=True)
    if lacks.command and not installs:
        out.print("or:", markup=False)
        out.print(f"  {lacks.install_command}", markup=False, soft_wrap=True)
    for advice in lacks.advice:
        out.print(f"No command gets this: {advice}", markup=False, soft_wrap=True)


def _count(lacks: api.Lacks) -> str:
    return "one thing" if len(lacks.lacks) == 1 else f"{len(lacks.lacks)} things"
