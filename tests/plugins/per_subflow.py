# SPDX-License-Identifier: MIT
"""A plugin with a metric: the mean goodput of a subflow."""

from __future__ import annotations

from mptcplab.metrics.column import Display, Metric, Subject


def _value(subject: Subject) -> float | None:
    use = subject.sockets.use
    subflows = sum(number * count for number, count in use.carrying.items()) or use.connections
    return subject.reading.goodput_bps / 1e6 / subflows if subflows else None


PER_SUBFLOW = Metric(
    name="per_subflow_mbps",
    noun="per subflow",
    unit="Mbit/s",
    definition="goodput divided by the number of subflows that carried data",
    source="the sockets of the receiver",
    value=_value,
    display=Display(digits=1),
)
