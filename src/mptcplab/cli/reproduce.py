# SPDX-License-Identifier: MIT
"""``mptcplab reproduce``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import mptcplab
from mptcplab.campaign.recorded import cpu_seconds, missing_runs
from mptcplab.cli.beds import reproduce_beds
from mptcplab.cli.common import console, print_table, report_write_errors
from mptcplab.cli.jobs import TableJob, table_job
from mptcplab.cli.main import report_error
from mptcplab.cli.measuring import TableLacks, TableOutcome, find_lacks, measure_all, with_remedy
from mptcplab.cli.running import RunOptions
from mptcplab.errors import Exit, InputError, LabError, MissingError
from mptcplab.figure.lines import save
from mptcplab.kernel import find_kernel
from mptcplab.plan.forecast import duration_text
from mptcplab.report.files import write_json, write_table
from mptcplab.scenario.load import Run
from mptcplab.study.agreement import AgreementPoint, points_of, save_agreement
from mptcplab.study.chosen import parameters_table
from mptcplab.study.cloud_files import values_over_beds
from mptcplab.study.document import study_document
from mptcplab.study.figures import study_figures
from mptcplab.study.forms import digest, file_stem, read_documents
from mptcplab.study.full import full_form
from mptcplab.study.judged import JudgedTable, judge
from mptcplab.study.load import SelectedTable, select
from mptcplab.study.parameters import check
from mptcplab.study.present import study_table
from mptcplab.study.scoreboard import ScoreLine, line_of, line_without, scoreboard_document
from mptcplab.study.scoreboard_tables import scoreboard_table
from mptcplab.study.source import Sources, read_sources
from mptcplab.study.verdict import is_good

_PAGE = "report.html"


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
    tables = select(wanted)
    running = RunOptions(jobs, fresh, cluster, engine)
    if beds is not None:
        return reproduce_beds(tables, beds, overrides, out, running, quick=quick, only_list=only_list, as_json=as_json)
    works = [table_job(selected, overrides, quick=quick) for selected in tables]
    if only_list:
        _show_list(works, out, running, as_json=as_json)
        return Exit.DONE
    check(tables)
    lacks = find_lacks(works, running)
    if lacks is not None and len(lacks.by_table) == len(works):
        raise lacks.everything
    shown = _TablePrinter(works, out, quick=quick, is_all=wanted is None, quiet=as_json)
    if lacks is not None:
        shown.report_lacks(lacks)
    try:
        for outcome, sources in measure_all(works, out, running, lacks.by_table if lacks else {}):
            shown.add(outcome, sources)
    except KeyboardInterrupt:
        shown.print_rest()
        raise
    return shown.end()


class _TablePrinter:
    """Prints and writes every table as soon as it is measured, and the scoreboard of all."""

    def __init__(self, works: Sequence[TableJob], out: Path, *, quick: bool, is_all: bool, quiet: bool) -> None:
        self._works, self._out, self._quick, self._is_all, self._quiet = works, out, quick, is_all, quiet
        self._lines: dict[str, ScoreLine] = {}
        self._outcomes: list[TableOutcome] = []
        self._documents: list[dict[str, Any]] = []
        self._good = True
        self._described: set[str] = set()
        self._with_parameters: set[str] = set()
        self._points: dict[str, list[AgreementPoint]] = {}

    def report_lacks(self, lacks: TableLacks) -> None:
        """Print what this machine lacks, before the first run of the other tables."""
        text = f"{len(lacks.by_table)} of {len(self._works)} tables cannot be measured: {lacks.everything.message}"
        report_error(MissingError(text, hint=lacks.everything.hint))
        self._described.update(error.message for error in lacks.by_table.values())

    def add(self, outcome: TableOutcome, sources: Sources) -> None:
        """Print and write one table. An error that several tables share is reported once.

        :raises LabError: if its files cannot be written.
        """
        self._outcomes.append(outcome)
        selected, problem = outcome.work.selected, outcome.problem
        if outcome.measured:
            judged = self._judge(outcome, sources)
            self._good = self._good and is_good(judged.cells, judged.claims)
            failed, runs = len(outcome.failed), len(outcome.done)
            self._lines[selected.name] = line_of(judged, quick=self._quick, failed=failed, runs=runs)
        else:
            self._lines[selected.name] = line_without(selected, outcome.why_empty)
        if problem is not None and len(self._works) > 1 and problem.message not in self._described:
            self._described.add(problem.message)
            report_error(LabError(f"{selected.name}: {problem.message}", hint=problem.hint))
        if self._is_all and self._documents:
            self._write_scoreboard()

    def _add_parameters(self, selected: SelectedTable) -> None:
        """Write the parameters of a study, and print them before the first of several tables.

        The notes of a table that is measured alone name the parameters that matter to it.
        """
        study = selected.folder.name
        if study in self._with_parameters or not selected.study.parameters:
            return
        self._with_parameters.add(study)
        table = parameters_table(select(study))
        with report_write_errors(self._out / study):
            write_table(table, self._out / study, "parameters")
        if not self._quiet and sum(work.selected.folder.name == study for work in self._works) > 1:
            print_table(table)
            console().print()

    def _judge(self, outcome: TableOutcome, table_sources: Sources) -> JudgedTable:
        """Judge the table and write its files. Its texts can also quote tables measured into this folder before."""
        work = outcome.work
        selected, folder = work.selected, self._out / work.selected.folder.name
        documents = read_documents(folder)
        full = full_form(selected, documents) if work.is_quick and not work.overrides else None
        now = {name: source for name, source in table_sources.items() if source.measured}
        sources = {**read_sources(documents, quick=work.is_quick), **now}
        over_beds = {} if work.is_quick or work.changes else values_over_beds(selected, folder)
        judged = judge(selected, outcome.measured, work.changes, sources, full, over_beds)
        table = study_table(judged)
        if outcome.failed:
            warning = f"[!] Warning: incomplete, {len(outcome.failed)} of {len(outcome.done)} runs failed."
            table = replace(table, notes=(*table.notes, warning))
        document = study_document(judged, quick=work.is_quick) | _measurement_facts(outcome)
        with report_write_errors(folder):
            write_table(table, folder, work.file("table"))
            write_json(document, folder / f"{work.file('table')}.json")
            figures = [
                file
                for more, figure in study_figures(judged)
                for file in save(figure, folder, file_stem(f"table-{selected.number}{more}", quick=work.is_quick))
            ]
        self._add_parameters(selected)
        self._points.setdefault(selected.folder.name, []).extend(points_of(judged))
        self._documents.append(document)
        if not self._quiet:
            print_table(table)
            names = ", ".join(file.name for file in figures)
            console().print(f"  Figures: {folder}: {names}\n", markup=False)
        return judged

    def _all_lines(self) -> list[ScoreLine]:
        """Return the lines of all requested tables in order, measured or not."""
        lines = self._lines
        return [lines.get(work.selected.name) or line_without(work.selected) for work in self._works]

    def _write_scoreboard(self) -> None:
        """Write the scoreboard after every table, so that it exists however the command ends."""
        lines, name = self._all_lines(), file_stem("scoreboard", quick=self._quick)
        with report_write_errors(self._out):
            write_table(scoreboard_table(lines), self._out, name)
            write_json(scoreboard_document(lines), self._out / f"{name}.json")

    def print_rest(self) -> None:
        """Print how many tables were shown, when the command is interrupted."""
        done = f"{len(self._lines)} of {len(self._works)} tables were shown"
        text = f"{done}; the same command continues and keeps the recorded runs"
        console(stderr=True).print(text, markup=False)

    def end(self) -> int:
        """Show the scoreboard, write the page and return the exit status. :raises LabError: if nothing was measured."""
        problems = [outcome.problem for outcome in self._outcomes if outcome.problem is not None]
        if problems and (len(self._works) == 1 or not self._documents):
            self._print_json()
            raise problems[0]
        if len(self._works) > 1:
            self._show_scoreboard()
        self._print_json()
        if not self._good or any(outcome.problem and not outcome.is_missing for outcome in self._outcomes):
            return Exit.FAILED
        return Exit.MISSING if problems else Exit.DONE

    def _show_scoreboard(self) -> None:
        lines = self._all_lines()
        self._draw_agreement()
        if not self._quiet:
            print_table(scoreboard_table(lines, with_titles=False))
        if not self._is_all:
            folder = self._out / self._works[0].selected.folder.name
            text = f"For an HTML page: {shlex.join(['mptcplab', 'report', str(folder)])}"
        else:
            self._write_scoreboard()
            self._write_page()
            name = file_stem("scoreboard", quick=self._quick)
            text = f"In {self._out}: {name}.md, {name}.csv, {name}.json, {_PAGE}"
        if not self._quiet:
            console().print(f"\n{text}", markup=False, soft_wrap=True)

    def _draw_agreement(self) -> None:
        """Draw measured against published values: for each study into its folder, and for all studies."""
        name = file_stem("agreement", quick=self._quick)
        for study, points in self._points.items():
            with report_write_errors(self._out / study):
                save_agreement(f"{study}: published and measured", points, self._out / study, name)
        every = [point for points in self._points.values() for point in points]
        if self._is_all:
            with report_write_errors(self._out):
                save_agreement("All studies: published and measured", every, self._out, name)

    def _write_page(self) -> None:
        from mptcplab.pages import write_report  # late, since only this needs templates

        done = (run.result for outcome in self._outcomes for run in outcome.done)
        known = {result.identity: result for result in done if result is not None}
        with report_write_errors(self._out):
            write_report(self._out, self._out / _PAGE, known=known)

    def _print_json(self) -> None:
        if self._quiet and self._documents:
            board = scoreboard_document(self._all_lines())
            click.echo(json.dumps({"tables": self._documents, "scoreboard": board}))


def _measurement_facts(outcome: TableOutcome) -> dict[str, Any]:
    """Return the facts of a table's measurement, for readers that use its document as a reference."""
    kernels = [
        find_kernel(version)
        for version in dict.fromkeys(completed_run.run.point.scenario.kernel for completed_run in outcome.done)
    ]
    failed = [
        (completed_run.run, completed_run.error.message)
        for completed_run in outcome.failed
        if completed_run.error is not None
    ]
    runs = [
        (completed_run.run, completed_run.result.identity)
        for completed_run in outcome.done
        if completed_run.result is not None
    ]
    return {
        "form": digest(outcome.work.selected),
        "mptcplab": mptcplab.__version__,
        "kernels": {kernel.release: kernel.key for kernel in kernels},
        "runs": [{"run": identity, "seed": run.seed, "settings": run.point.settings} for run, identity in runs],
        "failed": [{"settings": run.point.settings, "seed": run.seed, "error": text} for run, text in failed],
    }


def _show_list(works: Sequence[TableJob], out: Path, running: RunOptions, *, as_json: bool) -> None:
    pairs = [(work, *_runs_to_make(work, out / work.selected.folder.name, running)) for work in works]
    if as_json:
        documents = [
            {"table": work.selected.name, "title": work.selected.table.title, "runs": len(work.runs)}
            | {"recorded": len(work.runs) - len(left), "lacks": missing, "cpu_seconds": round(cpu_seconds(left))}
            for work, left, missing in pairs
        ]
        click.echo(json.dumps({"tables": documents}))
        return
    for work, left, missing in pairs:
        cost = f"about {duration_text(cpu_seconds(left))} of one CPU" if left else "all recorded"
        recorded = f", {len(work.runs) - len(left)} recorded" if 0 < len(left) < len(work.runs) else ""
        text = f"{len(work.runs)} runs{recorded}, {missing or cost}"
        name, title = work.selected.name, work.selected.table.title
        console().print(f"{name}: {title} ({text})", markup=False, soft_wrap=True)
    rest = sum(cpu_seconds(left) for _, left, missing in pairs if not missing)
    console().print(f"Total: about {duration_text(rest)} of one CPU. Recorded runs are not executed again.")


def _runs_to_make(work: TableJob, folder: Path, running: RunOptions) -> tuple[list[Run], str]:
    """Return the runs that are not recorded and an empty text, or all runs and what this machine lacks for them."""
    try:
        return missing_runs(work.runs, folder), ""
    except MissingError as error:
        # The error names the first lack only. To find all takes longer than to list the runs.
        lacks = find_lacks([work], running)
        return work.runs, with_remedy(error if lacks is None else lacks.by_table[work.selected.name])
