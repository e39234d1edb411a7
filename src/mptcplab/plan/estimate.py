# SPDX-License-Identifier: MIT
"""Estimates of what a run takes: seconds of a CPU, memory, samples, and bytes on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, sqrt

from mptcplab.fields import LOOPBACK
from mptcplab.gateway.base import GatewayBase
from mptcplab.network.frames import MTU
from mptcplab.network.registry import BEHAVIOURS
from mptcplab.node.graph import Port
from mptcplab.node.transport import Transport
from mptcplab.plan.model import TCP_PAGES, USUAL_MEMORY_BYTES
from mptcplab.scenario import gateways
from mptcplab.scenario.links import DirectionSettings
from mptcplab.scenario.network import Network
from mptcplab.scenario.record import Capture
from mptcplab.scenario.schema import Scenario
from mptcplab.units import Rate, Size
from mptcplab.workload.base import WorkloadBase

# The cost of a run; :mod:`mptcplab.plan.forecast` corrects estimates by the cost of finished runs.
#
# The cost of a transfer is its packets' cost, and their number depends on what limits it: the rate of its paths, loss,
# or a window per round-trip time.

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
#: CPU seconds in a second of a run with radios, also without traffic: of the run, of each link between a station and an
#: access point, and of the steering daemon. Fitted to 243 runs of asakura2019.
_RADIO_SHARE, _RADIO_LINK_SHARE, _STEERING_SHARE = 0.01, 0.005, 0.04


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
        return Counter(link for transfer in bulk for link in {path.narrowest for path in self.paths_of(transfer)})

    def goodput_bps(self, workload: WorkloadBase) -> float:
        """Return a workload's goodput: TCP uses one path, MPTCP all paths that do not share a bottleneck."""
        connections = workload.connection_count
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
            return list(_paths(self, workload.sender, target, has_data=not _downloads(workload)))
        return self.paths_between(*ends, downloads=_downloads(workload))

    def paths_between(self, client: str, server: str, *, downloads: bool) -> list[_Path]:
        """Return the paths that MPTCP can use between two nodes, one for each bottleneck."""
        there = [path for port in self.ports_of(server) for path in _paths(self, client, port, has_data=not downloads)]
        back = [path for port in self.ports_of(client) for path in _paths(self, server, port, has_data=downloads)]
        return max(([*{path.narrowest: path for path in paths}.values()] for paths in (there, back)), key=len)


def estimate_seconds(scenario: Scenario) -> float:
    """Return the wall seconds of one run on one CPU, accurate to a factor of three."""
    network = RatedNetwork(scenario)
    starts = sum(gateway.start_cpu_seconds for gateway in scenario.gateways.values())
    factors = _gateway_factors(network)
    costs = (_cpu_seconds(network, workload) * factors.get(name, 1.0) for name, workload in scenario.workloads.items())
    return _OVERHEAD_SECONDS + starts + sum(costs) + _radio_seconds(network)


def _radio_seconds(network: RatedNetwork) -> float:
    """Return the CPU time that radios take even if nothing is sent: every station hears all beacons in its range."""
    scenario = network.scenario
    links = sum(link.radio is not None for link in scenario.links.values())
    if not links:
        return 0.0
    share = _RADIO_SHARE + _RADIO_LINK_SHARE * links + (_STEERING_SHARE if scenario.steering is not None else 0.0)
    return share * _expected_seconds(network)


def _gateway_factors(network: Network) -> dict[str, float]:
    """Return the factors by which gateways raise the cost of the workloads that they carry."""
    factors: dict[str, float] = {}
    for name, gateway in network.scenario.gateways.items():
        for workload in gateways.carried_workloads(network, name):
            factors[workload] = factors.get(workload, 1.0) * gateway.cost_factor
    return factors


def expected_seconds(scenario: Scenario) -> float:
    """Return the virtual seconds until the last workload ends, with the same accuracy."""
    return _expected_seconds(RatedNetwork(scenario))


def _expected_seconds(network: RatedNetwork) -> float:
    return max(
        workload.latest_start.seconds + workload.expected_seconds(network.goodput_bps(workload))
        for workload in network.scenario.workloads.values()
    )


def _cpu_seconds(network: RatedNetwork, workload: WorkloadBase) -> float:
    paths = network.paths_of(workload)
    aggregate = min((path.aggregate for path in paths), default=0.0)
    share = max(_AGGREGATED, MTU / aggregate) if aggregate else 1.0
    return workload.cpu_seconds(network.goodput_bps(workload)) * share


def _downloads(workload: WorkloadBase) -> bool:
    return type(workload).sends_to_client(workload.model_dump(include={"reverse"}))


def _paths(network: Network, start: str, target: Port, *, has_data: bool) -> Iterator[_Path]:
    """Yield the shortest path from a node to a port, if any. ``has_data``: data takes it, not its acknowledgements."""
    steps = list(_steps(network, start, target))
    if not steps:
        return
    along = [(link, settings, other) if has_data else (link, other, settings) for link, settings, other in steps]
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


# The default interval between samples of sockets and queues.

_SAMPLES = 100
_NS_PER_S = 10**9
#: Possible intervals. A second is a multiple of each, so that every second begins with a sample.
_STEPS_NS = tuple(milliseconds * 10**6 for milliseconds in (10, 20, 50, 100, 200, 500, 1000))


def sample_interval_ns(scenario: Scenario) -> int:
    """Return the scenario's own interval, or the longest step that gives a hundred samples.

    Short runs have fewer samples, since sampling has a cost; long ones are sampled once a second.
    """
    if scenario.record.interval is not None:
        return int(scenario.record.interval)
    wanted = expected_seconds(scenario) * _NS_PER_S / _SAMPLES
    return max((step for step in _STEPS_NS if step <= wanted), default=_STEPS_NS[0])


# Estimate the memory that a lab needs: mainly what its TCP sockets hold.
#
# All hosts of a lab share one kernel, which restrains TCP when all sockets together use a sixteenth of its memory
# (``tcp_mem``, docs/machine.md). A connection holds the data that is on its way at both ends: the sender until it is
# acknowledged, the receiver while the data before it is missing. With several paths, both wait for the slowest. What
# is in queues is part of what senders hold. The programs of a gateway have sockets at both of its nodes as well.

#: A lab with more than the usual memory has a multiple of this.
_STEP_BYTES = 256 << 20
#: The share of the memory above which TCP is restrained, see :data:`mptcplab.plan.model.TCP_PAGES`.
_TCP_SHARE = TCP_PAGES[1] * 4096 / USUAL_MEMORY_BYTES
#: The kernel, process 1 and the programs of a few hosts; a further node with a program or two.
_BASE_BYTES, _NODE_BYTES = 128 << 20, 2 << 20
#: The kernel's defaults with the usual memory: a sender's buffer at the start, the largest, and a receiver's largest.
_WRITTEN_BYTES, _SEND_BYTES, _RECEIVE_BYTES = 16 << 10, 4 << 20, 8 << 20
#: Autotuning allows twice the data that is on its way.
_TUNED = 2
#: What the kernel charges, relative to the buffers: two full ones of 48 MiB took 1.03 times as much (docs/machine.md).
_CHARGED = 1.25
#: What a proxy writes that reads faster than it can send, relative to the data that is on its way. Autotuning allows
#: twice the congestion window, which slow start leaves at twice that data, in packets that it takes to be three times
#: as large as their payload (tcp_sndbuf_expand()). 10 were measured.
_RELAYED = 12


def memory_bytes(scenario: Scenario) -> int:
    """Return the memory of a lab for ``scenario``: its key's value, else what it needs, but at least the usual."""
    if scenario.memory is not None:
        return int(scenario.memory)
    return max(USUAL_MEMORY_BYTES, ceil(needed_bytes(scenario) / _STEP_BYTES) * _STEP_BYTES)


def needed_bytes(scenario: Scenario) -> float:
    """Return the memory with which a run does not restrain TCP, estimated; rather too large than too small."""
    programs = _BASE_BYTES + _NODE_BYTES * len(scenario.nodes)
    transfers = [workload for workload in scenario.workloads.values() if workload.is_bulk]
    network = RatedNetwork(scenario)
    relayed = list(_relayed_transfers(network))
    largest = sum(sum(_buffers(scenario, transfer)[1:]) for transfer in transfers)
    largest += sum(sum(_relay_buffers(scenario, gateway, transfer)) for gateway, transfer in relayed)
    # Searching for paths takes a while in large networks, and most scenarios have small buffers.
    if _CHARGED * largest <= _TCP_SHARE * USUAL_MEMORY_BYTES:
        return programs
    sockets = _CHARGED * sum(_socket_bytes(network, transfer) for transfer in transfers)
    sockets += sum(_relay_bytes(network, gateway, transfer) for gateway, transfer in relayed)
    return max(programs + sockets, sockets / _TCP_SHARE)


def _relayed_transfers(network: Network) -> Iterator[tuple[GatewayBase, WorkloadBase]]:
    """Yield the transfers whose connections end at the proxies of a gateway; connections in a tunnel do not."""
    for name, gateway in network.scenario.gateways.items():
        if gateway.tunnel_device is None:
            carried = (network.scenario.workloads[workload] for workload in gateways.carried_workloads(network, name))
            yield from ((gateway, workload) for workload in carried if workload.is_bulk)


def _relay_buffers(scenario: Scenario, gateway: GatewayBase, workload: WorkloadBase) -> tuple[float, ...]:
    """Return the largest receive and send buffers of the first proxy on the data's path, and of the second."""
    count = workload.connection_count
    nodes = (gateway.exit, gateway.entry) if _downloads(workload) else (gateway.entry, gateway.exit)
    buffers = [_socket_buffers(scenario.transports[node]) for node in nodes]
    return tuple(count * largest for _, send, receive in buffers for largest in (receive, send))


def _relay_bytes(network: RatedNetwork, gateway: GatewayBase, workload: WorkloadBase) -> float:
    """Return the memory that the proxies of a gateway need for a transfer whose sender is faster than they are."""
    paths = network.paths_between(gateway.entry, gateway.exit, downloads=_downloads(workload))
    under_way = sum(path.rate_bps for path in paths) / 8 * max((path.rtt_s + path.queue_s for path in paths), default=0)
    received, written, *second = _relay_buffers(network.scenario, gateway, workload)
    return min(written, _RELAYED * under_way) + sum(min(buffer, _TUNED * under_way) for buffer in (received, *second))


def _socket_bytes(network: RatedNetwork, workload: WorkloadBase) -> float:
    """Return the data that all connections of a workload hold at both ends, when their windows have grown.

    A program fills its send buffer at once, whatever is on its way.
    """
    paths = network.paths_of(workload)
    rate = min(sum(path.rate_bps for path in paths), network.goodput_bps(workload))
    wait = max((path.rtt_s + path.queue_s for path in paths), default=0.0)
    window = _TUNED * rate / 8 * wait
    written, send, receive = _buffers(network.scenario, workload)
    return max(written, min(send, window)) + min(receive, window)


def _buffers(scenario: Scenario, workload: WorkloadBase) -> tuple[float, float, float]:
    """Return the send buffers at the start, the largest ones, and the largest receive buffers of all connections."""
    ends = (scenario.transports[workload.sender], scenario.transports[workload.receiver])
    source, target = reversed(ends) if _downloads(workload) else ends
    count = workload.connection_count
    (written, send, _), (_, _, receive) = _socket_buffers(source), _socket_buffers(target)
    return count * written, count * send, count * receive


def _socket_buffers(transport: Transport) -> tuple[int, int, int]:
    """Return the send buffer of a socket at the start, its largest one, and its largest receive buffer."""
    _, written, send = transport.tcp_wmem or (0, _WRITTEN_BYTES, _SEND_BYTES)
    receive = transport.tcp_rmem[2] if transport.tcp_rmem else _RECEIVE_BYTES
    return int(written), int(send), int(receive)


# Estimate how many bytes the recording of a run takes.

#: Plan, manifest and counters of a node, and outputs of a gateway.
_NODE_FILE_BYTES, _GATEWAY_BYTES = 25_000.0, 15_000.0
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
    fixed = len(network.nodes) * _NODE_FILE_BYTES + len(scenario.gateways) * _GATEWAY_BYTES
    return fixed + _sample_bytes(network) + captured


def _sample_bytes(network: RatedNetwork) -> float:
    """Return the bytes of samples of sockets and queues, by programs and by the lab."""
    scenario = network.scenario
    per_second = 1e9 / sample_interval_ns(scenario)
    rows = 2 * len(scenario.links) * per_second * expected_seconds(scenario) if scenario.record.queues else 0.0
    logs = 0.0
    for workload in scenario.workloads.values():
        subflows = max(1, len(network.paths_of(workload)))
        seconds = workload.expected_seconds(network.goodput_bps(workload))
        rows += 2 * per_second * seconds * workload.connection_count * (1 + subflows)
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
