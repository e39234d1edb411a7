# SPDX-License-Identifier: MIT
"""Simulation of Reno, LIA and OLIA by their equations with random losses, without any code of the kernel.

The fluid model knows the loss probability of every path. A sender does not: OLIA estimates it from the distance of two
losses, whose deviation is as large as its mean. So here users have windows that change in rounds of one round-trip
time. In each round a path loses with probability 1 - (1 - p)^w, and then halves its window; otherwise it grows by the
equations. Users affect each other only through p, which is just large enough to keep every link full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from tools.docs.figures.fluid import Algorithm, Users

Array = NDArray[np.float64]
_USERS, _ROUNDS, _WARM_UP, _STEPS = 100, 1500, 500, 45


def fixed_point(
    kinds: Sequence[Users], capacities: Mapping[str, float], segment: float, *, knows_loss: bool = False
) -> list[list[float]]:
    """Return the rate of one user of each kind on each path. ``segment`` is one segment per round trip as a rate.

    The last third of the steps is averaged; each has its own random numbers. For ``knows_loss`` see :func:`windows`.
    """
    links = sorted(capacities)
    logarithms = np.full(len(links), np.log(0.004))
    kept: list[list[list[float]]] = []
    for step in range(_STEPS):
        loss = dict(zip(links, np.exp(logarithms), strict=True))
        rates = [_rates(kind, loss, segment, seed=step, knows_loss=knows_loss) for kind in kinds]
        load = dict.fromkeys(links, 0.0)
        for kind, of_kind in zip(kinds, rates, strict=True):
            for path, rate in zip(kind.paths, of_kind, strict=True):
                for link in path:
                    load[link] += kind.number * rate
        pace = 1.0 if step < _STEPS // 2 else 0.4
        logarithms += pace * np.array([load[link] / capacities[link] - 1 for link in links])
        if step >= _STEPS * 2 // 3:
            kept.append(rates)
    return [[float(np.mean(values)) for values in zip(*of_kind, strict=True)] for of_kind in zip(*kept, strict=True)]


def _rates(kind: Users, loss: Mapping[str, float], segment: float, *, seed: int, knows_loss: bool) -> list[float]:
    probabilities = np.array([1 - np.prod([1 - loss[link] for link in path]) for path in kind.paths])
    means = windows(kind.algorithm, probabilities, seed=seed, knows_loss=knows_loss)
    return [float(segment * window) for window in means]


def windows(
    algorithm: Algorithm,
    loss: Array,
    *,
    ticks: Array | None = None,
    seed: int = 1,
    rounds: int = _ROUNDS,
    knows_loss: bool = False,
) -> Array:
    """Return the mean window on each path, in segments.

    ``ticks`` are the paths' round-trip times, whole numbers in any unit; ``rounds`` are counted in the same unit.
    With ``knows_loss``, OLIA uses 1/p of every path instead of the data sent between losses.
    """
    random = np.random.default_rng(seed)
    shape = (len(loss), _USERS)
    # OLIA's smallest window is one segment if there are several paths; Reno's and LIA's are two.
    smallest = 1 if algorithm == "olia" and len(loss) > 1 else 2
    rtt = np.ones((len(loss), 1)) if ticks is None else ticks[:, None]
    window, previous, since, total = np.full(shape, 10.0), np.zeros(shape), np.zeros(shape), np.zeros(len(loss))
    for number in range(rounds):
        ends = number % rtt == 0
        sent = np.where(ends, np.floor(window), 0)
        between = np.broadcast_to(1 / loss[:, None], shape) if knows_loss else np.maximum(previous, since)
        growth = _growth(algorithm, window, rtt, between)
        lost = random.random(shape) < 1 - (1 - loss[:, None]) ** sent
        if number >= _WARM_UP:
            total += np.floor(window).mean(axis=1)
        window = np.where(lost, np.maximum(window / 2, smallest), np.maximum(window + growth * sent, 1))
        since += sent
        previous, since = np.where(lost, since, previous), np.where(lost, 0, since)
    return total / (rounds - _WARM_UP)


def _growth(algorithm: Algorithm, window: Array, rtt: Array, between_losses: Array) -> Array:
    """Return the growth in segments per acked segment."""
    squared = (window / rtt).sum(axis=0) ** 2
    if algorithm == "uncoupled":
        return np.asarray(1 / window)
    if algorithm == "lia":
        return np.asarray(np.minimum((window / rtt**2).max(axis=0) / squared, 1 / window))
    return np.asarray(window / rtt**2 / squared + _epsilon(window, between_losses / rtt**2) / window)


def _epsilon(window: Array, quality: Array) -> Array:
    """Return OLIA's shift from the paths with the largest window to the best paths with smaller windows."""
    largest = np.floor(window) >= np.floor(window).max(axis=0) - 1
    best = quality >= quality.max(axis=0)
    promoted = best & ~largest
    some = promoted.sum(axis=0)
    gain = 1 / (len(window) * np.maximum(some, 1))
    cost = 1 / (len(window) * largest.sum(axis=0))
    return np.where(promoted, gain, np.where(largest & (some > 0), -cost, 0.0))
