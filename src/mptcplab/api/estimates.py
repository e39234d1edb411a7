# SPDX-License-Identifier: MIT
"""The cost of an experiment: time, disk space and memory, before anything is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mptcplab.engine.defaults import check_jobs, default_jobs
from mptcplab.engine.memory import available_memory, labs_at_once
from mptcplab.plan.estimate import estimate_bytes, estimate_seconds, memory_bytes
from mptcplab.plan.model import USUAL_MEMORY_BYTES
from mptcplab.scenario.load import Experiment


@dataclass(frozen=True)
class ExperimentEstimate:
    """The cost of an experiment's runs on this machine, if it is idle and nothing is recorded yet.

    ``seconds`` is wall time with ``jobs`` labs in parallel, ``bytes`` disk space. ``lab_memory_bytes`` is the memory of
    the largest lab. ``seconds`` and ``bytes`` may be wrong by a factor of three.
    """

    seconds: float
    bytes: float
    lab_memory_bytes: int
    jobs: int

    @property
    def has_usual_memory(self) -> bool:
        """True if the largest lab has the memory of a lab whose scenario asks for no more."""
        return self.lab_memory_bytes == USUAL_MEMORY_BYTES


def estimate(experiment: Experiment, *, jobs: int | None = None) -> ExperimentEstimate:
    """Return what the runs of an experiment take.

    ``jobs`` is the number of labs in parallel, by default one for each CPU. Fewer run if memory is short.

    :raises InputError: if ``jobs`` is less than 1.
    """
    check_jobs(jobs)
    seconds = sum(estimate_seconds(point.scenario) for point in experiment.points) * experiment.repeats
    size = sum(estimate_bytes(point.scenario) for point in experiment.points) * experiment.repeats
    memory = max(memory_bytes(point.scenario) for point in experiment.points)
    labs = labs_at_once(memory, jobs or default_jobs(), available_memory())
    return ExperimentEstimate(seconds / min(labs, len(experiment.runs)), size, memory, labs)


def describe(experiment: Experiment) -> dict[str, Any]:
    """Return the JSON document of ``mptcplab show --json``: every point with all keys, seeds, and the estimate."""
    needed = estimate(experiment)
    return {
        "title": experiment.title,
        "question": experiment.question,
        "file": str(experiment.file),
        "repeats": experiment.repeats,
        "until": experiment.until.model_dump(mode="json") if experiment.until else None,
        "seeds": [experiment.seed + repeat for repeat in range(experiment.repeats)],
        "runs": len(experiment.runs),
        "estimate_seconds": round(needed.seconds, 1),
        "estimate_bytes": round(needed.bytes),
        "lab_memory_bytes": needed.lab_memory_bytes,
        "points": [
            {"settings": point.settings, "scenario": point.scenario.model_dump(mode="json", by_alias=True)}
            for point in experiment.points
        ],
        "unavailable": [
            {"settings": unavailable.settings, "reason": unavailable.reason} for unavailable in experiment.unavailable
        ],
    }
