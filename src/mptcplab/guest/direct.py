# SPDX-License-Identifier: MIT
"""Commands of a plan that the guest executes itself: starting a program takes longer than most commands.

It supports only the forms that plans use, with the same effect as the program. The guest starts the program for any
other form, and also if its own attempt fails, so that the program reports the error.
"""

from __future__ import annotations

import fcntl
import os
import struct
from _socket import AF_PACKET, SOCK_RAW, socket  # the module `socket` around it takes longer than its use here

from mptcplab.guest import system
from mptcplab.guest.command_form import UnknownFormError
from mptcplab.guest.ip_requests import ip_requests
from mptcplab.guest.netlink import (
    ACK,
    GENERIC,
    ROUTE,
    Netlink,
    RefusedError,
    attribute,
    family_number,
    integer_attribute,
    nested_attribute,
    text_attribute,
)
from mptcplab.guest.tc_requests import tc_requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mptcplab.guest.command_form import Request

#: include/uapi/linux/sockios.h
_SIOCGIFNAME, _SIOCGIFINDEX = 0x8910, 0x8933
_INDEX_REQUEST = struct.Struct("=16si20x")
_MAX_NAME_BYTES = 15

#: A frame of the experimental protocol 0x88b5 without addresses: sending it makes the interface serve waiting packets.
_FRAME = bytes(12) + b"\x88\xb5" + bytes(46)
_NUDGE = "import socket,sys;s=socket.socket(17,3);s.bind((sys.argv[1],0));s.send(bytes(12)+b'\\x88\\xb5'+bytes(46))"

#: Requests for ``ethtool -K``. Layouts and numbers: include/uapi/linux/ethtool_netlink.h.
_ETHTOOL = "ethtool"
_SET_FEATURES = 12
#: struct genlmsghdr: command, version.
_GENERIC_HEADER = struct.Struct("=BB2x")
_HEADER, _HEADER_INDEX, _HEADER_FLAGS, _WITHOUT_REPLY = 1, 1, 3, 2
_WANTED, _BITS, _BIT, _BIT_NAME, _BIT_VALUE = 3, 3, 1, 2, 3
#: The kernel's names of each feature that ethtool(8) can set.
_FEATURES = {
    "tso": (
        "tx-tcp-segmentation",
        "tx-tcp-ecn-segmentation",
        "tx-tcp-mangleid-segmentation",
        "tx-tcp6-segmentation",
        "tx-tcp-accecn-segmentation",
    ),
    "gso": ("tx-generic-segmentation",),
    "gro": ("rx-gro",),
}
#: Features that Linux 6.18 added: older kernels refuse a request that names them.
_NEW = frozenset({"tx-tcp-accecn-segmentation"})


def nudge(device: str) -> tuple[str, ...]:
    """Return a command that sends that frame on ``device``."""
    return ("python3", "-c", _NUDGE, device)


class Place:
    """One network namespace, for commands that the guest executes there.

    ``namespaces`` are the descriptors of all namespaces, by name. ``families`` are the message kinds of the families of
    generic netlink, which all namespaces share.
    """

    def __init__(self, descriptor: int, namespaces: Mapping[str | None, int], families: dict[str, int]) -> None:
        self._descriptor, self._namespaces, self._families = descriptor, namespaces, families
        self._sockets: dict[int, Netlink] = {}
        self._indices: dict[str, int] = {}

    def prepare(self, argv: list[str]) -> Callable[[], None] | None:
        """Return a function that executes ``argv``; None if the guest must start the program.

        The returned function raises OSError if the kernel refuses the command.
        """
        try:
            if argv[0] == "ip":
                return self._requests(ip_requests(argv[1:], self))
            if argv[0] == "tc":
                return self._requests(tc_requests(argv[1:], self))
            if argv[:2] == ["ethtool", "-K"]:
                return self._first_of(offload_requests(argv[2:], self))
        except (UnknownFormError, OSError, LookupError, ValueError, struct.error):
            return None  # includes incomplete commands, and numbers that are out of range
        if argv[:2] == ["sysctl", "-qw"]:
            return self._sysctls(argv[2:])
        if argv[:3] == ["python3", "-c", _NUDGE]:
            return lambda: self._send(argv[3], _FRAME)
        return None

    def forget(self) -> None:
        """Forget the indices of interfaces, because a program may have changed them."""
        self._indices.clear()

    def index(self, device: str) -> int:
        """Return the index of an interface here. :raises OSError: if there is no interface of this name."""
        if device not in self._indices:
            name = device.encode()
            if len(name) > _MAX_NAME_BYTES:
                raise OSError(f"'{device}' is too long for an interface's name")
            answer = fcntl.ioctl(self.netlink(ROUTE).fileno(), _SIOCGIFINDEX, _INDEX_REQUEST.pack(name, 0))
            self._indices[device] = _INDEX_REQUEST.unpack(answer)[1]
        return self._indices[device]

    def name(self, index: int) -> str:
        """Return the name of an interface here. :raises OSError: if no interface has this index."""
        request = _INDEX_REQUEST.pack(b"", index)
        return fcntl.ioctl(self.netlink(ROUTE).fileno(), _SIOCGIFNAME, request)[:16].rstrip(b"\0").decode()

    def read(self, files: Sequence[str]) -> list[bytes | None]:
        """Return the contents of ``files``, which may depend on the namespace; None for each that does not exist.

        :raises OSError: if one cannot be read.
        """
        self._enter()
        try:
            return [_content(file) for file in files]
        finally:
            self._leave()

    def namespace(self, name: str) -> int:
        """Return the descriptor of a namespace. :raises OSError: if the plan has no node of this name."""
        if name not in self._namespaces:
            raise OSError(f"there is no namespace '{name}'")
        return self._namespaces[name]

    def family(self, name: str) -> int:
        """Return the kind of messages of a generic family. :raises OSError: if this kernel does not have it."""
        if name not in self._families:
            self._families[name] = family_number(self.netlink(GENERIC), name)
        return self._families[name]

    def netlink(self, protocol: int) -> Netlink:
        """Return this namespace's socket of ``protocol``."""
        if protocol not in self._sockets:
            self._enter()
            try:
                self._sockets[protocol] = Netlink(protocol)
            finally:
                self._leave()
        return self._sockets[protocol]

    def _enter(self) -> None:
        system.enter_namespace(self._descriptor)

    def _leave(self) -> None:
        system.enter_namespace(self._namespaces[None])

    def _requests(self, requests: list[Request]) -> Callable[[], None]:
        def execute() -> None:
            for protocol, kind, flags, body in requests:
                self.netlink(protocol).ask(kind, body, flags)

        return execute

    def _first_of(self, requests: list[Request]) -> Callable[[], None]:
        def execute() -> None:
            for number, (protocol, kind, flags, body) in enumerate(requests, start=1):
                try:
                    self.netlink(protocol).ask(kind, body, flags)
                except RefusedError:
                    if number == len(requests):
                        raise
                else:
                    return

        return execute

    def _send(self, device: str, frame: bytes) -> None:
        self._enter()
        sender = socket(AF_PACKET, SOCK_RAW)
        try:
            sender.bind((device, 0))
            sender.send(frame)
        finally:
            sender.close()
            self._leave()

    def _sysctls(self, settings: list[str]) -> Callable[[], None] | None:
        pairs = [setting.partition("=") for setting in settings]
        # Names with slashes, wildcards or dotted interface names follow rules that are left to sysctl(8).
        if any("/" in name or "*" in name or not equals for name, equals, _ in pairs):
            return None

        def execute() -> None:
            self._enter()
            try:
                for name, _, value in pairs:
                    _write_setting("/proc/sys/" + name.replace(".", "/"), value)
            finally:
                self._leave()

        return execute


def _content(file: str) -> bytes | None:
    try:
        return system.read_bytes(file)
    except FileNotFoundError:
        return None


def _write_setting(file: str, value: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def offload_requests(words: list[str], place: Place) -> list[Request]:
    """Return alternative requests for ``ethtool -K`` with these words: the kernel must accept one of them.

    :raises UnknownFormError: if their form is not supported.
    :raises OSError: if it names an interface that does not exist.
    """
    device, names, states = words[0], words[1::2], words[2::2]
    if len(names) != len(states) or not set(names) <= set(_FEATURES) or not set(states) <= {"on", "off"}:
        raise UnknownFormError
    wanted = {feature: state for name, state in zip(names, states, strict=True) for feature in _FEATURES[name]}
    head = nested_attribute(
        _HEADER,
        integer_attribute(_HEADER_INDEX, place.index(device), 4),
        integer_attribute(_HEADER_FLAGS, _WITHOUT_REPLY, 4),
    )
    old = {feature: state for feature, state in wanted.items() if feature not in _NEW}
    bodies = [_GENERIC_HEADER.pack(_SET_FEATURES, 1) + head + _bitset(features) for features in (wanted, old)]
    return [(GENERIC, place.family(_ETHTOOL), ACK, body) for body in bodies]


def _bitset(features: dict[str, str]) -> bytes:
    bits = (nested_attribute(_BIT, *_bit(name, state)) for name, state in features.items())
    return nested_attribute(_WANTED, nested_attribute(_BITS, *bits))


def _bit(name: str, state: str) -> Iterator[bytes]:
    yield text_attribute(_BIT_NAME, name)
    if state == "on":
        yield attribute(_BIT_VALUE, b"")
