# SPDX-License-Identifier: MIT
"""The difference of two machines' clocks, from questions over a connection whose delay is not known.

A question is asked at ``asked_ns`` and its answer arrives at ``heard_ns`` on our clock. The machine read its own clock,
``there_ns``, at some instant between. So their difference lies within an interval as long as the round trip. While two
oscillators drift little, all questions of a moment share one difference, which lies in all their intervals.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

#: Questions within this time share a difference: at 100 ppm, the usual limit of oscillators, they drift by 0.05 ms.
_MOMENT_NS = 500_000_000
#: Moments of each half of a run among which the best are searched.
_COMPARED = 50


@dataclass(frozen=True)
class Answer:
    """One question: when it was asked and answered on our clock, and the other clock between."""

    asked_ns: int
    heard_ns: int
    there_ns: int


@dataclass(frozen=True)
class Offset:
    """The other clock less ours at ``at_ns``, on our clock: ``offset_ns``, plus or minus ``error_ns``."""

    at_ns: int
    offset_ns: int
    error_ns: int


@dataclass
class Clock:
    """Another machine's clock, relative to ours, from everything that was asked so far."""

    answers: list[Answer] = field(default_factory=list)

    def add(self, answer: Answer) -> None:
        """Use one more answer."""
        self.answers.append(answer)

    def offsets(self) -> list[Offset]:
        """Return the difference at each moment with questions, in order."""
        moments: list[list[Answer]] = []
        for answer in sorted(self.answers, key=lambda answer: answer.asked_ns):
            if moments and answer.heard_ns - moments[-1][0].asked_ns <= _MOMENT_NS:
                moments[-1].append(answer)
            else:
                moments.append([answer])
        return [_offset(moment) for moment in moments]

    def to_our_clock(self) -> Translation:
        """Return the translation from the other clock to ours. At least one question has been answered."""
        return Translation(self.offsets())


def _offset(answers: Sequence[Answer]) -> Offset:
    low = max(answer.there_ns - answer.heard_ns for answer in answers)
    high = min(answer.there_ns - answer.asked_ns for answer in answers)
    if low > high:  # a clock was set back or a machine slept between: the best single answer remains
        best = min(answers, key=lambda answer: answer.heard_ns - answer.asked_ns)
        low, high = best.there_ns - best.heard_ns, best.there_ns - best.asked_ns
    middle = (low + high) // 2
    return Offset(
        sum(answer.asked_ns + answer.heard_ns for answer in answers) // (2 * len(answers)),
        middle,
        high - middle,
    )


class Translation:
    """Translates instants of another clock to ours, by a line through the differences at two moments.

    The moments are those with which the error stays smallest from the first moment to the last.
    """

    def __init__(self, offsets: Sequence[Offset]) -> None:
        half = max(1, len(offsets) // 2)
        early, late = _select_offsets(offsets[:half]), _select_offsets(offsets[half:] or offsets)
        self._ends = (offsets[0].at_ns, offsets[-1].at_ns)
        self._offsets = offsets
        self._first, self._last = min(itertools.product(early, late), key=self._error_of)
        self.error_ns = self._error_of((self._first, self._last))
        """The largest error between the first moment and the last.

        It holds whatever the delays of the connection were, if the clocks drift evenly and do not jump.
        """

    def _error_of(self, pair: tuple[Offset, Offset]) -> int:
        first, last = pair
        span = last.at_ns - first.at_ns
        if span <= 0:
            return first.error_ns
        parts = [(at - first.at_ns) / span for at in self._ends]
        return math.ceil(max(abs(1 - part) * first.error_ns + abs(part) * last.error_ns for part in parts))

    @property
    def is_consistent(self) -> bool:
        """Whether every moment's interval has a point within the stated error: if not, a clock has jumped."""
        return all(
            abs(self._offset_at(offset.at_ns) - offset.offset_ns) <= offset.error_ns + self.error_ns
            for offset in self._offsets
        )

    @property
    def drift_ppm(self) -> float:
        """How much faster the other clock runs, in parts per million; 0 if there was one moment."""
        span = self._last.at_ns - self._first.at_ns
        return (self._last.offset_ns - self._first.offset_ns) / span * 1e6 if span > 0 else 0.0

    @property
    def offset_ns(self) -> int:
        """The other clock less ours, at the first moment."""
        return self._offset_at(self._ends[0])

    def _offset_at(self, here_ns: int) -> int:
        span = self._last.at_ns - self._first.at_ns
        if span <= 0:
            return self._first.offset_ns
        change = self._last.offset_ns - self._first.offset_ns
        return self._first.offset_ns + change * (here_ns - self._first.at_ns) // span

    def to_here(self, there_ns: int) -> int:
        """Return our clock's instant of ``there_ns`` on the other."""
        # The drift is below one part in a thousand, so each step comes a thousand times nearer.
        estimate = there_ns - self._first.offset_ns
        for _ in range(2):
            estimate = there_ns - self._offset_at(estimate)
        return estimate


def _select_offsets(offsets: Sequence[Offset]) -> list[Offset]:
    """Return the moments with the smallest errors, and both ends."""
    chosen = sorted(offsets, key=lambda offset: offset.error_ns)[:_COMPARED]
    return [*chosen, offsets[0], offsets[-1]]
