# SPDX-License-Identifier: MIT
"""Roughly how long a run will take. The figures are those that ``bench/`` measures on a slow core."""

from __future__ import annotations

from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Direction, Flow, Scenario, Workload

_OVERHEAD_SECONDS = 0.6
_PAYLOAD = 1448
#: Seconds of CPU per packet: through the network, and more when the application wakes up for every one.
_PER_PACKET = 4e-6
_PER_WAKEUP = 20e-6
#: What TCP reaches where nothing but delay limits it: a window of some MB per round trip.
_UNSHAPED_BPS = 1e9


def estimate_seconds(scenario: Scenario) -> float:
    """Wall seconds of one run on one CPU, good to a factor of two or so."""
    network = Network(scenario)
    return _OVERHEAD_SECONDS + sum(_cost(network, workload) for workload in scenario.workloads.values())


def _cost(network: Network, workload: Workload) -> float:
    capacity = sum(_rate(network, port.link) for port in network.ports_of(workload.receiver))
    size, duration = getattr(workload, "size", None), getattr(workload, "duration", None)
    payload = int(size) if size else capacity / 8 * (duration.seconds if duration else 0.0)
    packets = payload / _PAYLOAD
    quiet = isinstance(workload, Flow) and workload.read_quantum > 0
    return packets * (_PER_PACKET if quiet else _PER_WAKEUP)


def _rate(network: Network, link: str) -> float:
    described = network.scenario.links[link]
    directions: tuple[Direction, Direction] = (described.forward, described.backward)
    return min((float(direction.rate) for direction in directions if direction.rate), default=_UNSHAPED_BPS)
