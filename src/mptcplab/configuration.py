# SPDX-License-Identifier: MIT
"""Parts of a node's configuration as data: a plan makes commands of them, and an export the files of a real machine."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from mptcplab.steps import Command

Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Route:
    """A route to ``destination`` by ``device``; without a ``gateway``, the device's link has the destination.

    ``source`` is the address of new connections that use the route. Without a ``table`` it is in the main one.
    """

    destination: Subnet
    device: str
    gateway: str | None = None
    source: str | None = None
    table: int | None = None

    def command(self, node: str, verb: str = "add") -> Command:
        """Return the command that adds it, or that does ``verb``."""
        via = ("via", self.gateway) if self.gateway is not None else ()
        source = ("src", self.source) if self.source is not None else ()
        table = ("table", str(self.table)) if self.table is not None else ()
        argv = ("ip", "route", verb, str(self.destination), *via, "dev", self.device, *source, *table)
        return Command(node, argv)


@dataclass(frozen=True)
class Rule:
    """A rule of IP ``version`` that selects a ``table``.

    It holds for packets with the address ``source``, or that came in by the interface ``incoming``: by ``lo``
    for packets that the node itself sends.
    """

    version: int
    table: int
    priority: int
    source: str | None = None
    incoming: str | None = None

    def command(self, node: str, verb: str = "add") -> Command:
        """Return the command that adds it, or that does ``verb``."""
        # Unlike a route, a rule is for IPv4 unless the family is given.
        ip = ("ip", "-6") if self.version == 6 else ("ip",)
        source = ("from", self.source) if self.source is not None else ()
        incoming = ("iif", self.incoming) if self.incoming is not None else ()
        selected = (*source, *incoming, "table", str(self.table), "priority", str(self.priority))
        return Command(node, (*ip, "rule", verb, *selected))


@dataclass(frozen=True)
class NftChain:
    """A chain of ``rules`` at a ``hook``, in the language of ``nft``."""

    name: str
    hook: str
    rules: tuple[str, ...]


@dataclass(frozen=True)
class NftTable:
    """A table of nftables.

    ``masquerades`` has the devices of a table that does nothing but this: packets that leave by one get its address.
    """

    name: str
    chains: tuple[NftChain, ...]
    family: str = "inet"
    masquerades: tuple[str, ...] = ()

    def command(self, node: str) -> Command:
        """Return the command that adds it."""
        return Command(node, ("nft", "; ".join(self._lines())), features=("nft",))

    def _lines(self) -> Iterator[str]:
        table = f"{self.family} {self.name}"
        yield f"add table {table}"
        for chain in self.chains:
            yield f"add chain {table} {chain.name} {{ {chain.hook} }}"
            yield from (f"add rule {table} {chain.name} {rule}" for rule in chain.rules)


def match_outgoing(devices: tuple[str, ...]) -> str:
    """Return the match of ``nft`` for packets that leave by one of ``devices``, or by any device if it is empty."""
    names = ", ".join(f'"{device}"' for device in devices)
    return f"oifname {{ {names} }} " if devices else ""


def masquerade_table(name: str, devices: tuple[str, ...]) -> NftTable:
    """Return a table that gives packets which leave by one of ``devices`` its address."""
    return NftTable(name, (masquerade(match_outgoing(devices)),), masquerades=devices)


def masquerade(match: str) -> NftChain:
    """Return a chain that gives packets with a ``match``, which ends with a blank, the address of their way out."""
    return NftChain("out", "type nat hook postrouting priority srcnat;", (f"{match}masquerade",))
