# SPDX-License-Identifier: MIT
"""The MPTCP connections of this machine, as its sockets are: each time read anew, so that no lost event matters."""

from __future__ import annotations

import time

from mptcplab.guest.sockets import SocketSampler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from mptcplab.guest.mptcp_pm import End

#: Flags of a subflow in include/uapi/linux/mptcp.h: it joined; this side made it a backup.
_JOINED, _BACKUP = 1 << 2 | 1 << 3, 1 << 5
_ESTABLISHED = 1


class Subflow:
    """One subflow: its ends, whether it is the connection's first one, and whether this side made it a backup."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.local, self.remote = _end(row["local"]), _end(row["remote"])
        flags = int(row.get("flags", 0))
        self.is_first, self.is_backup = not flags & _JOINED, bool(flags & _BACKUP)
        self.sent_bytes = int(row.get("bytes_sent", 0))


class Connection:
    """The established subflows of one connection, the first one first."""

    def __init__(self, token: int, subflows: Iterable[Subflow]) -> None:
        self.token = token
        self.subflows = sorted(subflows, key=lambda one: (not one.is_first, one.local, one.remote))

    @property
    def active(self) -> list[Subflow]:
        """The subflows that are no backups."""
        return [one for one in self.subflows if not one.is_backup]

    def over(self, addresses: Iterable[str]) -> Subflow | None:
        """Return the subflow to one of the addresses of a terminal."""
        wanted = set(addresses)
        return next((one for one in self.subflows if one.remote[0] in wanted), None)


class Connections:
    """Reads the sockets of the namespace in which it is created."""

    def __init__(self) -> None:
        self._sockets = SocketSampler("")

    def read(self) -> list[Connection]:
        """Return all connections with an established subflow, by token."""
        found: dict[int, list[Subflow]] = {}
        for row in self._sockets.sample(time.monotonic_ns()):
            if row.get("protocol") == "mptcp" and row["state"] == _ESTABLISHED and "token" in row:
                found.setdefault(int(row["token"]), []).append(Subflow(row))
        return [Connection(token, subflows) for token, subflows in sorted(found.items())]


def _end(written: str) -> End:
    address, _, port = written.rpartition(":")
    return address.strip("[]"), int(port)
