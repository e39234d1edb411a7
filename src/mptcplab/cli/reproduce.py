# SPDX-License-Identifier: MIT
"""``mptcplab reproduce``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click

from mptcplab.api.beds import BedPlan, BedReport, find_bed_lacks, measure_beds, plan_studies
from mptcplab.api.measuring import Callbacks, TableStart
from mptcplab.api.reproduction import PAGE, Reproduction, TableReport
from mptcplab.campaign.recorded import cpu_seconds
from mptcplab.campaign.sweep import RunOptions
from mptcplab.cli.common import console, print_table
from mptcplab.cli.main import report_error
from mptcplab.cli.progress import ProgressPrinter
from mptcplab.errors import Exit, InputError, LabError, MissingError
from mptcplab.plan.forecast import duration_text
from mptcplab.report.table import Table
from mptcplab.study.forms import file_stem
from mptcplab.study.scoreboard_tables import scoreboard_table


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
        return _reproduce_beds(wanted, beds, overrides, out, options, quick, only_list, as_json)
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
    triples = [(job, *reproduction.runs_to_make(job)) for job in reproduction.jobs]
    if as_json:
        documents = [
            {"table": job.selected.name, "title": job.selected.table.title, "runs": len(job.runs)}
            | {"recorded": len(job.runs) - len(left), "lacks": missing, "cpu_seconds": round(cpu_seconds(left))}
            for job, left, missing in triples
        ]
        click.echo(json.dumps({"tables": documents}))
        return
    for job, left, missing in triples:
        cost = f"about {duration_text(cpu_seconds(left))} of one CPU" if left else "all recorded"
        recorded = f", {len(job.runs) - len(left)} recorded" if 0 < len(left) < len(job.runs) else ""
        text = f"{len(job.runs)} runs{recorded}, {missing or cost}"
        name, title = job.selected.name, job.selected.table.title
        console().print(f"{name}: {title} ({text})", markup=False, soft_wrap=True)
    rest = sum(cpu_seconds(left) for _, left, missing in triples if not missing)
    console().print(f"Total: about {duration_text(rest)} of one CPU. Recorded runs are not executed again.")


def _reproduce_beds(
    wanted: str | None,
    count: int,
    overrides: tuple[str, ...],
    out: Path,
    options: RunOptions,
    quick: bool,
    only_list: bool,
    as_json: bool,
) -> int:
    """Measure the tables of each study on its first ``count`` beds, print the clouds, and return the exit status."""
    plans = plan_studies(wanted, count, overrides, options, quick=quick)
    if only_list:
        _list_beds(plans, out, as_json=as_json)
        return Exit.DONE
    lacks = {plan.study: find_bed_lacks(plan, options) for plan in plans}
    problems = [error for error in lacks.values() if error is not None]
    for study, error in lacks.items():
        if error is not None and len(problems) < len(plans):
            report_error(MissingError(f"study '{study}' cannot be measured: {error.message}", hint=error.hint))
    if len(problems) == len(plans):
        raise problems[0]
    documents: list[dict[str, Any]] = []
    status = Exit.MISSING if problems else Exit.DONE
    for plan in plans:
        if lacks[plan.study] is not None:
            continue
        if not as_json:
            console(stderr=True).print(_cost_text(plan, out / plan.study), markup=False, soft_wrap=True)
        with ProgressPrinter() as printer:
            report = measure_beds(plan, out / plan.study, options, progress=printer.show, warn=printer.warn)
        documents.append(report.document)
        if report.problem is not None:
            report_error(LabError(f"{plan.study}: {report.problem.message}", hint=report.problem.hint))
            status = Exit.FAILED
        if not as_json:
            _show_beds(report)
    if as_json:
        click.echo(json.dumps({"studies": documents}))
    return status


def _cost_text(plan: BedPlan, folder: Path) -> str:
    runs, left = len(plan.runs), plan.runs_to_make(folder)
    done = f", {runs - len(left)} recorded" if len(left) < runs else ""
    cost = f"about {duration_text(cpu_seconds(left))} of one CPU" if left else "all recorded"
    return f"{plan.study}: {len(plan.beds)} test beds, {runs} runs{done}, {cost}"


def _list_beds(plans: list[BedPlan], out: Path, *, as_json: bool) -> None:
    """Print the number of runs of each study and their cost."""
    if as_json:
        entries = []
        for plan in plans:
            left = plan.runs_to_make(out / plan.study)
            entry = {"study": plan.study, "beds": len(plan.beds), "runs": len(plan.runs)}
            entries.append(entry | {"recorded": len(plan.runs) - len(left), "cpu_seconds": round(cpu_seconds(left))})
        click.echo(json.dumps({"studies": entries}))
        return
    for plan in plans:
        console().print(_cost_text(plan, out / plan.study), markup=False, soft_wrap=True)


def _show_beds(report: BedReport) -> None:
    """Print the cloud of a study."""
    for table in (report.values, report.claims):
        if table.rows:
            print_table(table)
            console().print()
    written = ", ".join(file.name for file in report.figures) or f"{report.plan.file('beds')}.json"
    console().print(f"In {shlex.quote(str(report.folder))}: {written}", markup=False, soft_wrap=True)
