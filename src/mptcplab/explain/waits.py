# SPDX-License-Identifier: MIT
"""Find waits: intervals in which nothing new arrived, although there was something to send."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from mptcplab.explain.evidence import Connection, Path, Subflow, Wait

#: A wait that is worth a reason is at least this long, in s,
WAIT_S = 0.5
#: and this number of round trips of the slowest path without its queues: in slow start, nothing arrives for one.
_ROUND_TRIPS = 2.0
#: In this share of the samples within a wait, data has to be pending.
_MOSTLY = 0.5


def min_wait_s(paths: Iterable[Path]) -> float:
    """Return the length from which on a wait is reported, for connections on these paths."""
    longest = max((path.round_trip_s or 0.0 for path in paths), default=0.0)
    return max(WAIT_S, _ROUND_TRIPS * longest)


def waits_of(
    received: Sequence[tuple[float, int]],
    pending: Sequence[tuple[float, int]],
    *,
    connection: object,
    min_s: float = WAIT_S,
) -> Iterator[Wait]:
    """Yield the waits of one connection.

    ``received`` are totals by time, only where they change, with the first and the last observation. ``pending`` are
    the bytes that the sender had not had acknowledged, or not sent, by time.
    """
    for (begin_s, _), (end_s, _) in pairwise(received):
        if end_s - begin_s < min_s:
            continue
        inside = [count > 0 for time_s, count in pending if begin_s < time_s < end_s]
        if inside and sum(inside) >= _MOSTLY * len(inside):
            yield Wait(connection=connection, begin_s=begin_s, end_s=end_s)


def pending_of(connection: Connection | None, subflows: Iterable[Subflow]) -> list[tuple[float, int]]:
    """Return the bytes that a sender had not had acknowledged, by time: of its connection, else of its subflows."""
    if connection is not None and connection.pending:
        return list(connection.pending)
    totals: dict[float, int] = {}
    for subflow in subflows:
        for sample in subflow.samples:
            waiting = (sample.unacked or 0) * (sample.mss or 1) + (sample.notsent_bytes or 0)
            totals[sample.time_s] = totals.get(sample.time_s, 0) + waiting
    return sorted(totals.items())
