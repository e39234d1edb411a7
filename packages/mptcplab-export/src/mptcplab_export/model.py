# SPDX-License-Identifier: MIT
"""The configuration of one node, as every format writes it. Interfaces have the real machine's names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from mptcplab.configuration import NftTable, Route, Rule
from mptcplab.errors import InputError
from mptcplab.node.graph import Interface as Address
from mptcplab.scenario.document import name_hint


@dataclass(frozen=True)
class ExportInterface:
    """The end of ``link``: the machine's ``device``. ``mtu`` in bytes; None for Ethernet's."""

    link: str
    device: str
    address: Address
    mtu: int | None = None


@dataclass(frozen=True)
class ExportEndpoint:
    """An MPTCP endpoint. ``options`` are the words of ``ip mptcp endpoint add`` after its device: port and flags."""

    address: str
    device: str
    options: tuple[str, ...]

    def addition(self) -> tuple[str, ...]:
        """Return the command that adds it.

        The kernel numbers it. It may know the address already, as an implicit endpoint of a connection, and replaces
        that only by an endpoint without a number.
        """
        return ("ip", "mptcp", "endpoint", "add", self.address, "dev", self.device, *self.options)

    def name(self) -> tuple[str, ...]:
        """Return how ``ip mptcp endpoint show`` begins its line: with its address, and its port if it has one."""
        return (self.address, *(self.options[:2] if self.options[:1] == ("port",) else ()))


@dataclass(frozen=True)
class ExportLimits:
    """The limits of the kernel's path manager, per connection."""

    subflows: int
    add_addr_accepted: int

    def command(self) -> tuple[str, ...]:
        """Return the command that sets them."""
        limits = ("subflows", str(self.subflows), "add_addr_accepted", str(self.add_addr_accepted))
        return ("ip", "mptcp", "limits", "set", *limits)


#: The limits of a kernel that nobody has configured: pm_nl_init_net in net/mptcp/pm_kernel.c.
KERNEL_LIMITS = ExportLimits(subflows=2, add_addr_accepted=0)


@dataclass(frozen=True)
class Service:
    """A program that runs throughout, with these variables in its environment.

    ``programs`` are the names of all that its command starts. ``files`` are absolute paths of files that it reads, with
    their texts; nobody else may read them.
    """

    name: str
    argv: tuple[str, ...]
    programs: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Configuration:
    """Everything that makes a machine the node ``node`` of the scenario ``title``.

    ``settings`` are sysctls. ``notes`` are sentences for the operator, which formats write as comments.
    """

    node: str
    title: str
    forwards: bool
    interfaces: tuple[ExportInterface, ...]
    settings: tuple[tuple[str, str], ...]
    routes: tuple[Route, ...]
    rules: tuple[Rule, ...]
    limits: ExportLimits | None
    endpoints: tuple[ExportEndpoint, ...]
    tables: tuple[NftTable, ...]
    services: tuple[Service, ...]
    notes: tuple[str, ...]

    @property
    def is_v6(self) -> bool:
        """True if its addresses are of IPv6."""
        return any(interface.address.version == 6 for interface in self.interfaces)

    def routes_of(self, device: str) -> Iterator[Route]:
        """Yield the routes by ``device``."""
        return (route for route in self.routes if route.device == device)


# The interfaces of a real machine for the links of a node, as an operator names them.

#: A name that neither a shell nor a configuration file needs to quote; Linux's are at most 15 characters long.
_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}")


def devices_of(words: Iterable[str], links: Collection[str]) -> dict[str, str]:
    """Return devices by link, from words like ``link1=eth0,link2=wlan0``; ``links`` are the node's.

    :raises InputError: for a link that the node does not have, and for a device that cannot be one, or is one already.
    """
    devices: dict[str, str] = {}
    for pair in (pair.strip() for word in words for pair in word.split(",")):
        link, equals, device = pair.partition("=")
        if not equals:
            raise InputError(f"--device: '{pair}' is not LINK=DEVICE", hint="write for example --device link1=eth0")
        if link not in links:
            raise InputError(f"--device: the node has no link '{link}'", hint=name_hint(link, links))
        if not _DEVICE.fullmatch(device):
            hint = "use the name that `ip link` shows, like eth0: at most 15 letters, digits, '.', '-' or '_'"
            raise InputError(f"--device: '{device}' is not the name of an interface", hint=hint)
        if devices.setdefault(link, device) != device:
            raise InputError(f"--device: the link '{link}' has two devices", hint="name one device for each link")
    names = [devices.get(link, link) for link in links]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"--device: '{twice}' is the device of two links", hint="name another device for one of them")
    return devices
