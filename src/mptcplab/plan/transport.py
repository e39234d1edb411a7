# SPDX-License-Identifier: MIT
"""Transport settings of every host, as ``sysctl`` and ``ip mptcp`` commands."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.scenario.network import Network, Port
from mptcplab.scenario.weights import weighed_addresses, weighs
from mptcplab.steps import Command

_FORWARDING = ("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
_PATH_MANAGERS = {"kernel": 0, "userspace": 1}


def sysctl_command(network: Network, node: str) -> Command:
    """Forwarding on a router; on a host what its transport says."""
    if network.is_host(node):
        return Command(node, ("sysctl", "-qw", *_settings(network, node)))
    own = network.scenario.routers[node].sysctl
    return Command(node, ("sysctl", "-qw", *_FORWARDING, *(f"{key}={value}" for key, value in own.items())))


def _settings(network: Network, host: str) -> Iterator[str]:
    transport = network.scenario.hosts[host].transport
    yield "net.mptcp.enabled=1"
    yield f"net.mptcp.pm_type={_PATH_MANAGERS[transport.path_manager]}"
    if transport.congestion_control is not None:
        yield f"net.ipv4.tcp_congestion_control={transport.congestion_control}"
    if transport.scheduler is not None:
        yield f"net.mptcp.scheduler={transport.scheduler}"
    weights = weighed_addresses(network, host) if weighs(network.scenario, host) else {}
    if weights:
        # Without a scheduler that looks at them nothing is set, so that kernels that lack them can be compared.
        yield f"net.mptcp.scheduler_weights={' '.join(f'{address}={weight}' for address, weight in weights.items())}"
    for key, sizes in (("tcp_rmem", transport.tcp_rmem), ("tcp_wmem", transport.tcp_wmem)):
        if sizes is not None:
            yield f"net.ipv4.{key}={' '.join(str(int(size)) for size in sizes)}"
    for name, value in transport.sysctl.items():
        yield f"{name}={value}"


def mptcp_commands(network: Network, node: str) -> Iterator[Command]:
    """Limits and endpoints, if ``node`` is a host that speaks MPTCP."""
    host = network.scenario.hosts.get(node)
    if host is None or host.transport.protocol != "mptcp":
        return
    limits = host.transport.limits
    bounds = ("subflows", str(limits.subflows), "add_addr_accepted", str(limits.add_addr_accepted))
    yield Command(node, ("ip", "mptcp", "limits", "set", *bounds))
    for port, options in endpoints_of(network, node):
        yield Command(node, ("ip", "mptcp", "endpoint", "add", port.ip, "dev", port.link, *options))


def endpoint_commands(network: Network, port: Port, *, add: bool) -> Iterator[Command]:
    """Take the endpoints that name the address of ``port`` away, or bring them back as they were.

    The kernel numbers endpoints from 1 in the order in which they are added.
    """
    host = network.scenario.hosts.get(port.node)
    if host is None or host.transport.protocol != "mptcp":
        return
    for number, (own, options) in enumerate(endpoints_of(network, port.node), start=1):
        if own == port and add:
            named = ("id", str(number), *options)
            yield Command(port.node, ("ip", "mptcp", "endpoint", "add", port.ip, "dev", port.link, *named))
        elif own == port:
            yield Command(port.node, ("ip", "mptcp", "endpoint", "delete", "id", str(number)))


def endpoints_of(network: Network, name: str) -> Iterator[tuple[Port, tuple[str, ...]]]:
    """The addresses that a host offers or uses, with the words that ``ip mptcp endpoint add`` takes.

    ``auto``: a host that is connected to announces its other addresses (signal); a host that connects may open
    subflows from every address that leads to the address it connects to (subflow). Over disjoint lines nothing but
    the first line does: there the subflows are opened to announced addresses, from the address that routing chooses.
    """
    transport = network.scenario.hosts[name].transport
    wanted = transport.endpoints
    ports = {port.link: port for port in network.ports_of(name)}
    if isinstance(wanted, tuple):
        for endpoint in wanted:
            port_number = ("port", str(endpoint.port)) if endpoint.port is not None else ()
            yield ports[endpoint.link], (*port_number, *endpoint.flags)
        return
    if wanted == "none" or len(ports) < 2 or transport.path_manager == "userspace":
        return
    workloads = network.scenario.workloads.values()
    connected_to = {network.target(workload) for workload in workloads if workload.receiver == name}
    targets = [network.target(workload) for workload in workloads if workload.sender == name]
    for port in ports.values():
        flags = ["signal"] if connected_to and connected_to != {port} else []
        if wanted == "fullmesh" and targets:
            # The kernel refuses an endpoint that is fullmesh and signal at once.
            flags += ["subflow"] if flags else ["subflow", "fullmesh"]
        elif any(target is not None and network.leads(port, target) for target in targets):
            flags += ["subflow"]
        if flags:
            yield port, tuple(flags)
