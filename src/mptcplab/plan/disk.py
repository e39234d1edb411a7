# SPDX-License-Identifier: MIT
"""Estimate how many bytes the recording of a run takes."""

from __future__ import annotations

from mptcplab.fields import LOOPBACK
from mptcplab.metrics.values import choose_unit
from mptcplab.plan.estimate import RatedNetwork, expected_seconds
from mptcplab.plan.sampling import sample_interval_ns
from mptcplab.scenario.record import Capture
from mptcplab.scenario.schema import Scenario
from mptcplab.workload.base import WorkloadBase

#: Plan, manifest and counters of a node, and outputs of a gateway.
_NODE_BYTES, _GATEWAY_BYTES = 25_000.0, 15_000.0
#: A row of encoded samples.
_ROW_BYTES = 16.0
_PAYLOAD, _PACKET, _HEADERS = 1448.0, 1514.0, 80.0
#: Per captured packet: its time and its length.
_PCAP_BYTES = 16.0
#: An acknowledgement is sent for every second packet.
_ACKS = 0.5


def estimate_bytes(scenario: Scenario) -> float:
    """Return the bytes that one run writes to its results folder, accurate to a factor of three."""
    network = RatedNetwork(scenario)
    captured = sum(_capture_bytes(network, capture) for capture in scenario.record.captures)
    fixed = len(network.nodes) * _NODE_BYTES + len(scenario.gateways) * _GATEWAY_BYTES
    return fixed + _sample_bytes(network) + captured


def size_text(size: float) -> str:
    """Return a number of bytes as a text like ``2.35 MB``."""
    unit = choose_unit("B", (size,))
    return f"{unit.text(size)} {unit.name}"


def _sample_bytes(network: RatedNetwork) -> float:
    """Return the bytes of samples of sockets and queues, by programs and by the lab."""
    scenario = network.scenario
    per_second = 1e9 / sample_interval_ns(scenario)
    rows = 2 * len(scenario.links) * per_second * expected_seconds(scenario) if scenario.record.queues else 0.0
    logs = 0.0
    for workload in scenario.workloads.values():
        subflows = max(1, len(network.paths_of(workload)))
        seconds = workload.expected_seconds(network.goodput_bps(workload))
        rows += 2 * per_second * seconds * getattr(workload, "connections", 1) * (1 + subflows)
        logs += workload.logged_bytes(seconds, per_second * seconds, subflows)
    return logs + rows * _ROW_BYTES


def _capture_bytes(network: RatedNetwork, capture: Capture) -> float:
    """Return the bytes of a capture, as if all packets passed its filter."""
    kept, acks = (min(float(capture.snaplen), size) + _PCAP_BYTES for size in (_PACKET, _HEADERS))
    value = 0.0
    for workload in network.scenario.workloads.values():
        rate = network.goodput_bps(workload)
        packets = workload.expected_seconds(rate) * rate / 8 / _PAYLOAD
        value += packets * (kept + _ACKS * acks) * _crossings(network, workload, capture)
    return value


def _crossings(network: RatedNetwork, workload: WorkloadBase, capture: Capture) -> float:
    """Return how many captured interfaces a packet of a workload passes, in the mean over its paths.

    It passes the loopback interface of a node whose own program hands it to a gateway's program there.
    """
    if capture.link == LOOPBACK:
        entries = {gateway.entry for gateway in network.scenario.gateways.values()}
        return float(capture.node in entries and capture.node in (workload.sender, workload.receiver))
    paths = [network.path_between(workload.sender, port) for port in network.ports_of(workload.receiver)]
    ends = [
        link
        for path in paths
        for link in path
        if capture.node in network.scenario.links[link].between and capture.link in (None, link)
    ]
    return len(ends) / max(1, len(paths))
