# SPDX-License-Identifier: MIT
"""Routes: shortest paths for everyone, and for a multi-homed host one table per address.

A host with several links sends by the link of its source address, as every MPTCP guide asks for: ``ip rule`` picks a
table by source, and the table holds only what that link leads to. The main table, which chooses the source address of
a new connection, has the shortest path to every subnet.
"""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.scenario.network import Network, Port
from mptcplab.steps import Command

_FIRST_TABLE = 100


def route_commands(network: Network, node: str) -> Iterator[Command]:
    """All routes and rules of ``node``."""
    yield from _shortest(network, node)
    ports = network.ports_of(node)
    if network.is_host(node) and len(ports) > 1:
        for number, port in enumerate(ports):
            yield from _own_table(network, port, _FIRST_TABLE + number)


def _subnets(network: Network) -> list[Port]:
    """One port per link, standing for the link's subnet."""
    first: dict[str, Port] = {}
    for port in network.ports.values():
        first.setdefault(port.link, port)
    return list(first.values())


def _via(port: Port) -> tuple[str, ...]:
    return ("via", str(port.peer_address.ip), "dev", port.link)


def _shortest(network: Network, node: str) -> Iterator[Command]:
    own = set(network.links_of(node))
    for target in _subnets(network):
        port = first_port(network, node, target) if target.link not in own else None
        if port is not None:
            # The source is fixed so that a new connection uses the address of the link it leaves by.
            source = ("src", port.ip) if network.is_host(node) else ()
            yield Command(node, ("ip", "route", "add", str(target.subnet), *_via(port), *source))


def first_port(network: Network, node: str, target: Port) -> Port | None:
    """Where packets for ``target``'s subnet leave: by the master, else by the shortest way that is not switched off."""
    modes = network.scenario.hosts[node].transport.modes if network.is_host(node) else {}
    leading = [port for port in network.ports_of(node) if modes and network.leads(port, target)]
    master = next((port for port in leading if modes.get(port.link) == "master"), None)
    best = network.next_hop(node, target)
    if master is not None or best is None or modes.get(best.link) not in ("off", "handover", "backup"):
        return master or best
    return next((port for port in leading if modes.get(port.link, "on") == "on"), best)


def _own_table(network: Network, port: Port, table: int) -> Iterator[Command]:
    to_table = ("table", str(table))
    # Unlike routes, a rule is taken for IPv4 unless the family is said.
    ip = ("ip", "-6") if port.address.version == 6 else ("ip",)
    yield Command(port.node, (*ip, "rule", "add", "from", port.ip, *to_table, "priority", str(table)))
    yield Command(port.node, ("ip", "route", "add", str(port.subnet), "dev", port.link, *to_table))
    for target in _subnets(network):
        if target.link != port.link and network.leads(port, target):
            yield Command(port.node, ("ip", "route", "add", str(target.subnet), *_via(port), *to_table))
