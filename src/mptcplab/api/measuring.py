# SPDX-License-Identifier: MIT
"""Measures tables one after the other. A failure in one table does not prevent the measurement of the others.

What this machine lacks for any of them is found before the first is measured.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.campaign.failures import check_failures
from mptcplab.campaign.lab import CompletedRun
from mptcplab.campaign.rounds import Rounds
from mptcplab.campaign.sweep import Report, RunOptions, Warn, execute, ignore
from mptcplab.engine.defaults import default_jobs
from mptcplab.errors import LabError, MissingError
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.plan.forecast import Forecast
from mptcplab.study.jobs import TableJob
from mptcplab.study.measured import TableValues, index_results
from mptcplab.study.source import Sources, TableSource, needs, sort_by_dependency


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
        """Whether the table has errors, all of which say that this machine lacks something."""
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
