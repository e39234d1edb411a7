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
from mptcplab.guest.generic_netlink import family_number
from mptcplab.guest.ip_requests import ip_requests
from mptcplab.guest.netlink import GENERIC, ROUTE, Netlink, RefusedError
from mptcplab.guest.offload_requests import offload_requests
from mptcplab.guest.tc_requests import tc_requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mptcplab.guest.command_form import Request

#: include/uapi/linux/sockios.h
_SIOCGIFNAME, _SIOCGIFINDEX = 0x8910, 0x8933
_INDEX_REQUEST = struct.Struct("=16si20x")
_MAX_NAME_BYTES = 15

#: A frame of the experimental protocol 0x88b5 without addresses: sending it makes the interface serve waiting packets.
_FRAME = bytes(12) + b"\x88\xb5" + bytes(46)
_NUDGE = "import socket,sys;s=socket.socket(17,3);s.bind((sys.argv[1],0));s.send(bytes(12)+b'\\x88\\xb5'+bytes(46))"


def nudge(device: str) -> tuple[str, ...]:
    """Return a command that sends that frame on ``device``."""
    return ("python3", "-c", _NUDGE, device)


class Place:
    """One network namespace, for commands that the guest executes there.

    ``namespaces`` are the descriptors of all namespaces, by name. ``families`` are the message kinds of generic netlink's
    families, which all namespaces share.
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
