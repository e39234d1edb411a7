# SPDX-License-Identifier: MIT
"""Weights of paths: from names of links to the addresses by which the kernel knows a subflow.

The kernel gives a subflow the weight of the first entry that is the address of one of its two ends. A link of the node
itself means the node's address there; any other link means the address there of a node that it talks to.
"""

from __future__ import annotations

from mptcplab.node.context import Context
from mptcplab.node.graph import Port
from mptcplab.node.transport import WEIGHTED_SCHEDULERS, Transport


def weights_by_address(context: Context, transport: Transport) -> dict[str, int]:
    """Addresses and weights, in the order of ``weights``; links that the node never sees are left out."""
    return {port.ip: weight for link, weight in transport.weights.items() for port in ends(context, link)}


def ends(context: Context, link: str) -> list[Port]:
    """The ends of ``link`` that the node can tell subflows by: its own, else those of nodes that it talks to."""
    ports = context.graph.ports
    nodes = [context.name] if (context.name, link) in ports else context.partners
    return [ports[node, link] for node in nodes if (node, link) in ports]


def uses_weights(context: Context, transport: Transport) -> bool:
    """Whether connections of the node have a scheduler that looks at weights."""
    used = {talk.scheduler or transport.scheduler for talk in context.workloads}
    return transport.protocol == "mptcp" and not used.isdisjoint(WEIGHTED_SCHEDULERS)
