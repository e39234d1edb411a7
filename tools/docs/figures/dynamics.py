# SPDX-License-Identifier: MIT
"""A ``flow`` workload over time: the rate of each path, when it reached a level, and the queueing delay of packets.

A path is named by the links of the sender's and the receiver's address, as in tables: ``access1>link1``. Connections of
one workload on the same path are added up. Times are in seconds from the plan's time zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mptcplab.metrics.manifest import read_addresses
from mptcplab.metrics.subflows import path_name
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import read_workload

Numbers = NDArray[np.float64]
_NS_PER_S = 1e9
_US_PER_S = 1e6
_BITS = 8


@dataclass(frozen=True)
class Rates:
    """Payload received on each path, in bit/s: means over consecutive steps of ``step_s``, from time zero on."""

    step_s: float
    by_path: dict[str, Numbers]

    def mean(self, path: str, begin_s: float, end_s: float) -> float:
        """Return the mean over the steps from ``begin_s`` to ``end_s``."""
        return float(self.by_path[path][self._step(begin_s) : self._step(end_s)].mean())

    def time_until(self, path: str, begin_s: float, level_bps: float, *, falling: bool = False) -> float | None:
        """Return the time from ``begin_s`` to the end of the first step with at least ``level_bps``, None without one.

        If ``falling``, it is the first step with at most ``level_bps``.
        """
        later = self.by_path[path][self._step(begin_s) :]
        reached = np.flatnonzero(later <= level_bps if falling else later >= level_bps)
        return (float(reached[0]) + 1) * self.step_s if len(reached) else None

    def _step(self, time_s: float) -> int:
        return round(time_s / self.step_s)


@dataclass(frozen=True)
class QueueingSummary:
    """Queueing on a path in a span of time.

    ``delay_s`` is the mean smoothed round-trip time minus the minimum of the whole run. ``packets`` is the number of
    packets that arrive in this time, which is the mean number of the path's packets in queues, by Little's law.
    """

    delay_s: float
    packets: float


def path_rates(recording: Recording, workload: str, *, step_s: float = 1.0) -> Rates:
    """Return the rates of a workload up to the end of its last whole step. Samples are interpolated."""
    rates: dict[str, list[tuple[Numbers, Numbers]]] = {}
    for path, rows in _subflows(recording, workload, sending=False):
        arrived = rows["bytes_received"].to_numpy().astype(float) * _BITS
        rates.setdefault(path, []).append((rows["time_ns"].to_numpy() / _NS_PER_S, arrived))
    end_s = max(times[-1] for curves in rates.values() for times, _ in curves)
    edges = np.arange(int(end_s / step_s) + 1) * step_s
    return Rates(
        step_s,
        {
            path: np.diff(sum((np.interp(edges, *curve, left=0.0) for curve in curves), np.zeros(len(edges)))) / step_s
            for path, curves in rates.items()
        },
    )


def path_waiting(recording: Recording, workload: str, begin_s: float, end_s: float) -> dict[str, QueueingSummary]:
    """Return the queueing on each path between two times, with one connection per path.

    It uses the sender's samples, which have to be much more frequent than changes of the window.
    """
    delays = {}
    for path, rows in _subflows(recording, workload, sending=True):
        stretch = rows.filter(pl.col("time_ns").is_between(begin_s * _NS_PER_S, end_s * _NS_PER_S))
        delay_s = float(stretch["rtt_us"].to_numpy().mean() - _base_us(rows)) / _US_PER_S
        segments = stretch["data_segs_out"].to_numpy().astype(float)
        times = stretch["time_ns"].to_numpy() / _NS_PER_S
        delays[path] = QueueingSummary(delay_s, delay_s * float((segments[-1] - segments[0]) / (times[-1] - times[0])))
    return delays


def path_base_s(recording: Recording, workload: str) -> float:
    """Return the minimum round-trip time in s that the sender of a workload with one path measured."""
    ((_, rows),) = _subflows(recording, workload, sending=True)
    return _base_us(rows) / _US_PER_S


def _base_us(rows: pl.DataFrame) -> float:
    """Return the minimum round-trip time of all samples; a sample of 0 means that none was measured yet."""
    return float(rows.filter(pl.col("min_rtt_us") > 0)["min_rtt_us"].to_numpy().min())


def path_windows(recording: Recording, workload: str, path: str) -> tuple[Numbers, Numbers]:
    """Return the times of the sender's samples of a path, in s, and its congestion windows, in segments.

    There has to be one connection per path.
    """
    (rows,) = (rows for name, rows in _subflows(recording, workload, sending=True) if name == path)
    return rows["time_ns"].to_numpy() / _NS_PER_S, rows["snd_cwnd"].to_numpy().astype(float)


def window_samples(recording: Recording, workload: str, path: str, begin_s: float, end_s: float) -> Numbers:
    """Return the sender's samples of a path's congestion windows, in segments, of all connections between two times."""
    stretch = pl.col("time_ns").is_between(begin_s * _NS_PER_S, end_s * _NS_PER_S)
    filters = [rows.filter(stretch) for name, rows in _subflows(recording, workload, sending=True) if name == path]
    return np.concatenate([rows["snd_cwnd"].to_numpy().astype(float) for rows in filters])


def _subflows(recording: Recording, workload: str, *, sending: bool) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the path and the samples, in time order, of each subflow of one side."""
    ends = read_workload(recording, workload).ends
    program = ends.sending if sending else ends.receiving
    rows = recording.subflows.filter(pl.col("program") == program).sort("time_ns", maintain_order=True)
    addresses = read_addresses(recording)
    for (_, local, remote), group in rows.group_by("conn", "local", "remote", maintain_order=True):
        first, last = (local, remote) if sending else (remote, local)
        yield path_name(first, last, addresses), group
