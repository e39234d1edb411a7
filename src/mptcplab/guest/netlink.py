# SPDX-License-Identifier: MIT
"""Netlink: the sockets, and the codec of messages and attributes that all modules of the guest use.

Layouts: include/uapi/linux/netlink.h. Numbers are in the machine's byte order, attributes are padded to 4 bytes.
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
#: The kernel fills a packet of a dump up to this size. Larger buffers would be mapped anew for each packet.
_LARGEST = 1 << 15
#: Lets the kernel choose the port: a socket without a port is treated as the sender of notices, and receives no notices.
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
