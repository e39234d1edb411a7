# SPDX-License-Identifier: MIT
"""Seconds of CPU that workloads take, measured on one slow core; :mod:`mptcplab.plan.forecast` corrects estimates by
what runs really take."""

from __future__ import annotations

from mptcplab.units import Duration, Size

PAYLOAD = 1448
#: Per packet of payload: when the receiver reads now and then, when it wakes up for every packet, and when it asks for
#: the time with each.
QUIET_PACKET = 2.8e-6
WAKEUP = 13.5e-6
IPERF3_PACKET = 30e-6
#: Per second of virtual time: iperf3 asks for the time again and again.
IPERF3_SECOND = 0.5
#: With fewer packets than this from one read to the next, an application that reads now and then saves nothing.
QUIET_FROM = 5
#: Per response beside its packets, and roughly how long one takes to come.
ANSWER = 150e-6
ROUND_TRIP_NS = 50e6


def bulk(
    size: Size | None, connections: int, duration: Duration | None, capacity_bps: float, *, packet: float = WAKEUP
) -> float:
    """Return what a transfer of ``size`` on each connection takes, or one that fills its paths for ``duration``."""
    payload = float(size) * connections if size else capacity_bps / 8 * (duration.seconds if duration else 0.0)
    return payload / PAYLOAD * packet


def messages(count: float) -> float:
    """Return what so many messages take, each of which wakes its sender and its receiver up."""
    return 2 * WAKEUP * count


def answers(count: float, size: Size) -> float:
    """Return what so many responses take."""
    return count * (ANSWER + float(size) / PAYLOAD * WAKEUP)
