# SPDX-License-Identifier: MIT
"""The lab's own path manager: one server program on every host that has ``path_manager = "userspace"``.

It is told of the host's links, and of the addresses that each of them leads to. Everything else it learns from the
kernel: mptcplab/guest/path_manager.py. With ``endpoints = "none"`` nobody manages paths.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.scenario.network import Network, Port
from mptcplab.scenario.weights import partners
from mptcplab.steps import Program

#: Programs of path managers are named so, with the host behind it; no program of a workload is.
PREFIX = "path-manager.host-"


def path_managers(network: Network) -> Iterator[Program]:
    """A program for every host that needs one."""
    for name, host in network.scenario.hosts.items():
        transport = host.transport
        managed = transport.path_manager == "userspace" and transport.endpoints != "none"
        if managed and transport.protocol == "mptcp" and partners(network, name):
            config = json.dumps(_config(network, name), separators=(",", ":"))
            yield Program(f"{PREFIX}{name}", name, "server", (PATH_MANAGER, config))


def _config(network: Network, host: str) -> dict[str, Any]:
    transport = network.scenario.hosts[host].transport
    others = [port for partner in partners(network, host) for port in network.ports_of(partner)]
    return {
        "paths": [_path(network, port, others, number) for number, port in enumerate(network.ports_of(host), start=1)],
        "full_mesh": transport.endpoints == "fullmesh",
        "subflows_per_pair": transport.subflows_per_pair,
    }


def _path(network: Network, port: Port, others: list[Port], number: int) -> dict[str, Any]:
    modes = network.scenario.hosts[port.node].transport.modes
    return {
        "link": port.link,
        "address": port.ip,
        "id": number,
        "mode": modes.get(port.link, "on"),
        "reaches": [other.ip for other in others if network.leads(port, other)],
    }
