# SPDX-License-Identifier: MIT
"""Parts that the commands share: options for runs, the console, and one report for the failures of many runs."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from mptcplab.campaign.lab import CompletedRun
from mptcplab.cli.options import json_option
from mptcplab.engine.registry import DEFAULT_ENGINE, engine_kind, engine_kinds
from mptcplab.errors import InputError, LabError, reason
from mptcplab.files import write_text
from mptcplab.report.choosing import fitted
from mptcplab.report.table import Table
from mptcplab.scenario.load import Run

_Command = TypeVar("_Command", bound=Callable[..., Any])
#: Wider than any line: what is not a terminal gets whole lines.
_PLAIN_WIDTH = 100_000
_MAX_FAILURES = 10
FAILED_FILE = "failed.sh"


@dataclass(frozen=True)
class RunOptions:
    """The values of the options that :func:`running_options` adds."""

    jobs: int | None
    fresh: bool
    cluster: str | None
    engine: str = DEFAULT_ENGINE

    def __post_init__(self) -> None:
        """:raises InputError: if a cluster cannot execute the engine's runs."""
        if self.cluster is not None and not engine_kind(self.engine)[1].capabilities.on_clusters:
            message = f"--cluster {self.cluster}: a cluster cannot execute runs of the engine '{self.engine}'"
            raise InputError(message, hint="leave out --cluster: this command then executes them itself")


class _EngineName(click.Choice[str]):
    """The name of an engine, and for some a colon and its kernel image or inventory."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name, colon, image = value.partition(":")
        text = f"{super().convert(name, param, ctx)}{colon}{image}"
        engine_kind(text)
        return text


def running_options(command: _Command) -> _Command:
    """Add the options of every command that runs labs."""
    options = [
        click.option("--jobs", type=click.IntRange(1, 1024), help="Labs to run in parallel. Default: one per CPU."),
        click.option(
            "--engine",
            type=_EngineName(list(engine_kinds())),
            default=DEFAULT_ENGINE,
            show_default=True,
            help="Engine that executes the runs: the lab kernel, a kernel image (stock:VERSION or stock:PATH), this "
            "machine (local), or the machines of an inventory (ssh:FILE).",
        ),
        click.option(
            "--cluster",
            metavar="ADDRESS",
            help="Execute the runs on a dask.distributed cluster: a scheduler's address, or local[:WORKERS].",
        ),
        click.option("--fresh", is_flag=True, help="Execute runs again that are already recorded."),
        json_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command


def console(*, stderr: bool = False) -> Console:
    """Return a console: on a terminal with its colours and width, elsewhere plain and without line breaks."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PLAIN_WIDTH
    return Console(stderr=stderr, highlight=False, width=width)


def print_table(table: Table) -> None:
    """Print a table and its notes on standard output. On a terminal, it is arranged to fit."""
    out = console()
    parts, moved = fitted(table, out.width)
    for part in parts:
        out.print(part.to_rich(out.width))
    for note in (*moved, *table.notes):
        out.print(f"  {note}", style="dim" if not note.startswith("[") else "yellow", markup=False)


def default_jobs() -> int:
    """Return the number of CPUs that this process may use: one lab on each."""
    return len(os.sched_getaffinity(0))


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn an error that prevents results from being written into one sentence.

    :raises LabError: for every OSError inside.
    """
    try:
        yield
    except OSError as error:
        hint = "see `df` and `ls -ld`; the same command continues and keeps the recorded runs"
        raise LabError(f"{folder} cannot be written: {reason(error)}", hint=hint) from error


def check_failures(
    done: Sequence[CompletedRun], command: Callable[[Run], str], folder: Path, *, name: str = FAILED_FILE
) -> None:
    """Write the commands that repeat failed runs to FOLDER/NAME, or remove that file if none failed.

    :raises LabError: if a run failed; it names the failed runs and the command that repeats each.
    """
    failed = [(one.run, one.error) for one in done if one.error is not None]
    script = folder / name
    if not failed:
        script.unlink(missing_ok=True)
        return
    with writing(folder):
        write_text(script, "".join(_script((run, error.message, command(run)) for run, error in failed)))
    first, error = failed[0]
    lines = [f"to repeat this run alone: {command(first)}"]
    if error.hint:
        lines.insert(0, error.hint)
    for run, other in failed[1:_MAX_FAILURES]:
        lines.append(f"also failed: {run.label}: {other.message}\n        {command(run)}")
    if len(failed) > _MAX_FAILURES:
        lines.append(f"and {len(failed) - _MAX_FAILURES} more: {script} has a command for each failed run")
    count = f"{len(failed)} of {len(done)} runs failed, the first being " if len(done) > 1 else ""
    raise type(error)(f"{count}{first.label}: {error.message}", hint="\n  ".join(lines))


def repeat_command(
    file: Path, changes: Iterable[str], out: Path | None, failed: Run, *, engine: str = DEFAULT_ENGINE
) -> str:
    """Return the command that repeats one run alone: ``changes`` are for ``--set``, and ``out`` for ``--out``."""
    words = ["mptcplab", "run", str(file), "--seed", str(failed.seed), "--repeats", "1"]
    for change in (*changes, *(f"{key}={value}" for key, value in failed.point.settings.items())):
        words += ["--set", change]
    words += ["--out", str(out)] if out is not None else []
    words += ["--engine", engine] if engine != DEFAULT_ENGINE else []
    return shlex.join(words)


def _script(failures: Iterable[tuple[Run, str, str]]) -> Iterable[str]:
    """Yield the parts of a shell script. Messages become comments of one line each."""
    yield "#!/bin/sh\n# Failed runs: each command repeats one of them.\n"
    for run, message, command in failures:
        yield f"\n# {' '.join(f'{run.label}: {message}'.split())}\n{command}\n"
