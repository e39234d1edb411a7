# SPDX-License-Identifier: MIT
"""Interfaces, and the shortest paths between them.

Every link is one subnet. Routes are shortest paths in hops; the order of the links in the file breaks ties. Only some
nodes forward.
"""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from mptcplab.configuration import Subnet

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True)
class Port:
    """One end of a link: the interface of ``node`` with the link's name, or with another on a real machine."""

    node: str
    link: str
    address: Interface
    peer: str
    peer_address: Interface
    other_device: str | None = None

    @property
    def device(self) -> str:
        """The name of the interface."""
        return self.other_device or self.link

    @property
    def ip(self) -> str:
        """The address without its prefix length."""
        return str(self.address.ip)

    @property
    def subnet(self) -> Subnet:
        """The link's subnet."""
        return self.address.network


class Graph:
    """The ``ports`` of all ``nodes``, by node and link in the order of the links; those in ``forwarding`` forward."""

    def __init__(self, nodes: Iterable[str], ports: Mapping[tuple[str, str], Port], forwarding: Container[str]) -> None:
        self.ports = ports
        self._forwarding = forwarding
        self._of_node: dict[str, list[Port]] = {name: [] for name in nodes}
        for port in ports.values():
            self._of_node[port.node].append(port)
        self._next: dict[tuple[str, str], Port | None] = {}

    def ports_of(self, node: str) -> list[Port]:
        """Return the node's interfaces in the order of the links."""
        return self._of_node[node]

    def links_of(self, node: str) -> list[str]:
        """Return the node's links in the order of the file."""
        return [port.link for port in self.ports_of(node)]

    def subnets(self) -> list[Port]:
        """Return one port for each link, to represent its subnet."""
        first: dict[str, Port] = {}
        for port in self.ports.values():
            first.setdefault(port.link, port)
        return list(first.values())

    def reaches(self, node: str, target: Port) -> bool:
        """Return whether packets of ``node`` reach ``target``'s subnet through nodes that forward."""
        return any(port.link == target.link for port in self.ports_of(node)) or self.next_hop(node, target) is not None

    def next_hop(self, node: str, target: Port) -> Port | None:
        """Return the port of ``node`` where the shortest path to ``target``'s subnet begins; None without a path."""
        key = (node, target.link)
        if key not in self._next:
            self._next[key] = self._search(node, target.link)
        return self._next[key]

    def path_between(self, node: str, target: Port) -> list[str]:
        """Return the links of the shortest path from ``node`` to ``target``'s subnet; empty without a path."""
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
        """Return whether a path to ``target``'s subnet begins with the link at ``port``, and does not come back."""
        nodes = self._forwarding_nodes_behind(port, target)
        return nodes is not None and port.node not in nodes

    def enters(self, port: Port, target: Port) -> bool:
        """Return whether such a path reaches ``target`` by its own link: not through another link of its node."""
        nodes = self._forwarding_nodes_behind(port, target)
        return nodes is not None and port.node not in nodes and target.node not in nodes

    def _forwarding_nodes_behind(self, port: Port, target: Port) -> list[str] | None:
        """Return the nodes that forward what leaves by ``port`` to ``target``'s subnet; None if it does not get there.

        A packet may come back to its node: the path ends there, since a node discards packets from itself.
        """
        nodes: list[str] = []
        link, node = port.link, port.peer
        while link != target.link:
            onward = self.next_hop(node, target) if node in self._forwarding else None
            if onward is None:
                return None
            nodes.append(node)
            link, node = onward.link, onward.peer
        return nodes

    def _search(self, node: str, link: str) -> Port | None:
        best: tuple[int, Port] | None = None
        for port in self.ports_of(node):
            distance = 0 if port.link == link else None
            if distance is None and port.peer in self._forwarding:
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
                if port.peer not in seen and port.peer in self._forwarding:
                    seen.add(port.peer)
                    queue.append((port.peer, hops + 1))
        return None
