# SPDX-License-Identifier: MIT
"""Netlink: the sockets, the codec of messages and attributes, and families of generic netlink, for the whole guest.

Layouts: include/uapi/linux/{netlink,genetlink}.h. Numbers are in the machine's byte order, attributes are padded to 4
bytes.
"""

from __future__ import annotations

import errno
import struct
import sys
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
    from collections.abc import Iterator, Sequence

ROUTE, SOCK_DIAG, GENERIC = 0, 4, 16
ECHO, ACK = 0x8, 0x4
REPLACE, EXCLUSIVE, CREATE = 0x100, 0x200, 0x400
_REQUEST, _DUMP = 0x1, 0x300
_ERROR, _DONE = 2, 3
_SOL_NETLINK, _ADD_MEMBERSHIP = 270, 1
_NESTED, _KIND = 0x8000, 0x3FFF
_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
#: struct genlmsghdr: command, version.
_GENERIC_HEADER = struct.Struct("=BB2x")
#: The controller of generic netlink: its kind of messages, its command, and its attributes (genetlink.h).
_CTRL, _GET_FAMILY, _FAMILY_ID, _FAMILY_NAME, _GROUPS, _GROUP_NAME, _GROUP_ID = 16, 3, 1, 2, 7, 1, 2
#: The kernel fills a packet of a dump up to this size. Larger buffers would be mapped anew for each packet.
_LARGEST = 1 << 15
#: Lets the kernel choose the port: it takes a socket without a port for the sender of notices, and sends none there.
_ANY = (0, 0)


class RefusedError(OSError):
    """The kernel replied to a request with an error. It has no ``errno``, since no system call failed."""

    def __init__(self, number: int) -> None:
        super().__init__(f"the kernel refuses a request of netlink: {errno.errorcode.get(number, number)}")
        self.number = number


class Netlink:
    """One socket, for requests or for the notices of ``groups``. It belongs to the namespace in which it is created."""

    def __init__(self, protocol: int, groups: Sequence[int] = ()) -> None:
        self._socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol)
        self.fileno = self._socket.fileno
        if groups:
            self._socket.bind(_ANY)
        for group in groups:
            self._socket.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, group)

    def ask(self, kind: int, body: bytes, flags: int) -> memoryview:
        """Return the body of the first answer to a request. :raises RefusedError: if that is an error."""
        self._send(kind, body, flags)
        answer, content = next(self.messages())
        _raise_error(answer, content)
        return content

    def dump(self, kind: int, body: bytes) -> Iterator[tuple[int, memoryview]]:
        """Yield kind and body of all messages of a dump. :raises RefusedError: if the kernel refuses it."""
        self._send(kind, body, _DUMP)
        while True:
            for answer, content in self.messages():
                if answer == _DONE:
                    return
                _raise_error(answer, content)
                yield answer, content

    def messages(self) -> Iterator[tuple[int, memoryview]]:
        """Wait for one packet, and yield kind and body of each of its messages."""
        data = memoryview(self._socket.recv(_LARGEST))
        start = 0
        while start < len(data):
            length, kind, *_ = _HEADER.unpack_from(data, start)
            yield kind, data[start + _HEADER.size : start + length]
            start += _pad(length)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _send(self, kind: int, body: bytes, flags: int) -> None:
        self._socket.send(_HEADER.pack(_HEADER.size + len(body), kind, _REQUEST | flags, 1, 0) + body)


def _raise_error(answer: int, content: memoryview) -> None:
    """Raise the error of an answer, if it has one: an acknowledgement is an error with the number 0."""
    if answer == _ERROR and (number := int.from_bytes(content[:4], sys.byteorder, signed=True)):
        raise RefusedError(-number)


def _pad(length: int) -> int:
    return (length + 3) & ~3


def attribute(kind: int, value: bytes) -> bytes:
    """Return one attribute, padded."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)


def integer_attribute(kind: int, value: int, size: int) -> bytes:
    """Return an attribute with a number of ``size`` bytes."""
    return attribute(kind, value.to_bytes(size, sys.byteorder))


def text_attribute(kind: int, value: str) -> bytes:
    """Return an attribute with text, which ends with a zero byte."""
    return attribute(kind, value.encode() + b"\0")


def nested_attribute(kind: int, *parts: bytes) -> bytes:
    """Return an attribute of attributes."""
    return attribute(kind | _NESTED, b"".join(parts))


def attributes(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield kind and value of each attribute."""
    start = 0
    while start < len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, start)
        yield kind & _KIND, data[start + _ATTRIBUTE.size : start + length]
        start += _pad(length)


def integer(raw: memoryview) -> int:
    """Return the number in an attribute."""
    return int.from_bytes(raw, sys.byteorder)


def text(raw: memoryview) -> str:
    """Return the text in an attribute, which ends with a zero byte."""
    return bytes(raw).rstrip(b"\0").decode()


def address_text(raw: bytes | memoryview) -> str:
    """Return the text form of an address; IPv4-mapped IPv6 addresses become IPv4."""
    if len(raw) == 16 and raw[:12] != bytes(10) + b"\xff\xff":
        return inet_ntop(AF_INET6, raw)
    return inet_ntop(AF_INET, raw[-4:])


def find_family(netlink: Netlink, name: str) -> dict[int, memoryview]:
    """Return the attributes of a family. :raises OSError: if this kernel does not have it."""
    wanted = text_attribute(_FAMILY_NAME, name)
    try:
        answer = netlink.ask(_CTRL, _GENERIC_HEADER.pack(_GET_FAMILY, 1) + wanted, 0)
    except RefusedError as error:
        raise OSError(f"this kernel has no netlink family {name}") from error
    return dict(attributes(answer[_GENERIC_HEADER.size :]))


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
            self._commands.ask(self._number, _GENERIC_HEADER.pack(number, 1) + b"".join(parts), ACK)
        except RefusedError as error:
            return error.number
        return 0

    def read(self) -> Iterator[tuple[int, dict[int, memoryview]]]:
        """Yield the command and attributes of each notice in one packet."""
        for _, body in self.notices.messages():
            yield body[0], dict(attributes(body[_GENERIC_HEADER.size :]))
