# SPDX-License-Identifier: MIT
"""Monte Carlo of OLIA's and Reno's equations in whole segments, for paths whose windows are a few segments.

In ``rounds.py`` windows are real numbers, and there are no timeouts. Here a window is a whole number of segments, as in
TCP: growth adds up as a fraction until it is a segment, up or down, and a loss discards the fraction. Time passes in
rounds of one round-trip time, the same on all paths. In each round a path sends its window, and every segment is lost
with the path's probability.

- A loss halves the window, down to the floor. The sender detects it one round later, when three later segments have
  arrived, or all of the round. Meanwhile it sends as before: these segments are *covered* by the loss, so that no loss
  among them halves the window again.
- Then lost segments are retransmitted. A lost retransmission is repeated in the next round, and does not halve the
  window. Until the last retransmission has arrived the window does not grow; afterwards it does, by the equations.
- A loss that fast retransmission cannot repair is repaired by a timeout: up to it the path is silent, and then has a
  window of one segment. A :class:`Silence` says which losses these are.

Left out: timeouts that double; slow start at the beginning; and any delay of acknowledgements. The code is independent
of the kernel and of ``rounds.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Algorithm = Literal["uncoupled", "olia"]

_CONNECTIONS, _ROUNDS, _WARM_UP, _START = 400, 3000, 500, 10
#: Segments after a lost one by whose arrival the sender notices the loss.
_DUPLICATES = 3


@dataclass(frozen=True)
class Silence:
    """The timeout, and the losses that only a timeout repairs.

    These are losses in a window ``below`` this number of segments, and always of everything that was in
    flight: ``below = 1`` leaves just these. ``rounds`` is the timeout in round-trip times, from the transmission on.
    It is at least 1; at 1 a path is never silent.
    """

    rounds: float
    below: int = 1


NONE = Silence(1)


@dataclass(frozen=True)
class Means:
    """Means over all connections and rounds, one for each path.

    ``rates`` are the segments that arrive in a round, and ``at_one`` is the part of the rounds, silent ones
    included, that begin with a window of one segment.
    """

    rates: Floats
    at_one: Floats


def simulate(
    algorithm: Algorithm,
    loss: Floats,
    *,
    floor: int,
    silence: Silence = NONE,
    connections: int = _CONNECTIONS,
    rounds: int = _ROUNDS,
    seed: int = 1,
) -> Means:
    """Return the means of connections whose paths lose segments with the probabilities ``loss``.

    ``floor`` is the smallest window, in segments, that a halving leaves. ``rounds`` include a warm-up of 500.
    With the default numbers the ratio of two paths' rates differs by up to 1 % between seeds (standard deviation).
    """
    state = _Connections(algorithm, loss[:, None], floor, silence, np.random.default_rng(seed), connections)
    arrived, at_one = np.zeros(len(loss)), np.zeros(len(loss))
    for number in range(rounds):
        window, of_round = state.window, state.advance()
        if number >= _WARM_UP:
            arrived += of_round.mean(axis=1)
            at_one += (window == 1).mean(axis=1)
    return Means(arrived / (rounds - _WARM_UP), at_one / (rounds - _WARM_UP))


@dataclass
class _Connections:
    """The state of all connections: arrays with a row for each path, and a column for each connection."""

    algorithm: Algorithm
    loss: Floats
    floor: int
    silence: Silence
    random: np.random.Generator
    number: int
    window: Integers = field(init=False)
    threshold: Integers = field(init=False)
    """Slow start ends at this window."""
    silent: Integers = field(init=False)
    """Rounds of silence that are left."""
    covered: Integers = field(init=False)
    """Segments that will be sent in the next round before the sender learns of the last loss."""
    repairs: Integers = field(init=False)
    """Lost segments that are not retransmitted yet."""
    fraction: Floats = field(init=False)
    """Growth that is less than a segment."""
    between: Floats = field(init=False)
    """Segments acknowledged between the last two losses."""
    since: Floats = field(init=False)
    """Segments acknowledged since the last loss."""

    def __post_init__(self) -> None:
        shape = (len(self.loss), self.number)
        self.window, self.threshold = np.full(shape, _START), np.full(shape, _START)
        self.silent, self.covered, self.repairs = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        self.fraction, self.between, self.since = (np.zeros(shape) for _ in range(3))

    def advance(self) -> Integers:
        """Simulate one round, and return the segments that arrive."""
        # Up to its detection each acknowledgement releases a segment, and then every second one, but one at least.
        after_loss = np.maximum(self.window + self.covered // 2, self.covered + np.minimum(self.repairs, 1))
        sent = np.where(self.silent > 0, 0, after_loss)
        early = np.minimum(self.covered, sent)
        retransmitted = np.minimum(self.repairs, sent - early)
        fresh = sent - early - retransmitted
        early_arrived, repaired = self._arrive(early), self._arrive(retransmitted)
        before = np.minimum(self.random.geometric(self.loss, sent.shape) - 1, fresh)
        after = self._arrive(np.maximum(fresh - before - 1, 0))
        arrived: Integers = early_arrived + repaired + before + after
        unrepaired = early + retransmitted - early_arrived - repaired
        nothing_arrives = (sent > 0) & (arrived == 0)
        lost = before < fresh
        timed_out = nothing_arrives | ((arrived < sent) & (self.window < self.silence.below))
        timed_out &= self.silence.rounds > 1

        self._grow(np.where(unrepaired > 0, 0, before))
        self._reduce(lost, timed_out)
        self.since += early_arrived + repaired + before
        self.between = np.where(lost, self.since, self.between)
        self.since = np.where(lost, 0, self.since) + after
        self.repairs += unrepaired - retransmitted + fresh - before - after
        self.covered = np.where(lost & ~timed_out, early + retransmitted + before + np.minimum(after, _DUPLICATES), 0)
        # Part of a round becomes a whole one as often as it has to.
        wait = np.floor(self.silence.rounds - 1 + self.random.random(sent.shape)).astype(np.int64)
        self.silent = np.where(timed_out, wait, np.maximum(self.silent - 1, 0))
        return arrived

    def _arrive(self, sent: Integers) -> Integers:
        arrived: Integers = self.random.binomial(sent, 1 - self.loss)
        return arrived

    def _grow(self, acked: Integers) -> None:
        """Grow by slow start below the threshold, else by the equations; a window that shrinks has at least 1."""
        starting = self.window < self.threshold
        increase = _increase(self.algorithm, self.window, np.maximum(self.between, self.since))
        self.fraction += np.where(starting, 0, increase * acked)
        steps = np.trunc(self.fraction).astype(np.int64)
        self.fraction -= steps
        avoiding = np.maximum(self.window + steps, 1)
        self.window = np.where(starting, np.minimum(self.window + acked, self.threshold), avoiding)
        # Or a window that shrank would be in slow start.
        self.threshold = np.where(starting, self.threshold, np.minimum(self.threshold, self.window))

    def _reduce(self, lost: NDArray[np.bool_], timed_out: NDArray[np.bool_]) -> None:
        half = np.maximum(self.window // 2, self.floor)
        self.threshold = np.where(lost, half, self.threshold)
        self.window = np.where(timed_out, 1, np.where(lost, half, self.window))
        self.fraction = np.where(lost, 0, self.fraction)


def _increase(algorithm: Algorithm, window: Integers, quality: Floats) -> Floats:
    """Return the growth in segments per acked segment."""
    if algorithm == "uncoupled":
        return np.asarray(1 / window)
    return np.asarray(window / window.sum(axis=0) ** 2 + _epsilon(window, quality) / window)


def _epsilon(window: Integers, quality: Floats) -> Floats:
    """Return OLIA's shift from the largest windows to the best of the other paths.

    The best have most segments between losses. Windows that differ by at most one segment are equal, as in the kernel.
    """
    paths = len(window)
    largest = window >= window.max(axis=0) - 1
    promoted = (quality >= quality.max(axis=0)) & ~largest
    some = promoted.sum(axis=0)
    gain, cost = 1 / (paths * np.maximum(some, 1)), 1 / (paths * largest.sum(axis=0))
    return np.where(promoted, gain, np.where(largest & (some > 0), -cost, 0.0))
