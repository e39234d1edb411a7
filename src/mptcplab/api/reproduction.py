# SPDX-License-Identifier: MIT
"""Measure published tables, judge them, and write their tables, figures, scoreboard and page."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mptcplab
from mptcplab.api.experiments import TableLacks, find_table_lacks
from mptcplab.api.sources import Changes, override_texts
from mptcplab.campaign.failures import check_failures
from mptcplab.campaign.lab import CompletedRun, cpu_seconds, missing_runs
from mptcplab.campaign.rounds import Rounds
from mptcplab.campaign.sweep import Report, RunOptions, Warn, execute, ignore
from mptcplab.engine.defaults import DEFAULT_ENGINE, default_jobs
from mptcplab.errors import LabError, MissingError
from mptcplab.figure.lines import save
from mptcplab.files import report_write_errors
from mptcplab.metrics.rows import kernel_builds
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.plan.forecast import Forecast
from mptcplab.report.table import Table, write_json, write_table
from mptcplab.scenario.load import Run
from mptcplab.study.chosen import parameters_table
from mptcplab.study.cloud import values_over_beds
from mptcplab.study.figures import AgreementPoint, points_of, save_agreement, study_figures
from mptcplab.study.library import SelectedTable, TableJob, digest, file_stem, read_documents, select, table_job
from mptcplab.study.measurement import (
    Sources,
    TableSource,
    TableValues,
    full_form,
    index_results,
    needs,
    read_sources,
    sort_by_dependency,
)
from mptcplab.study.output import study_document, study_table
from mptcplab.study.parameters import check
from mptcplab.study.scoreboard import ScoreLine, line_of, line_without, scoreboard_document, scoreboard_table
from mptcplab.study.verdict import JudgedTable, is_good, judge

# Measures tables one after the other. A failure in one table does not prevent the measurement of the others.
#
# What this machine lacks for any of them is found before the first is measured.


@dataclass(frozen=True)
class TableOutcome:
    """The measurement of one table. ``problem`` is why runs failed, or why there are none."""

    job: TableJob
    done: tuple[CompletedRun, ...]
    measured: TableValues
    problem: LabError | None = None

    @property
    def failed(self) -> list[CompletedRun]:
        """The runs without a result."""
        return [run for run in self.done if run.error is not None]

    @property
    def is_missing(self) -> bool:
        """True if the table has errors, all of which say that this machine lacks something."""
        errors = [self.problem, *(run.error for run in self.failed)]
        return self.problem is not None and all(isinstance(error, MissingError) for error in errors)

    @property
    def why_empty(self) -> str:
        """The reason for a table without any value."""
        error = next((run.error for run in self.failed if run.error), self.problem)
        return with_remedy(error) if error is not None else ""


def with_remedy(error: LabError) -> str:
    """Return the message of ``error``, followed by the command that installs what is missing, if that is the cause."""
    return f"{error.message} ({error.hint})" if isinstance(error, MissingError) and error.hint else error.message


@dataclass(frozen=True)
class TableStart:
    """The table that is measured next: number ``count`` of ``total``. ``runs_done`` of ``total_runs`` are done.

    ``seconds_left`` is a forecast of the wall time for this table and those after it.
    """

    job: TableJob
    count: int
    total: int
    runs_done: int
    total_runs: int
    seconds_left: float


@dataclass(frozen=True)
class Callbacks:
    """Functions of the caller that receive the beginning of a table, the progress of its runs, and warnings."""

    begin: Callable[[TableStart], None] = ignore
    progress: Report = ignore
    warn: Warn = ignore


def measure_all(
    jobs: Sequence[TableJob], out: Path, options: RunOptions, lacks: Mapping[str, MissingError], callbacks: Callbacks
) -> Iterator[tuple[TableOutcome, Sources]]:
    """Yield the outcome of every table in order, with all measurements so far.

    Tables that the texts of a table quote are measured before it. ``lacks`` has the tables that cannot be measured.
    :raises InputError: if the user's input is wrong, so that nothing can be measured.
    """
    by_name = {job.selected.name: job for job in jobs}
    outcomes: dict[str, TableOutcome] = {}
    sources: dict[str, TableSource] = {}
    waiting = deque(jobs)
    remaining = _RemainingTime([job for name, job in by_name.items() if name not in lacks], options)
    for selected in sort_by_dependency([job.selected for job in jobs]):
        job = by_name[selected.name]
        if selected.name in lacks:
            outcome = TableOutcome(job, (), {}, lacks[selected.name])
        else:
            callbacks.begin(remaining.next_table(job))
            outcome = measure_table(job, out / selected.folder.name, options, callbacks)
            remaining.count_done(job, outcome.done)
        outcomes[selected.name] = outcome
        sources[selected.name] = TableSource(outcome.measured, job.changes)
        while waiting and {waiting[0].selected.name, *needs(waiting[0].selected, by_name)} <= sources.keys():
            yield outcomes[waiting.popleft().selected.name], sources


def measure_table(job: TableJob, folder: Path, options: RunOptions, callbacks: Callbacks) -> TableOutcome:
    """Measure one table, of which some runs may fail. :raises LabError: if the results folder cannot be used.

    The caller has found that this machine has what the table needs.
    """
    try:
        done = execute(
            Rounds(job.experiment, job.points), folder, options, progress=callbacks.progress, warn=callbacks.warn
        )
    except MissingError as error:
        return TableOutcome(job, (), {}, error)
    problem = None
    try:
        check_failures(done, job.repeat_command, folder, name=f"{job.file('failed')}.sh")
    except LabError as error:
        problem = error
    measured = index_results(job.selected, [run.result for run in done if run.result])
    if problem is None and not measured:
        problem = LabError("none of its runs has the table's metric", hint=f"see the recordings in {folder / 'runs'}")
    return TableOutcome(job, tuple(done), measured, problem)


class _RemainingTime:
    """The progress over all tables, and the time left."""

    def __init__(self, jobs: Sequence[TableJob], options: RunOptions) -> None:
        self._count, self._total = 0, len(jobs)
        self._runs_done, self._total_runs = 0, sum(len(job.runs) for job in jobs)
        estimates = {id(point): estimate_seconds(point.scenario) for job in jobs for point in job.points}
        self._forecast = Forecast(estimates, jobs=options.jobs or default_jobs())
        for job in jobs:
            for point in job.points:
                self._forecast.add(id(point), job.experiment.repeats)

    def next_table(self, job: TableJob) -> TableStart:
        """Count a table as begun, and return how far the measurement is."""
        self._count += 1
        counts = (self._count, self._total, self._runs_done, self._total_runs)
        return TableStart(job, *counts, self._forecast.remaining_seconds)

    def count_done(self, job: TableJob, done: Sequence[CompletedRun]) -> None:
        """Count the runs of a measured table as done; runs that were not executed take no more time."""
        for completed_run in done:
            self._forecast.count_done(id(completed_run.run.point), completed_run.wall_seconds)
        if not done:
            for run in job.runs:
                self._forecast.count_done(id(run.point), None)
        self._runs_done += len(job.runs)


REPRODUCE_FOLDER = Path("results/reproduce")
PAGE = "report.html"


@dataclass(frozen=True)
class TableReport:
    """A published table that was measured, or the reason why it has no value.

    ``judged`` has the verdict of each value and claim, ``table`` and ``document`` show them, and ``figures`` are files.
    Without any value, these are None and empty. The first measured table has the study's ``parameters``.
    """

    outcome: TableOutcome
    line: ScoreLine
    judged: JudgedTable | None = None
    table: Table | None = None
    document: dict[str, Any] | None = None
    figures: tuple[Path, ...] = ()
    parameters: Table | None = None

    @property
    def name(self) -> str:
        """The name of the table: ``nguyen2014/rtt``."""
        return self.outcome.job.selected.name

    @property
    def problem(self) -> LabError | None:
        """The error of runs that failed, or why there is no value; None without any."""
        return self.outcome.problem

    @property
    def is_good(self) -> bool:
        """True if each value agrees and each claim holds, or the study's data has a reason why not."""
        return self.judged is None or is_good(self.judged.cells, self.judged.claims)


@dataclass(frozen=True)
class TableCost:
    """The cost of measuring a table: ``left`` are the runs that are not recorded.

    ``lacks`` says what this machine lacks for it; it is empty otherwise.
    """

    job: TableJob
    left: tuple[Run, ...]
    lacks: str = ""

    @property
    def recorded(self) -> int:
        """The number of runs that are recorded."""
        return len(self.job.runs) - len(self.left)

    @property
    def cpu_seconds(self) -> float:
        """Roughly the time of one CPU for the runs that are left, in seconds."""
        return cpu_seconds(self.left)

    def to_json(self) -> dict[str, Any]:
        """Return the entry of ``mptcplab reproduce --list --json``."""
        selected = self.job.selected
        entry = {"table": selected.name, "title": selected.table.title, "runs": len(self.job.runs)}
        return entry | {"recorded": self.recorded, "lacks": self.lacks, "cpu_seconds": round(self.cpu_seconds)}


class Reproduction:
    """The measurement of the tables that ``wanted`` names: a study, one of its tables, or None for all studies.

    ``reports`` has the tables that are measured so far. See :func:`reproduce` for the arguments. The constructor runs
    nothing.

    :raises InputError: if there is no such study or table, or ``set`` is wrong.
    """

    def __init__(self, wanted: str | None, *, quick: bool, set: Changes, out: str | Path, options: RunOptions) -> None:
        self.tables, self.is_all, self.is_quick = select(wanted), wanted is None, quick
        self.out, self.options = Path(out), options
        overrides = override_texts(set)
        self.jobs = [table_job(selected, overrides, quick=quick) for selected in self.tables]
        self.reports: list[TableReport] = []
        self._lacks: TableLacks | None = None
        self._points: dict[str, list[AgreementPoint]] = {}

    def folder(self, job: TableJob) -> Path:
        """Return the results folder of a table."""
        return self.out / job.selected.folder.name

    def cost(self, job: TableJob) -> TableCost:
        """Return what the measurement of a table takes, or what this machine lacks for it."""
        try:
            return TableCost(job, tuple(missing_runs(job.runs, self.folder(job))))
        except MissingError as error:
            # The error names the first lack only. To find all takes longer than to list the runs.
            lacks = find_table_lacks([job], self.options)
            lacking = with_remedy(error if lacks is None else lacks.by_table[job.selected.name])
            return TableCost(job, tuple(job.runs), lacking)

    def prepare(self) -> TableLacks | None:
        """Check the parameters of the studies, and return what this machine lacks for some of the tables.

        :raises InputError: if a scenario contradicts the parameters of its study.
        :raises MissingError: if no table can be measured; it names everything that is missing.
        """
        check(self.tables)
        self._lacks = find_table_lacks(self.jobs, self.options)
        if self._lacks is not None and len(self._lacks.by_table) == len(self.jobs):
            raise self._lacks.everything
        return self._lacks

    def measure(self, callbacks: Callbacks) -> Iterator[TableReport]:
        """Measure one table after the other, and yield each as soon as its files are written. Call ``prepare`` before.

        :raises KeyboardInterrupt: if a signal interrupts it; another call continues and keeps the recorded runs.
        :raises LabError: if files cannot be written.
        """
        lacks = self._lacks.by_table if self._lacks else {}
        for outcome, sources in measure_all(self.jobs, self.out, self.options, lacks, callbacks):
            report = self._report(outcome, sources)
            self.reports.append(report)
            if self.is_all and self.documents:
                self._write_scoreboard()
            yield report

    def finish(self) -> None:
        """Write what is about several tables: figures of agreement, the scoreboard and the page.

        :raises LabError: if the only table, or every table, has failed, or if files cannot be written.
        """
        if self.failure is not None:
            raise self.failure
        if len(self.jobs) == 1:
            return
        self._draw_agreement()
        if self.is_all:
            self._write_scoreboard()
            self._write_page()

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The JSON documents of the tables that have values."""
        return [report.document for report in self.reports if report.document is not None]

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of `mptcplab reproduce --json`."""
        return {"tables": self.documents, "scoreboard": scoreboard_document(self.scoreboard)}

    @property
    def scoreboard(self) -> list[ScoreLine]:
        """The lines of all tables in order, measured or not."""
        lines = {report.name: report.line for report in self.reports}
        return [lines.get(job.selected.name) or line_without(job.selected) for job in self.jobs]

    @property
    def problems(self) -> list[LabError]:
        """The errors of tables, in order."""
        return [report.problem for report in self.reports if report.problem is not None]

    @property
    def failure(self) -> LabError | None:
        """The error if the only table, or every table, has failed; else None."""
        problems = self.problems
        return problems[0] if problems and (len(self.jobs) == 1 or not self.documents) else None

    @property
    def is_good(self) -> bool:
        """True if no run failed, and each value and claim that was measured agrees, or differs for a known reason."""
        failed = any(report.problem and not report.outcome.is_missing for report in self.reports)
        return not failed and all(report.is_good for report in self.reports)

    def _report(self, outcome: TableOutcome, table_sources: Sources) -> TableReport:
        """Judge a table and write its files. Its texts can also quote tables measured into this folder before."""
        job = outcome.job
        selected, folder = job.selected, self.folder(job)
        if not outcome.measured:
            return TableReport(outcome, line_without(selected, outcome.why_empty))
        documents = read_documents(folder)
        full = full_form(selected, documents) if job.is_quick and not job.overrides else None
        now = {name: source for name, source in table_sources.items() if source.measured}
        sources = {**read_sources(documents, quick=job.is_quick), **now}
        over_beds = {} if job.is_quick or job.changes else values_over_beds(selected, folder)
        judged = judge(selected, outcome.measured, job.changes, sources, full, over_beds)
        table = study_table(judged)
        failed, runs = len(outcome.failed), len(outcome.done)
        if failed:
            warning = f"[!] Warning: incomplete, {failed} of {runs} runs failed."
            table = replace(table, notes=(*table.notes, warning))
        document = study_document(judged, quick=job.is_quick) | _measurement_facts(outcome)
        with report_write_errors(folder):
            write_table(table, folder, job.file("table"))
            write_json(document, folder / f"{job.file('table')}.json")
            figures = [
                file
                for more, figure in study_figures(judged)
                for file in save(figure, folder, file_stem(f"table-{selected.number}{more}", quick=job.is_quick))
            ]
        self._points.setdefault(selected.folder.name, []).extend(points_of(judged))
        line = line_of(judged, quick=self.is_quick, failed=failed, runs=runs)
        return TableReport(outcome, line, judged, table, document, tuple(figures), self._write_parameters(selected))

    def _write_parameters(self, selected: SelectedTable) -> Table | None:
        """Write and return the parameters of a study with its first table; None with the others, or without any."""
        study = selected.folder.name
        if study in self._reported_studies or not selected.study.parameters:
            return None
        table = parameters_table(select(study))
        with report_write_errors(self.out / study):
            write_table(table, self.out / study, "parameters")
        return table

    @property
    def _reported_studies(self) -> list[str]:
        """The studies of which a table has been reported."""
        return [report.outcome.job.selected.folder.name for report in self.reports if report.table is not None]

    def _write_scoreboard(self) -> None:
        """Write the scoreboard after every table, so that it exists however the command ends."""
        lines, name = self.scoreboard, file_stem("scoreboard", quick=self.is_quick)
        with report_write_errors(self.out):
            write_table(scoreboard_table(lines), self.out, name)
            write_json(scoreboard_document(lines), self.out / f"{name}.json")

    def _draw_agreement(self) -> None:
        """Draw measured against published values: for each study into its folder, and for all studies."""
        name = file_stem("agreement", quick=self.is_quick)
        for study, points in self._points.items():
            with report_write_errors(self.out / study):
                save_agreement(f"{study}: published and measured", points, self.out / study, name)
        every = [point for points in self._points.values() for point in points]
        if self.is_all:
            with report_write_errors(self.out):
                save_agreement("All studies: published and measured", every, self.out, name)

    def _write_page(self) -> None:
        from mptcplab.pages import write_report  # late, since only this needs templates

        done = (run.result for report in self.reports for run in report.outcome.done)
        known = {result.identity: result for result in done if result is not None}
        with report_write_errors(self.out):
            write_report(self.out, self.out / PAGE, known=known)


def reproduce(
    wanted: str | None = None,
    *,
    quick: bool = False,
    set: Changes = (),
    out: str | Path = REPRODUCE_FOLDER,
    jobs: int | None = None,
    engine: str = DEFAULT_ENGINE,
    cluster: str | None = None,
    fresh: bool = False,
    begin: Callable[[TableStart], None] = ignore,
    progress: Report = ignore,
    warn: Warn = ignore,
) -> Reproduction:
    """Measure published tables, and compare and judge their values and claims. Recorded runs are not executed again.

    ``wanted`` is a study such as ``nguyen2014``, a table such as ``nguyen2014/rtt``, or None for all studies, which
    takes hours. ``quick`` measures the short form of each table. ``set`` changes keys of every scenario, as in
    :func:`mptcplab.api.load`. ``out`` receives a folder for each study. ``begin`` receives a :class:`TableStart` before
    each table. The other arguments are as for :func:`mptcplab.api.run`. A table that this machine cannot measure, or
    whose runs fail, has a ``problem`` in its report, and the others are measured.

    :raises InputError: if there is no such study or table, or ``set`` is wrong.
    :raises MissingError: if this machine lacks something for every table.
    :raises LabError: if the only table, or every table, has failed; if files cannot be written.
    :raises KeyboardInterrupt: if a signal interrupts the runs.
    """
    reproduction = Reproduction(wanted, quick=quick, set=set, out=out, options=RunOptions(jobs, fresh, cluster, engine))
    lacks = reproduction.prepare()
    if lacks is not None:
        warn(lacks.to_error(len(reproduction.jobs)).message)
    for _ in reproduction.measure(Callbacks(begin, progress, warn)):
        pass
    reproduction.finish()
    return reproduction


def _measurement_facts(outcome: TableOutcome) -> dict[str, Any]:
    """Return the facts of a table's measurement, for readers that use its document as a reference."""
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
        "form": digest(outcome.job.selected),
        "mptcplab": mptcplab.__version__,
        "kernels": kernel_builds(run.result for run in outcome.done if run.result is not None),
        "runs": [{"run": identity, "seed": run.seed, "settings": run.point.settings} for run, identity in runs],
        "failed": [{"settings": run.point.settings, "seed": run.seed, "error": text} for run, text in failed],
    }
