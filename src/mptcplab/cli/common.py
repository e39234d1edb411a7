# SPDX-License-Identifier: MIT
"""What the commands share: options, the console, and the failures of many runs told together."""

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
from mptcplab.engine.registry import DEFAULT_ENGINE, engine_kinds
from mptcplab.errors import LabError, reason
from mptcplab.report.files import write_text
from mptcplab.report.table import Table
from mptcplab.scenario.load import Run

_Command = TypeVar("_Command", bound=Callable[..., Any])
_PLAIN_WIDTH = 160
_SHOWN_FAILURES = 10
FAILED_FILE = "failed.sh"


@dataclass(frozen=True)
class RunOptions:
    """What :func:`running_options` were set to."""

    jobs: int | None
    fresh: bool
    cluster: str | None
    engine: str = DEFAULT_ENGINE


def running_options(command: _Command) -> _Command:
    """Options of every command that runs labs."""
    options = [
        click.option("--jobs", type=click.IntRange(1, 1024), help="Labs side by side. Default: one per CPU."),
        click.option("--engine", type=click.Choice(list(engine_kinds())), default=DEFAULT_ENGINE, show_default=True),
        click.option(
            "--cluster",
            metavar="ADDRESS",
            help="Let workers of dask.distributed execute the runs: a scheduler's address, or local[:WORKERS].",
        ),
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
    out.print(table.to_rich(out.width))
    for note in table.notes:
        out.print(f"  {note}", style="dim" if not note.startswith("[") else "yellow", markup=False)


def default_jobs() -> int:
    """One lab per CPU that this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Tell in one sentence what keeps results from being written. :raises LabError: for every OSError inside."""
    try:
        yield
    except OSError as error:
        hint = "see `df` and `ls -ld`; the same command goes on with what is recorded"
        raise LabError(f"{folder} cannot be written: {reason(error)}", hint=hint) from error


def check_failures(
    done: Sequence[CompletedRun], command: Callable[[Run], str], folder: Path, *, name: str = FAILED_FILE
) -> None:
    """Leave the commands that repeat failed runs in FOLDER/NAME, or remove that file when none failed.

    :raises LabError: naming the failed runs and the commands that repeat each alone.
    """
    failed = [(one.run, one.error) for one in done if one.error is not None]
    script = folder / name
    if not failed:
        script.unlink(missing_ok=True)
        return
    with writing(folder):
        write_text(script, "".join(_script((run, error.message, command(run)) for run, error in failed)))
    first, error = failed[0]
    lines = [f"repeat it alone: {command(first)}"]
    if error.hint:
        lines.insert(0, error.hint)
    for run, other in failed[1:_SHOWN_FAILURES]:
        lines.append(f"also failed: {run.label}: {other.message}\n        {command(run)}")
    if len(failed) > _SHOWN_FAILURES:
        lines.append(f"and {len(failed) - _SHOWN_FAILURES} more: {script} has the commands of all")
    count = f"{len(failed)} of {len(done)} runs failed, the first being " if len(done) > 1 else ""
    raise type(error)(f"{count}{first.label}: {error.message}", hint="\n  ".join(lines))


def repeating(file: Path, changes: Iterable[str], failed: Run) -> str:
    """The command that repeats one run alone; ``changes`` as ``--set`` takes them."""
    words = ["mptcplab", "run", str(file), "--seed", str(failed.seed), "--repeats", "1"]
    for change in (*changes, *(f"{key}={value}" for key, value in failed.point.settings.items())):
        words += ["--set", change]
    return shlex.join(words)


def _script(failures: Iterable[tuple[Run, str, str]]) -> Iterable[str]:
    """A shell script; messages are comments, so they keep to one line."""
    yield "#!/bin/sh\n# Runs that failed: each line repeats one alone.\n"
    for run, message, command in failures:
        yield f"\n# {' '.join(f'{run.label}: {message}'.split())}\n{command}\n"
