# SPDX-License-Identifier: MIT
"""Executes the runs of a sweep and shows progress: runs done, time left, failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from mptcplab.campaign.lab import CompletedRun, Lab, Stop, prepare_engines
from mptcplab.campaign.record import Executor
from mptcplab.campaign.recorded import RunKey, key_of, names_by_key
from mptcplab.campaign.rounds import Rounds
from mptcplab.cli.common import console, default_jobs
from mptcplab.cli.lacking import check_machine
from mptcplab.cli.running import RunOptions
from mptcplab.cli.space import space_warning
from mptcplab.engine.protocol import RunInterruptedError
from mptcplab.kernel.config import clock_text
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.plan.forecast import READING, Forecast, duration_text
from mptcplab.scenario.load import Run

#: Interval between two partial results.
_PARTIAL_SECONDS = 10.0


def execute(
    rounds: Rounds,
    out: Path,
    running: RunOptions,
    *,
    partial: Callable[[Sequence[CompletedRun]], None] = lambda _: None,
    install: str | None = None,
) -> list[CompletedRun]:
    """Execute all runs with progress on standard error, and return them by point and seed.

    ``partial`` receives the results so far from time to time, and when the sweep is interrupted. As long as recorded
    runs are only read it receives nothing, since the folder can have the complete results of all of them. ``install``
    is the command that gets what this machine lacks for the runs; None if the caller has found that it lacks nothing.
    :raises KeyboardInterrupt: if a signal interrupts the sweep.
    :raises MissingError: if this machine lacks something that a run needs.
    """
    first = rounds.first()
    if install is not None:
        check_machine(first, engine=running.engine, install=install, on_cluster=running.cluster is not None)
    engines = prepare_engines(first, name=running.engine)
    warning = space_warning(first, out)
    if warning is not None:
        _warn(warning)
    recorded = {} if running.fresh else names_by_key(first, engines, out)
    if recorded:
        _note(_reading_text(len(recorded), len(first)))
    stop = Stop()
    started = time.monotonic()
    with _executor(running) as (executor, jobs):
        lab = Lab(engines, out, stop=stop, fresh=running.fresh, recorded=recorded, executor=executor)
        shown = _SweepProgress(rounds, first, jobs, recorded)
        so_far = _SoFar(rounds, partial)

        def show(done: CompletedRun) -> None:
            shown.show(done)
            so_far.add(done)

        def prepare_round(done: CompletedRun) -> list[Run]:
            runs = rounds.plan_next_round(done)
            shown.add(runs)
            return runs

        try:
            with stop.request_on_signals(), shown.bar:
                done = lab.execute(first, jobs=jobs, progress=show, more=prepare_round)
        except RunInterruptedError as error:
            so_far.report()
            kept = len(recorded) + sum(run.error is None and key_of(run.run) not in recorded for run in so_far.done)
            raise KeyboardInterrupt(_recorded_text(kept, out)) from error
    _summary(done, time.monotonic() - started)
    return rounds.sorted_runs(done)


def _recorded_text(kept: int, out: Path) -> str:
    runs, verb = ("1 run", "is") if kept == 1 else (f"{kept} runs", "are")
    return f"{runs} {verb} recorded in {out} and {verb} not executed again"


def _reading_text(recorded: int, runs: int) -> str:
    if recorded == runs:
        return "The run is recorded already." if runs == 1 else f"All {runs} runs are recorded already, and only read."
    return f"{recorded} of {runs} runs {'is' if recorded == 1 else 'are'} recorded already."


class _SoFar:
    """The runs that are done, and their results for ``partial``."""

    def __init__(self, rounds: Rounds, partial: Callable[[Sequence[CompletedRun]], None]) -> None:
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
def _executor(running: RunOptions) -> Iterator[tuple[Executor | None, int]]:
    """Yield the executor of the runs (None: this machine) and how many to execute in parallel."""
    if running.cluster is None:
        yield None, running.jobs or default_jobs()
        return
    from mptcplab.campaign.cluster import connect

    with connect(running.cluster, _warn) as (executor, workers):
        yield executor, running.jobs or workers


def _note(text: str) -> None:
    console(stderr=True).print(text, style="dim", markup=False, soft_wrap=True)


def _warn(text: str) -> None:
    console(stderr=True).print(text, style="yellow", markup=False, soft_wrap=True)


class _SweepProgress:
    """The progress of a sweep: a bar on a terminal, a line per run elsewhere."""

    def __init__(self, rounds: Rounds, runs: Sequence[Run], jobs: int, recorded: Collection[RunKey]) -> None:
        self.bar = _progress_bar()
        self._is_terminal = self.bar.console.is_terminal
        estimates = {id(point): estimate_seconds(point.scenario) for point in rounds.points}
        self._forecast, self._recorded = Forecast(estimates, jobs=jobs), recorded
        self._count, self._total = 0, 0
        self._task: TaskID = self.bar.add_task("", total=1.0, text="", ends=0.0)
        self.add(runs)

    def add(self, runs: Sequence[Run]) -> None:
        """Add runs that will be executed."""
        for run in runs:
            self._forecast.add(self._kind(run))
        self._total += len(runs)
        self._update("")

    def show(self, done: CompletedRun) -> None:
        """Count a run as done, and print a line about it unless the bar is shown."""
        self._count += 1
        self._forecast.count_done(self._kind(done.run), done.wall_seconds)
        self._update(done.run.label)
        if not self._is_terminal:
            left = self._forecast.remaining_seconds
            ahead = f", about {duration_text(left)} left" if left else ""
            line = f"{_line(done)} ({self._count} of {self._total}{ahead})"
            self.bar.console.print(line, markup=False, soft_wrap=True)

    def _kind(self, run: Run) -> int:
        """Return the kind of a run in the forecast."""
        return READING if key_of(run) in self._recorded else id(run.point)

    def _update(self, label: str) -> None:
        text = f"{self._count}/{self._total} {label}".rstrip()
        ends = self.bar.get_time() + self._forecast.remaining_seconds
        self.bar.update(self._task, completed=self._forecast.share_done, text=text, ends=ends)


class _TimeLeftColumn(ProgressColumn):
    """The time left, which counts down between two runs."""

    def render(self, task: Task) -> Text:
        """Return the estimated time left."""
        return Text(f"about {duration_text(max(0.0, task.fields['ends'] - task.get_time()))} left")


def _progress_bar() -> Progress:
    shown = console(stderr=True)
    columns = (BarColumn(), TimeElapsedColumn(), _TimeLeftColumn(), TextColumn("{task.fields[text]}", markup=False))
    return Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal)


def _line(done: CompletedRun) -> str:
    if done.error is not None:
        return f"failed    {done.run.label}: {done.error.message}"
    if done.wall_seconds is None:
        return f"recorded  {done.run.label}"
    return f"done      {done.run.label}: {done.virtual_ns / 1e9:.1f} s of {_clock([done])} in {done.wall_seconds:.1f} s"


def _clock(done: Sequence[CompletedRun]) -> str:
    """Return the word for what the engine's clock counts."""
    times = {run.result.time for run in done if run.result is not None}
    return clock_text(times.pop()) if times in ({"real"}, {"machine"}) else clock_text("virtual")


def _summary(done: Sequence[CompletedRun], wall_seconds: float) -> None:
    executed = [run for run in done if run.wall_seconds is not None and run.error is None]
    if executed:
        virtual = sum(run.virtual_ns for run in executed) / 1e9
        recorded = sum(run.wall_seconds is None for run in done)
        rest = f"; {recorded} more already recorded" if recorded else ""
        count = f"{len(executed)} run{'s' if len(executed) > 1 else ''}"
        text = f"{count}: {virtual:.0f} s of {_clock(executed)} in {wall_seconds:.1f} s{rest}"
        _note(text)
