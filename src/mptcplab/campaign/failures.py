# SPDX-License-Identifier: MIT
"""One report for the failures of many runs, and the commands that repeat runs or get what runs lack."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.files import report_write_errors, write_text

if TYPE_CHECKING:
    from mptcplab.campaign.lab import CompletedRun
    from mptcplab.scenario.load import Run

_MAX_FAILURES = 10
FAILED_FILE = "failed.sh"


def check_failures(
    done: Sequence[CompletedRun], command: Callable[[Run], str], folder: Path, *, name: str = FAILED_FILE
) -> None:
    """Write the commands that repeat failed runs to FOLDER/NAME, or remove that file if none failed.

    :raises LabError: if a run failed; it names the failed runs and the command that repeats each.
    """
    failed = [(completed_run.run, completed_run.error) for completed_run in done if completed_run.error is not None]
    script = folder / name
    if not failed:
        script.unlink(missing_ok=True)
        return
    with report_write_errors(folder):
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


def install_command(
    names: Iterable[str], changes: Iterable[str] = (), *, engine: str = DEFAULT_ENGINE, beds: int | None = None
) -> str:
    """Return the command that gets what this machine lacks for the scenario files and tables ``names``."""
    words = ["mptcplab", "doctor"]
    for name in names:
        words += ["--for", name]
    for change in changes:
        words += ["--set", change]
    words += ["--engine", engine] if engine != DEFAULT_ENGINE else []
    words += ["--beds", str(beds)] if beds is not None else []
    return shlex.join([*words, "--install"])


def _script(failures: Iterable[tuple[Run, str, str]]) -> Iterable[str]:
    """Yield the parts of a shell script. Messages become comments of one line each."""
    yield "#!/bin/sh\n# Failed runs: each command repeats one of them.\n"
    for run, message, command in failures:
        yield f"\n# {' '.join(f'{run.label}: {message}'.split())}\n{command}\n"
