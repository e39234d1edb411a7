# SPDX-License-Identifier: MIT
"""Roughly how long a run will take. The figures were measured on one slow core; :mod:`mptcplab.plan.forecast` corrects
them by what runs really take."""

from __future__ import annotations

from mptcplab.scenario.links import Direction
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.traffic import Paced, Requests, Stream, Udp, Voip, Web
from mptcplab.scenario.workloads import Flow, Iperf3, WorkloadBase

_OVERHEAD_SECONDS = 0.5
_PAYLOAD = 1448
#: Seconds of CPU per packet of payload: when the receiver reads now and then, when it wakes up for every packet, and
#: when it asks for the time with each.
_PER_QUIET_PACKET = 2.8e-6
_PER_WAKEUP = 13.5e-6
_PER_IPERF3_PACKET = 25e-6
#: Seconds of CPU per response beside its packets, and roughly how long one takes to come.
_PER_ANSWER = 150e-6
_ROUND_TRIP_NS = 50e6
#: What TCP reaches where nothing but delay limits it: a window of some MB per round trip.
_UNSHAPED_BPS = 1e9


def estimate_seconds(scenario: Scenario) -> float:
    """Wall seconds of one run on one CPU, good to a factor of two or so."""
    network = Network(scenario)
    return _OVERHEAD_SECONDS + sum(_cost(network, workload) for workload in scenario.workloads.values())


def _cost(network: Network, workload: WorkloadBase) -> float:
    if isinstance(workload, Paced | Udp):
        return 2 * _PER_WAKEUP * _messages(workload)
    if isinstance(workload, Requests | Web):
        return _cost_of_answers(workload)
    return _cost_of_bulk(network, workload)


def _messages(workload: Paced | Udp) -> float:
    """How many are sent, each of which wakes its sender and its receiver up."""
    if isinstance(workload, Udp):
        on, off = float(workload.on or 1), float(workload.off or 0)
        return float(workload.duration) / workload.interval_ns * on / (on + off)
    return float(workload.duration) / float(workload.interval) if isinstance(workload, Stream | Voip) else 0.0


def _cost_of_answers(workload: Requests | Web) -> float:
    if isinstance(workload, Web):
        count = float(workload.duration) / float(workload.interval)
    elif workload.count is not None:
        count = float(workload.count * workload.connections)
    else:
        duration = float(workload.duration or 0)
        count = workload.connections * duration / (float(workload.think) + _ROUND_TRIP_NS)
    return count * (_PER_ANSWER + float(workload.response) / _PAYLOAD * _PER_WAKEUP)


def _cost_of_bulk(network: Network, workload: WorkloadBase) -> float:
    size, duration = getattr(workload, "size", None), getattr(workload, "duration", None)
    if size:
        payload = float(size) * getattr(workload, "connections", 1)
    else:
        payload = _capacity(network, workload) / 8 * (duration.seconds if duration else 0.0)
    return payload / _PAYLOAD * _per_packet(workload)


def _per_packet(workload: WorkloadBase) -> float:
    if isinstance(workload, Iperf3):
        return _PER_IPERF3_PACKET
    quiet = isinstance(workload, Flow) and workload.read_quantum > 0
    return _PER_QUIET_PACKET if quiet else _PER_WAKEUP


def _capacity(network: Network, workload: WorkloadBase) -> float:
    """Bits per second between the two hosts: of one path for TCP, of all that do not share a bottleneck for MPTCP."""
    hosts = network.scenario.hosts
    ends = (workload.sender, workload.receiver)
    target = network.target(workload)
    if target is not None and any(hosts[node].transport.protocol == "tcp" for node in ends):
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
