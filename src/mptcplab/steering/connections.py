# SPDX-License-Identifier: MIT
"""The MPTCP connections of this machine, as its sockets are, and the changes of priority that leave one subflow active.

Both directions have a flag of their own: :attr:`Subflow.is_backup` is what this side asked for, and may change;
:attr:`Subflow.is_peers_backup` is what the terminal asked for, which this side cannot take back.
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


class Subflow:
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


class Connection:
    """The subflows of one connection that may carry data, the first one first."""

    def __init__(self, token: int, subflows: Iterable[Subflow]) -> None:
        self.token = token
        self.subflows = sorted(subflows, key=lambda one: (not one.is_first, one.local, one.remote))

    @property
    def active(self) -> list[Subflow]:
        """The subflows that neither side made a backup, or else those that this side did not."""
        mine = [one for one in self.subflows if not one.is_backup]
        return [one for one in mine if not one.is_peers_backup] or mine

    def over(self, address: str) -> Subflow | None:
        """Return the subflow to an address of the terminal; one that the terminal lets carry data comes first."""
        fit = [one for one in self.subflows if one.remote[0] == address]
        return min(fit, key=lambda one: one.is_peers_backup, default=None)


class Change:
    """A subflow is to become active, or a backup."""

    def __init__(self, subflow: Subflow, *, backup: bool) -> None:
        self.subflow, self.backup = subflow, backup


def changes_to(connection: Connection, keep: Subflow) -> list[Change]:
    """Return the changes after which only ``keep`` is active. It becomes active before others cease to be."""
    first = [Change(keep, backup=False)] if keep.is_backup else []
    others = [one for one in connection.subflows if one is not keep and not one.is_backup]
    return [*first, *(Change(one, backup=True) for one in others)]


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


def connections_of(rows: Iterable[Mapping[str, Any]]) -> list[Connection]:
    """Return the connections of sampled sockets, by token. Sockets that are no subflows are left out."""
    found: dict[int, list[Subflow]] = {}
    for row in rows:
        if row.get("protocol") == "mptcp" and row["state"] in _SENDING and "token" in row:
            found.setdefault(int(row["token"]), []).append(Subflow(row))
    return [Connection(token, subflows) for token, subflows in sorted(found.items())]


def _end(written: str) -> End:
    address, _, port = written.rpartition(":")
    return address.strip("[]"), int(port)
