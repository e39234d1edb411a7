# SPDX-License-Identifier: MIT
"""A fluid model of users, paths and links: where a rule of congestion control comes to rest.

A window moves by its rule's increase for every segment and by its decrease for every lost one, so
dw/dt = x (increase - p decrease) with x = w/rtt. A link's loss p grows while more arrives than it carries; small losses
add along a path. There is no noise, no queue and no time-out: the model says what a rule means, not what a network
measures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tests.unit.coupled.reference import Path

Rule = Callable[[Sequence[Path], int], float]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class User:
    """`count` users of one kind, each with these paths; a path is the indices of the links that it crosses."""

    count: int
    paths: tuple[tuple[int, ...], ...]
    increase: Rule
    decrease: Rule


def _step_windows(
    increase: Rule, decrease: Rule, windows: Array, losses: Array, rtts: Sequence[float], step: float
) -> Array:
    """The windows a little later. Steps are relative, and in units that suit windows of any size."""
    paths = [Path(w, rtt, 1 / p) for w, rtt, p in zip(windows.tolist(), rtts, losses.tolist(), strict=True)]
    net = np.array([increase(paths, r) - losses[r] * decrease(paths, r) for r in range(len(paths))])
    moved: Array = windows * np.exp(step * np.clip(net * windows.sum(), -5, 5))
    return moved


def rest_with_losses(increase: Rule, decrease: Rule, losses: Sequence[float], rtts: Sequence[float] = ()) -> Array:
    """Where the windows of one user on paths of fixed loss come to rest, in segments; all RTTs are 1 unless given."""
    loss: Array = np.array(losses)
    windows: Array = np.sqrt(2 / loss)
    for _ in range(1500):
        windows = _step_windows(increase, decrease, windows, loss, rtts or [1] * len(losses), 0.05)
    return windows


def rest_with_links(users: Sequence[User], capacity: Sequence[float], steps: int = 4000) -> list[Array]:
    """Where all windows come to rest on links of these capacities in segments per RTT, all RTTs 1.

    They are means of the last quarter, because OLIA's best paths change places for ever.
    """
    room: Array = np.array(capacity, dtype=float)
    price: Array = np.full(len(room), 2 / room.mean() ** 2)
    windows: list[Array] = [np.full(len(user.paths), room.mean() / len(users)) for user in users]
    late = steps * 3 // 4
    total: list[Array] = [np.zeros(len(user.paths)) for user in users]
    for turn in range(steps):
        load = np.zeros(len(room))
        for user, of_user in zip(users, windows, strict=True):
            for path, window in zip(user.paths, of_user, strict=True):
                load[list(path)] += user.count * window
        price = price * np.exp(0.03 * np.clip((load - room) / room, -1, 1))
        for at, user in enumerate(users):
            losses = np.array([price[list(path)].sum() for path in user.paths])
            windows[at] = _step_windows(user.increase, user.decrease, windows[at], losses, [1] * len(losses), 0.03)
            if turn >= late:
                total[at] += windows[at]
    return [each / (steps - late) for each in total]
