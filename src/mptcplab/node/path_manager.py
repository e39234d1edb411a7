# SPDX-License-Identifier: MIT
"""The lab's own path manager: one server program on every node with ``path_manager = "userspace"``.

Its configuration has the node's links, and the addresses that each of them leads to. It learns everything else from
the kernel: mptcplab/guest/path_manager.py. With ``endpoints = "none"`` there is no path manager.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.node.context import NodeContext
from mptcplab.node.graph import Port
from mptcplab.node.transport import Transport
from mptcplab.steps import Program


def path_managers(context: NodeContext, transport: Transport | None) -> Iterator[Program]:
    """Yield the program of a node that uses it."""
    if transport is None or transport.path_manager != "userspace" or transport.endpoints == "none":
        return
    if context.speaks_mptcp(transport.protocol) and context.workloads:
        config = json.dumps(_config(context, transport), separators=(",", ":"))
        # No program of a workload has such a name.
        name = f"path-manager.{context.nodes[context.name].kind}-{context.name}"
        yield Program(name, context.name, "server", (PATH_MANAGER, config))


def _config(context: NodeContext, transport: Transport) -> dict[str, Any]:
    others = [port for partner in context.partners for port in context.graph.ports_of(partner)]
    return {
        "paths": [
            _path(context, transport, port, others, number)
            for number, port in enumerate(context.ports_of_paths, start=1)
        ],
        "full_mesh": transport.endpoints == "fullmesh",
        "subflows_per_pair": transport.subflows_per_pair,
    }


def _path(context: NodeContext, transport: Transport, port: Port, others: list[Port], number: int) -> dict[str, Any]:
    return {
        "link": port.device,
        "address": port.ip,
        "id": number,
        "mode": transport.modes.get(port.link, "on"),
        "reaches": [other.ip for other in others if context.graph.enters(port, other)],
    }
