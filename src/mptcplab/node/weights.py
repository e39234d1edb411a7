# SPDX-License-Identifier: MIT
"""Weights of paths: from names of links to the addresses by which the kernel identifies subflows.

The kernel gives a subflow the weight of the first entry with the address of one of its two ends. A link of the node
itself selects the node's address on it; any other link selects the address of a peer on it.
"""

from __future__ import annotations

from mptcplab.node.context import NodeContext
from mptcplab.node.graph import Port
from mptcplab.node.transport import WEIGHTED_SCHEDULERS, Transport


def weights_by_address(context: NodeContext, transport: Transport) -> dict[str, int]:
    """Return addresses and weights, in the order of ``weights``; links without an end of a subflow are left out."""
    return {port.ip: weight for link, weight in transport.weights.items() for port in subflow_ends(context, link)}


def subflow_ends(context: NodeContext, link: str) -> list[Port]:
    """Return the ends of ``link`` that identify the node's subflows: its own, else its peers'."""
    ports = context.graph.ports
    nodes = [context.name] if (context.name, link) in ports else context.partners
    return [ports[node, link] for node in nodes if (node, link) in ports]


def uses_weights(context: NodeContext, transport: Transport) -> bool:
    """Return whether connections of the node have a scheduler that uses weights."""
    used = {talk.scheduler or transport.scheduler for talk in context.workloads}
    return context.speaks_mptcp(transport.protocol) and not used.isdisjoint(WEIGHTED_SCHEDULERS)
