# SPDX-License-Identifier: MIT
"""Which runs a sweep makes, and which more when a point's result is not yet certain enough.

Every point goes on by itself, in rounds: when the last run of a round is done, its interval decides whether there is
another one. That depends on results only, not on the order in which runs end, so the same file makes the same runs with
any number of jobs, and after any interruption.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from mptcplab.campaign.lab import CompletedRun
from mptcplab.metrics.rows import RunResult, rows_of
from mptcplab.scenario.load import Experiment, Point, Run


@dataclass
class _State:
    """One point: how many runs were asked for, and what came of those that are done, by repeat."""

    point: Point
    asked: int = 0
    results: dict[int, RunResult | None] = field(default_factory=dict)


class Rounds:
    """The runs of ``points``, all of ``experiment``'s by default."""

    def __init__(self, experiment: Experiment, points: Sequence[Point] | None = None) -> None:
        self.experiment = experiment
        chosen = experiment.points if points is None else points
        self._states = {id(point): _State(point) for point in chosen}

    @property
    def points(self) -> list[Point]:
        """In the order of the sweep."""
        return [state.point for state in self._states.values()]

    @property
    def max_runs(self) -> int:
        """The maximum number of runs."""
        return len(self._states) * self.experiment.repeats

    def first(self) -> list[Run]:
        """What every point begins with: all points with the first seed, then with the next.

        So what is there so far is about the whole sweep, and it is soon known what the runs of each point cost.
        """
        return [run for seed in zip_longest(*map(self._ask, self._states.values())) for run in seed if run is not None]

    def after(self, done: CompletedRun) -> list[Run]:
        """The next round of a point, when ``done`` was the last of a round and the result is not certain enough.

        A point with a failed run gets no more.
        """
        state = self._states[id(done.run.point)]
        state.results[done.run.repeat] = done.result
        if self.experiment.until is None or len(state.results) < state.asked:
            return []
        results = [state.results[repeat] for repeat in range(state.asked)]
        good = [result for result in results if result is not None]
        return [] if len(good) < len(results) or self._is_certain(good) else self._ask(state)

    def ordered(self, done: Iterable[CompletedRun]) -> list[CompletedRun]:
        """By point, and by seed within each: as if one run had been made after the other."""
        order = {place: number for number, place in enumerate(self._states)}
        return sorted(done, key=lambda one: (order[id(one.run.point)], one.run.repeat))

    def uncertain(self) -> int:
        """How many points ended because the cap was reached."""
        if self.experiment.until is None:
            return 0
        full = [
            list(state.results.values()) for state in self._states.values() if state.asked == self.experiment.repeats
        ]
        return sum(not self._is_certain([one for one in results if one is not None]) for results in full)

    def _ask(self, state: _State) -> list[Run]:
        until, before = self.experiment.until, state.asked
        state.asked = self.experiment.repeats if until is None else until.next_total(before)
        return self.experiment.runs_of(state.point, before, state.asked)

    def _is_certain(self, results: Iterable[RunResult]) -> bool:
        """Whether the interval of every workload is narrow enough."""
        until = self.experiment.until
        assert until is not None
        intervals = [row.metrics.get(until.metric) for row in rows_of(results)]
        # A workload that has no such metric, as UDP has no retransmissions, does not get it from more runs.
        return all(one.is_within(until.share) for one in intervals if one is not None)
