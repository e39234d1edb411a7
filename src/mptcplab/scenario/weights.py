# SPDX-License-Identifier: MIT
"""Weights of paths: from names of links to the addresses by which the kernel knows a subflow.

The kernel gives a subflow the weight of the first entry that is the address of one of its two ends. A link of the host
itself means the host's address there; any other link means the address there of a host that it talks to.
"""

from __future__ import annotations

from collections.abc import Collection

from mptcplab.scenario.network import Network, Port
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.transport import WEIGHING


def weighed_addresses(network: Network, host: str) -> dict[str, int]:
    """Addresses and weights for ``host``, in the order of its ``weights``; links that it never sees are left out."""
    weights = network.scenario.hosts[host].transport.weights
    return {port.ip: weight for link, weight in weights.items() for port in ends(network, host, link)}


def ends(network: Network, host: str, link: str) -> list[Port]:
    """The ends of ``link`` that ``host`` can tell subflows by: its own, else those of hosts that it talks to."""
    nodes = [host] if (host, link) in network.ports else partners(network, host)
    return [network.ports[node, link] for node in nodes if (node, link) in network.ports]


def partners(network: Network, host: str) -> list[str]:
    """The hosts at the other ends of the workloads of ``host``."""
    found: dict[str, None] = {}
    for workload in network.scenario.workloads.values():
        if host in (workload.sender, workload.receiver):
            found[workload.receiver if workload.sender == host else workload.sender] = None
    return list(found)


def weighs(scenario: Scenario, host: str) -> bool:
    """Whether connections of ``host`` have a scheduler that looks at weights."""
    transport = scenario.hosts[host].transport
    own = [one.scheduler for one in scenario.workloads.values() if host in (one.sender, one.receiver)]
    used = {scheduler or transport.scheduler for scheduler in own}
    return transport.protocol == "mptcp" and not used.isdisjoint(WEIGHING)


def weighs_anywhere(scenario: Scenario, *, only: Collection[str] = ()) -> bool:
    """Whether a host does, of all or of ``only`` these."""
    return any(weighs(scenario, host) for host in only or scenario.hosts)
