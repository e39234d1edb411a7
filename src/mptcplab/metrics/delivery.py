# SPDX-License-Identifier: MIT
"""What the receiving side of a workload had, over time, and what became of that after a failure.

For programs that tell their own sockets this is the payload that the application has read; for the others, the sum of
what the host's subflows have received in order. Times are in seconds from the plan's time zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mptcplab.metrics.ends import Ends
from mptcplab.metrics.subflows import of_server
from mptcplab.recording.record import Recording
from mptcplab.workload.outputs import events

Numbers = NDArray[np.float64]
_NS_PER_S = 1e9
_BITS = 8
#: The rate before a failure is the mean over this time; a rate is back when it is, over a window, this part of it.
BEFORE_S = 5.0
WINDOW_S = 1.0
BACK = 0.9


@dataclass(frozen=True)
class Delivery:
    """Bytes that had arrived at ``times``. ``pauses`` are the longest ones of every sample: begin and end.

    They are exact, and there only if the receiver tells them and had one connection. ``sent_until_s`` is when the
    sender's application wrote its last data, None if it does not tell.
    """

    times: Numbers
    total: Numbers
    pauses: Numbers | None = None
    sent_until_s: float | None = None

    @property
    def end_s(self) -> float:
        """The last sample."""
        return float(self.times[-1])

    def rate(self, begin_s: float, end_s: float) -> float:
        """Mean in bit/s between two times; nothing arrives before the first sample's predecessor or after the last."""
        arrived = np.interp([begin_s, end_s], self.times, self.total, left=0.0)
        return float(_BITS * (arrived[1] - arrived[0]) / (end_s - begin_s))


def earlier_rate(delivery: Delivery, instant_s: float, *, before_s: float = BEFORE_S) -> float | None:
    """Mean rate of the ``before_s`` before an instant, or since the first sample; None without any time before it."""
    begin = max(instant_s - before_s, float(delivery.times[0]))
    return delivery.rate(begin, instant_s) if begin < instant_s else None


def recovery_s(
    delivery: Delivery, instant_s: float, level_bps: float, until_s: float, *, window_s: float = WINDOW_S
) -> float | None:
    """Time from ``instant_s`` to the first window whose mean rate is at least ``level_bps``.

    Windows begin at the instant and at every sample after it, and end before ``until_s``. 0 says that the rate never
    fell; None that it was not back.
    """
    later = delivery.times[(delivery.times > instant_s) & (delivery.times + window_s <= until_s)]
    begins = np.concatenate(([instant_s], later)) if instant_s + window_s <= until_s else later
    ends = np.interp(begins + window_s, delivery.times, delivery.total, left=0.0)
    rates = _BITS * (ends - np.interp(begins, delivery.times, delivery.total, left=0.0)) / window_s
    back = np.flatnonzero(rates >= level_bps)
    return float(begins[back[0]] - instant_s) if len(back) else None


def gap_s(delivery: Delivery, begin_s: float, until_s: float) -> float | None:
    """Return the longest time without data that overlaps a stretch, in s.

    From the receiver's own pauses if it tells them; else the time between the two samples that are the last to have
    something new before and the first after it, which is wrong by one sample's interval at most. Infinity if the
    longest had not ended when the run did; None if no two reads are known with the stretch between them.
    """
    grown = delivery.times[np.flatnonzero(np.diff(delivery.total, prepend=0.0) > 0)]
    pauses = delivery.pauses if delivery.pauses is not None else np.stack((grown[:-1], grown[1:]), axis=1)
    overlapping = pauses[(pauses[:, 1] > begin_s) & (pauses[:, 0] < until_s)]
    longest = float((overlapping[:, 1] - overlapping[:, 0]).max()) if len(overlapping) else None
    if delivery.sent_until_s is not None and until_s >= delivery.end_s and len(grown):
        # Data was sent after the last that arrived. The end of the data itself is no gap.
        waited = delivery.sent_until_s - float(grown[-1])
        return math.inf if waited > 0 and (longest is None or waited > longest) else longest
    return longest


def delivery(recording: Recording, ends: Ends) -> Delivery | None:
    """The delivery of a workload; None when nothing was sampled."""
    return _sampled(recording, ends) if ends.receiving is None else _described(recording, ends.receiving)


def sent_until_s(recording: Recording, ends: Ends) -> float | None:
    """When the sender's application wrote its last data, in s from time zero; None if it does not tell."""
    if ends.sending is None:
        return None
    described = [event["last_ns"] for event in events(recording, ends.sending, "end")]
    known = [instant for instant in described if instant is not None]
    return (max(known) - recording.manifest["zero_ns"]) / _NS_PER_S if known else None


def _described(recording: Recording, program: str) -> Delivery | None:
    table = recording.connections
    if not table.height or "total" not in table.columns:
        return None
    rows = table.filter((pl.col("program") == program) & pl.col("total").is_not_null())
    rows = rows.sort("time_ns", maintain_order=True)
    if not rows.height:
        return None
    curves = [_curve(each, "total") for _, each in rows.group_by("conn", maintain_order=True)]
    added = _added(curves)
    return added if len(curves) > 1 else Delivery(added.times, added.total, _pauses(rows))


def _pauses(rows: pl.DataFrame) -> Numbers | None:
    """None if these rows have no pauses: the column may be there for another workload's."""
    if "pause_ns" not in rows.columns:
        return None
    described = rows.filter(pl.col("pause_ns").is_not_null())
    if not described.height:
        return None
    begins = described["pause_at_ns"].to_numpy().astype(float) / _NS_PER_S
    return np.stack((begins, begins + described["pause_ns"].to_numpy().astype(float) / _NS_PER_S), axis=1)


def _sampled(recording: Recording, ends: Ends) -> Delivery | None:
    """Of the host's sockets, those of connections to the workload's server."""
    table = recording.subflows
    if not table.height:
        return None
    rows = table.filter(pl.col("node") == ends.receiver)
    if "program" in rows.columns:
        rows = rows.filter(pl.col("program").is_null())
    rows = rows.sort("time_ns", maintain_order=True)
    curves = {}
    first = []
    for (local, remote), each in rows.drop_nulls("bytes_received").group_by("local", "remote", maintain_order=True):
        curves[local, remote] = _curve(each, "bytes_received")
        first.append(each.row(-1, named=True))
    chosen = [curves[row["local"], row["remote"]] for row in of_server(first, ends.ports)]
    return _added(chosen) if chosen else None


def _curve(rows: pl.DataFrame, column: str) -> tuple[Numbers, Numbers]:
    times = rows["time_ns"].to_numpy().astype(float) / _NS_PER_S
    return times, rows[column].to_numpy().astype(float)


def _added(curves: Sequence[tuple[Numbers, Numbers]]) -> Delivery:
    times = np.unique(np.concatenate([times for times, _ in curves]))
    total = sum((np.interp(times, *curve, left=0.0) for curve in curves), np.zeros(len(times)))
    return Delivery(times, total)
