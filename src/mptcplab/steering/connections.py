# SPDX-License-Identifier: MIT
"""The MPTCP connections of this machine, from its sockets, and the changes of priority that leave one subflow active.

Both directions have a flag of their own: :attr:`SteeredSubflow.is_backup` is what this side asked for, and may change;
:attr:`SteeredSubflow.is_peers_backup` is what the terminal asked for, which this side cannot take back.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from mptcplab.guest.mptcp_pm import End

#: Flags of a subflow in include/uapi/linux/mptcp.h: it joined; the other side, and this side, made it a backup.
_JOINED, _PEERS_BACKUP, _BACKUP = 1 << 2 | 1 << 3, 1 << 4, 1 << 5
#: ESTABLISHED and CLOSE_WAIT: this side may still send.
_SENDING = (1, 8)


class SteeredSubflow:
    """One subflow: its ends, whether it is the connection's first one, its flags and counters."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.local, self.remote = _end(row["local"]), _end(row["remote"])
        flags = int(row.get("flags", 0))
        self.is_first, self.is_backup = not flags & _JOINED, bool(flags & _BACKUP)
        self.is_peers_backup = bool(flags & _PEERS_BACKUP)
        self.sent_bytes, self.received_packets = int(row.get("bytes_sent", 0)), int(row.get("segs_in", 0))

    @property
    def ends(self) -> tuple[End, End]:
        """Its two ends, which identify it."""
        return self.local, self.remote


class SteeredConnection:
    """The subflows of one connection that may carry data, the first one first."""

    def __init__(self, token: int, subflows: Iterable[SteeredSubflow]) -> None:
        self.token = token
        self.subflows = sorted(subflows, key=lambda subflow: (not subflow.is_first, subflow.local, subflow.remote))

    @property
    def active(self) -> list[SteeredSubflow]:
        """The subflows that neither side made a backup, or else all that this side did not."""
        mine = [subflow for subflow in self.subflows if not subflow.is_backup]
        return [subflow for subflow in mine if not subflow.is_peers_backup] or mine

    def subflow_to(self, address: str) -> SteeredSubflow | None:
        """Return the subflow to an address of the terminal; one without the terminal's backup flag comes first."""
        fit = [subflow for subflow in self.subflows if subflow.remote[0] == address]
        return min(fit, key=lambda subflow: subflow.is_peers_backup, default=None)


class Change:
    """A subflow is to become active, or a backup."""

    def __init__(self, subflow: SteeredSubflow, *, backup: bool) -> None:
        self.subflow, self.backup = subflow, backup


def changes_to(connection: SteeredConnection, keep: SteeredSubflow) -> list[Change]:
    """Return the changes after which only ``keep`` is active. It becomes active before others cease to be."""
    first = [Change(keep, backup=False)] if keep.is_backup else []
    others = [subflow for subflow in connection.subflows if subflow is not keep and not subflow.is_backup]
    return [*first, *(Change(subflow, backup=True) for subflow in others)]


def carry_out(changes: Iterable[Change], send: Callable[[Change], int]) -> int:
    """Send changes in their order; return 0 or the number of the first error.

    If a subflow cannot become active, the rest is left as it is: the others stay active.
    """
    first_error = 0
    for change in changes:
        error = send(change)
        first_error = first_error or error
        if error and not change.backup:
            break
        if not error:
            change.subflow.is_backup = change.backup
    return first_error


def connections_of(rows: Iterable[Mapping[str, Any]]) -> list[SteeredConnection]:
    """Return the connections of sampled sockets, by token. Sockets that are not subflows are left out."""
    connections: dict[int, list[SteeredSubflow]] = {}
    for row in rows:
        if row.get("protocol") == "mptcp" and row["state"] in _SENDING and "token" in row:
            connections.setdefault(int(row["token"]), []).append(SteeredSubflow(row))
    return [SteeredConnection(token, subflows) for token, subflows in sorted(connections.items())]


def _end(written: str) -> End:
    address, _, port = written.rpartition(":")
    return address.strip("[]"), int(port)
