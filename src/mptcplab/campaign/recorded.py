# SPDX-License-Identifier: MIT
"""Which runs a results folder has already, made with the present kernel and programs, and what others will cost.

Nothing is executed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from mptcplab.campaign.record import Engines, prepare_engines, prepare_job
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.recording.record import is_complete
from mptcplab.scenario.load import Run, sum_estimates

#: A run of an experiment: its point's id, and its repeat.
RunKey = tuple[int, int]


def key_of(run: Run) -> RunKey:
    """Return the key of a run; it holds as long as the run's point exists."""
    return id(run.point), run.repeat


def names_by_key(runs: Sequence[Run], engines: Engines, folder: Path) -> dict[RunKey, str]:
    """Return the name of the recording of each of ``runs`` that ``folder`` has.

    :raises MissingError: when this machine lacks a program.
    """
    if not (folder / "runs").is_dir():
        return {}
    # An identity takes a hundredth of a second, so do not compute them in vain for a new folder.
    names = ((run, prepare_job(run, engines).identity.name) for run in runs)
    return {key_of(run): name for run, name in names if is_complete(folder / "runs" / name)}


def missing_runs(runs: Sequence[Run], folder: Path) -> list[Run]:
    """Return the ``runs`` that ``folder`` lacks.

    :raises MissingError: when this machine lacks the kernel or a program.
    """
    engines = prepare_engines(runs)
    recorded = names_by_key(runs, engines, folder)
    if not recorded:
        for run in runs[:1]:
            prepare_job(run, engines)  # a missing program is reported with the first run
    return [run for run in runs if key_of(run) not in recorded]


def cpu_seconds(runs: Iterable[Run]) -> float:
    """Return roughly what ``runs`` cost on one CPU."""
    return sum_estimates(runs, estimate_seconds)
