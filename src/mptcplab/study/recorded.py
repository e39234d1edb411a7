# SPDX-License-Identifier: MIT
"""Which runs of a table are recorded already, and what the others will cost. Nothing is executed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from mptcplab.campaign.record import prepare_engines, prepare_job
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.recording.record import is_complete
from mptcplab.scenario.load import Run


def unrecorded(runs: Sequence[Run], folder: Path) -> list[Run]:
    """Those of ``runs`` that the results folder does not have, made with the present kernel and programs.

    :raises MissingError: when this machine lacks the kernel or a program.
    """
    engines = prepare_engines(runs)
    # An identity takes a hundredth of a second, so that it is not asked for in vain; one tells whether programs lack.
    looked_at = runs if (folder / "runs").is_dir() else runs[:1]
    found = []
    for run in looked_at:
        identity = prepare_job(run, engines).identity
        if not is_complete(folder / "runs" / identity.name):
            found.append(run)
    return [*found, *runs[len(looked_at) :]]


def cpu_seconds(runs: Iterable[Run]) -> float:
    """Roughly, on one CPU."""
    guesses: dict[int, float] = {}
    total = 0.0
    for run in runs:
        if id(run.point) not in guesses:
            guesses[id(run.point)] = estimate_seconds(run.point.scenario)
        total += guesses[id(run.point)]
    return total
