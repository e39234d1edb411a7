# SPDX-License-Identifier: MIT
"""The metrics that every workload has, and the rate that its sender reports."""

from __future__ import annotations

from functools import partial

from mptcplab.metrics.column import HIDDEN, Display
from mptcplab.metrics.metric import Metric

_BITS = 1e6
_entry = partial(Metric, section="basic")

METRICS = (
    _entry(
        name="goodput_mbps",
        higher_is_better=True,
        noun="goodput",
        unit="Mbit/s",
        definition="payload at the receiver, by time, of all connections of the workload together; see "
        "[limitations](limitations.md#what-the-numbers-mean) for when that time begins and ends",
        source="bytes that the receiving program has read",
        value=lambda subject: subject.reading.goodput_bps / _BITS,
        basic=True,
    ),
    _entry(
        name="duration_s",
        noun="duration",
        unit="s",
        definition="the time over which goodput is computed",
        source="as for goodput",
        value=lambda subject: subject.reading.duration_s,
        basic=True,
        display=Display(head="s", with_spread=False),
    ),
    _entry(
        name="retransmitted_percent",
        noun="retransmitted",
        unit="%",
        highest=100,
        definition="bytes that subflows retransmitted, of all bytes that they sent; empty for UDP, and if no socket "
        "was seen",
        source="TCP_INFO of the sender: `bytes_retrans`, `bytes_sent`",
        value=lambda subject: subject.sockets.retransmitted_percent,
        basic=True,
        display=Display(head="retrans %", with_spread=False),
    ),
    _entry(
        name="sent_mbps",
        higher_is_better=True,
        noun="sent",
        unit="Mbit/s",
        definition="of `flow`: payload at the sender, [below](#at-the-sender)",
        source="as iperf 2 reports it",
        display=HIDDEN,
    ),
)
