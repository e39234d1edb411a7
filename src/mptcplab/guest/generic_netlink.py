# SPDX-License-Identifier: MIT
"""Families of generic netlink. Layouts: include/uapi/linux/genetlink.h."""

from __future__ import annotations

import struct

from mptcplab.guest.netlink import ACK, GENERIC, Netlink, RefusedError, attributes, integer, text, text_attribute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CTRL, _GET_FAMILY, _FAMILY_ID, _FAMILY_NAME, _GROUPS, _GROUP_NAME, _GROUP_ID = 16, 3, 1, 2, 7, 1, 2
#: Command, version.
_HEADER = struct.Struct("=BB2x")


def find_family(netlink: Netlink, name: str) -> dict[int, memoryview]:
    """Return the attributes of a family. :raises OSError: if this kernel does not have it."""
    wanted = text_attribute(_FAMILY_NAME, name)
    try:
        answer = netlink.ask(_CTRL, _HEADER.pack(_GET_FAMILY, 1) + wanted, 0)
    except RefusedError as error:
        raise OSError(f"this kernel has no netlink family {name}") from error
    return dict(attributes(answer[_HEADER.size :]))


def family_number(netlink: Netlink, name: str) -> int:
    """Return the kind of messages of a family. :raises OSError: if this kernel does not have it."""
    return integer(find_family(netlink, name)[_FAMILY_ID])


class Family:
    """One family: its commands, and the notices of one of its groups on a separate socket."""

    def __init__(self, name: str, group: str) -> None:
        self._commands = Netlink(GENERIC)
        self._number, number = self._find(name, group)
        self.notices = Netlink(GENERIC, [number])

    def _find(self, name: str, group: str) -> tuple[int, int]:
        family = find_family(self._commands, name)
        for _, content in attributes(family[_GROUPS]):
            values = dict(attributes(content))
            if text(values[_GROUP_NAME]) == group:
                return integer(family[_FAMILY_ID]), integer(values[_GROUP_ID])
        raise OSError(f"netlink family {name} has no group {group}")

    def command(self, number: int, *parts: bytes) -> int:
        """Execute one command; return 0 or the number of the error."""
        try:
            self._commands.ask(self._number, _HEADER.pack(number, 1) + b"".join(parts), ACK)
        except RefusedError as error:
            return error.number
        return 0

    def read(self) -> Iterator[tuple[int, dict[int, memoryview]]]:
        """Yield the command and attributes of each notice in one packet."""
        for _, body in self.notices.messages():
            yield body[0], dict(attributes(body[_HEADER.size :]))
