# SPDX-License-Identifier: MIT
"""Estimate the cost of a run; :mod:`mptcplab.plan.forecast` corrects estimates by the cost of finished runs.

The cost of a transfer is its packets' cost, and their number depends on what limits it: the rate of its paths, loss,
or a window per round-trip time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt

from mptcplab.network.frames import MTU
from mptcplab.network.registry import BEHAVIOURS
from mptcplab.node.graph import Port
from mptcplab.scenario import gateways
from mptcplab.scenario.links import DirectionSettings
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario
from mptcplab.units import Rate, Size
from mptcplab.workload.base import WorkloadBase

_OVERHEAD_SECONDS = 0.2
#: The rate of TCP if only delay limits it.
_UNSHAPED_BPS = 1e9
_PACKET_BITS = 8 * 1448
#: The kernel's largest receive buffer, of which about half is payload.
_BUFFER_BYTES = Size(6 * 2**20)
#: The minimum round-trip time after a loss: a tick, and delayed acknowledgements.
_MIN_RTT_S = 0.002
#: What remains of the cost of single packets if they cross all links as aggregates of 64 kB: what is copied.
_AGGREGATED = 0.08


@dataclass(frozen=True)
class _Path:
    """A path: its bottleneck link, its rate, round-trip time and loss, and the size of aggregates on all its links.

    ``queue_s`` is the longest wait in the bottleneck's queue.
    """

    narrowest: str
    rate_bps: float
    rtt_s: float
    loss: float
    aggregate: float
    queue_s: float

    def carried_bps(self, buffer: Size) -> float:
        """Return the rate of one TCP flow.

        Loss limits its window to the mean of Reno (Mathis et al. 1997) or CUBIC (RFC 9438, 5.2), whichever is larger.
        """
        reno = sqrt(1.5 / self.loss) if self.loss else inf
        cubic = 1.054 * (self.rtt_s / self.loss) ** 0.75 if self.loss else inf
        packets = min(max(reno, cubic, 1.0), float(buffer) / 2 * 8 / _PACKET_BITS)
        return min(self.rate_bps, packets * _PACKET_BITS / self.rtt_s)


class RatedNetwork(Network):
    """A network that knows what its workloads can carry; it searches for each path once."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self._transports = scenario.transports
        self._paths: dict[int, list[_Path]] = {}

    @cached_property
    def _transfers(self) -> Counter[str]:
        """The number of bulk transfers by each bottleneck link."""
        bulk = (workload for workload in self.scenario.workloads.values() if workload.is_bulk)
        return Counter(
            link for workload_base in bulk for link in {path.narrowest for path in self.paths_of(workload_base)}
        )

    def goodput_bps(self, workload: WorkloadBase) -> float:
        """Return a workload's goodput: TCP uses one path, MPTCP all paths that do not share a bottleneck."""
        connections = getattr(workload, "connections", 1)
        sizes = [self._transports[node].tcp_rmem for node in (workload.sender, workload.receiver)]
        buffer = min(size[2] if size else _BUFFER_BYTES for size in sizes)
        value = 0.0
        for path in self.paths_of(workload):
            # Simultaneous transfers share a bottleneck.
            share = path.rate_bps / max(1, self._transfers[path.narrowest] if workload.is_bulk else 1)
            value += min(share, connections * path.carried_bps(buffer))
        return value or _UNSHAPED_BPS

    def paths_of(self, workload: WorkloadBase) -> list[_Path]:
        """Return the paths that a workload of the scenario can use, one for each bottleneck."""
        if id(workload) not in self._paths:
            self._paths[id(workload)] = self._search_paths(workload)
        return self._paths[id(workload)]

    def _search_paths(self, workload: WorkloadBase) -> list[_Path]:
        ends = (workload.sender, workload.receiver)
        target = self.target(workload)
        if target is not None and any(self._transports[node].protocol == "tcp" for node in ends):
            return list(_paths(self, workload, target))
        there = [path for port in self.ports_of(workload.receiver) for path in _paths(self, workload, port)]
        back = [path for port in self.ports_of(workload.sender) for path in _paths(self, workload, port, back=True)]
        return max(([*{path.narrowest: path for path in paths}.values()] for paths in (there, back)), key=len)


def estimate_seconds(scenario: Scenario) -> float:
    """Return the wall seconds of one run on one CPU, accurate to a factor of three."""
    network = RatedNetwork(scenario)
    starts = sum(gateway.start_cpu_seconds for gateway in scenario.gateways.values())
    factors = _gateway_factors(network)
    costs = (_cpu_seconds(network, workload) * factors.get(name, 1.0) for name, workload in scenario.workloads.items())
    return _OVERHEAD_SECONDS + starts + sum(costs)


def _gateway_factors(network: Network) -> dict[str, float]:
    """Return the factors by which gateways raise the cost of the workloads that they carry."""
    factors: dict[str, float] = {}
    for name, gateway in network.scenario.gateways.items():
        for workload in gateways.carried(network, name):
            factors[workload] = factors.get(workload, 1.0) * gateway.cost_factor
    return factors


def expected_seconds(scenario: Scenario) -> float:
    """Return the virtual seconds until the last workload ends, with the same accuracy."""
    network = RatedNetwork(scenario)
    workloads = scenario.workloads.values()
    return max(
        workload.latest_start.seconds + workload.expected_seconds(network.goodput_bps(workload))
        for workload in workloads
    )


def _cpu_seconds(network: RatedNetwork, workload: WorkloadBase) -> float:
    paths = network.paths_of(workload)
    aggregate = min((path.aggregate for path in paths), default=0.0)
    share = max(_AGGREGATED, MTU / aggregate) if aggregate else 1.0
    return workload.cpu_seconds(network.goodput_bps(workload)) * share


def _paths(network: Network, workload: WorkloadBase, target: Port, *, back: bool = False) -> Iterator[_Path]:
    """Yield the shortest path to a port, if any; with ``back``, that from the host ``to`` to a port of ``from``."""
    start = workload.receiver if back else workload.sender
    steps = list(_steps(network, start, target))
    if not steps:
        return
    downloads = type(workload).sends_to_client(workload.model_dump(include={"reverse"}))
    along = [
        (link, settings, other) if downloads == back else (link, other, settings) for link, settings, other in steps
    ]
    narrowest, with_data, _ = min(along, key=lambda step: _rate(step[1]))
    lost = 1.0
    for _, data, _ in along:
        lost *= 1 - _loss(data)
    rtt_ns = sum(int(data.delay) + int(acks.delay) for _, data, acks in along)
    aggregate = min(_aggregate(data) for _, data, _ in along)
    rtt_s = max(rtt_ns / 1e9, _MIN_RTT_S)
    yield _Path(narrowest, _rate(with_data), rtt_s, 1 - lost, aggregate, _queue_seconds(with_data))


def _steps(network: Network, start: str, target: Port) -> Iterator[tuple[str, DirectionSettings, DirectionSettings]]:
    """Yield the links from a node to a port, each with its direction on the path and the reverse direction."""
    node = start
    for name in network.path_between(start, target):
        link = network.scenario.links[name]
        is_forward = link.between[0] == node
        cells = [cell for end in link.between if (cell := network.nodes[end].cell(end)) is not None]
        if link.radio is not None and cells:
            typical = DirectionSettings(rate=Rate(round(cells[0].typical_bps)))
            yield name, typical, typical
            node = link.between[is_forward]
            continue
        yield (name, link.forward, link.backward) if is_forward else (name, link.backward, link.forward)
        node = link.between[is_forward]


def _rate(settings: DirectionSettings) -> float:
    return float(settings.rate) if settings.rate else _UNSHAPED_BPS


def _queue_seconds(settings: DirectionSettings) -> float:
    if settings.rate is None:
        return 0.0
    held = settings.queue.bytes_at(settings.rate)
    length = held if held is not None else (settings.queue.packets or 0) * MTU
    return length * 8 / float(settings.rate)


def _loss(settings: DirectionSettings) -> float:
    return min(0.5, float(sum(behaviour.loss_rate(settings) for behaviour in BEHAVIOURS)))


def _aggregate(settings: DirectionSettings) -> float:
    return max(float(behaviour.aggregate(settings) or 0) for behaviour in BEHAVIOURS)
