# SPDX-License-Identifier: MIT
"""Gateways in the network of a scenario: their addresses, and the workloads whose connections they carry."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from mptcplab.gateway.base import GatewayBase
from mptcplab.gateway.context import Context
from mptcplab.gateway.proxy import joined
from mptcplab.node.context import WorkloadView
from mptcplab.node.graph import Graph, Port
from mptcplab.scenario.schema import Scenario
from mptcplab.workload.base import WorkloadBase

#: Workloads that speak to an entry by themselves use one loopback address each, so that their sockets differ.
_LOCAL = ipaddress.IPv4Address("127.0.1.1")


def exit_port(graph: Graph, gateway: GatewayBase) -> Port | None:
    """Return the exit's port that the entry connects to: its ``via``, else the first reachable one."""
    if gateway.via is not None:
        return graph.ports.get((gateway.exit, gateway.via))
    reachable = (port for port in graph.ports_of(gateway.exit) if graph.reaches(gateway.entry, port))
    return next(reachable, None)


def views(graph: Graph, gateway: GatewayBase) -> Iterator[tuple[str, WorkloadView]]:
    """Yield the connections between entry and exit, from the view of each, with the node's name."""
    target = exit_port(graph, gateway)
    for node, partner, is_client in ((gateway.entry, gateway.exit, True), (gateway.exit, gateway.entry, False)):
        yield node, WorkloadView(partner, target, is_client=is_client, scheduler=None, protocol=gateway.protocol)


def context_of(scenario: Scenario, graph: Graph, name: str) -> Context:
    """Return the view that a checked gateway has of its scenario."""
    gateway = scenario.gateways[name]
    target = exit_port(graph, gateway)
    assert target is not None, "checked when the scenario was loaded"
    locals_ = {
        workload: str(_LOCAL + number)
        for number, (workload, described) in enumerate(scenario.workloads.items())
        if described.through == name
    }
    return Context(
        name=name,
        number=list(scenario.gateways).index(name),
        server=target.ip,
        near=tuple(str(port.subnet) for port in graph.ports_of(gateway.entry)),
        exits=tuple(port.ip for port in graph.ports_of(gateway.exit)),
        beyond=tuple(str(port.subnet) for port in beyond(graph, gateway)),
        local=tuple(locals_.items()),
    )


def beyond(graph: Graph, gateway: GatewayBase) -> list[Port]:
    """Return a port in each subnet that is reached through the exit, without a way back to the entry."""
    entry = graph.ports_of(gateway.entry)
    outer = [port for port in graph.ports_of(gateway.exit) if not any(graph.leads(port, own) for own in entry)]
    return [one for one in graph.subnets() if any(graph.leads(port, one) for port in outer)]


def proxy_of(scenario: Scenario, graph: Graph, workload: str) -> str | None:
    """Return address and port of the SOCKS5 proxy that a workload uses, if any."""
    name = scenario.workloads[workload].through
    if name is None:
        return None
    port = scenario.gateways[name].listening_port
    assert port is not None, "checked when the scenario was loaded"
    return joined(dict(context_of(scenario, graph, name).local)[workload], port)


def carried(scenario: Scenario, graph: Graph, name: str) -> list[str]:
    """Return the workloads whose connections the gateway carries, by their routes or by their ``through``."""
    gateway = scenario.gateways[name]
    return [
        workload
        for workload, described in scenario.workloads.items()
        if (_is_caught(graph, gateway, described) if gateway.catches_all else described.through == name)
    ]


def _is_caught(graph: Graph, gateway: GatewayBase, workload: WorkloadBase) -> bool:
    """Return whether the workload's packets pass the entry on their way to a node beyond it."""
    target = target_of(graph, workload)
    if target is None or workload.receiver in (gateway.entry, gateway.exit) or workload.through is not None:
        return False
    if target.link in {port.link for port in graph.ports_of(gateway.entry)}:
        return False
    if gateway.listening_port is not None and workload.only_protocol == "udp":
        return False
    return gateway.entry in _nodes_on_path(graph, workload.sender, target)


def _nodes_on_path(graph: Graph, node: str, target: Port) -> list[str]:
    nodes = [node]
    for link in graph.path_between(node, target):
        nodes.append(graph.ports[nodes[-1], link].peer)
    return nodes


def target_of(graph: Graph, workload: WorkloadBase) -> Port | None:
    """Return the port that the workload connects to: its ``via``, else the first reachable one."""
    if workload.via is not None:
        return graph.ports.get((workload.receiver, workload.via))
    reachable = (port for port in graph.ports_of(workload.receiver) if graph.reaches(workload.sender, port))
    return next(reachable, None)
