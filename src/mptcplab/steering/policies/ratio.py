# SPDX-License-Identifier: MIT
"""Algorithm 1 of Asakura et al. 2019: move one terminal from the access point that received
the most bytes to the access point that received the fewest.

If the bytes that the first received are more than ``threshold`` times the other's, one of its terminals that the
other hears above the floor is moved. The study does not say which one: ``pick`` is ``random``, or ``strongest``
(the terminal that the other hears best). The study has two access points. With more, these are the most and the least
crowded one; if the least crowded one hears no terminal, the next one.
"""

from __future__ import annotations

from random import Random

from mptcplab.steering.policy import Move, Policy, State, Terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from mptcplab.steering.tables import ConfigurationTable

PICKS = ("random", "strongest")


class Ratio(Policy):
    """Algorithm 1 with its threshold T."""

    name = "ratio"
    keys = ("threshold", "pick")

    def __init__(self, floor_dbm: float, threshold: float, seed: int, pick: str = "random") -> None:
        super().__init__(floor_dbm)
        self._threshold, self._pick, self._random = threshold, pick, Random(f"ratio {seed}")

    @classmethod
    def read(cls, table: ConfigurationTable, floor_dbm: float, seed: int) -> Self:
        """See the base class."""
        return cls(floor_dbm, table.number("threshold", 1, 1000), seed, table.choice("pick", PICKS, "random"))

    def decide(self, state: State) -> list[Move]:
        """See the base class."""
        ranked = sorted(state.received, key=lambda name: (state.received[name], name))
        if len(ranked) < 2:
            return []
        crowded = ranked[-1]
        for free in ranked[:-1]:
            if state.received[crowded] <= self._threshold * state.received[free]:
                return []
            fit = [terminal for terminal in state.terminals_at(crowded) if terminal.hears_one_of(free, self.floor_dbm)]
            if fit:
                return [Move(self._pick_terminal(fit, free).name, free)]
        return []

    def _pick_terminal(self, fit: Sequence[Terminal], free: str) -> Terminal:
        if self._pick == "strongest":
            return max(fit, key=lambda terminal: (terminal.rssi_dbm[free] or 0, terminal.name))
        return self._random.choice(fit)
