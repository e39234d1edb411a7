# SPDX-License-Identifier: MIT
"""The transport of a node as commands, the lab's own path manager, the weights of paths, and the counters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.node.context import NodeContext
from mptcplab.node.graph import Port
from mptcplab.node.transport import WEIGHTED_SCHEDULERS, Limits, Transport
from mptcplab.steps import Command, Counter, Program

# Weights of paths: from names of links to the addresses by which the kernel identifies subflows.
#
# The kernel gives a subflow the weight of the first entry with the address of one of its two ends. A link of the node
# itself selects the node's address on it; any other link selects the address of a peer on it.


def weights_by_address(context: NodeContext, transport: Transport) -> dict[str, int]:
    """Return addresses and weights, in the order of ``weights``; links without an end of a subflow are left out."""
    return {port.ip: weight for link, weight in transport.weights.items() for port in subflow_ends(context, link)}


def subflow_ends(context: NodeContext, link: str) -> list[Port]:
    """Return the ends of ``link`` that identify the node's subflows: its own, else its peers'."""
    ports = context.graph.ports
    nodes = [context.name] if (context.name, link) in ports else context.peers
    return [ports[node, link] for node in nodes if (node, link) in ports]


def uses_weights(context: NodeContext, transport: Transport) -> bool:
    """Return whether connections of the node have a scheduler that uses weights."""
    used = {talk.scheduler or transport.scheduler for talk in context.workloads}
    return context.speaks_mptcp(transport.protocol) and not used.isdisjoint(WEIGHTED_SCHEDULERS)


# The transport of a node as ``sysctl`` and ``ip mptcp`` commands, and the counters that are read at the end.

_PATH_MANAGERS = {"kernel": 0, "userspace": 1}
#: Read back at the end, to record the values in force rather than those requested.
_SETTINGS = (
    "net.mptcp.scheduler",
    "net.mptcp.scheduler_weights",
    "net.mptcp.pm_type",
    "net.mptcp.checksum_enabled",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
)


def settings(context: NodeContext, transport: Transport) -> Iterator[str]:
    """Yield the settings of the transport for ``sysctl``."""
    yield "net.mptcp.enabled=1"
    yield f"net.mptcp.pm_type={_PATH_MANAGERS[transport.path_manager]}"
    if transport.congestion_control is not None:
        yield f"net.ipv4.tcp_congestion_control={transport.congestion_control}"
    if transport.scheduler is not None:
        yield f"net.mptcp.scheduler={transport.scheduler}"
    weights = weights_by_address(context, transport) if uses_weights(context, transport) else {}
    if weights:
        # Set only for a scheduler that uses weights, so that kernels without them can be compared.
        yield f"net.mptcp.scheduler_weights={' '.join(f'{address}={weight}' for address, weight in weights.items())}"
    for key, sizes in (("tcp_rmem", transport.tcp_rmem), ("tcp_wmem", transport.tcp_wmem)):
        if sizes is not None:
            yield f"net.ipv4.{key}={' '.join(str(int(size)) for size in sizes)}"
    for name, value in transport.sysctl.items():
        yield f"{name}={value}"


def endpoint_commands(context: NodeContext, transport: Transport | None) -> Iterator[Command]:
    """Yield the commands for limits and endpoints, if the node uses MPTCP."""
    if transport is None or not context.speaks_mptcp(transport.protocol):
        return
    yield limits_command(context.name, transport.limits)
    for port, options in endpoints_of(context, transport):
        yield Command(context.name, ("ip", "mptcp", "endpoint", "add", port.ip, "dev", port.device, *options))


def limits_command(node: str, limits: Limits) -> Command:
    """Return the command that sets both limits of ``node``."""
    bounds = ("subflows", str(limits.subflows), "add_addr_accepted", str(limits.add_addr_accepted))
    return Command(node, ("ip", "mptcp", "limits", "set", *bounds))


def counters(node: str) -> Iterator[Counter]:
    """Yield the counters of ``node`` that are read at the end."""
    yield Counter(node, "sysctl.txt", ("sysctl", "-e", *_SETTINGS))
    yield Counter(node, "nstat.json", ("nstat", "-a", "-s", "-z", "-j"))
    yield Counter(node, "mptcp-endpoint.json", ("ip", "-j", "mptcp", "endpoint", "show"))
    yield Counter(node, "mptcp-limits.json", ("ip", "-j", "mptcp", "limits", "show"))


def endpoints_document(context: NodeContext, transport: Transport) -> Iterator[dict[str, Any]]:
    """Yield the endpoints that the node should have, as in a manifest."""
    if not context.speaks_mptcp(transport.protocol):
        return
    for port, words in endpoints_of(context, transport):
        number = int(words[1]) if words[:1] == ("port",) else None
        flags = sorted(words if number is None else words[2:])
        yield {"address": port.ip, "link": port.link, "port": number, "flags": flags}


def endpoints_of(context: NodeContext, transport: Transport) -> Iterator[tuple[Port, tuple[str, ...]]]:
    """Yield the addresses that the node announces or uses, with the options of ``ip mptcp endpoint add``.

    ``auto``: a server announces its other addresses (signal); a client may open subflows from every address that has
    a path to the address it connects to (subflow). With disjoint paths only the first path's address has one: there
    the client opens subflows to announced addresses, from the address that routing selects. The mode ``backup`` of a
    link marks all subflows with its address, and opens none.
    """
    wanted = transport.endpoints
    if isinstance(wanted, tuple):
        ports = {port.link: port for port in context.ports}
        for endpoint in wanted:
            port_number = ("port", str(endpoint.port)) if endpoint.port is not None else ()
            yield ports[endpoint.link], (*port_number, *endpoint.flags)
        return
    if wanted == "none" or transport.path_manager == "userspace":
        return
    for port in context.ports_of_paths:
        flags = _flags_of(context, transport, port)
        if transport.modes.get(port.link) == "backup":
            # Alone, the flag opens no subflow, and marks subflows that have this address for another reason.
            flags += ("backup",)
        if flags:
            yield port, flags


def _flags_of(context: NodeContext, transport: Transport, port: Port) -> tuple[str, ...]:
    """Return the flags of the endpoint with the address of ``port``, except backup; none if it needs no endpoint."""
    if len(context.ports_of_paths) < 2:
        return ()
    talks = [talk for talk in context.workloads if (talk.protocol or transport.protocol) == "mptcp"]
    connected_to = {talk.target for talk in talks if not talk.is_client}
    targets = [talk.target for talk in talks if talk.is_client]
    signal = ("signal",) if connected_to and connected_to != {port} else ()
    if transport.endpoints == "fullmesh" and targets:
        # The kernel refuses an endpoint that is both fullmesh and signal.
        return (*signal, "subflow") if signal else ("subflow", "fullmesh")
    enters = any(target is not None and context.graph.enters(port, target) for target in targets)
    return (*signal, "subflow") if enters else signal


# The lab's own path manager: one server program on every node with ``path_manager = "userspace"``.
#
# Its configuration has the node's links, and the addresses that each of them leads to. It learns everything else from
# the kernel: mptcplab/guest/path_manager.py. With ``endpoints = "none"`` there is no path manager.


def path_managers(context: NodeContext, transport: Transport | None) -> Iterator[Program]:
    """Yield the program of a node that uses it."""
    if transport is None or transport.path_manager != "userspace" or transport.endpoints == "none":
        return
    if context.speaks_mptcp(transport.protocol) and context.workloads:
        config = json.dumps(_config(context, transport), separators=(",", ":"))
        # No program of a workload has such a name.
        name = f"path-manager.{context.kind}-{context.name}"
        yield Program(name, context.name, "server", (PATH_MANAGER, config))


def _config(context: NodeContext, transport: Transport) -> dict[str, Any]:
    others = [port for peer in context.peers for port in context.graph.ports_of(peer)]
    return {
        "paths": [
            _path(context, transport, port, others, number)
            for number, port in enumerate(context.ports_of_paths, start=1)
        ],
        "full_mesh": transport.endpoints == "fullmesh",
        "subflows_per_pair": transport.subflows_per_pair,
    }


def _path(context: NodeContext, transport: Transport, port: Port, others: list[Port], number: int) -> dict[str, Any]:
    return {
        "link": port.device,
        "address": port.ip,
        "id": number,
        "mode": transport.modes.get(port.link, "on"),
        "reaches": [other.ip for other in others if context.graph.enters(port, other)],
    }
