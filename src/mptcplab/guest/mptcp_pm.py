# SPDX-License-Identifier: MIT
"""The kernel's interface for path managers in user space: its commands and events.

Layouts: include/uapi/linux/mptcp_pm.h, mptcp.h. The kernel tells events of every connection of the namespace, and takes
commands for those that were opened with ``net.mptcp.path_manager = userspace``.
"""

from __future__ import annotations

import struct
from _socket import AF_INET, AF_INET6, inet_pton  # the module `socket` around it takes longer than its use here

from mptcplab.guest.netlink import Generic, address_text, attribute, nested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SET_FLAGS, _ANNOUNCE, _REMOVE, _CREATE, _DESTROY = 7, 8, 9, 10, 11
_ADDR, _TOKEN, _LOC_ID, _ADDR_REMOTE = 1, 4, 5, 6
_FAMILY, _ID, _ADDR4, _ADDR6, _PORT, _FLAGS, _IF_IDX = 1, 2, 3, 4, 5, 6, 7
_SIGNAL, _SUBFLOW, _BACKUP = 1, 2, 4
_EVENTS = {
    1: "created", 2: "established", 3: "closed", 6: "announced", 7: "removed",
    10: "subflow-established", 11: "subflow-closed", 13: "subflow-priority",
}  # fmt: skip
_NUMBERS = {1: "token", 3: "loc_id", 4: "rem_id", 11: "backup", 12: "error", 18: "server_side"}
_PORTS = {9: "sport", 10: "dport"}
_ADDRESSES = {5: "saddr", 6: "saddr", 7: "daddr", 8: "daddr"}

#: An address and a port; port 0 is any.
End = tuple[str, int]


class Event:
    """One event: its ``name``, and what the kernel tells of it. What it does not tell is 0 or empty."""

    def __init__(self, name: str, told: dict[int, bytes]) -> None:
        self.name = name
        numbers = {name: int.from_bytes(told[kind], "little") for kind, name in _NUMBERS.items() if kind in told}
        self.token, self.loc_id, self.rem_id = (numbers.get(key, 0) for key in ("token", "loc_id", "rem_id"))
        self.error, self.server_side = numbers.get("error", 0), bool(numbers.get("server_side"))
        found = {name: address_text(told[kind]) for kind, name in _ADDRESSES.items() if kind in told}
        ports = {name: int.from_bytes(told[kind], "big") for kind, name in _PORTS.items() if kind in told}
        self.local: End = (found.get("saddr", ""), ports.get("sport", 0))
        self.remote: End = (found.get("daddr", ""), ports.get("dport", 0))


class Kernel:
    """The kernel's side. Every command returns 0, or the number of the error."""

    def __init__(self) -> None:
        self._generic = Generic("mptcp_pm", "mptcp_pm_events")
        self.notices = self._generic.notices

    def events(self) -> Iterator[Event]:
        """The events of one packet."""
        for command, told in self._generic.read():
            if command in _EVENTS:
                yield Event(_EVENTS[command], told)

    def create(
        self, token: int, local: str, number: int, interface: int, remote: End, rem_id: int, *, backup: bool
    ) -> int:
        """Open a subflow from ``local``, whose number in the protocol is ``number``."""
        flags = _SUBFLOW | (_BACKUP if backup else 0)
        own = _address(_ADDR, (local, 0), number=number, flags=flags, interface=interface)
        return self._generic.command(_CREATE, own, _token(token), _address(_ADDR_REMOTE, remote, number=rem_id))

    def destroy(self, token: int, local: End, remote: End) -> int:
        """Close a subflow."""
        return self._generic.command(_DESTROY, _address(_ADDR, local), _token(token), _address(_ADDR_REMOTE, remote))

    def announce(self, token: int, address: str, number: int) -> int:
        """Tell the other side of an address (ADD_ADDR)."""
        own = _address(_ADDR, (address, 0), number=number, flags=_SIGNAL)
        return self._generic.command(_ANNOUNCE, own, _token(token))

    def remove(self, token: int, number: int) -> int:
        """Tell the other side that an address has gone (REMOVE_ADDR)."""
        return self._generic.command(_REMOVE, _token(token), attribute(_LOC_ID, bytes([number])))

    def prefer(self, token: int, local: End, remote: End, *, backup: bool) -> int:
        """Tell the other side how a subflow is to be used (MP_PRIO)."""
        own = _address(_ADDR, local, flags=_BACKUP if backup else 0)
        return self._generic.command(_SET_FLAGS, own, _token(token), _address(_ADDR_REMOTE, remote))


def _token(token: int) -> bytes:
    return attribute(_TOKEN, struct.pack("=I", token))


def _address(kind: int, end: End, *, number: int | None = None, flags: int | None = None, interface: int = 0) -> bytes:
    address, port = end
    family = AF_INET6 if ":" in address else AF_INET
    parts = [attribute(_FAMILY, struct.pack("=H", family))]
    parts.append(attribute(_ADDR6 if family == AF_INET6 else _ADDR4, inet_pton(family, address)))
    if port:
        parts.append(attribute(_PORT, struct.pack("=H", port)))
    if number is not None:
        parts.append(attribute(_ID, bytes([number])))
    if flags is not None:
        parts.append(attribute(_FLAGS, struct.pack("=I", flags)))
    if interface:
        parts.append(attribute(_IF_IDX, struct.pack("=i", interface)))
    return nested(kind, *parts)
