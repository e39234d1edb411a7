# SPDX-License-Identifier: MIT
"""Fixed points of a fluid model for the scenarios in docs/behaviour.md.

A link drops every packet with the same probability, just large enough to keep the link exactly full. All users
have the same round-trip time. With loss p on its path, a TCP flow (Reno) has a window of sqrt(2/p) segments, and so
has each path of an uncoupled user. LIA (RFC 6356) gives its paths windows in proportion to 1/p, and in total as much
as TCP on the best path: sqrt(2/p_min). Rates are in multiples of one segment per round trip; only their
ratios to the capacities of links matter here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

Algorithm = Literal["uncoupled", "lia", "olia"]
Path = frozenset[str]
"""The links that limit a path."""


@dataclass(frozen=True)
class Users:
    """Users of one kind: all have the same paths."""

    number: int
    algorithm: Algorithm
    paths: tuple[Path, ...]


def path(*links: str) -> Path:
    """Return a path through these links."""
    return frozenset(links)


def fixed_point(kinds: Sequence[Users], capacities: Mapping[str, float]) -> list[list[float]]:
    """Return the rate of one user of each kind on each of its paths, in the unit of ``capacities``.

    :raises ValueError: when the model has no fixed point in which every link is full.
    """
    links = sorted(capacities)
    # Windows of some tens of segments, as in the scenarios: the unit of rates cancels, but its size has to be sensible.
    segment = max(capacities.values()) / (20 * sum(kind.number for kind in kinds))

    def rates(logarithms: NDArray[np.float64]) -> list[list[float]]:
        loss = dict(zip(links, np.exp(logarithms), strict=True))
        return [[segment * window for window in _windows(kind, loss)] for kind in kinds]

    def overload(logarithms: NDArray[np.float64], /) -> list[float]:
        load = dict.fromkeys(links, 0.0)
        for kind, windows in zip(kinds, rates(logarithms), strict=True):
            for links_of_path, rate in zip(kind.paths, windows, strict=True):
                for link in links_of_path:
                    load[link] += kind.number * rate
        return [load[link] / capacities[link] - 1 for link in links]

    solution = least_squares(overload, [math.log(0.005)] * len(links), bounds=(math.log(1e-9), 0))
    if max(map(abs, solution.fun)) > 1e-6:
        raise ValueError(f"no fixed point: loads differ from capacities by {list(solution.fun)}")
    return rates(solution.x)


def _windows(kind: Users, loss: Mapping[str, float]) -> list[float]:
    """Return the windows of one user, in segments. OLIA's are not a function of p: see rounds.py."""
    losses = [sum(loss[link] for link in links) for links in kind.paths]
    if kind.algorithm == "uncoupled":
        return [math.sqrt(2 / p) for p in losses]
    if kind.algorithm != "lia":
        raise ValueError(f"no fluid model of {kind.algorithm}")
    total, weight = math.sqrt(2 / min(losses)), sum(1 / p for p in losses)
    return [total / p / weight for p in losses]
