# SPDX-License-Identifier: MIT
"""A number of links and a metric of workloads, each declared once: see tests/unit/metrics/test_columns.py."""

from __future__ import annotations

from mptcplab.metrics.column import Column, Display, Metric
from mptcplab.metrics.links import DirectionCounters


def _mean_size(counters: DirectionCounters) -> float | None:
    return counters.bytes / counters.packets if counters.packets else None


MEAN_SIZE = Column(
    scope="links",
    name="mean_size_bytes",
    unit="B",
    definition="mean length of the frames that left the direction",
    value=_mean_size,
    display=Display(head="mean B"),
)
GOODPUT_MIBPS = Metric(
    name="goodput_mibps",
    noun="goodput",
    unit="Mibit/s",
    definition="goodput in 2^20 bit/s",
    value=lambda subject: subject.reading.goodput_bps / 2**20,
)
