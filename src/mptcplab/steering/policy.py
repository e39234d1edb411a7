# SPDX-License-Identifier: MIT
"""What a policy knows and returns. A policy is a module beside this one; :mod:`mptcplab.steering.registry` has all."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Terminal:
    """A terminal: its name, the access point of its active subflow, and the RSSI at each that it has a subflow over.

    An RSSI is that of the terminal at the access point in dBm, None where the agent does not know it.
    """

    def __init__(self, name: str, active: str, rssi_dbm: Mapping[str, int | None]) -> None:
        self.name, self.active, self.rssi_dbm = name, active, rssi_dbm

    def hears(self, access_point: str, floor_dbm: float) -> bool:
        """Return whether an access point of one of its subflows hears it above a signal. An unknown one suffices."""
        if access_point not in self.rssi_dbm:
            return False
        rssi = self.rssi_dbm[access_point]
        return rssi is None or rssi > floor_dbm


class State:
    """The network in the period before a decision: bytes that each access point received, and the terminals."""

    def __init__(self, now_ns: int, received: Mapping[str, int], terminals: Sequence[Terminal]) -> None:
        self.now_ns, self.received, self.terminals = now_ns, received, terminals

    def of(self, access_point: str) -> list[Terminal]:
        """Return the terminals whose active subflow goes over an access point."""
        return [one for one in self.terminals if one.active == access_point]


class Move:
    """A terminal's active subflow is to go over another access point."""

    def __init__(self, terminal: str, to: str) -> None:
        self.terminal, self.to = terminal, to


class Policy:
    """The base of policies. ``floor_dbm`` is S: weaker access points are not used."""

    def __init__(self, floor_dbm: float) -> None:
        self.floor_dbm = floor_dbm

    def decide(self, state: State) -> list[Move]:
        """Return the moves after a period."""
        raise NotImplementedError
