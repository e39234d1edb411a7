# SPDX-License-Identifier: MIT
"""Find what runs lack, execute an experiment or single runs, and return the results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mptcplab.cache import check_cache, hold_lock
from mptcplab.campaign.failures import check_failures, find_missing, install_command, repeat_command
from mptcplab.campaign.lab import CompletedRun
from mptcplab.campaign.record import check_capabilities
from mptcplab.campaign.rounds import Rounds, RunList
from mptcplab.campaign.sweep import Report, RunOptions, Warn, execute, ignore
from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.errors import MissingError, name_all
from mptcplab.files import report_write_errors
from mptcplab.metrics.rows import ResultRow
from mptcplab.plan.algorithms import check_algorithms
from mptcplab.report.experiment import ExperimentFiles, ExperimentResults
from mptcplab.report.origin import default_folder
from mptcplab.report.table import Table
from mptcplab.results import Results, open_results
from mptcplab.scenario.load import Experiment, Run
from mptcplab.study.library import SelectedTable, TableJob, table_names

# Find everything that this machine lacks for runs, before the first run, and name it in one message.


@dataclass(frozen=True)
class TableLacks:
    """The programs and kernels that tables need and this machine lacks.

    ``everything`` names the lacks of all tables.
    """

    by_table: Mapping[str, MissingError]
    everything: MissingError

    def to_error(self, tables: int) -> MissingError:
        """Return an error about all of them, which are some of ``tables`` tables."""
        text = f"{len(self.by_table)} of {tables} tables cannot be measured: {self.everything.message}"
        return MissingError(text, hint=self.everything.hint)


def check_machine(runs: Iterable[Run], options: RunOptions, install: str) -> None:
    """Refuse runs if one would fail because of the engine, or because a program, a kernel or memory is missing.

    ``install`` is the command that gets what is missing. No error suggests to build a kernel for an engine that cannot
    execute the runs.
    :raises InputError: if the engine cannot execute a run.
    :raises MissingError: naming everything that is missing.
    """
    runs = list(runs)
    check_capabilities(runs, name=options.engine)
    errors = _find_missing(runs, options)
    if errors:
        raise combine_lacks({"the runs": errors}, install)


def find_table_lacks(jobs: Sequence[TableJob], options: RunOptions) -> TableLacks | None:
    """Return the programs and kernels that tables need and this machine lacks; None if it lacks nothing."""
    lacking = find_missing_by_user({job.selected.name: job.runs for job in jobs}, options)
    if not lacking:
        return None

    def install(tables: Sequence[SelectedTable]) -> str:
        return install_command(table_names(tables), jobs[0].overrides, engine=options.engine)

    by_name = {job.selected.name: job.selected for job in jobs}
    by_table = {name: name_all(some, hint=install([by_name[name]])) for name, some in lacking.items()}
    return TableLacks(by_table, combine_lacks(lacking, install([by_name[name] for name in lacking])))


def find_missing_by_user(runs: Mapping[str, Iterable[Run]], options: RunOptions) -> dict[str, Sequence[MissingError]]:
    """Return what each user's runs lack, without users that lack nothing."""
    errors = {user: _find_missing(some, options) for user, some in runs.items()}
    return {user: some for user, some in errors.items() if some}


def combine_lacks(by_user: Mapping[str, Sequence[MissingError]], install: str) -> MissingError:
    """Return one error that names what all users lack and what building that takes, each thing once."""
    from mptcplab.doctor.lacks import collect_lacks  # late: a machine that lacks nothing does not wait for it

    return collect_lacks(by_user, install).to_error()


def _find_missing(runs: Iterable[Run], options: RunOptions) -> list[MissingError]:
    """Return what runs lack. :raises MissingError: if this machine executes them and cannot write its cache folder.

    Nothing else can be built without that folder.
    """
    if options.cluster is None:
        check_cache()
    return find_missing(runs, engine=options.engine, on_cluster=options.cluster is not None)


# Execute an experiment, or single runs, and return the results.


@dataclass(frozen=True)
class ExperimentOutcome:
    """The runs of an experiment and their results.

    ``document`` is the content of results.json, empty if no run succeeded. ``figures`` are the files of figures.
    ``options`` and ``out`` are what :func:`run` was called with.
    """

    results: ExperimentResults
    document: dict[str, Any]
    figures: tuple[Path, ...]
    options: RunOptions
    out: Path | None

    @property
    def experiment(self) -> Experiment:
        """The experiment."""
        return self.results.experiment

    @property
    def folder(self) -> Path:
        """The results folder."""
        return self.results.folder

    @property
    def runs(self) -> tuple[CompletedRun, ...]:
        """All runs by point and seed, each with its recording and result, or with its error."""
        return self.results.completed

    @property
    def failed(self) -> tuple[CompletedRun, ...]:
        """The runs that failed."""
        return tuple(run for run in self.runs if run.error is not None)

    @property
    def rows(self) -> tuple[ResultRow, ...]:
        """The rows of the tables: a point and a workload, with mean and 95 % confidence interval of each metric."""
        return self.results.rows

    def tables(self) -> list[Table]:
        """Return the tables that ``mptcplab run`` prints."""
        return self.results.tables() if self.rows else []

    def open(self) -> Results:
        """Open the results folder as data frames. :raises LabError: if no run succeeded."""
        return open_results(self.folder)

    def check(self) -> None:
        """Write the commands that repeat failed runs to failed.sh in the results folder, if there are any.

        :raises LabError: if a run failed; of the type of the first failure. It names the failed runs.
        """
        experiment = self.experiment
        repeat = partial(repeat_command, experiment.file, experiment.overrides, self.out, engine=self.options.engine)
        check_failures(self.runs, repeat, self.folder)


def run(
    experiment: Experiment,
    out: str | Path | None = None,
    *,
    jobs: int | None = None,
    engine: str = DEFAULT_ENGINE,
    cluster: str | None = None,
    fresh: bool = False,
    allow_failures: bool = False,
    progress: Report = ignore,
    warn: Warn = ignore,
) -> ExperimentOutcome:
    """Execute the runs of ``experiment`` that are not recorded in ``out``, and write and return the results of all.

    ``out`` is the results folder, by default ``results/NAME``. ``jobs`` is the number of runs to execute in parallel,
    by default one for each CPU or worker. ``engine`` is the engine's name, with an image or inventory if it has any.
    ``cluster`` is the address of a dask scheduler, or ``local``. With ``fresh``, recorded runs are executed again.
    ``progress`` receives a :class:`Progress` after each run, ``warn`` sentences. If runs fail, the others are executed
    and their results are written. With ``allow_failures``, the outcome then has the failed runs, and
    :meth:`ExperimentOutcome.check` raises the error.

    In the main thread, Ctrl-C, SIGTERM and SIGHUP end the runs. Finished runs stay recorded.

    :raises InputError: if the engine or the kernel cannot execute a run, or ``out`` cannot be used.
    :raises MissingError: if this machine lacks a program, a kernel or memory; it names everything that is missing.
    :raises LabError: if a run failed, unless ``allow_failures``; if results cannot be written.
    :raises KeyboardInterrupt: if a signal interrupts the runs.
    """
    check_algorithms(experiment)
    options = RunOptions(jobs, fresh, cluster, engine)
    named = None if out is None else Path(out)
    folder = named or default_folder(Path(f"{experiment.name}.toml"))
    install = install_command([str(experiment.file)], experiment.overrides, engine=engine)
    check_machine(experiment.runs, options, install)
    rounds = Rounds(experiment)
    files = ExperimentFiles(experiment, folder, rounds)
    completed = execute(rounds, folder, options, progress=progress, warn=warn, partial=files.write_partial)
    results = ExperimentResults.of_runs(experiment, folder, rounds, completed)
    document = results.document() if results.rows else {}
    # The files of two commands that end at the same time must not be mixed.
    with report_write_errors(folder), hold_lock("results", folder / ".work"):
        if results.rows and (warning := files.lost_points_warning(results.rows)):
            warn(warning)
        figures = files.write(results, document)
    outcome = ExperimentOutcome(results, document, tuple(figures), options, named)
    if not allow_failures:
        outcome.check()
    return outcome


def execute_runs(
    runs: Iterable[Run],
    out: str | Path,
    *,
    jobs: int | None = None,
    engine: str = DEFAULT_ENGINE,
    cluster: str | None = None,
    fresh: bool = False,
    allow_failures: bool = False,
    progress: Report = ignore,
    warn: Warn = ignore,
) -> list[CompletedRun]:
    """Execute ``runs`` that are not recorded in ``out``, and return all in order, each with its recording and result.

    ``runs`` are some of an experiment's, or of several. Only recordings are written: no table, no results.json. The
    arguments are as for :func:`run`.

    :raises InputError: if the engine or the kernel cannot execute a run, or ``out`` cannot be used.
    :raises MissingError: if this machine lacks a kernel.
    :raises LabError: the error of the first run that failed, unless ``allow_failures``; also for a missing program.
    :raises KeyboardInterrupt: if a signal interrupts the runs.
    """
    options = RunOptions(jobs, fresh, cluster, engine)
    completed = execute(RunList(runs), Path(out), options, progress=progress, warn=warn)
    error = next((run.error for run in completed if run.error is not None), None)
    if error is not None and not allow_failures:
        raise error
    return completed
