# SPDX-License-Identifier: MIT
"""Terminals: who is at the other end of connections, over which access points, and which of these is active."""

from __future__ import annotations

from mptcplab.steering.policy import Terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from mptcplab.steering.connections import SteeredConnection
    from mptcplab.steering.counters import Period


class Peer:
    """A terminal with its connections. ``address_at`` has its address at each access point that reports it.

    Its name is its lowest address, so that it keeps it when connections come and go.
    """

    def __init__(self, connections: Sequence[SteeredConnection], periods: Mapping[str, Period]) -> None:
        self.connections = connections
        addresses = sorted({subflow.remote[0] for connection in connections for subflow in connection.subflows})
        self.name = addresses[0]
        self.address_at: dict[str, str] = {}
        self.rssi_dbm: dict[str, int | None] = {}
        self.wired = {access_point for access_point, period in periods.items() if period.is_wired}
        for access_point, period in periods.items():
            for address in addresses:
                if address in period.rssi_dbm:
                    self.address_at[access_point] = address
                    self.rssi_dbm[access_point] = period.rssi_dbm[address]

    def place_of(self, connection: SteeredConnection) -> str | None:
        """Return the access point of a connection's active subflow; None if it does not report."""
        for subflow in connection.active:
            for access_point, address in self.address_at.items():
                if subflow.remote[0] == address:
                    return access_point
        return None

    @property
    def active(self) -> str | None:
        """The access point of most of its connections, and among equals the one with more bytes sent; None if
        unknown.
        """
        votes: dict[str, tuple[int, int]] = {}
        for connection in self.connections:
            place = self.place_of(connection)
            if place is not None:
                count, sent = votes.get(place, (0, 0))
                votes[place] = count + 1, sent + sum(subflow.sent_bytes for subflow in connection.subflows)
        return max(votes, key=lambda place: (*votes[place], place), default=None)

    def sent_bytes(self) -> dict[tuple[object, ...], tuple[str, int]]:
        """Return the address and the bytes sent of each subflow, by what identifies it."""
        return {
            (connection.token, *subflow.ends): (subflow.remote[0], subflow.sent_bytes)
            for connection in self.connections
            for subflow in connection.subflows
        }

    def terminal(self, blocked: Collection[str] = ()) -> Terminal | None:
        """Return what policies see of it; None if its access point is not known.

        They do not see access points that are ``blocked``, and those where the terminal itself wants only backups.
        """
        active = self.active
        if active is None:
            return None
        hidden = {name for name in self.address_at if name != active and (name in blocked or not self._may_use(name))}
        rssi_dbm = {name: rssi for name, rssi in self.rssi_dbm.items() if name not in hidden}
        return Terminal(self.name, active, rssi_dbm, self.wired)

    def _may_use(self, access_point: str) -> bool:
        over = [connection.subflow_to(self.address_at[access_point]) for connection in self.connections]
        return any(subflow is not None and not subflow.is_peers_backup for subflow in over)


def peers_of(connections: Iterable[SteeredConnection], periods: Mapping[str, Period]) -> list[Peer]:
    """Return all terminals. Connections that have an address in common belong to one terminal."""
    groups: list[tuple[set[str], list[SteeredConnection]]] = []
    for connection in connections:
        addresses = {subflow.remote[0] for subflow in connection.subflows}
        same = [group for group in groups if group[0] & addresses]
        merged = (
            addresses.union(*(group[0] for group in same)),
            [steered_connection for group in same for steered_connection in group[1]],
        )
        groups = [group for group in groups if group not in same]
        groups.append((merged[0], [*merged[1], connection]))
    peers = [Peer(members, periods) for _, members in groups]
    return sorted(peers, key=lambda peer: peer.name)
