# SPDX-License-Identifier: MIT
"""Roughly how long a run will take; :mod:`mptcplab.plan.forecast` corrects that by what runs really take."""

from __future__ import annotations

from mptcplab.scenario.links import Direction
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario
from mptcplab.workload.base import WorkloadBase

_OVERHEAD_SECONDS = 0.5
#: What TCP reaches where nothing but delay limits it: a window of some MB per round trip.
_UNSHAPED_BPS = 1e9


def estimate_seconds(scenario: Scenario) -> float:
    """Wall seconds of one run on one CPU, good to a factor of two or so."""
    network = Network(scenario)
    workloads = scenario.workloads.values()
    return _OVERHEAD_SECONDS + sum(one.cpu_seconds(_capacity(network, one)) for one in workloads)


def _capacity(network: Network, workload: WorkloadBase) -> float:
    """Bits per second between the two hosts: of one path for TCP, of all that do not share a bottleneck for MPTCP."""
    transports = network.scenario.transports
    ends = (workload.sender, workload.receiver)
    target = network.target(workload)
    if target is not None and any(transports[node].protocol == "tcp" for node in ends):
        return min((_rate(network, link) for link in network.way(workload.sender, target)), default=_UNSHAPED_BPS)
    return max(_sum_of_ways(network, *ends), _sum_of_ways(network, *reversed(ends)))


def _sum_of_ways(network: Network, start: str, end: str) -> float:
    """Over all links of ``end`` the bottlenecks on the shortest paths to them, each counted once."""
    ways = (network.way(start, port) for port in network.ports_of(end))
    bottlenecks = {min(way, key=lambda link: _rate(network, link)) for way in ways if way}
    return sum(_rate(network, link) for link in bottlenecks)


def _rate(network: Network, link: str) -> float:
    described = network.scenario.links[link]
    directions: tuple[Direction, Direction] = (described.forward, described.backward)
    return min((float(direction.rate) for direction in directions if direction.rate), default=_UNSHAPED_BPS)
