# SPDX-License-Identifier: MIT
"""Selects the runs of a sweep, and further runs of points whose results are not yet certain enough.

Every point has its own rounds: after the last run of a round, the point's interval decides whether another round
follows. That depends only on results, not on the order in which runs end. Therefore a file gives the same runs with any
number of jobs, and after any interruption.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest

from mptcplab.campaign.lab import CompletedRun, key_of
from mptcplab.metrics.rows import RunResult, rows_of
from mptcplab.scenario.load import Experiment, Run, SweepPoint


class RunList:
    """Given runs, without further rounds of their points."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = list(runs)

    @property
    def points(self) -> list[SweepPoint]:
        """The points of the runs."""
        return list({id(run.point): run.point for run in self._runs}.values())

    def first(self) -> list[Run]:
        """Return all runs."""
        return self._runs

    def plan_next_round(self, done: CompletedRun) -> list[Run]:  # noqa: ARG002  as of Rounds
        """Return no further run."""
        return []

    def sorted_runs(self, done: Iterable[CompletedRun]) -> list[CompletedRun]:
        """Return the runs in the order in which they were given."""
        order = {key_of(run): number for number, run in enumerate(self._runs)}
        return sorted(done, key=lambda completed: order[key_of(completed.run)])


@dataclass
class _PointState:
    """One point: the number of runs requested so far, and the results of the finished runs, by repeat."""

    point: SweepPoint
    requested: int = 0
    results: dict[int, RunResult | None] = field(default_factory=dict)


class Rounds:
    """The runs of ``points``, by default of all points of ``experiment``."""

    def __init__(self, experiment: Experiment, points: Sequence[SweepPoint] | None = None) -> None:
        self.experiment = experiment
        chosen = experiment.points if points is None else points
        self._states = {id(point): _PointState(point) for point in chosen}

    @property
    def points(self) -> list[SweepPoint]:
        """The points in the order of the sweep."""
        return [state.point for state in self._states.values()]

    @property
    def max_runs(self) -> int:
        """The maximum number of runs."""
        return len(self._states) * self.experiment.repeats

    def first(self) -> list[Run]:
        """Return the first round of every point: all points with the first seed, then with the next.

        Thus partial results cover the whole sweep, and the cost of each point's runs is soon known.
        """
        return list(self._first)

    @cached_property
    def _first(self) -> list[Run]:
        return [
            run
            for seed in zip_longest(*map(self._next_round, self._states.values()))
            for run in seed
            if run is not None
        ]

    def plan_next_round(self, done: CompletedRun) -> list[Run]:
        """Return the next round of a point if ``done`` ended a round and the result is not certain enough.

        A point with a failed run gets no further round.
        """
        state = self._states[id(done.run.point)]
        state.results[done.run.repeat] = done.result
        if self.experiment.until is None or len(state.results) < state.requested:
            return []
        results = [state.results[repeat] for repeat in range(state.requested)]
        good = [result for result in results if result is not None]
        return [] if len(good) < len(results) or self._is_certain(good) else self._next_round(state)

    def sorted_runs(self, done: Iterable[CompletedRun]) -> list[CompletedRun]:
        """Return the runs by point, and by seed within each, as if they had been executed one after the other."""
        order = {place: number for number, place in enumerate(self._states)}
        return sorted(done, key=lambda run: (order[id(run.run.point)], run.run.repeat))

    def count_uncertain(self) -> int:
        """Return how many points reached the maximum number of runs without being certain enough."""
        if self.experiment.until is None:
            return 0
        full = [
            list(state.results.values())
            for state in self._states.values()
            if state.requested == self.experiment.repeats
        ]
        return sum(
            not self._is_certain([run_result for run_result in results if run_result is not None]) for results in full
        )

    def _next_round(self, state: _PointState) -> list[Run]:
        until, before = self.experiment.until, state.requested
        state.requested = self.experiment.repeats if until is None else until.next_total(before)
        return self.runs_of(state.point, before, state.requested)

    def runs_of(self, point: SweepPoint, first: int, end: int) -> list[Run]:
        """Return the repeats from ``first`` up to, but not including, ``end`` of one point."""
        return self.experiment.runs_of(point, first, end)

    def _is_certain(self, results: Iterable[RunResult]) -> bool:
        """Return whether the interval of every workload is narrow enough."""
        until = self.experiment.until
        assert until is not None
        intervals = [row.metrics.get(until.metric) for row in rows_of(results)]
        # More runs do not help a workload that lacks the metric, such as UDP, which has no retransmissions.
        return all(interval.is_within(until.share) for interval in intervals if interval is not None)
