# SPDX-License-Identifier: MIT
"""Estimates of what workloads cost: CPU seconds, and bytes that their programs write.

They were measured on one slow core. :mod:`mptcplab.plan.forecast` corrects them by the cost of finished runs.
"""

from __future__ import annotations

from mptcplab.units import Duration, Size

#: Bytes of payload in a packet.
PAYLOAD = 1448
#: CPU seconds per packet of payload: if the receiver reads in intervals, if it wakes up for every packet, and if it
#: also reads the clock for each.
QUIET_PACKET = 1.5e-6
WAKEUP = 10e-6
IPERF3_PACKET = 15e-6
#: CPU seconds per second of virtual time: iperf3 reads the clock continually.
IPERF3_SECOND = 0.02
#: With fewer packets than this per read, reading in intervals saves nothing.
QUIET_FROM = 5
#: CPU seconds per response beside its packets, and a typical time until it arrives.
ANSWER = 150e-6
ROUND_TRIP_NS = 50e6
#: A typical time for which a web flow is open.
FLOW_NS = 500e6
#: Bytes that programs write: at all, per sample of a connection and of a subflow, per message, and per request.
LOG = 1000.0
LOGGED_CONNECTION, LOGGED_SUBFLOW = 720.0, 830.0
LOGGED_MESSAGE, LOGGED_REQUEST = 24.0, 140.0


def bulk_cpu_seconds(
    size: Size | None, connections: int, duration: Duration | None, capacity_bps: float, *, packet: float = WAKEUP
) -> float:
    """Return the CPU seconds of a transfer of ``size`` on each connection, or of filling its paths for ``duration``."""
    payload = float(size) * connections if size else capacity_bps / 8 * (duration.seconds if duration else 0.0)
    return payload / PAYLOAD * packet


def messages_cpu_seconds(count: float) -> float:
    """Return the CPU seconds of ``count`` messages, each of which wakes up its sender and its receiver."""
    return 2 * WAKEUP * count


def answers_cpu_seconds(count: float, size: Size) -> float:
    """Return the CPU seconds of ``count`` responses of ``size``."""
    return count * (ANSWER + float(size) / PAYLOAD * WAKEUP)


def sample_log_bytes(samples: float, subflows: int) -> float:
    """Return the bytes that both ends of a connection write about ``samples`` of themselves and of their subflows."""
    return LOG + 2 * samples * (LOGGED_CONNECTION + LOGGED_SUBFLOW * subflows)
