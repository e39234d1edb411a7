# SPDX-License-Identifier: MIT
"""How long a sweep will still take. Pure: nothing here looks at a clock.

Runs differ a thousandfold in what they cost, so a share of runs says little about a share of time. Every run counts
with what it is likely to cost: what runs of its point have cost, and before there are any, what is estimated, corrected
by how wrong the estimates of other points have been.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass
class _Kind:
    """Runs that cost about the same: those of one point."""

    guess: float
    left: int = 0
    done: int = 0
    spent: float = 0.0


class Forecast:
    """Wall seconds of a sweep, with ``jobs`` runs side by side. ``guesses`` are seconds of one run, by kind."""

    def __init__(self, guesses: Mapping[int, float], *, jobs: int) -> None:
        self._kinds = {kind: _Kind(guess) for kind, guess in guesses.items()}
        self._jobs = jobs

    def add(self, kind: int, runs: int = 1) -> None:
        """More runs are to come."""
        self._kinds[kind].left += runs

    def done(self, kind: int, seconds: float | None) -> None:
        """A run has ended. ``seconds`` None means that it was recorded already, and so says nothing of the cost."""
        found = self._kinds[kind]
        found.left -= 1
        if seconds is not None:
            found.done += 1
            found.spent += seconds

    @property
    def remaining_seconds(self) -> float:
        """From now to the end of the last run. Those under way count as not begun.

        Work cannot be spread over more jobs than runs are left, and no run is split.
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
        """Of the cost of all runs, recorded ones left out; 1 when nothing is left."""
        scale = self._scale()
        left = sum(self._cost(kind, scale) * kind.left for kind in self._kinds.values())
        spent = sum(kind.spent for kind in self._kinds.values())
        return spent / (spent + left) if left > 0 else 1.0

    def _scale(self) -> float:
        """What finished runs cost by what was guessed."""
        guessed = sum(kind.guess * kind.done for kind in self._kinds.values())
        spent = sum(kind.spent for kind in self._kinds.values())
        return spent / guessed if guessed > 0 and spent > 0 else 1.0

    @staticmethod
    def _cost(kind: _Kind, scale: float) -> float:
        return kind.spent / kind.done if kind.done else kind.guess * scale


def duration_text(seconds: float) -> str:
    """For people: ``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
