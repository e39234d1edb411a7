# SPDX-License-Identifier: MIT
"""Gateways in the network of a scenario: their addresses, and the workloads whose connections they carry."""

from __future__ import annotations

import ipaddress

from mptcplab.gateway.base import GatewayBase
from mptcplab.gateway.context import GatewayContext
from mptcplab.gateway.proxy import host_port
from mptcplab.node.graph import Port
from mptcplab.scenario.network import Network
from mptcplab.workload.base import WorkloadBase

#: Workloads that speak to an entry by themselves use one loopback address each, so that their sockets differ.
_LOCAL = ipaddress.IPv4Address("127.0.1.1")


def context_of(network: Network, name: str, *, folder: str = "/tmp") -> GatewayContext:
    """Return the view that a checked gateway has of its scenario; its programs find their files in ``folder``."""
    gateway = network.scenario.gateways[name]
    servers = [port.ip for port in network.exit_ports(gateway) if port is not None]
    assert servers, "checked when the scenario was loaded"
    locals_ = {
        workload: str(_LOCAL + number)
        for number, (workload, described) in enumerate(network.scenario.workloads.items())
        if described.through == name
    }
    return GatewayContext(
        name=name,
        number=list(network.scenario.gateways).index(name),
        server=servers[0],
        near=tuple(str(port.subnet) for port in network.ports_of(gateway.entry)),
        exits=tuple(port.ip for port in network.ports_of(gateway.exit)),
        beyond=tuple(str(port.subnet) for port in ports_beyond(network, gateway)),
        local=tuple(locals_.items()),
        folder=folder,
        more_servers=tuple(servers[1:]),
        passed=_list_passing_addresses(network, gateway),
        destination=_destination(network, next(iter(locals_))) if gateway.forwards and locals_ else None,
    )


def ports_beyond(network: Network, gateway: GatewayBase) -> list[Port]:
    """Return a port in each subnet that is reached through the exit, without a way back to the entry."""
    entry = network.ports_of(gateway.entry)
    outer = [
        port for port in network.ports_of(gateway.exit) if not any(network.leads(port, own_port) for own_port in entry)
    ]
    return [subnet for subnet in network.subnets() if any(network.leads(port, subnet) for port in outer)]


def proxy_of(network: Network, workload: str) -> str | None:
    """Return address and port of the SOCKS5 proxy that a workload uses, if any."""
    entry = _entry_of(network, workload, forwards=False)
    return None if entry is None else host_port(*entry)


def client_address(network: Network, workload: str) -> tuple[str, int] | None:
    """Return address and port that a workload's client connects to in place of its server's, if a gateway forwards."""
    return _entry_of(network, workload, forwards=True)


def _entry_of(network: Network, workload: str, *, forwards: bool) -> tuple[str, int] | None:
    """Return address and port of the entry that a workload speaks to by itself, if it ``forwards`` or not."""
    name = network.scenario.workloads[workload].through
    if name is None or network.scenario.gateways[name].forwards != forwards:
        return None
    port = network.scenario.gateways[name].listening_port
    assert port is not None, "checked when the scenario was loaded"
    return dict(context_of(network, name).local)[workload], port


def _destination(network: Network, workload: str) -> tuple[str, int]:
    """Return address and port of a workload's server."""
    target = network.target(network.scenario.workloads[workload])
    assert target is not None, "checked when the scenario was loaded"
    return target.ip, network.scenario.server_ports[workload]


def carried(network: Network, name: str) -> list[str]:
    """Return the workloads whose connections the gateway carries, by their routes or by their ``through``."""
    return [workload for workload in _select_workloads(network, name) if not _passes(network, name, workload)]


def list_passing(network: Network, name: str) -> list[str]:
    """Return the workloads that the gateway lets pass, since they speak MPTCP from end to end."""
    return [workload for workload in _select_workloads(network, name) if _passes(network, name, workload)]


def _select_workloads(network: Network, name: str) -> list[str]:
    gateway = network.scenario.gateways[name]
    return [
        workload
        for workload, described in network.scenario.workloads.items()
        if (_is_caught(network, gateway, described) if gateway.catches_all else described.through == name)
    ]


def _passes(network: Network, name: str, workload: str) -> bool:
    described, gateway = network.scenario.workloads[workload], network.scenario.gateways[name]
    both = (_speaks_mptcp(network, described, node) for node in (described.sender, described.receiver))
    return gateway.lets_mptcp_pass and all(both)


def _speaks_mptcp(network: Network, workload: WorkloadBase, node: str) -> bool:
    return (workload.own_protocol or network.scenario.transports[node].protocol) == "mptcp"


def _list_passing_addresses(network: Network, gateway: GatewayBase) -> tuple[str, ...]:
    """Return the addresses of servers that speak MPTCP, unless they have subnets of the entry, which pass anyway."""
    if not gateway.lets_mptcp_pass:
        return ()
    workloads = network.scenario.workloads.values()
    servers = {workload.receiver for workload in workloads if _speaks_mptcp(network, workload, workload.receiver)}
    near = {port.link for port in network.ports_of(gateway.entry)}
    return tuple(
        port.ip
        for server in sorted(servers - {gateway.entry, gateway.exit})
        for port in network.ports_of(server)
        if port.link not in near
    )


def _is_caught(network: Network, gateway: GatewayBase, workload: WorkloadBase) -> bool:
    """Return whether the workload's packets pass the entry on their way to a node beyond it."""
    target = network.target(workload)
    if target is None or workload.receiver in (gateway.entry, gateway.exit) or workload.through is not None:
        return False
    if target.link in {port.link for port in network.ports_of(gateway.entry)}:
        return False
    is_tunnel = gateway.listening_port is None
    if is_tunnel and target.link not in {port.link for port in ports_beyond(network, gateway)}:
        return False
    if not is_tunnel and workload.own_protocol == "udp":
        return False
    return gateway.entry in _nodes_on_path(network, workload.sender, target)


def _nodes_on_path(network: Network, node: str, target: Port) -> list[str]:
    nodes = [node]
    for link in network.path_between(node, target):
        nodes.append(network.ports[nodes[-1], link].peer)
    return nodes
