# SPDX-License-Identifier: MIT
"""Algorithm 1 of Asakura et al. 2019: move one terminal from the access point that received most to the one that least.

If the bytes that the first received are more than ``threshold`` times those of the other, one of its terminals that the
other hears above the floor is moved, drawn at random. The study has two access points. With more, these are the most
and the least crowded one; if the least crowded one hears no terminal, the next one.
"""

from __future__ import annotations

from random import Random

from mptcplab.steering.policy import Move, Policy, State


class Ratio(Policy):
    """Algorithm 1 with its threshold T."""

    def __init__(self, floor_dbm: float, threshold: float, seed: int) -> None:
        super().__init__(floor_dbm)
        self._threshold, self._random = threshold, Random(f"ratio {seed}")

    def decide(self, state: State) -> list[Move]:
        """See the base class."""
        ranked = sorted(state.received, key=lambda name: (state.received[name], name))
        if len(ranked) < 2:
            return []
        crowded = ranked[-1]
        for free in ranked[:-1]:
            if state.received[crowded] <= self._threshold * state.received[free]:
                return []
            fit = [one for one in state.of(crowded) if one.hears(free, self.floor_dbm)]
            if fit:
                return [Move(self._random.choice(fit).name, free)]
        return []
