# SPDX-License-Identifier: MIT
"""What the commands share: options, the console, and running many runs with their progress shown."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from mptcplab.engine.lab import Done, Lab, Stop, prepare_engines
from mptcplab.engine.virtual import RunInterruptedError
from mptcplab.report.table import Table
from mptcplab.scenario.load import Run

_Command = TypeVar("_Command", bound=Callable[..., Any])
_PLAIN_WIDTH = 160


def running_options(command: _Command) -> _Command:
    """Options of every command that runs labs."""
    options = [
        click.option("--jobs", type=click.IntRange(1, 1024), help="Labs side by side. Default: one per CPU."),
        click.option("--engine", type=click.Choice(["virtual"]), default="virtual", show_default=True),
        click.option("--fresh", is_flag=True, help="Execute also runs that are recorded already."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def console(*, stderr: bool = False) -> Console:
    """Colours and width only where a terminal is."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PLAIN_WIDTH
    return Console(stderr=stderr, highlight=False, width=width)


def print_table(table: Table) -> None:
    """A table and its notes on standard output."""
    out = console()
    out.print(table.to_rich())
    for note in table.notes:
        out.print(f"  {note}", style="dim" if not note.startswith("[") else "yellow", markup=False)


def default_jobs() -> int:
    """One lab per CPU that this process may use."""
    return len(os.sched_getaffinity(0))


def execute(runs: Sequence[Run], out: Path, *, jobs: int | None, fresh: bool) -> list[Done]:
    """All runs, with progress on standard error.

    :raises KeyboardInterrupt: when the user or the system asked for the end.
    """
    engines = prepare_engines(runs)
    stop = Stop()
    lab = Lab(engines, out, stop=stop, fresh=fresh)
    started = time.monotonic()
    with stop.on_signals(), _progress() as progress:
        task = progress.add_task("", total=len(runs))

        def show(done: Done) -> None:
            progress.update(task, advance=1, description=done.run.label)
            if not progress.console.is_terminal:
                progress.console.print(f"{_line(done)}", markup=False)

        try:
            done = lab.execute(runs, jobs=jobs or default_jobs(), progress=show)
        except RunInterruptedError as error:
            raise KeyboardInterrupt from error
    _summary(done, time.monotonic() - started)
    return done


def _progress() -> Progress:
    shown = console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(
        *columns, TextColumn("{task.description}"), console=shown, transient=True, disable=not shown.is_terminal
    )


def _line(done: Done) -> str:
    if done.error is not None:
        return f"failed  {done.run.label}: {done.error.message}"
    if done.wall_seconds is None:
        return f"there   {done.run.label}"
    return f"done    {done.run.label}: {done.virtual_ns / 1e9:.1f} s of virtual time in {done.wall_seconds:.1f} s"


def _summary(done: Sequence[Done], wall_seconds: float) -> None:
    executed = [one for one in done if one.wall_seconds is not None]
    if executed:
        virtual = sum(one.virtual_ns for one in executed) / 1e9
        there = f", {len(done) - len(executed)} were recorded already" if len(executed) < len(done) else ""
        count = f"{len(executed)} run{'s' if len(executed) > 1 else ''}"
        text = f"{count}: {virtual:.0f} s of virtual time in {wall_seconds:.1f} s{there}"
        console(stderr=True).print(text, style="dim", markup=False)


def check_failures(done: Sequence[Done], command: Callable[[Run], str]) -> None:
    """:raises LabError: naming every failed run and the command that repeats it alone."""
    failed = [(one.run, one.error) for one in done if one.error is not None]
    if not failed:
        return
    first, error = failed[0]
    lines = [f"repeat it alone: {command(first)}"]
    if error.hint:
        lines.insert(0, error.hint)
    for run, other in failed[1:]:
        lines.append(f"also failed: {run.label}: {other.message}\n        {command(run)}")
    count = f"{len(failed)} of {len(done)} runs failed, the first being " if len(done) > 1 else ""
    raise type(error)(f"{count}{first.label}: {error.message}", hint="\n  ".join(lines))
