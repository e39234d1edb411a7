# SPDX-License-Identifier: MIT
"""Routes: shortest paths for everyone, and for a multi-homed node with sockets one table per address.

Such a node sends by the link of its source address, as every MPTCP guide asks for: ``ip rule`` picks a
table by source, and the table holds only what that link leads to. The main table, which chooses the source address of
a new connection, has the shortest path to every subnet.
"""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.node.context import Context
from mptcplab.node.graph import Port
from mptcplab.node.transport import Transport
from mptcplab.steps import Command

_FIRST_TABLE = 100


def route_commands(context: Context, transport: Transport | None) -> Iterator[Command]:
    """All routes and rules of a node; ``transport`` is of its own sockets, if it has any."""
    yield from _shortest(context, transport)
    if transport is not None and len(context.ports) > 1:
        for number, port in enumerate(context.ports):
            yield from _own_table(context, port, _FIRST_TABLE + number)


def _via(port: Port) -> tuple[str, ...]:
    return ("via", str(port.peer_address.ip), "dev", port.link)


def _shortest(context: Context, transport: Transport | None) -> Iterator[Command]:
    own = {port.link for port in context.ports}
    for target in context.graph.subnets():
        port = _first_port(context, transport, target) if target.link not in own else None
        if port is not None:
            # The source is fixed so that a new connection uses the address of the link it leaves by.
            source = ("src", port.ip) if transport is not None else ()
            yield Command(context.name, ("ip", "route", "add", str(target.subnet), *_via(port), *source))


def _first_port(context: Context, transport: Transport | None, target: Port) -> Port | None:
    """Where packets for ``target``'s subnet leave: by the master, else by the shortest way that is not switched off."""
    modes = transport.modes if transport is not None else {}
    leading = [port for port in context.ports if modes and context.graph.leads(port, target)]
    master = next((port for port in leading if modes.get(port.link) == "master"), None)
    best = context.graph.next_hop(context.name, target)
    if master is not None or best is None or modes.get(best.link) not in ("off", "handover", "backup"):
        return master or best
    return next((port for port in leading if modes.get(port.link, "on") == "on"), best)


def _own_table(context: Context, port: Port, table: int) -> Iterator[Command]:
    to_table = ("table", str(table))
    # Unlike routes, a rule is taken for IPv4 unless the family is said.
    ip = ("ip", "-6") if port.address.version == 6 else ("ip",)
    yield Command(port.node, (*ip, "rule", "add", "from", port.ip, *to_table, "priority", str(table)))
    yield Command(port.node, ("ip", "route", "add", str(port.subnet), "dev", port.link, *to_table))
    for target in context.graph.subnets():
        if target.link != port.link and context.graph.leads(port, target):
            yield Command(port.node, ("ip", "route", "add", str(target.subnet), *_via(port), *to_table))
