# SPDX-License-Identifier: MIT
"""Prints the progress of sweeps on standard error: a bar on a terminal, a line per run elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.progress import BarColumn, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.progress import Progress as ProgressBar
from rich.text import Text

from mptcplab import api
from mptcplab.cli.common import console
from mptcplab.kernel.config import clock_text
from mptcplab.metrics.values import duration_text


class ProgressPrinter:
    """Prints what one sweep after the other reports. As a context, it removes the bar when a sweep does not end."""

    def __init__(self) -> None:
        self._bar: _Bar | None = None
        self._done: list[api.CompletedRun] = []
        self._started = 0.0

    def __enter__(self) -> ProgressPrinter:
        return self

    def __exit__(self, *_: object) -> None:
        self._remove_bar()

    def warn(self, text: str) -> None:
        """Print a warning."""
        console(stderr=True).print(text, style="yellow", markup=False, soft_wrap=True)

    def show(self, progress: api.Progress) -> None:
        """Show the state of a sweep."""
        if progress.seconds_left is None:
            self._begin(progress)
        elif progress.ended:
            self._remove_bar()
            self._summarize()
        else:
            if self._bar is None:
                self._bar = _Bar(progress)
            else:
                self._bar.update(progress)
            if progress.completed is not None:
                self._done.append(progress.completed)

    def _begin(self, progress: api.Progress) -> None:
        self._done, self._started = [], time.monotonic()
        if progress.recorded:
            _note(_reading_text(progress.recorded, progress.total))

    def _remove_bar(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _summarize(self) -> None:
        executed = [run for run in self._done if run.wall_seconds is not None and run.error is None]
        if executed:
            seconds = time.monotonic() - self._started
            virtual = sum(run.virtual_ns for run in executed) / 1e9
            recorded = sum(run.wall_seconds is None for run in self._done)
            rest = f"; {recorded} more already recorded" if recorded else ""
            count = f"{len(executed)} run{'s' if len(executed) > 1 else ''}"
            _note(f"{count}: {virtual:.0f} s of {_clock(executed)} in {seconds:.1f} s{rest}")


class _Bar:
    """A bar that stays in place on a terminal; elsewhere a line per run."""

    def __init__(self, progress: api.Progress) -> None:
        self._shown = console(stderr=True)
        self._is_terminal = self._shown.is_terminal
        columns = (BarColumn(), TimeElapsedColumn(), _TimeLeftColumn(), TextColumn("{task.fields[text]}", markup=False))
        self._bar = ProgressBar(*columns, console=self._shown, transient=True, disable=not self._is_terminal)
        self._task = self._bar.add_task("", total=1.0, text="", ends=0.0)
        self.update(progress)
        self._bar.start()

    def update(self, progress: api.Progress) -> None:
        """Show the state of the sweep, and print a line about the run that has just ended unless the bar is shown."""
        done, left = progress.completed, progress.seconds_left or 0.0
        text = f"{progress.count}/{progress.total} {done.run.label if done else ''}".rstrip()
        self._bar.update(self._task, completed=progress.share_done, text=text, ends=self._bar.get_time() + left)
        if done is not None and not self._is_terminal:
            ahead = f", about {duration_text(left)} left" if left else ""
            line = f"{_line(done)} ({progress.count} of {progress.total}{ahead})"
            self._shown.print(line, markup=False, soft_wrap=True)

    def stop(self) -> None:
        """Remove the bar."""
        self._bar.stop()


class _TimeLeftColumn(ProgressColumn):
    """The time left, which counts down between two runs."""

    def render(self, task: Task) -> Text:
        """Return the estimated time left."""
        return Text(f"about {duration_text(max(0.0, task.fields['ends'] - task.get_time()))} left")


def _note(text: str) -> None:
    console(stderr=True).print(text, style="dim", markup=False, soft_wrap=True)


def _reading_text(recorded: int, runs: int) -> str:
    if recorded == runs:
        return "The run is recorded already." if runs == 1 else f"All {runs} runs are recorded already, and only read."
    return f"{recorded} of {runs} runs {'is' if recorded == 1 else 'are'} recorded already."


def _line(done: api.CompletedRun) -> str:
    if done.error is not None:
        return f"failed    {done.run.label}: {done.error.message}"
    if done.wall_seconds is None:
        return f"recorded  {done.run.label}"
    return f"done      {done.run.label}: {done.virtual_ns / 1e9:.1f} s of {_clock([done])} in {done.wall_seconds:.1f} s"


def _clock(done: Sequence[api.CompletedRun]) -> str:
    """Return the word for what the engine's clock counts."""
    times = {run.result.time for run in done if run.result is not None}
    return clock_text(times.pop()) if times in ({"real"}, {"machine"}) else clock_text("virtual")
