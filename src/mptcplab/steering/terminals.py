# SPDX-License-Identifier: MIT
"""Terminals: who is at the other end of connections, over which access points, and which of these is active."""

from __future__ import annotations

from mptcplab.steering.policy import Terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mptcplab.steering.connections import Connection
    from mptcplab.steering.counters import Period


class Peer:
    """A terminal with its connections. ``address_at`` has its address at each access point that reports it."""

    def __init__(self, connections: Sequence[Connection], periods: Mapping[str, Period]) -> None:
        self.connections = connections
        addresses = sorted({subflow.remote[0] for one in connections for subflow in one.subflows})
        #: The address of the first subflow of the oldest connection that is known.
        self.name = connections[0].subflows[0].remote[0]
        self.address_at: dict[str, str] = {}
        self.rssi_dbm: dict[str, int | None] = {}
        for access_point, period in periods.items():
            for address in addresses:
                if address in period.rssi_dbm:
                    self.address_at[access_point] = address
                    self.rssi_dbm[access_point] = period.rssi_dbm[address]

    @property
    def active(self) -> str | None:
        """The access point of the first connection's active subflow; None if it does not report."""
        for subflow in self.connections[0].active:
            for access_point, address in self.address_at.items():
                if subflow.remote[0] == address:
                    return access_point
        return None

    def terminal(self) -> Terminal | None:
        """Return what policies see of it; None if its access point is not known."""
        active = self.active
        return None if active is None else Terminal(self.name, active, self.rssi_dbm)


def peers_of(connections: Iterable[Connection], periods: Mapping[str, Period]) -> list[Peer]:
    """Return all terminals. Connections that have an address in common are those of one terminal."""
    groups: list[tuple[set[str], list[Connection]]] = []
    for connection in connections:
        addresses = {subflow.remote[0] for subflow in connection.subflows}
        same = [group for group in groups if group[0] & addresses]
        merged = (addresses.union(*(group[0] for group in same)), [one for group in same for one in group[1]])
        groups = [group for group in groups if group not in same]
        groups.append((merged[0], [*merged[1], connection]))
    peers = [Peer(members, periods) for _, members in groups]
    return sorted(peers, key=lambda one: one.name)
