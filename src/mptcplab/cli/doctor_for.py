# SPDX-License-Identifier: MIT
"""``mptcplab doctor --for``: what scenarios and tables need and this machine lacks, and the command that gets it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click

from mptcplab.api.beds import plan_beds
from mptcplab.api.sources import open_source
from mptcplab.campaign.failures import install_command
from mptcplab.campaign.missing import find_missing
from mptcplab.cli.common import console
from mptcplab.cli.doctor import show_findings
from mptcplab.cli.main import report_error
from mptcplab.doctor.install import install
from mptcplab.doctor.lacks import Lacks, collect_lacks
from mptcplab.errors import Exit, InputError, MissingError
from mptcplab.packs import is_url
from mptcplab.scenario.examples import MARK, find_example
from mptcplab.scenario.load import Run, load
from mptcplab.study.jobs import table_job
from mptcplab.study.load import select, study_names


@dataclass(frozen=True)
class Request:
    """The experiments of one command: scenario files and tables by name, with the options that decide what they need.

    With ``beds``, the tables come from `mptcplab reproduce --beds`.
    """

    names: tuple[str, ...]
    overrides: tuple[str, ...]
    engine: str
    beds: int | None

    def find_lacks(self) -> Lacks:
        """Return what this machine lacks. :raises InputError: if there is no such file or study, or it is wrong."""
        runs = {user: some for name in dict.fromkeys(self.names) for user, some in self._runs(name).items()}
        return collect_lacks({user: find_missing(some, engine=self.engine) for user, some in runs.items()})

    @property
    def install_command(self) -> str:
        """The command that gets what is missing."""
        return install_command(self.names, self.overrides, engine=self.engine, beds=self.beds)

    def _runs(self, name: str) -> dict[str, list[Run]]:
        """Return the runs of a scenario file, or of each table of a study, by the name of the file or table."""
        if name.startswith(MARK) and not Path(name).is_file():
            return {name: load(find_example(name[1:]), overrides=self.overrides).runs}
        is_study = name.partition("/")[0] in study_names() and not Path(name).is_file()
        if is_study:
            return self._runs_of_study(name)
        if not Path(name).is_file() and not name.endswith(".toml") and not is_url(name):
            hint = f"name a scenario file, or one of {', '.join(study_names())}"
            raise InputError(f"'{name}' is neither a scenario file nor a study", hint=hint)
        if self.beds is not None:
            raise InputError(f"--beds is for studies, and {name} is a scenario file", hint="leave out --beds")
        with open_source(name, overrides=self.overrides, engine=self.engine) as source:
            return {name: source.experiment.runs}

    def _runs_of_study(self, name: str) -> dict[str, list[Run]]:
        tables = select(name)
        if self.beds is not None:
            return plan_beds(tables, self.beds, self.overrides, quick=False).runs_of_tables
        return {
            selected_table.name: table_job(selected_table, self.overrides, quick=False).runs
            for selected_table in tables
        }


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


def _show(lacks: Lacks, request: Request, *, installs: bool) -> None:
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
        out.print(f"  {request.install_command}", markup=False, soft_wrap=True)
    for advice in lacks.advice:
        out.print(f"No command gets this: {advice}", markup=False, soft_wrap=True)


def _count(lacks: Lacks) -> str:
    return "one thing" if len(lacks.lacks) == 1 else f"{len(lacks.lacks)} things"
