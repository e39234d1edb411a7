# SPDX-License-Identifier: MIT
"""The kernel's interface for path managers in user space: its commands and events.

Layouts: include/uapi/linux/mptcp_pm.h, mptcp.h. The kernel reports events of every connection of the namespace. It
accepts commands only for connections that were opened with ``net.mptcp.path_manager = userspace``.
"""

from __future__ import annotations

from _socket import AF_INET, AF_INET6, inet_pton  # the module `socket` around it takes longer than its use here

from mptcplab.guest.netlink import Family, address_text, attribute, integer, integer_attribute, nested_attribute

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
    """One event: its ``name`` and attributes. Attributes that the kernel does not report are 0 or empty."""

    def __init__(self, name: str, values: dict[int, memoryview]) -> None:
        self.name = name
        numbers = {name: integer(values[kind]) for kind, name in _NUMBERS.items() if kind in values}
        self.token, self.loc_id, self.rem_id = (numbers.get(key, 0) for key in ("token", "loc_id", "rem_id"))
        self.error, self.server_side = numbers.get("error", 0), bool(numbers.get("server_side"))
        addresses = {name: address_text(values[kind]) for kind, name in _ADDRESSES.items() if kind in values}
        ports = {name: int.from_bytes(values[kind], "big") for kind, name in _PORTS.items() if kind in values}
        self.local: End = (addresses.get("saddr", ""), ports.get("sport", 0))
        self.remote: End = (addresses.get("daddr", ""), ports.get("dport", 0))


class Kernel:
    """The kernel's path manager interface. Every command returns 0 or the number of the error."""

    def __init__(self) -> None:
        self._family = Family("mptcp_pm", "mptcp_pm_events")
        self.notices = self._family.notices

    def events(self) -> Iterator[Event]:
        """Yield the events of one packet."""
        for command, values in self._family.read():
            if command in _EVENTS:
                yield Event(_EVENTS[command], values)

    def create(
        self, token: int, local: str, number: int, interface: int, remote: End, rem_id: int, *, backup: bool
    ) -> int:
        """Open a subflow from ``local``, whose address ID is ``number``."""
        flags = _SUBFLOW | (_BACKUP if backup else 0)
        source = _address(_ADDR, (local, 0), number=number, flags=flags, interface=interface)
        return self._family.command(_CREATE, source, _token(token), _address(_ADDR_REMOTE, remote, number=rem_id))

    def destroy(self, token: int, local: End, remote: End) -> int:
        """Close a subflow."""
        return self._family.command(_DESTROY, _address(_ADDR, local), _token(token), _address(_ADDR_REMOTE, remote))

    def announce(self, token: int, address: str, number: int) -> int:
        """Announce an address to the peer (ADD_ADDR)."""
        source = _address(_ADDR, (address, 0), number=number, flags=_SIGNAL)
        return self._family.command(_ANNOUNCE, source, _token(token))

    def remove(self, token: int, number: int) -> int:
        """Withdraw an address at the peer (REMOVE_ADDR)."""
        return self._family.command(_REMOVE, _token(token), integer_attribute(_LOC_ID, number, 1))

    def prefer(self, token: int, local: End, remote: End, *, backup: bool) -> int:
        """Set the priority of a subflow at the peer (MP_PRIO)."""
        source = _address(_ADDR, local, flags=_BACKUP if backup else 0)
        return self._family.command(_SET_FLAGS, source, _token(token), _address(_ADDR_REMOTE, remote))


def _token(token: int) -> bytes:
    return integer_attribute(_TOKEN, token, 4)


def _address(kind: int, end: End, *, number: int | None = None, flags: int | None = None, interface: int = 0) -> bytes:
    address, port = end
    family = AF_INET6 if ":" in address else AF_INET
    parts = [integer_attribute(_FAMILY, family, 2)]
    parts.append(attribute(_ADDR6 if family == AF_INET6 else _ADDR4, inet_pton(family, address)))
    if port:
        parts.append(integer_attribute(_PORT, port, 2))
    if number is not None:
        parts.append(integer_attribute(_ID, number, 1))
    if flags is not None:
        parts.append(integer_attribute(_FLAGS, flags, 4))
    if interface:
        parts.append(integer_attribute(_IF_IDX, interface, 4))
    return nested_attribute(kind, *parts)
