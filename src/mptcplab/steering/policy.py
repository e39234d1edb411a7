# SPDX-License-Identifier: MIT
"""What a policy knows and returns. A policy is a module of :mod:`mptcplab.steering.policies`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import ClassVar, Self

    from mptcplab.steering.tables import ConfigurationTable


class Terminal:
    """A terminal: its name, the access point of its active subflow, and the RSSI at each that it has a subflow over.

    An RSSI is of the terminal at the access point in dBm, None where it is not known. ``wired`` are the access
    points among these where signals do not matter.
    """

    def __init__(self, name: str, active: str, rssi_dbm: Mapping[str, int | None], wired: Collection[str] = ()) -> None:
        self.name, self.active, self.rssi_dbm, self.wired = name, active, rssi_dbm, wired

    def hears_one_of(self, access_point: str, floor_dbm: float) -> bool:
        """Return whether an access point of one of its subflows hears it above a signal, which must be known."""
        if access_point not in self.rssi_dbm:
            return False
        rssi = self.rssi_dbm[access_point]
        return access_point in self.wired or (rssi is not None and rssi > floor_dbm)


class State:
    """The network in the period before a decision: bytes that each access point received, and the terminals.

    Access points whose reports cannot be relied on are missing in ``received``.
    """

    def __init__(self, now_ns: int, received: Mapping[str, int], terminals: Sequence[Terminal]) -> None:
        self.now_ns, self.received, self.terminals = now_ns, received, terminals

    def terminals_at(self, access_point: str) -> list[Terminal]:
        """Return the terminals whose active subflow goes over an access point."""
        return [terminal for terminal in self.terminals if terminal.active == access_point]


class Move:
    """A terminal's active subflow is to go over another access point."""

    def __init__(self, terminal: str, to: str) -> None:
        self.terminal, self.to = terminal, to


class Policy:
    """The base of policies. ``floor_dbm`` is S: weaker access points are not used."""

    name: ClassVar[str]
    """The word that selects it in configurations."""
    keys: ClassVar[tuple[str, ...]] = ()
    """The keys of a configuration that only some policies have, this one among them."""

    def __init__(self, floor_dbm: float) -> None:
        self.floor_dbm = floor_dbm

    @classmethod
    def read(cls, table: ConfigurationTable, floor_dbm: float, seed: int) -> Self:  # noqa: ARG003
        """Return the policy of a configuration. :raises InputError: if one of its keys is wrong."""
        return cls(floor_dbm)

    def decide(self, state: State) -> list[Move]:
        """Return the moves after a period. Only the order of calls may matter, neither clocks nor the environment."""
        raise NotImplementedError
