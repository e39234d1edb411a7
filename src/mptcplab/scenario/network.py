# SPDX-License-Identifier: MIT
"""The network that a scenario describes, as addresses and routes.

Every link is one subnet. Routes are shortest paths in hops, ties broken by the order of the links in the file; hosts
never forward. The same object tells the checks who reaches whom and the plan which routes to set.
"""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mptcplab.scenario.record import Capture
from mptcplab.scenario.schema import Scenario
from mptcplab.workload.base import WorkloadBase

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface
Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Port:
    """One end of a link: the interface of ``node`` that is named after the link."""

    node: str
    link: str
    address: Interface
    peer: str
    peer_address: Interface

    @property
    def ip(self) -> str:
        """The address without its prefix length."""
        return str(self.address.ip)

    @property
    def subnet(self) -> Subnet:
        """The link's subnet."""
        return self.address.network


class Network:
    """Addresses and shortest paths of a checked scenario.

    ``shifts_ns`` is what a seed adds to the delay of a direction (link, "forward" or "backward") during a whole run.
    """

    def __init__(self, scenario: Scenario, shifts_ns: Mapping[tuple[str, str], int] | None = None) -> None:
        self.scenario = scenario
        self.shifts_ns = shifts_ns or {}
        self.ports: dict[tuple[str, str], Port] = {}
        for number, (name, link) in enumerate(scenario.links.items(), start=1):
            left, right = self._addresses(number, link.addresses)
            first, second = link.between
            self.ports[first, name] = Port(first, name, left, second, right)
            self.ports[second, name] = Port(second, name, right, first, left)
        self._of_node: dict[str, list[Port]] = {name: [] for name in (*scenario.hosts, *scenario.routers)}
        for port in self.ports.values():
            self._of_node[port.node].append(port)
        self._next: dict[tuple[str, str], Port | None] = {}

    def _addresses(self, number: int, given: tuple[str, str] | None) -> tuple[Interface, Interface]:
        if given is not None:
            return ipaddress.ip_interface(given[0]), ipaddress.ip_interface(given[1])
        if self.scenario.family == "ipv6":
            prefix = f"fd00:6d70:7463:{number:x}::"
            return ipaddress.ip_interface(f"{prefix}1/64"), ipaddress.ip_interface(f"{prefix}2/64")
        prefix = f"10.{number >> 8}.{number & 255}."
        return ipaddress.ip_interface(f"{prefix}1/24"), ipaddress.ip_interface(f"{prefix}2/24")

    def ports_of(self, node: str) -> list[Port]:
        """The node's interfaces in the order of the links."""
        return self._of_node[node]

    def links_of(self, node: str) -> list[str]:
        """The node's links in the order of the file."""
        return [port.link for port in self.ports_of(node)]

    def is_host(self, node: str) -> bool:
        """Whether ``node`` is a host, which does not forward."""
        return node in self.scenario.hosts

    def target(self, workload: WorkloadBase) -> Port | None:
        """The port whose address the workload connects to: its ``via``, else the first that can be reached."""
        if workload.via is not None:
            return self.ports.get((workload.receiver, workload.via))
        for port in self.ports_of(workload.receiver):
            if self.reaches(workload.sender, port):
                return port
        return None

    def reaches(self, node: str, target: Port) -> bool:
        """Whether packets of ``node`` find ``target``'s subnet by way of routers."""
        return any(port.link == target.link for port in self.ports_of(node)) or self.next_hop(node, target) is not None

    def next_hop(self, node: str, target: Port) -> Port | None:
        """The port of ``node`` where the shortest path to ``target``'s subnet begins; None if there is none."""
        key = (node, target.link)
        if key not in self._next:
            self._next[key] = self._search(node, target.link)
        return self._next[key]

    def way(self, node: str, target: Port) -> list[str]:
        """The links of the shortest path from ``node`` to ``target``'s subnet; empty if there is none."""
        links: list[str] = []
        while target.link not in links:
            port = next((port for port in self.ports_of(node) if port.link == target.link), None)
            port = port or self.next_hop(node, target)
            if port is None:
                return []
            links.append(port.link)
            node = port.peer
        return links

    def leads(self, port: Port, target: Port) -> bool:
        """Whether the link at ``port`` is the beginning of some path to ``target``'s subnet."""
        if port.link == target.link:
            return True
        return not self.is_host(port.peer) and self._distance(port.peer, target.link, avoid=port.node) is not None

    def _search(self, node: str, link: str) -> Port | None:
        best: tuple[int, Port] | None = None
        for port in self.ports_of(node):
            distance = 0 if port.link == link else None
            if distance is None and not self.is_host(port.peer):
                distance = self._distance(port.peer, link, avoid=node)
            if distance is not None and (best is None or distance < best[0]):
                best = (distance, port)
        return best[1] if best else None

    def _distance(self, start: str, link: str, *, avoid: str) -> int | None:
        seen, queue = {avoid, start}, deque([(start, 1)])
        while queue:
            node, hops = queue.popleft()
            for port in self.ports_of(node):
                if port.link == link:
                    return hops
                if port.peer not in seen and not self.is_host(port.peer):
                    seen.add(port.peer)
                    queue.append((port.peer, hops + 1))
        return None


def capture_points(network: Network, capture: Capture) -> Iterator[tuple[str, Port]]:
    """The interfaces that ``capture`` means, each with the name of its file in a recording."""
    for port in network.ports_of(capture.node):
        if capture.link in (None, port.link):
            yield f"{port.node}-{port.link}.pcap", port
