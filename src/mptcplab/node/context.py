# SPDX-License-Identifier: MIT
"""The view that a node has of its scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mptcplab.node.graph import Graph, Port


@dataclass(frozen=True)
class WorkloadView:
    """Connections of a workload, or of a gateway, from the view of one of their two nodes.

    ``peer`` is the other node, ``target`` the port that the client connects to, None if it is not reachable.
    ``is_client``: this node opens them. ``scheduler`` is their own, None for the transport's. ``protocol``
    is for a gateway's connections; None for a workload's, which have the node's transport's protocol.
    """

    peer: str
    target: Port | None
    is_client: bool
    scheduler: str | None
    protocol: str | None = None


@dataclass(frozen=True)
class NodeContext:
    """The node called ``name`` in the network ``graph``; ``kind`` and ``forwards`` are its class's."""

    name: str
    kind: str
    forwards: bool
    graph: Graph
    workloads: Sequence[WorkloadView] = ()

    @property
    def ports(self) -> list[Port]:
        """The node's interfaces in the order of the links."""
        return self.graph.ports_of(self.name)

    @property
    def ports_of_paths(self) -> list[Port]:
        """The interfaces that may have subflows.

        If a node forwards, the links that lead to the other side of one of its connections without passing through it:
        a router's other links lead elsewhere.
        """
        if not self.forwards:
            return self.ports
        others = [port for peer in self.peers for port in self.graph.ports_of(peer)]
        return [port for port in self.ports if any(self.graph.enters(port, other) for other in others)]

    @property
    def peers(self) -> list[str]:
        """The nodes at the other ends of its connections."""
        return list(dict.fromkeys(talk.peer for talk in self.workloads))

    def speaks_mptcp(self, protocol: str) -> bool:
        """Return whether the node has MPTCP sockets; ``protocol`` comes from its transport."""
        return protocol == "mptcp" or any(talk.protocol == "mptcp" for talk in self.workloads)
