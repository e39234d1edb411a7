# SPDX-License-Identifier: MIT
"""Many runs with their progress shown: how far, how long still, what happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from mptcplab.campaign.lab import CompletedRun, Lab, Stop, prepare_engines
from mptcplab.campaign.record import Executor
from mptcplab.campaign.rounds import Rounds
from mptcplab.cli.common import RunOptions, console, default_jobs
from mptcplab.engine.protocol import RunInterruptedError
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.plan.forecast import Forecast, duration_text
from mptcplab.scenario.load import Run

#: Between two looks at what is there so far.
_PARTIAL_SECONDS = 10.0


def execute(
    rounds: Rounds,
    out: Path,
    running: RunOptions,
    *,
    partial: Callable[[Sequence[CompletedRun]], None] = lambda _: None,
) -> list[CompletedRun]:
    """All runs, with progress on standard error, by point and seed.

    ``partial`` is given what there is so far now and then, and when the sweep is interrupted.
    :raises KeyboardInterrupt: when the user or the system asked for the end.
    """
    first = rounds.first()
    engines = prepare_engines(first, name=running.engine)
    stop = Stop()
    started = time.monotonic()
    with _executor(running) as (executor, jobs):
        lab = Lab(engines, out, stop=stop, fresh=running.fresh, executor=executor)
        shown = _TablePrinter(rounds, first, jobs)
        so_far: list[CompletedRun] = []
        described = time.monotonic()

        def show(done: CompletedRun) -> None:
            nonlocal described
            so_far.append(done)
            shown.show(done)
            if time.monotonic() - described >= _PARTIAL_SECONDS:
                partial(rounds.ordered(so_far))
                described = time.monotonic()

        def more(done: CompletedRun) -> list[Run]:
            found = rounds.after(done)
            shown.add(found)
            return found

        try:
            with stop.on_signals(), shown.progress:
                done = lab.execute(first, jobs=jobs, progress=show, more=more)
        except RunInterruptedError as error:
            partial(rounds.ordered(so_far))
            raise KeyboardInterrupt from error
    _summary(done, time.monotonic() - started)
    return rounds.ordered(done)


@contextmanager
def _executor(running: RunOptions) -> Iterator[tuple[Executor | None, int]]:
    """Where runs are executed, and how many at a time."""
    if running.cluster is None:
        yield None, running.jobs or default_jobs()
        return
    from mptcplab.campaign.cluster import connected

    with connected(running.cluster) as (executor, workers):
        yield executor, running.jobs or workers


class _TablePrinter:
    """The progress of a sweep: a bar on a terminal, a line per run elsewhere."""

    def __init__(self, rounds: Rounds, runs: Sequence[Run], jobs: int) -> None:
        self.progress = _progress()
        self._is_terminal = self.progress.console.is_terminal
        guesses = {id(point): estimate_seconds(point.scenario) for point in rounds.points}
        self._forecast = Forecast(guesses, jobs=jobs)
        self._count, self._total = 0, 0
        self._task: TaskID = self.progress.add_task("", total=1.0, text="", ends=0.0)
        self.add(runs)

    def add(self, runs: Sequence[Run]) -> None:
        """More runs are to come."""
        for run in runs:
            self._forecast.add(id(run.point))
        self._total += len(runs)
        self._update("")

    def show(self, done: CompletedRun) -> None:
        """One run is done."""
        self._count += 1
        self._forecast.done(id(done.run.point), done.wall_seconds)
        self._update(done.run.label)
        if not self._is_terminal:
            left = self._forecast.remaining_seconds
            ahead = f", about {duration_text(left)} left" if left else ""
            line = f"{_line(done)} ({self._count} of {self._total}{ahead})"
            self.progress.console.print(line, markup=False, soft_wrap=True)

    def _update(self, label: str) -> None:
        text = f"{self._count}/{self._total} {label}".rstrip()
        ends = self.progress.get_time() + self._forecast.remaining_seconds
        self.progress.update(self._task, completed=self._forecast.share_done, text=text, ends=ends)


class _TimeLeftColumn(ProgressColumn):
    """Counts down between two runs."""

    def render(self, task: Task) -> Text:
        """About so long."""
        return Text(f"about {duration_text(max(0.0, task.fields['ends'] - task.get_time()))} left")


def _progress() -> Progress:
    shown = console(stderr=True)
    columns = (BarColumn(), TimeElapsedColumn(), _TimeLeftColumn(), TextColumn("{task.fields[text]}", markup=False))
    return Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal)


def _line(done: CompletedRun) -> str:
    if done.error is not None:
        return f"failed  {done.run.label}: {done.error.message}"
    if done.wall_seconds is None:
        return f"there   {done.run.label}"
    return f"done    {done.run.label}: {done.virtual_ns / 1e9:.1f} s of virtual time in {done.wall_seconds:.1f} s"


def _summary(done: Sequence[CompletedRun], wall_seconds: float) -> None:
    executed = [one for one in done if one.wall_seconds is not None and one.error is None]
    if executed:
        virtual = sum(one.virtual_ns for one in executed) / 1e9
        recorded = sum(one.wall_seconds is None for one in done)
        there = f", {recorded} were recorded already" if recorded else ""
        count = f"{len(executed)} run{'s' if len(executed) > 1 else ''}"
        text = f"{count}: {virtual:.0f} s of virtual time in {wall_seconds:.1f} s{there}"
        console(stderr=True).print(text, style="dim", markup=False)
