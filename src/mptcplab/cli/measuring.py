# SPDX-License-Identifier: MIT
"""Measures tables one after the other. A failure in one table does not prevent the measurement of the others.

What this machine lacks for any of them is found before the first is measured.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.campaign.lab import CompletedRun
from mptcplab.campaign.missing import find_missing
from mptcplab.campaign.rounds import Rounds
from mptcplab.cli.common import console, default_jobs
from mptcplab.cli.jobs import TableJob, table_names
from mptcplab.cli.lacking import combine_lacks
from mptcplab.cli.running import RunOptions, check_failures, install_command
from mptcplab.cli.sweep import execute
from mptcplab.errors import LabError, MissingError, name_all
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.plan.forecast import Forecast, duration_text
from mptcplab.study.load import SelectedTable
from mptcplab.study.measured import TableValues, index_results
from mptcplab.study.source import Sources, TableSource, needs, sort_by_dependency


@dataclass(frozen=True)
class TableOutcome:
    """The measurement of one table. ``problem`` is why runs failed, or why there are none."""

    work: TableJob
    done: tuple[CompletedRun, ...]
    measured: TableValues
    problem: LabError | None = None

    @property
    def failed(self) -> list[CompletedRun]:
        """The runs without a result."""
        return [run for run in self.done if run.error is not None]

    @property
    def is_missing(self) -> bool:
        """Whether there are errors, and each is that this machine lacks something."""
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
class TableLacks:
    """The programs and kernels that tables need and this machine lacks.

    ``everything`` names the lacks of all tables.
    """

    by_table: Mapping[str, MissingError]
    everything: MissingError


def find_lacks(works: Sequence[TableJob], running: RunOptions) -> TableLacks | None:
    """Return the programs and kernels that tables need and this machine lacks; None if it lacks nothing."""
    on_cluster = running.cluster is not None
    errors = {
        work.selected.name: find_missing(work.runs, engine=running.engine, on_cluster=on_cluster) for work in works
    }
    lacking = {name: some for name, some in errors.items() if some}
    if not lacking:
        return None

    def install(tables: Sequence[SelectedTable]) -> str:
        return install_command(table_names(tables), works[0].overrides, engine=running.engine)

    by_name = {work.selected.name: work.selected for work in works}
    by_table = {name: name_all(some, hint=install([by_name[name]])) for name, some in lacking.items()}
    return TableLacks(by_table, combine_lacks(lacking, install([by_name[name] for name in lacking])))


def measure_all(
    works: Sequence[TableJob], out: Path, running: RunOptions, lacks: Mapping[str, MissingError]
) -> Iterator[tuple[TableOutcome, Sources]]:
    """Yield the outcome of every table in order, with all measurements so far.

    Tables that the texts of a table quote are measured before it. ``lacks`` has the tables that cannot be measured.
    :raises InputError: if the user's input is wrong, so that nothing can be measured.
    """
    by_name = {work.selected.name: work for work in works}
    outcomes: dict[str, TableOutcome] = {}
    sources: dict[str, TableSource] = {}
    waiting = deque(works)
    remaining = _RemainingTime([work for name, work in by_name.items() if name not in lacks], running)
    for selected in sort_by_dependency([work.selected for work in works]):
        work = by_name[selected.name]
        if selected.name in lacks:
            outcome = TableOutcome(work, (), {}, lacks[selected.name])
        else:
            remaining.announce(work)
            outcome = measure_one(work, out / selected.folder.name, running)
            remaining.count_done(work, outcome.done)
        outcomes[selected.name] = outcome
        sources[selected.name] = TableSource(outcome.measured, work.changes)
        while waiting and {waiting[0].selected.name, *needs(waiting[0].selected, by_name)} <= sources.keys():
            yield outcomes[waiting.popleft().selected.name], sources


def measure_one(work: TableJob, folder: Path, running: RunOptions) -> TableOutcome:
    """Measure one table, of which some runs may fail. :raises LabError: if the results folder cannot be used.

    The caller has found that this machine has what the table needs.
    """
    try:
        done = execute(Rounds(work.experiment, work.points), folder, running)
    except MissingError as error:
        return TableOutcome(work, (), {}, error)
    problem = None
    try:
        check_failures(done, work.repeat_command, folder, name=f"{work.file('failed')}.sh")
    except LabError as error:
        problem = error
    measured = index_results(work.selected, [run.result for run in done if run.result])
    if problem is None and not measured:
        problem = LabError("none of its runs has the table's metric", hint=f"see the recordings in {folder / 'runs'}")
    return TableOutcome(work, tuple(done), measured, problem)


class _RemainingTime:
    """The progress over all tables and the time left, printed before each table if there are several."""

    def __init__(self, works: Sequence[TableJob], running: RunOptions) -> None:
        self._count, self._total = 0, len(works)
        self._runs_done, self._total_runs = 0, sum(len(work.runs) for work in works)
        estimates = {id(point): estimate_seconds(point.scenario) for work in works for point in work.points}
        self._forecast = Forecast(estimates, jobs=running.jobs or default_jobs())
        for work in works:
            for point in work.points:
                self._forecast.add(id(point), work.experiment.repeats)

    def announce(self, work: TableJob) -> None:
        """Print which table comes next."""
        self._count += 1
        if self._total < 2:
            return
        left = duration_text(self._forecast.remaining_seconds)
        runs = f"{self._runs_done} of {self._total_runs} runs done"
        text = (
            f"[{self._count} of {self._total}] {work.selected.name}: {len(work.runs)} runs; {runs}, about {left} left"
        )
        console(stderr=True).print(text, markup=False, soft_wrap=True)

    def count_done(self, work: TableJob, done: Sequence[CompletedRun]) -> None:
        """Count the runs of a measured table as done; runs that were not executed take no more time."""
        for completed_run in done:
            self._forecast.count_done(id(completed_run.run.point), completed_run.wall_seconds)
        if not done:
            for run in work.runs:
                self._forecast.count_done(id(run.point), None)
        self._runs_done += len(work.runs)
