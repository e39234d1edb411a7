# SPDX-License-Identifier: MIT
"""Routes: shortest paths for all nodes, and one table per address for a multi-homed node with sockets.

Such a node sends by the link of its source address, as MPTCP guides recommend: ``ip rule`` selects a table by source
address, and the table has only the subnets that this link leads to. The main table, which selects the source address
of a new connection, has the shortest path to every subnet.
"""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.node.context import Context
from mptcplab.node.graph import Port
from mptcplab.node.transport import Transport
from mptcplab.steps import Command

_FIRST_TABLE = 100


def route_commands(context: Context, transport: Transport | None) -> Iterator[Command]:
    """Yield all routes and rules of a node; ``transport`` is that of its own sockets, if it has any."""
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
            # The source is fixed, so that a new connection uses the address of its outgoing link.
            source = ("src", port.ip) if transport is not None else ()
            yield Command(context.name, ("ip", "route", "add", str(target.subnet), *_via(port), *source))


def _first_port(context: Context, transport: Transport | None, target: Port) -> Port | None:
    """Return the outgoing port for ``target``'s subnet: the master, else that of the shortest path that is on."""
    modes = transport.modes if transport is not None else {}
    leading = [port for port in context.ports if modes and context.graph.leads(port, target)]
    master = next((port for port in leading if modes.get(port.link) == "master"), None)
    best = context.graph.next_hop(context.name, target)
    if master is not None or best is None or modes.get(best.link) not in ("off", "handover", "backup"):
        return master or best
    return next((port for port in leading if modes.get(port.link, "on") == "on"), best)


def _own_table(context: Context, port: Port, table: int) -> Iterator[Command]:
    to_table = ("table", str(table))
    # Unlike a route, a rule is for IPv4 unless the family is given.
    ip = ("ip", "-6") if port.address.version == 6 else ("ip",)
    yield Command(port.node, (*ip, "rule", "add", "from", port.ip, *to_table, "priority", str(table)))
    yield Command(port.node, ("ip", "route", "add", str(port.subnet), "dev", port.link, *to_table))
    for target in context.graph.subnets():
        if target.link != port.link and context.graph.leads(port, target):
            yield Command(port.node, ("ip", "route", "add", str(target.subnet), *_via(port), *to_table))
