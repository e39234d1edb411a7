# SPDX-License-Identifier: MIT
"""Routes: shortest paths for all nodes, and one table per address for a multi-homed node with sockets.

Such a node sends by the link of its source address, as MPTCP guides recommend: ``ip rule`` selects a table by source
address, and the table has only the subnets that this link leads to. The main table, which selects the source address
of a new connection, has the shortest path to every subnet.

A node that forwards does so by its main table: forwarded packets have no source address of its own. Modes of its links
concern its own connections only, so routes that follow from modes have a table for packets that it sends itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.configuration import Route, Rule
from mptcplab.node.context import NodeContext
from mptcplab.node.graph import Port
from mptcplab.node.transport import Modes, Transport

_FIRST_TABLE = 100
#: The kernel's own tables default, main and local (include/uapi/linux/rtnetlink.h), which numbers pass over.
_KERNEL_TABLES = (253, 254, 255)
#: Routes of the node's own packets; asked after the tables of addresses, whose number is limited by the number of
#: links.
_OWN_PACKETS = 99
_OWN_PACKETS_PRIORITY = 30000


def build_routes(context: NodeContext, transport: Transport | None) -> Iterator[Route | Rule]:
    """Yield all routes and rules of a node; ``transport`` applies to its own sockets, if it has any."""
    modes = transport.modes if transport is not None else {}
    yield from _main_table_routes(context, transport, {} if context.forwards else modes)
    if context.forwards and modes:
        yield from _table_of_own_packets(context, modes)
    if transport is not None and len(context.ports) > 1:
        for number, port in enumerate(context.ports):
            yield from _own_table_routes(context, port, _table(number))


def _main_table_routes(context: NodeContext, transport: Transport | None, modes: Modes) -> Iterator[Route]:
    for target, port in _outgoing_ports(context, modes):
        # The source is fixed, so that a new connection uses the address of its outgoing link.
        yield _route(target, port, source=port.ip if transport is not None else None)


def _table_of_own_packets(context: NodeContext, modes: Modes) -> Iterator[Route | Rule]:
    """Yield the routes that modes give to the node's own connections, where they differ from the main table's."""
    shortest = dict(_outgoing_ports(context, {}))
    routes = [(target, port) for target, port in _outgoing_ports(context, modes) if shortest.get(target) != port]
    if not routes:
        return
    # Packets that the node itself sends come in by `lo`.
    yield Rule(routes[0][1].address.version, _OWN_PACKETS, _OWN_PACKETS_PRIORITY, incoming="lo")
    for target, port in routes:
        yield _route(target, port, source=port.ip, table=_OWN_PACKETS)


def _route(target: Port, port: Port, *, source: str | None = None, table: int | None = None) -> Route:
    """Return the route to ``target``'s subnet by the node at the other end of ``port``'s link."""
    return Route(target.subnet, port.device, str(port.peer_address.ip), source, table)


def _outgoing_ports(context: NodeContext, modes: Modes) -> Iterator[tuple[Port, Port]]:
    """Yield a port of every subnet that the node is not in, with the node's outgoing port to it."""
    links = {port.link for port in context.ports}
    for target in context.graph.subnets():
        port = _first_port(context, modes, target) if target.link not in links else None
        if port is not None:
            yield target, port


def _first_port(context: NodeContext, modes: Modes, target: Port) -> Port | None:
    """Return the outgoing port for ``target``'s subnet: the master, else the port of the shortest path that is on."""
    leading = [port for port in context.ports if modes and context.graph.leads(port, target)]
    master = next((port for port in leading if modes.get(port.link) == "master"), None)
    best = context.graph.next_hop(context.name, target)
    if master is not None or best is None or modes.get(best.link) not in ("off", "handover", "backup"):
        return master or best
    return next((port for port in leading if modes.get(port.link, "on") == "on"), best)


def _table(number: int) -> int:
    table = _FIRST_TABLE + number
    return table if table < _KERNEL_TABLES[0] else table + len(_KERNEL_TABLES)


def _own_table_routes(context: NodeContext, port: Port, table: int) -> Iterator[Route | Rule]:
    yield Rule(port.address.version, table, table, source=port.ip)
    yield Route(port.subnet, port.device, table=table)
    for target in context.graph.subnets():
        if target.link != port.link and context.graph.leads(port, target):
            yield _route(target, port, table=table)
