# SPDX-License-Identifier: MIT
"""Estimate the memory that a lab needs: mainly what its TCP sockets hold.

All hosts of a lab share one kernel, which restrains TCP when all sockets together use a sixteenth of its memory
(``tcp_mem``, docs/machine.md). A connection holds the data that is on its way at both ends: the sender until it is
acknowledged, the receiver while the data before it is missing. With several paths, both wait for the slowest. What is
in queues is part of what senders hold.
"""

from __future__ import annotations

from math import ceil

from mptcplab.plan.estimate import RatedNetwork
from mptcplab.plan.model import USUAL_MEMORY_BYTES
from mptcplab.scenario.schema import Scenario
from mptcplab.workload.base import WorkloadBase

#: A lab with more than the usual memory has a multiple of this.
_STEP_BYTES = 256 << 20
#: The share of the memory above which TCP is restrained, see :data:`mptcplab.engine.memory.TCP_PAGES`.
_TCP_SHARE = 16000 * 4096 / USUAL_MEMORY_BYTES
#: The kernel, process 1 and the programs of a few hosts; a further node with a program or two.
_BASE_BYTES, _NODE_BYTES = 128 << 20, 2 << 20
#: The kernel's defaults with the usual memory: a sender's buffer at the start, the largest, and a receiver's largest.
_WRITTEN_BYTES, _SEND_BYTES, _RECEIVE_BYTES = 16 << 10, 4 << 20, 8 << 20
#: Autotuning allows twice the data that is on its way.
_TUNED = 2
#: What the kernel charges, relative to the buffers: two full ones of 48 MiB took 1.03 times as much (docs/machine.md).
_CHARGED = 1.25


def memory_bytes(scenario: Scenario) -> int:
    """Return the memory of a lab for ``scenario``: its key's value, else what it needs, but at least the usual."""
    if scenario.memory is not None:
        return int(scenario.memory)
    return max(USUAL_MEMORY_BYTES, ceil(needed_bytes(scenario) / _STEP_BYTES) * _STEP_BYTES)


def needed_bytes(scenario: Scenario) -> float:
    """Return the memory with which a run does not restrain TCP, estimated; rather too large than too small."""
    programs = _BASE_BYTES + _NODE_BYTES * len(scenario.nodes)
    transfers = [workload for workload in scenario.workloads.values() if workload.is_bulk]
    # Searching for paths takes a while in large networks, and most scenarios have small buffers.
    if (
        _CHARGED * sum(sum(_buffers(scenario, transfer)[1:]) for transfer in transfers)
        <= _TCP_SHARE * USUAL_MEMORY_BYTES
    ):
        return programs
    network = RatedNetwork(scenario)
    sockets = _CHARGED * sum(_socket_bytes(network, transfer) for transfer in transfers)
    return max(programs + sockets, sockets / _TCP_SHARE)


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
    downloads = type(workload).sends_to_client(workload.model_dump(include={"reverse"}))
    source, target = reversed(ends) if downloads else ends
    count = getattr(workload, "connections", 1)
    _, written, send = source.tcp_wmem or (0, _WRITTEN_BYTES, _SEND_BYTES)
    receive = target.tcp_rmem[2] if target.tcp_rmem else _RECEIVE_BYTES
    return count * int(written), count * int(send), count * int(receive)
