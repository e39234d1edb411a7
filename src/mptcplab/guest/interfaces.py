# SPDX-License-Identifier: MIT
"""Tracks interfaces and their addresses. Layouts: include/uapi/linux/{rtnetlink,if_link,if_addr}.h."""

from __future__ import annotations

import struct

from mptcplab.guest.netlink import ROUTE, Netlink, address_text, attributes, text

_LINK_GROUP, _ADDRESS4_GROUP, _ADDRESS6_GROUP = 1, 5, 9
_NEW_LINK, _DEL_LINK, _GET_LINK, _NEW_ADDRESS, _DEL_ADDRESS, _GET_ADDRESS = 16, 17, 18, 20, 21, 22
_IFLA_IFNAME, _IFA_ADDRESS, _IFA_LOCAL = 3, 1, 2
_RUNNING = 0x40
_LINK = struct.Struct("=4xiI4x")
_ADDRESS = struct.Struct("=4xi")


class Interfaces:
    """The usable interfaces of this namespace, and their addresses. Poll ``notices`` for changes."""

    def __init__(self) -> None:
        self.running: dict[str, bool] = {}
        self.index: dict[str, int] = {}
        self.addresses: dict[int, set[str]] = {}
        self.notices = Netlink(ROUTE, (_LINK_GROUP, _ADDRESS4_GROUP, _ADDRESS6_GROUP))
        asker = Netlink(ROUTE)
        for kind, layout in ((_GET_LINK, _LINK), (_GET_ADDRESS, _ADDRESS)):
            for answer, body in asker.dump(kind, bytes(layout.size)):
                self._note(answer, body)
        asker.close()

    def read(self) -> None:
        """Process the notices of one packet."""
        for kind, body in self.notices.messages():
            self._note(kind, body)

    def _note(self, kind: int, body: memoryview) -> None:
        if kind in (_NEW_LINK, _DEL_LINK):
            index, flags = _LINK.unpack_from(body)
            name = text(dict(attributes(body[_LINK.size :]))[_IFLA_IFNAME])
            self.index[name] = index
            self.running[name] = kind == _NEW_LINK and bool(flags & _RUNNING)
        elif kind in (_NEW_ADDRESS, _DEL_ADDRESS):
            (index,) = _ADDRESS.unpack_from(body)
            values = dict(attributes(body[_ADDRESS.size :]))
            address = address_text(values.get(_IFA_LOCAL, values.get(_IFA_ADDRESS, bytes(4))))
            held = self.addresses.setdefault(index, set())
            (held.add if kind == _NEW_ADDRESS else held.discard)(address)

    def is_usable(self, name: str, address: str) -> bool:
        """Return whether ``name`` is up, has a carrier and has this address."""
        return self.running.get(name, False) and address in self.addresses.get(self.index.get(name, -1), ())
