# SPDX-License-Identifier: MIT
"""Netlink by hand, as far as the path manager needs it: generic netlink, notices of links and addresses.

Layouts: include/uapi/linux/netlink.h, genetlink.h, rtnetlink.h, if_link.h, if_addr.h.
"""

from __future__ import annotations

import errno
import os
import struct
from _socket import (
    AF_INET,
    AF_INET6,
    AF_NETLINK,
    SOCK_CLOEXEC,
    SOCK_RAW,
    inet_ntop,
    socket,
)  # `socket` around it loads slowly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_NETLINK_ROUTE, _NETLINK_GENERIC = 0, 16
_SOL_NETLINK, _ADD_MEMBERSHIP = 270, 1
_REQUEST, _ACK, _DUMP = 0x1, 0x4, 0x300
_ERROR, _DONE = 2, 3
_CTRL, _GET_FAMILY, _FAMILY_ID, _FAMILY_NAME, _GROUPS, _GROUP_NAME, _GROUP_ID = 16, 3, 1, 2, 7, 1, 2
_LINK_GROUP, _ADDRESS4_GROUP, _ADDRESS6_GROUP = 1, 5, 9
_NEW_LINK, _DEL_LINK, _GET_LINK, _NEW_ADDRESS, _DEL_ADDRESS, _GET_ADDRESS = 16, 17, 18, 20, 21, 22
_IFLA_IFNAME, _IFA_ADDRESS, _IFA_LOCAL = 3, 1, 2
_RUNNING = 0x40
_NESTED = 0x8000
_HEADER = struct.Struct("=IHHII")
_GENERIC = struct.Struct("=BBH")
_ATTRIBUTE = struct.Struct("=HH")
_LINK = struct.Struct("=BxHiII")
_ADDRESS = struct.Struct("=BBBBi")
_LARGEST = 1 << 17
#: A number of the kernel's choice: a socket without one is taken for the sender of notices, and gets none.
_ANY = (0, 0)


def attribute(kind: int, value: bytes) -> bytes:
    """One attribute, padded."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)


def nested(kind: int, *parts: bytes) -> bytes:
    """An attribute of attributes."""
    return attribute(kind | _NESTED, b"".join(parts))


def attributes(data: bytes) -> dict[int, bytes]:
    """All attributes by their kind; of several of one kind the last."""
    return dict(_attributes(data))


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        yield kind & 0x3FFF, data[_ATTRIBUTE.size : length]
        data = data[(length + 3) & ~3 :]


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and body of every message."""
    while len(data) >= _HEADER.size:
        length, kind, *_ = _HEADER.unpack_from(data)
        yield kind, data[_HEADER.size : length]
        data = data[(length + 3) & ~3 :]


class Generic:
    """One family of generic netlink: commands, and notices of one of its groups on a socket of their own."""

    def __init__(self, family: str, group: str) -> None:
        self._socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, _NETLINK_GENERIC)
        self._family, number = self._find(family, group)
        self.notices = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, _NETLINK_GENERIC)
        self.notices.bind(_ANY)
        self.notices.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, number)

    def _find(self, family: str, group: str) -> tuple[int, int]:
        name = attribute(_FAMILY_NAME, family.encode() + b"\0")
        self._send(_CTRL, _GENERIC.pack(_GET_FAMILY, 1, 0) + name, _REQUEST)
        kind, body = next(_messages(self._socket.recv(_LARGEST)))
        if kind == _ERROR:
            raise OSError(errno.ENOENT, f"this kernel has no netlink family {family}")
        found = attributes(body[_GENERIC.size :])
        for _, one in _attributes(found[_GROUPS]):
            told = attributes(one)
            if told[_GROUP_NAME].rstrip(b"\0").decode() == group:
                return int.from_bytes(found[_FAMILY_ID], "little"), int.from_bytes(told[_GROUP_ID], "little")
        raise OSError(errno.ENOENT, f"netlink family {family} has no group {group}")

    def _send(self, kind: int, body: bytes, flags: int) -> None:
        self._socket.send(_HEADER.pack(_HEADER.size + len(body), kind, flags, 1, 0) + body)

    def command(self, number: int, *parts: bytes) -> int:
        """Carry out one command; 0, or the number of the error."""
        self._send(self._family, _GENERIC.pack(number, 1, 0) + b"".join(parts), _REQUEST | _ACK)
        while True:
            for kind, body in _messages(self._socket.recv(_LARGEST)):
                if kind == _ERROR:
                    return -int(struct.unpack_from("=i", body)[0])

    def read(self) -> Iterator[tuple[int, dict[int, bytes]]]:
        """The notices of one packet: command and attributes."""
        for _, body in _messages(self.notices.recv(_LARGEST)):
            yield body[0], attributes(body[_GENERIC.size :])


class Interfaces:
    """Which interfaces of this namespace can be used, and which addresses they have. ``notices`` is worth polling."""

    def __init__(self) -> None:
        self.running: dict[str, bool] = {}
        self.index: dict[str, int] = {}
        self.addresses: dict[int, set[str]] = {}
        self.notices = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, _NETLINK_ROUTE)
        self.notices.bind(_ANY)
        for group in (_LINK_GROUP, _ADDRESS4_GROUP, _ADDRESS6_GROUP):
            self.notices.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, group)
        for kind, body in ((_GET_LINK, _LINK.pack(0, 0, 0, 0, 0)), (_GET_ADDRESS, _ADDRESS.pack(0, 0, 0, 0, 0))):
            self._dump(kind, body)

    def _dump(self, kind: int, body: bytes) -> None:
        asker = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, _NETLINK_ROUTE)
        asker.send(_HEADER.pack(_HEADER.size + len(body), kind, _REQUEST | _DUMP, 1, 0) + body)
        ended = False
        while not ended:
            for answer, content in _messages(asker.recv(_LARGEST)):
                ended = ended or answer == _DONE
                self._note(answer, content)
        asker.close()

    def read(self) -> None:
        """Take note of the notices of one packet."""
        for kind, body in _messages(self.notices.recv(_LARGEST)):
            self._note(kind, body)

    def _note(self, kind: int, body: bytes) -> None:
        if kind in (_NEW_LINK, _DEL_LINK):
            _, _, index, flags, _ = _LINK.unpack_from(body)
            name = attributes(body[_LINK.size :])[_IFLA_IFNAME].rstrip(b"\0").decode()
            self.index[name] = index
            self.running[name] = kind == _NEW_LINK and bool(flags & _RUNNING)
        elif kind in (_NEW_ADDRESS, _DEL_ADDRESS):
            *_, index = _ADDRESS.unpack_from(body)
            told = attributes(body[_ADDRESS.size :])
            address = address_text(told.get(_IFA_LOCAL, told.get(_IFA_ADDRESS, bytes(4))))
            held = self.addresses.setdefault(index, set())
            (held.add if kind == _NEW_ADDRESS else held.discard)(address)

    def usable(self, name: str, address: str) -> bool:
        """Whether ``name`` is up, has its carrier and this address."""
        return self.running.get(name, False) and address in self.addresses.get(self.index.get(name, -1), ())


def address_text(raw: bytes) -> str:
    """An address as people write it; IPv4 inside IPv6 as IPv4."""
    if len(raw) == 16 and raw[:12] != bytes(10) + b"\xff\xff":
        return inet_ntop(AF_INET6, raw)
    return inet_ntop(AF_INET, raw[-4:])


def error_name(number: int) -> str:
    """What an error is called."""
    return os.strerror(number).lower() if number else ""
