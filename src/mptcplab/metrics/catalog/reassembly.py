# SPDX-License-Identifier: MIT
"""What several paths cost a receiver: data that came too early, waited for other data, or came twice.

From the samples of ``flow``: its subflows say how much each has received in order, its connection how much of that is
in order for the application. The difference either waits in MPTCP's out-of-order queue, or was there already.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mptcplab.metrics.ends import Ends
from mptcplab.metrics.metric import Metric, Subject
from mptcplab.recording.record import Recording

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Reassembly:
    """Of one connection: bytes on subflows and in order at ``times_s``, at the receiver."""

    times_s: Numbers
    on_subflows: Numbers
    in_order: Numbers

    @property
    def twice(self) -> float:
        """Bytes that arrived on two subflows. At the end nothing waits any more, so this is all that is left over."""
        return max(0.0, float(self.on_subflows[-1] - self.in_order[-1]))

    @property
    def waiting(self) -> Numbers:
        """Bytes in the out-of-order queue at each sample, at least.

        What came twice never becomes less, and never is more than the difference at any later time; what is beyond
        that bound waits.
        """
        difference = self.on_subflows - self.in_order
        bound = np.minimum.accumulate(difference[::-1])[::-1]
        return np.maximum(0.0, difference - bound)


def reassembly_figures(found: list[Reassembly], *, reinjected: int | None) -> dict[str, float]:
    """Sums over connections. ``reinjected`` are bytes that the sender sent again on another subflow."""
    arrived = sum(float(one.in_order[-1]) for one in found)
    if not found or arrived <= 0:
        return {}
    span = max(float(one.times_s[-1] - one.times_s[0]) for one in found)
    values = {"duplicate_percent": 100 * sum(one.twice for one in found) / arrived}
    if reinjected is not None:
        values["reinjected_percent"] = 100 * reinjected / arrived
    if span <= 0:
        return values
    mean = sum(float(np.trapezoid(one.waiting, one.times_s)) for one in found) / span
    values["out_of_order_mean_bytes"] = mean
    values["out_of_order_max_bytes"] = max(float(one.waiting.max()) for one in found)
    # Little's law: what waits on average is what arrives in the time that it waits.
    sampled = sum(float(one.in_order[-1] - one.in_order[0]) for one in found)
    return values | ({"head_of_line_delay_ms": 1e3 * mean * span / sampled} if sampled > 0 else {})


def reassemblies(recording: Recording, ends: Ends) -> list[Reassembly]:
    """The MPTCP connections of a workload; none if its programs do not tell."""
    return list(_reassemblies(recording, ends)) if ends.receiving is not None else []


def reinjected_bytes(recording: Recording, ends: Ends) -> int | None:
    """Bytes that the sender's connections have sent on a further subflow; None if nothing tells.

    That is all that subflows have sent, their own retransmissions left out, beyond what the connection had to send. The
    kernel's counter of retransmissions by MPTCP (mptcpi_bytes_retrans) leaves out what is sent anew once a subflow is
    taken to be dead.
    """
    if ends.sending is None or "bytes_sent" not in recording.connections.columns:
        return None
    described = recording.connections.filter((pl.col("program") == ends.sending) & pl.col("bytes_sent").is_not_null())
    # A connection that has fallen back does not tell what it had to send, and cannot send on a further subflow.
    conns = described["conn"].unique().to_list()
    subflows = recording.subflows.filter((pl.col("program") == ends.sending) & pl.col("conn").is_in(conns))
    ways = subflows.group_by("conn", "local", "remote").agg(pl.col("bytes_sent", "bytes_retrans").max())
    if not ways.height or ways["bytes_sent"].has_nulls() or ways["bytes_retrans"].has_nulls():
        return None
    carried = int((ways["bytes_sent"] - ways["bytes_retrans"]).sum())
    needed = int(described.group_by("conn").agg(pl.col("bytes_sent").max())["bytes_sent"].sum())
    return max(0, carried - needed)


def _reassemblies(recording: Recording, ends: Ends) -> Iterator[Reassembly]:
    connections, subflows = recording.connections, recording.subflows
    if "bytes_received" not in connections.columns or not subflows.height:
        return
    described = connections.filter((pl.col("program") == ends.receiving) & pl.col("bytes_received").is_not_null())
    of_receiver = subflows.filter(pl.col("program") == ends.receiving)
    for (conn,), rows in described.sort("time_ns", maintain_order=True).group_by("conn", maintain_order=True):
        times = rows["time_ns"].to_numpy().astype(float)
        total = np.zeros(len(times))
        mine = of_receiver.filter(pl.col("conn") == conn).drop_nulls("bytes_received")
        mine = mine.sort("time_ns", maintain_order=True)
        for _, each in mine.group_by("local", "remote", maintain_order=True):
            # A subflow that is gone keeps what it had: the last value before every instant.
            place = np.searchsorted(each["time_ns"].to_numpy().astype(float), times, side="right")
            total += np.concatenate(([0.0], each["bytes_received"].to_numpy().astype(float)))[place]
        yield Reassembly(times / 1e9, total, rows["bytes_received"].to_numpy().astype(float))


def _figures(subject: Subject) -> dict[str, float]:
    if not subject.sockets.use.with_mptcp:
        return {}
    found = reassemblies(subject.recording, subject.ends)
    return reassembly_figures(found, reinjected=reinjected_bytes(subject.recording, subject.ends))


def _entry(name: str, noun: str, unit: str, definition: str, source: str) -> Metric:
    return Metric(
        name=name,
        noun=noun,
        unit=unit,
        definition=definition,
        source=source,
        value=lambda subject: subject.once(_figures).get(name),
        section="paths",
        place=51,
        in_table=False,
    )


METRICS = (
    _entry(
        "reinjected_percent",
        "reinjected",
        "%",
        "of what was delivered: sent on a further subflow",
        "the sender's subflows against its connection",
    ),
    _entry(
        "duplicate_percent",
        "twice",
        "%",
        "of what was delivered: received on two subflows",
        "the receiver's subflows against its connection",
    ),
    _entry(
        "out_of_order_mean_bytes",
        "out of order",
        "B",
        "in MPTCP's out-of-order queue at the receiver, mean over the samples",
        "as before",
    ),
    _entry("out_of_order_max_bytes", "out of order max", "B", "the most of all samples", "as before"),
    _entry(
        "head_of_line_delay_ms",
        "head of line",
        "ms",
        "how long a byte waits in that queue, on average; those that do not wait count as 0",
        "Little's law",
    ),
)
