# SPDX-License-Identifier: MIT
"""Executes the runs of a sweep, here or on a cluster, and reports progress to the caller. It prints nothing."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mptcplab.campaign.lab import CompletedRun, Lab, RunKey, Stop, key_of, names_by_key, prepare_engines
from mptcplab.campaign.record import Executor
from mptcplab.campaign.rounds import Rounds, RunList
from mptcplab.engine.defaults import DEFAULT_ENGINE, check_jobs, default_jobs
from mptcplab.engine.protocol import RunInterruptedError, engine_kind
from mptcplab.errors import InputError
from mptcplab.metrics.values import size_text
from mptcplab.plan.estimate import estimate_bytes, estimate_seconds
from mptcplab.plan.forecast import READING, Forecast
from mptcplab.scenario.load import Run, sum_estimates

#: Interval between two partial results.
_PARTIAL_SECONDS = 10.0


@dataclass(frozen=True)
class RunOptions:
    """Options for the execution of runs. The defaults are the command line's.

    ``jobs`` is the number of runs to execute in parallel; None for one per CPU or worker. With ``fresh``, recorded runs
    are executed again. ``cluster`` is the address of a dask scheduler, or ``local``; None for this machine.

    :raises InputError: if ``jobs`` is less than 1, or if a cluster cannot execute the engine's runs.
    """

    jobs: int | None = None
    fresh: bool = False
    cluster: str | None = None
    engine: str = DEFAULT_ENGINE

    def __post_init__(self) -> None:
        check_jobs(self.jobs)
        if self.cluster is not None and not engine_kind(self.engine)[1].capabilities.on_clusters:
            message = f"--cluster {self.cluster}: a cluster cannot execute runs of the engine '{self.engine}'"
            raise InputError(message, hint="leave out --cluster: this command then executes them itself")


@dataclass(frozen=True)
class Progress:
    """The state of a sweep: when it begins, after each run, when a point gets further runs, and when it ends.

    ``completed`` is the run that has just ended; None if none has. ``count`` of ``total`` runs have ended, and
    ``recorded`` is the number of runs that were recorded before, which are only read. ``share_done``, from 0 to 1, is
    the share of the expected cost. ``seconds_left`` is a forecast of wall time; None until the sweep knows how many
    runs it executes in parallel. ``ended`` is true once, when all runs have ended.
    """

    completed: CompletedRun | None
    count: int
    total: int
    recorded: int
    share_done: float = 0.0
    seconds_left: float | None = None
    ended: bool = False


Report = Callable[[Progress], None]
Warn = Callable[[str], None]


def ignore(_: object) -> None:
    """Ignore what a sweep reports."""


def execute(
    rounds: Rounds | RunList,
    out: Path,
    options: RunOptions,
    *,
    progress: Report = ignore,
    warn: Warn = ignore,
    partial: Callable[[Sequence[CompletedRun]], None] = ignore,
) -> list[CompletedRun]:
    """Execute all runs, and return them by point and seed. Failed runs have an error.

    ``partial`` receives the results so far from time to time, and when the sweep is interrupted. As long as recorded
    runs are only read it receives nothing, since the folder can have the complete results of all of them.
    In the main thread, SIGINT, SIGTERM and SIGHUP interrupt the sweep.

    :raises KeyboardInterrupt: if a signal interrupts the sweep; its text says what is kept.
    :raises InputError: if an engine cannot execute a run, or ``out`` cannot be used.
    :raises MissingError: if this machine lacks something that a run needs.
    """
    first = rounds.first()
    engines = prepare_engines(first, name=options.engine)
    warning = space_warning(first, out)
    if warning is not None:
        warn(warning)
    recorded = {} if options.fresh else names_by_key(first, engines, out)
    progress(Progress(None, 0, len(first), len(recorded)))
    stop = Stop()
    with _executor(options, warn) as (executor, jobs):
        lab = Lab(engines, out, stop=stop, fresh=options.fresh, recorded=recorded, executor=executor)
        tracker = _Tracker(rounds, first, jobs, recorded, progress)
        so_far = _SoFar(rounds, partial)

        def count(done: CompletedRun) -> None:
            tracker.count(done)
            so_far.add(done)

        def prepare_round(done: CompletedRun) -> list[Run]:
            runs = rounds.plan_next_round(done)
            tracker.add(runs)
            return runs

        try:
            with stop.request_on_signals():
                done = lab.execute(first, jobs=jobs, progress=count, more=prepare_round)
        except RunInterruptedError as error:
            so_far.report()
            kept = len(recorded) + sum(run.error is None and key_of(run.run) not in recorded for run in so_far.done)
            raise KeyboardInterrupt(_recorded_text(kept, out)) from error
        tracker.end()
    return rounds.sorted_runs(done)


def space_warning(runs: Iterable[Run], out: Path) -> str | None:
    """Return a sentence if the disk of ``out`` has less space than the runs are likely to take; None if it has enough.

    Runs that are recorded already count as well, and an estimate may be wrong by a factor of three: so this warns only.
    """
    size = sum_estimates(runs, estimate_bytes)
    existing = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    if size <= free:
        return None
    return (
        f"the runs take about {size_text(size)} on disk, and {out} has {size_text(free)} free: "
        "if the disk is full, the sweep stops, and what is recorded is kept"
    )


def _recorded_text(kept: int, out: Path) -> str:
    runs, verb = ("1 run", "is") if kept == 1 else (f"{kept} runs", "are")
    return f"{runs} {verb} recorded in {out} and {verb} not executed again"


class _SoFar:
    """The runs that are done, and their results for ``partial``."""

    def __init__(self, rounds: Rounds | RunList, partial: Callable[[Sequence[CompletedRun]], None]) -> None:
        self.done: list[CompletedRun] = []
        self._rounds, self._partial = rounds, partial
        self._reported = time.monotonic()

    def add(self, done: CompletedRun) -> None:
        """Add a run, and report all if the last report is some time ago."""
        self.done.append(done)
        if time.monotonic() - self._reported >= _PARTIAL_SECONDS:
            self.report()
            self._reported = time.monotonic()

    def report(self) -> None:
        """Give the results to ``partial``, if one of them is new."""
        if any(run.wall_seconds is not None for run in self.done):
            self._partial(self._rounds.sorted_runs(self.done))


@contextmanager
def _executor(options: RunOptions, warn: Warn) -> Iterator[tuple[Executor | None, int]]:
    """Yield the executor of the runs (None: this machine) and how many to execute in parallel."""
    if options.cluster is None:
        yield None, options.jobs or default_jobs()
        return
    from mptcplab.campaign.cluster import connect

    with connect(options.cluster, warn) as (executor, workers):
        yield executor, options.jobs or workers


class _Tracker:
    """Counts runs and forecasts the time left, for ``report``."""

    def __init__(
        self, rounds: Rounds | RunList, runs: Sequence[Run], jobs: int, recorded: Collection[RunKey], report: Report
    ) -> None:
        estimates = {id(point): estimate_seconds(point.scenario) for point in rounds.points}
        self._forecast, self._recorded, self._report = Forecast(estimates, jobs=jobs), recorded, report
        self._count, self._total = 0, 0
        self.add(runs)

    def add(self, runs: Sequence[Run]) -> None:
        """Add runs that will be executed, if there are any."""
        if not runs:
            return
        for run in runs:
            self._forecast.add(self._kind(run))
        self._total += len(runs)
        self._report(self._progress(None))

    def count(self, done: CompletedRun) -> None:
        """Count a run as done."""
        self._count += 1
        self._forecast.count_done(self._kind(done.run), done.wall_seconds)
        self._report(self._progress(done))

    def end(self) -> None:
        """Report the end of the sweep."""
        self._report(self._progress(None, ended=True))

    def _progress(self, completed: CompletedRun | None, *, ended: bool = False) -> Progress:
        forecast = self._forecast
        counts = (self._count, self._total, len(self._recorded))
        return Progress(completed, *counts, forecast.share_done, forecast.remaining_seconds, ended)

    def _kind(self, run: Run) -> int:
        """Return the kind of a run in the forecast."""
        return READING if key_of(run) in self._recorded else id(run.point)
