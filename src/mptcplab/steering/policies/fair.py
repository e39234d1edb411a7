# SPDX-License-Identifier: MIT
"""Max-min fair shares by counting: as few terminals as can be at the most crowded access point.

Terminals of one access point of 802.11 share its air about equally, so that a terminal's share is one by the number of
terminals there. The shares are max-min fair if no chain of moves leads from an access point to one with at least two
terminals less (Harvey et al., "Semi-matchings for bipartite graphs and load balancing", 2003). In each period the
policy makes the shortest such chain from the most crowded access point, so that the smallest share grows or fewer
terminals have it.

Hysteresis: counts of terminals do not depend on how much they just received. A terminal moves again only after
``hold_ns``; a move needs a signal that is better than the floor by ``margin_db``. A terminal whose active access point
hears it below the floor moves at once to the one with the fewest terminals that hears it well enough. So there are at
most as many moves in a period as access points, besides moves of terminals that would lose their connection.
"""

from __future__ import annotations

from mptcplab.steering.policy import Move, Policy, State, Terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from mptcplab.steering.tables import ConfigurationTable

_NS = 1_000_000_000
_HOUR_S = 3600.0


class Fair(Policy):
    """The policy for any number of access points."""

    name = "fair"
    keys = ("margin_db", "hold_s")

    def __init__(self, floor_dbm: float, margin_db: float, hold_ns: int) -> None:
        super().__init__(floor_dbm)
        self._margin_db, self._hold_ns = margin_db, hold_ns
        self._moved_ns: dict[str, int] = {}

    @classmethod
    def read(cls, table: ConfigurationTable, floor_dbm: float, seed: int) -> Self:  # noqa: ARG003
        """See the base class."""
        return cls(floor_dbm, table.number("margin_db", 0, 40, 3), round(_NS * table.number("hold_s", 0, _HOUR_S, 5)))

    def decide(self, state: State) -> list[Move]:
        """See the base class."""
        # Access points that do not report are not counted, and no terminal moves there.
        counts = {name: len(state.terminals_at(name)) for name in state.received}
        names = {terminal.name for terminal in state.terminals}
        self._moved_ns = {name: at_ns for name, at_ns in self._moved_ns.items() if name in names}
        moves: list[Move] = []
        for search in (self._rescue, self._balance):
            new = list(search(state, counts))
            self._moved_ns |= {move.terminal: state.now_ns for move in new}
            moves += new
        return moves

    def _rescue(self, state: State, counts: dict[str, int]) -> Iterator[Move]:
        """Yield moves of terminals that their access point hardly hears."""
        for terminal in state.terminals:
            rssi = terminal.rssi_dbm.get(terminal.active)
            if rssi is None or rssi > self.floor_dbm:
                continue
            fit = [name for name in counts if name != terminal.active and self._fits(terminal, name)]
            if fit:
                to = min(fit, key=lambda name: (counts[name], name))
                if terminal.active in counts:
                    counts[terminal.active] -= 1
                counts[to] += 1
                yield Move(terminal.name, to)

    def _balance(self, state: State, counts: dict[str, int]) -> list[Move]:
        """Return the moves of the shortest chain that makes the most crowded access point less so."""
        for crowded in sorted(counts, key=lambda name: (-counts[name], name)):
            chain = self._chain(state, counts, crowded)
            if chain:
                return chain
        return []

    def _chain(self, state: State, counts: dict[str, int], start: str) -> list[Move]:
        """Return a chain of moves from ``start`` to an access point with at least two terminals less; breadth first."""
        chains: dict[str, list[Move]] = {start: []}
        queue = [start]
        for here in queue:
            for to in sorted(counts, key=lambda name: (counts[name], name)):
                if to in chains:
                    continue
                candidate = self._candidate(state, here, to)
                if candidate is None:
                    continue
                chains[to] = [*chains[here], Move(candidate.name, to)]
                if counts[to] <= counts[start] - 2:
                    return chains[to]
                queue.append(to)
        return []

    def _candidate(self, state: State, here: str, to: str) -> Terminal | None:
        """Return the terminal of an access point that another one hears best; None if none may move there."""
        fit = [
            terminal
            for terminal in state.terminals_at(here)
            if self._fits(terminal, to) and self._is_free(terminal, state.now_ns)
        ]
        return max(fit, key=lambda terminal: (terminal.rssi_dbm[to] or 0, terminal.name), default=None)

    def _fits(self, terminal: Terminal, access_point: str) -> bool:
        return terminal.hears_one_of(access_point, self.floor_dbm + self._margin_db)

    def _is_free(self, terminal: Terminal, now_ns: int) -> bool:
        at_ns = self._moved_ns.get(terminal.name)
        return at_ns is None or now_ns - at_ns >= self._hold_ns
