# SPDX-License-Identifier: MIT
"""The network of a scenario: the checks ask it for reachability, and the plan for routes."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from mptcplab.gateway.base import GatewayBase
from mptcplab.node.context import NodeContext, WorkloadView
from mptcplab.node.graph import Graph, Interface, Port
from mptcplab.scenario.links import DIRECTIONS, Link, ShapedDirection
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.wifi import AIR, ROAMING
from mptcplab.workload.base import WorkloadBase


def default_network(number: int, *, is_ipv6: bool) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Return the network of a link that has no addresses of its own, by its ``number`` in the scenario, from 1."""
    if is_ipv6:
        return ipaddress.ip_network(f"fd00:6d70:7463:{number:x}::/64")
    return ipaddress.ip_network(f"10.{number >> 8}.{number & 255}.0/24")


@dataclass(frozen=True)
class Connections:
    """Connections that the node ``client`` opens to the port ``target`` of ``server``, with their own ``scheduler``.

    ``target`` is None if it is not reachable, ``scheduler`` and ``protocol`` are None for the values of each node's
    transport.
    """

    client: str
    server: str
    target: Port | None
    scheduler: str | None
    protocol: str | None = None


class Network(Graph):
    """Addresses and shortest paths of a checked scenario.

    ``shifts_ns`` is the offset that a seed adds to the delay of a direction (link, "forward" or "backward") for a run.
    ``devices`` are names of interfaces, by node and link, that differ from the names of their links, as on real
    machines.
    """

    def __init__(
        self,
        scenario: Scenario,
        shifts_ns: Mapping[tuple[str, str], int] | None = None,
        devices: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        self.scenario = scenario
        self.shifts_ns = shifts_ns or {}
        self.nodes = scenario.nodes
        ports = {(port.node, port.link): port for port in self._all_ports(devices or {})}
        super().__init__(self.nodes, ports, {name for name, node in self.nodes.items() if node.forwards})

    def _all_ports(self, devices: Mapping[tuple[str, str], str]) -> Iterator[Port]:
        for number, (name, link) in enumerate(self.scenario.links.items(), start=1):
            left, right = self._addresses(number, link.addresses)
            first, second = link.between
            yield Port(first, name, left, second, right, devices.get((first, name), self._air(first, link)))
            yield Port(second, name, right, first, left, devices.get((second, name), self._air(second, link)))

    def _air(self, node: str, link: Link) -> str | None:
        """Return the name of the interface with which an access point serves all its radio links."""
        if link.radio is None or self.nodes[node].cell(node) is None:
            return None
        return ROAMING if any(node in group for group in self.roaming_groups) else AIR

    @cached_property
    def roaming_groups(self) -> list[tuple[str, ...]]:
        """The access points between which stations roam: the access points of a group are joined."""
        groups: list[tuple[str, ...]] = []
        for link in self.scenario.links.values():
            if link.radio is None or not link.radio.through:
                continue
            members = (*(end for end in link.between if self.nodes[end].cell(end) is not None), *link.radio.through)
            joined = [group for group in groups if set(group) & set(members)]
            groups = [group for group in groups if group not in joined]
            groups.append(tuple(dict.fromkeys((*(text for group in joined for text in group), *members))))
        return groups

    def _addresses(self, number: int, given: tuple[str, str] | None) -> tuple[Interface, Interface]:
        if given is not None:
            return ipaddress.ip_interface(given[0]), ipaddress.ip_interface(given[1])
        network = default_network(number, is_ipv6=self.scenario.family == "ipv6")
        first, second = (ipaddress.ip_interface((network[host], network.prefixlen)) for host in (1, 2))
        return first, second

    @cached_property
    def directions(self) -> dict[tuple[str, str], ShapedDirection]:
        """Both directions of every link, by their :attr:`~mptcplab.scenario.links.ShapedDirection.key`."""
        changes = (event for event in self.scenario.events if event.type == "change")
        changed = {(event.link, name) for event in changes for name in event.directions}
        directions = (
            ShapedDirection(link, name, settings, settings.traced is not None or (link, name) in changed)
            for link, shaped in self.scenario.links.items()
            for name, settings in zip(DIRECTIONS, (shaped.forward, shaped.backward), strict=True)
        )
        return {direction.key: direction for direction in directions}

    def ends(self, direction: ShapedDirection) -> tuple[Port, Port]:
        """Return the ports where ``direction`` begins and ends."""
        first, second = (self.ports[node, direction.link] for node in self.scenario.links[direction.link].between)
        return (first, second) if direction.name == "forward" else (second, first)

    def context_of(self, node: str) -> NodeContext:
        """Return the view that ``node`` has of the network."""
        settings = self.nodes[node]
        return NodeContext(node, settings.kind, settings.forwards, self, self._workloads[node])

    @cached_property
    def _workloads(self) -> dict[str, list[WorkloadView]]:
        """The connections of every node, in the order of the file."""
        workload_views: dict[str, list[WorkloadView]] = {name: [] for name in self.nodes}
        for connection in self.connections():
            for node, peer, is_client in (
                (connection.client, connection.server, True),
                (connection.server, connection.client, False),
            ):
                view = WorkloadView(
                    peer,
                    connection.target,
                    is_client=is_client,
                    scheduler=connection.scheduler,
                    protocol=connection.protocol,
                )
                workload_views[node].append(view)
        return workload_views

    def connections(self) -> Iterator[Connections]:
        """Yield everything that opens connections: path managers, weights and routes of both nodes depend on it."""
        for workload in self.scenario.workloads.values():
            yield Connections(workload.sender, workload.receiver, self.target(workload), workload.scheduler)
        for gateway in self.scenario.gateways.values():
            for target in self.exit_ports(gateway):
                yield Connections(gateway.entry, gateway.exit, target, None, protocol=gateway.protocol)

    def target(self, workload: WorkloadBase) -> Port | None:
        """Return the port that the workload connects to: its ``via``, else the :meth:`nearest_port` one."""
        if workload.via is not None:
            return self.ports.get((workload.receiver, workload.via))
        return self.nearest_port(workload.sender, workload.receiver)

    def exit_ports(self, gateway: GatewayBase) -> list[Port | None]:
        """Return the ports of the exit that the entry connects to: the gateway's ``via``, else the nearest one."""
        ports = [self.ports.get((gateway.exit, link)) for link in gateway.vias]
        return ports or [self.nearest_port(gateway.entry, gateway.exit)]

    def nearest_port(self, client: str, server: str) -> Port | None:
        """Return the first port of ``server`` that is reachable from ``client``; None if none is.

        A port that is reached through another link of a forwarding ``server`` comes last.
        """
        reachable = [port for port in self.ports_of(server) if self.reaches(client, port)]
        firsts = ((port, self.next_hop(client, port)) for port in reachable)
        entered = (port for port, first in firsts if first is not None and self.enters(first, port))
        return next(entered, reachable[0] if reachable else None)
