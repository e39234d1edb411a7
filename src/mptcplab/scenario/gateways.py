# SPDX-License-Identifier: MIT
"""Gateways in the network of a scenario: their addresses, the workloads whose connections they carry, and the checks of
their nodes, ports, paths to each other, and of the workloads that name them."""

from __future__ import annotations

import ipaddress
import itertools

from mptcplab.errors import Mistake
from mptcplab.gateway.base import SIDES, GatewayBase, GatewayContext
from mptcplab.gateway.proxy import host_port
from mptcplab.gateway.registry import PROGRAMS
from mptcplab.node.graph import Port
from mptcplab.scenario.document import Document
from mptcplab.scenario.network import Network
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.references import check_known, check_own_link, check_sockets
from mptcplab.scenario.schema import Scenario
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.registry import KINDS

_MAX_GATEWAYS = 200

#: Workloads that speak to an entry by themselves use one loopback address each, so that their sockets differ.
_LOCAL = ipaddress.IPv4Address("127.0.1.1")


def context_of(network: Network, name: str, *, folder: str = "/tmp") -> GatewayContext:
    """Return the view that a checked gateway has of its scenario; its programs find their files in ``folder``."""
    gateway = network.scenario.gateways[name]
    servers = [port.ip for port in network.exit_ports(gateway) if port is not None]
    assert servers, "checked when the scenario was loaded"
    locals_ = {
        workload: str(_LOCAL + number)
        for number, (workload, settings) in enumerate(network.scenario.workloads.items())
        if settings.through == name
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
        port
        for port in network.ports_of(gateway.exit)
        if not any(network.leads(port, port_of_entry) for port_of_entry in entry)
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


def carried_workloads(network: Network, name: str) -> list[str]:
    """Return the workloads whose connections the gateway carries, by their routes or by their ``through``."""
    return [workload for workload in _select_workloads(network, name) if not _passes(network, name, workload)]


def list_passing(network: Network, name: str) -> list[str]:
    """Return the workloads that the gateway lets pass, since they speak MPTCP from end to end."""
    return [workload for workload in _select_workloads(network, name) if _passes(network, name, workload)]


def _select_workloads(network: Network, name: str) -> list[str]:
    gateway = network.scenario.gateways[name]
    return [
        workload
        for workload, settings in network.scenario.workloads.items()
        if (_is_caught(network, gateway, settings) if gateway.catches_all else settings.through == name)
    ]


def _passes(network: Network, name: str, workload: str) -> bool:
    settings, gateway = network.scenario.workloads[workload], network.scenario.gateways[name]
    both = (_speaks_mptcp(network, settings, node) for node in (settings.sender, settings.receiver))
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


def check_gateways(document: Document, network: Network) -> None:
    """Check all gateways before the checks that need their addresses. :raises InputError: for the first mistake."""
    scenario = network.scenario
    if len(scenario.gateways) > _MAX_GATEWAYS:
        hint = f"use at most {_MAX_GATEWAYS}"
        message = f"has {len(scenario.gateways)} gateways"
        raise document.error(("gateways",), message, hint=hint, kind=Mistake.VALUE)
    for name, gateway in scenario.gateways.items():
        for side in reversed(SIDES):
            check_sockets(document, ("gateways", name, side), network, gateway.node_of(side), "node")
        _check_paths(document, network, name, gateway)
        _check_ports(document, network, name, gateway)
        _check_device(document, network, name, gateway)
        _check_catching(document, network, name, gateway)


def check_carried(document: Document, network: Network) -> None:
    """Check that workloads name gateways that they can use, and that every gateway carries one."""
    scenario = network.scenario
    for name in scenario.workloads:
        _check_through(document, scenario, name)
    for name, gateway in scenario.gateways.items():
        workloads = carried_workloads(network, name)
        if not workloads and not list_passing(network, name):
            hint = f"add through = \"{name}\" to a workload that starts at '{gateway.entry}'"
            if gateway.catches_all:
                hint = f"let a workload's packets pass '{gateway.entry}', and end at neither side of the gateway"
            message = "carries no workload"
            raise document.error(("gateways", name), message, hint=hint, kind=Mistake.IDLE)
        _check_clients(document, network, name, workloads)
        if gateway.forwards and len(workloads) > 1:
            path: KeyPath = ("workloads", workloads[1], "through")
            message = f"names a tunnel that '{workloads[0]}' names already, and a tunnel leads to one server"
            hint = "give it a gateway of its own, with other ports"
            raise document.error(path, message, hint=hint, kind=Mistake.CONFLICT)


def _check_paths(document: Document, network: Network, name: str, gateway: GatewayBase) -> None:
    path: KeyPath = ("gateways", name)
    listed = isinstance(gateway.via, tuple)
    keys: list[KeyPath] = [(*path, "via", number) if listed else (*path, "via") for number in range(len(gateway.vias))]
    for key, link in zip(keys, gateway.vias, strict=True):
        check_own_link(document, key, network, gateway.exit, link)
    for key, target in zip(keys or [(*path, "exit")], network.exit_ports(gateway), strict=True):
        if target is None or not network.reaches(gateway.entry, target):
            hint = "connect the two by a link, or through routers"
            message = f"is not reachable from '{gateway.entry}'"
            raise document.error(key, message, hint=hint, kind=Mistake.REFERENCE)


def _check_ports(document: Document, network: Network, name: str, gateway: GatewayBase) -> None:
    """Refuse a port that another gateway, or the server of a workload, has on the same node."""
    used = _server_ports(network)
    for other, earlier in _earlier_gateways(network, name):
        used |= {(node, port): f"the gateway '{other}'" for _, node, port in _listening_ports(earlier)}
    for key, node, port in _listening_ports(gateway):
        user = used.get((node, port))
        if user is not None:
            message = f"is also a port of {user} on '{node}'"
            hint = "choose another port, like 8389" if key == "port" else "choose another port, like 1081"
            raise document.error(("gateways", name, key), message, hint=hint, kind=Mistake.CONFLICT)


def _check_device(document: Document, network: Network, name: str, gateway: GatewayBase) -> None:
    """Refuse a tunnel's interface with the name of a link, or of another tunnel, of one of its nodes."""
    device = gateway.tunnel_device
    if device is None:
        return
    path: KeyPath = ("gateways", name, "device")
    hint = "choose another name, like tun1"
    if device in network.scenario.links:
        raise document.error(path, "is the name of a link", hint=hint, kind=Mistake.CONFLICT)
    nodes = set(map(gateway.node_of, SIDES))
    for other, earlier in _earlier_gateways(network, name):
        if earlier.tunnel_device == device and nodes & set(map(earlier.node_of, SIDES)):
            message = f"is also the interface of the gateway '{other}'"
            raise document.error(path, message, hint=hint, kind=Mistake.CONFLICT)


def _check_catching(document: Document, network: Network, name: str, gateway: GatewayBase) -> None:
    """Refuse a gateway whose entry hands everything that it could take to an earlier one."""
    for other, earlier in _earlier_gateways(network, name):
        is_same = (earlier.listening_port is None) == (gateway.listening_port is None)
        if gateway.catches_all and earlier.catches_all and earlier.entry == gateway.entry and is_same:
            message = f"takes what the gateway '{other}' takes first"
            hint = 'use another entry, or mode = "local" for one of the two'
            raise document.error(("gateways", name, "entry"), message, hint=hint, kind=Mistake.CONFLICT)


def _listening_ports(gateway: GatewayBase) -> list[tuple[str, str, int]]:
    listening = gateway.listening_port
    of_entry = [("local_port", gateway.entry, listening)] if listening is not None else []
    return [("port", gateway.exit, gateway.port), *of_entry]


def _earlier_gateways(network: Network, name: str) -> list[tuple[str, GatewayBase]]:
    """Return the gateways that come before this one in the file."""
    return list(itertools.takewhile(lambda item: item[0] != name, network.scenario.gateways.items()))


def _server_ports(network: Network) -> dict[tuple[str, int], str]:
    ports: dict[tuple[str, int], str] = {}
    for name, first in network.scenario.server_ports.items():
        workload = network.scenario.workloads[name]
        for port in (first, *type(workload).data_ports(first)):
            ports[workload.receiver, port] = f"the workload '{name}'"
    return ports


def _check_clients(document: Document, network: Network, name: str, workloads: list[str]) -> None:
    """Refuse clients that speak MPTCP if the entry's program cannot carry their connections."""
    scenario = network.scenario
    gateway = scenario.gateways[name]
    for workload in workloads if gateway.refuses_mptcp else ():
        settings = scenario.workloads[workload]
        node = network.nodes[settings.sender]
        if (settings.own_protocol or scenario.transports[settings.sender].protocol) == "mptcp":
            others = [other for other, model in PROGRAMS.items() if model is not type(gateway)]
            plain = f'add protocol = "tcp" to [{node.table}.{settings.sender}.transport]'
            hint = f"{plain}, or use another program: {', '.join(others)}"
            message = f"cannot redirect the MPTCP connections of '{workload}'"
            raise document.error(("gateways", name, "program"), message, hint=hint, kind=Mistake.CONFLICT)


def _check_through(document: Document, scenario: Scenario, name: str) -> None:
    workload = scenario.workloads[name]
    if workload.through is None:
        return
    path: KeyPath = ("workloads", name, "through")
    check_known(document, path, workload.through, scenario.gateways, "gateway")
    gateway = scenario.gateways[workload.through]
    kind = type(workload)
    speaks = kind.can_be_forwarded if gateway.forwards else kind.speaks_socks
    refusal = _refusal(gateway, workload.through, workload.sender, speaks=speaks)
    if refusal is not None:
        message, hint = refusal
        raise document.error(path, message, hint=hint, kind=Mistake.CONFLICT)


def _refusal(gateway: GatewayBase, name: str, sender: str, *, speaks: bool) -> tuple[str, str] | None:
    """Return why a workload of ``sender`` cannot use the gateway by its own choice, and a hint."""
    if gateway.catches_all:
        hint = f"remove `through`: gateway '{name}' takes all connections that pass \"{gateway.entry}\""
        return "names a gateway that is not local", hint
    if sender != gateway.entry:
        return f"has its entry on '{gateway.entry}'", f"start the workload there, or move the entry to '{sender}'"
    if not speaks and gateway.forwards:
        kinds = ", ".join(kind for kind, model in KINDS.items() if model.can_be_forwarded)
        return "needs a workload whose connections all go to one port", f"use one of the kinds {kinds}"
    if not speaks:
        kinds = ", ".join(kind for kind, model in KINDS.items() if model.speaks_socks)
        return "needs a workload that can speak SOCKS5", f'use one of the kinds {kinds}, or mode = "redirect"'
    return None
