# SPDX-License-Identifier: MIT
"""The remaining time of a sweep, forecast from estimates and from finished runs. Nothing here reads a clock.

The costs of runs differ by a factor of up to a thousand, so a share of runs says little about a share of time. Every
run counts with its expected cost: the cost of finished runs of its point or, before there are any, its estimate
corrected by the error of the estimates of other points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: The kind of the runs that are recorded already, which are only read.
READING = -1
_READING_SECONDS = 0.1


@dataclass
class _RunKind:
    """The runs of one point, which cost about the same."""

    guess: float
    known: bool = False
    left: int = 0
    done: int = 0
    spent: float = 0.0


class Forecast:
    """A forecast of wall seconds, with ``jobs`` parallel runs.

    ``guesses`` are estimated seconds per run, by kind. Runs of the kind :data:`READING` are only read.
    """

    def __init__(self, guesses: Mapping[int, float], *, jobs: int) -> None:
        self._kinds = {kind: _RunKind(guess) for kind, guess in guesses.items()}
        self._kinds[READING] = _RunKind(_READING_SECONDS, known=True)
        self._jobs = jobs

    def add(self, kind: int, runs: int = 1) -> None:
        """Add ``runs`` of one kind to the runs that are left."""
        self._kinds[kind].left += runs

    def count_done(self, kind: int, seconds: float | None) -> None:
        """Count a run as done. ``seconds`` is None for a run that was recorded before, whose cost is unknown."""
        run_kind = self._kinds[kind]
        run_kind.left -= 1
        if seconds is not None:
            run_kind.done += 1
            run_kind.spent += seconds

    @property
    def remaining_seconds(self) -> float:
        """The time from now to the end of the last run. Unfinished runs count as not begun.

        At most one job works on each remaining run.
        """
        scale = self._scale()
        costs = {name: self._cost(kind, scale) for name, kind in self._kinds.items() if kind.left > 0}
        runs = sum(kind.left for kind in self._kinds.values())
        if not runs:
            return 0.0
        work = sum(cost * self._kinds[name].left for name, cost in costs.items())
        return max(work / min(self._jobs, runs), max(costs.values()))

    @property
    def share_done(self) -> float:
        """The share of the cost of all runs, except recorded ones, that is done; 1 if no run is left."""
        scale = self._scale()
        left = sum(self._cost(kind, scale) * kind.left for kind in self._kinds.values())
        spent = sum(kind.spent for kind in self._kinds.values())
        return spent / (spent + left) if left > 0 else 1.0

    def _scale(self) -> float:
        """Return the ratio of the cost of finished runs to their estimates."""
        guesses = [kind for kind in self._kinds.values() if not kind.known]
        guessed = sum(kind.guess * kind.done for kind in guesses)
        spent = sum(kind.spent for kind in guesses)
        return spent / guessed if guessed > 0 and spent > 0 else 1.0

    @staticmethod
    def _cost(kind: _RunKind, scale: float) -> float:
        if kind.done:
            return kind.spent / kind.done
        return kind.guess if kind.known else kind.guess * scale
