# SPDX-License-Identifier: MIT
"""``mptcplab reproduce``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from mptcplab.api import RunOptions
from mptcplab.api.beds import BedCallbacks, BedCost, BedPlan, BedReport, BedReproduction
from mptcplab.api.reproduction import PAGE, Callbacks, Reproduction, TableReport, TableStart
from mptcplab.cli.common import console, print_table
from mptcplab.cli.main import report_error
from mptcplab.cli.progress import ProgressPrinter
from mptcplab.errors import Exit, InputError, LabError
from mptcplab.metrics.values import duration_text
from mptcplab.report.table import Table
from mptcplab.study.library import file_stem
from mptcplab.study.scoreboard import scoreboard_table


def reproduce(
    wanted: str | None,
    everything: bool,
    quick: bool,
    beds: int | None,
    overrides: tuple[str, ...],
    only_list: bool,
    out: Path,
    jobs: int | None,
    engine: str,
    cluster: str | None,
    fresh: bool,
    as_json: bool,
) -> int:
    """Measure published tables, compare and judge them, and return the exit status."""
    if everything and wanted is not None:
        raise InputError(f"--all and {wanted} contradict each other", hint="leave one of them out")
    options = RunOptions(jobs, fresh, cluster, engine)
    if beds is not None:
        on_beds = BedReproduction(wanted, beds, quick=quick, set=overrides, out=out, options=options)
        return _reproduce_beds(on_beds, only_list=only_list, as_json=as_json)
    reproduction = Reproduction(wanted, quick=quick, set=overrides, out=out, options=options)
    if only_list:
        _show_list(reproduction, as_json=as_json)
        return Exit.DONE
    lacks = reproduction.prepare()
    shown = _TablePrinter(reproduction, quiet=as_json)
    if lacks is not None:
        report_error(lacks.to_error(len(reproduction.jobs)))
        shown.described.update(error.message for error in lacks.by_table.values())
    with ProgressPrinter() as printer:
        try:
            for report in reproduction.measure(Callbacks(_announce, printer.show, printer.warn)):
                shown.show(report)
        except KeyboardInterrupt:
            shown.print_rest()
            raise
    return shown.end()


def _announce(start: TableStart) -> None:
    """Print which of several tables comes next."""
    if start.total < 2:
        return
    runs = f"{start.runs_done} of {start.total_runs} runs done, about {duration_text(start.seconds_left)} left"
    name = start.job.selected.name
    text = f"[{start.count} of {start.total}] {name}: {len(start.job.runs)} runs; {runs}"
    console(stderr=True).print(text, markup=False, soft_wrap=True)


class _TablePrinter:
    """Prints every table as soon as it is measured, and the scoreboard of all."""

    def __init__(self, reproduction: Reproduction, *, quiet: bool) -> None:
        self._reproduction, self._quiet = reproduction, quiet
        self._studies = [job.selected.folder.name for job in reproduction.jobs]
        self.described: set[str] = set()

    def show(self, report: TableReport) -> None:
        """Print one table. An error that several tables share is reported once."""
        if report.table is not None and not self._quiet:
            self._print(report, report.table)
        problem = report.problem
        if problem is not None and len(self._studies) > 1 and problem.message not in self.described:
            self.described.add(problem.message)
            report_error(LabError(f"{report.name}: {problem.message}", hint=problem.hint))

    def _print(self, report: TableReport, table: Table) -> None:
        job = report.outcome.job
        # The notes of a table that is measured alone name the parameters that matter to it.
        if report.parameters is not None and self._studies.count(job.selected.folder.name) > 1:
            print_table(report.parameters)
            console().print()
        print_table(table)
        names = ", ".join(file.name for file in report.figures)
        console().print(f"  Figures: {self._reproduction.folder(job)}: {names}\n", markup=False)

    def print_rest(self) -> None:
        """Print how many tables were shown, when the command is interrupted."""
        done = f"{len(self._reproduction.reports)} of {len(self._studies)} tables were shown"
        text = f"{done}; the same command continues and keeps the recorded runs"
        console(stderr=True).print(text, markup=False)

    def end(self) -> int:
        """Write and show what is about all tables, and return the exit status.

        :raises LabError: if nothing was measured, or if the only table has failed.
        """
        reproduction = self._reproduction
        if reproduction.failure is not None:
            self._print_json()
            raise reproduction.failure
        reproduction.finish()
        if len(self._studies) > 1 and not self._quiet:
            self._print_scoreboard()
        self._print_json()
        if not reproduction.is_good:
            return Exit.FAILED
        return Exit.MISSING if reproduction.problems else Exit.DONE

    def _print_scoreboard(self) -> None:
        reproduction = self._reproduction
        print_table(scoreboard_table(reproduction.scoreboard, with_titles=False))
        if reproduction.is_all:
            name = file_stem("scoreboard", quick=reproduction.is_quick)
            text = f"In {reproduction.out}: {name}.md, {name}.csv, {name}.json, {PAGE}"
        else:
            folder = reproduction.folder(reproduction.jobs[0])
            text = f"For an HTML page: {shlex.join(['mptcplab', 'report', str(folder)])}"
        console().print(f"\n{text}", markup=False, soft_wrap=True)

    def _print_json(self) -> None:
        if self._quiet and self._reproduction.documents:
            click.echo(json.dumps(self._reproduction.document))


def _show_list(reproduction: Reproduction, *, as_json: bool) -> None:
    costs = [reproduction.cost(job) for job in reproduction.jobs]
    if as_json:
        click.echo(json.dumps({"tables": [cost.to_json() for cost in costs]}))
        return
    for cost in costs:
        runs = len(cost.job.runs)
        duration = f"about {duration_text(cost.cpu_seconds)} of one CPU" if cost.left else "all recorded"
        recorded = f", {cost.recorded} recorded" if 0 < len(cost.left) < runs else ""
        text = f"{runs} runs{recorded}, {cost.lacks or duration}"
        name, title = cost.job.selected.name, cost.job.selected.table.title
        console().print(f"{name}: {title} ({text})", markup=False, soft_wrap=True)
    rest = sum(cost.cpu_seconds for cost in costs if not cost.lacks)
    console().print(f"Total: about {duration_text(rest)} of one CPU. Recorded runs are not executed again.")


def _reproduce_beds(reproduction: BedReproduction, *, only_list: bool, as_json: bool) -> int:
    """Measure the tables of each study on its test beds, print the clouds, and return the exit status."""
    if only_list:
        _list_beds(reproduction, as_json=as_json)
        return Exit.DONE
    lacks = reproduction.prepare()
    for error in lacks.values():
        report_error(error)
    with ProgressPrinter() as printer:

        def begin(plan: BedPlan) -> None:
            if not as_json:
                console(stderr=True).print(_cost_text(reproduction.cost(plan)), markup=False, soft_wrap=True)

        for report in reproduction.measure(BedCallbacks(begin, printer.show, printer.warn)):
            if report.problem is not None:
                report_error(LabError(f"{report.plan.study}: {report.problem.message}", hint=report.problem.hint))
            if not as_json:
                _show_beds(report)
    if as_json:
        click.echo(json.dumps(reproduction.document))
    if not reproduction.is_good:
        return Exit.FAILED
    return Exit.MISSING if lacks else Exit.DONE


def _cost_text(cost: BedCost) -> str:
    plan = cost.plan
    done = f", {cost.recorded} recorded" if cost.recorded else ""
    duration = f"about {duration_text(cost.cpu_seconds)} of one CPU" if cost.left else "all recorded"
    return f"{plan.study}: {len(plan.beds)} test beds, {len(plan.runs)} runs{done}, {duration}"


def _list_beds(reproduction: BedReproduction, *, as_json: bool) -> None:
    """Print the number of runs of each study and their cost."""
    costs = [reproduction.cost(plan) for plan in reproduction.plans]
    if as_json:
        click.echo(json.dumps({"studies": [cost.to_json() for cost in costs]}))
        return
    for cost in costs:
        console().print(_cost_text(cost), markup=False, soft_wrap=True)


def _show_beds(report: BedReport) -> None:
    """Print the cloud of a study."""
    for table in (report.values, report.claims):
        if table.rows:
            print_table(table)
            console().print()
    written = ", ".join(file.name for file in report.figures) or f"{report.plan.file('beds')}.json"
    console().print(f"In {shlex.quote(str(report.folder))}: {written}", markup=False, soft_wrap=True)
