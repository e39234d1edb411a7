# SPDX-License-Identifier: MIT
"""What every workload has, and what its sender reports."""

from __future__ import annotations

from functools import partial

from mptcplab.metrics.metric import Metric

_BITS = 1e6
_entry = partial(Metric, section="basic", place=10)

METRICS = (
    _entry(
        name="goodput_mbps",
        noun="goodput",
        unit="Mbit/s",
        definition="payload at the receiver; see [limitations](limitations.md#what-the-numbers-mean) for when it "
        "begins and ends",
        source="what the receiving program has read",
        value=lambda subject: subject.reading.goodput_bps / _BITS,
        basic=True,
    ),
    _entry(
        name="duration_s",
        noun="duration",
        unit="s",
        definition="the time that goodput is over",
        source="as goodput",
        value=lambda subject: subject.reading.duration_s,
        basic=True,
        head="s",
        with_spread=False,
    ),
    _entry(
        name="retransmitted_percent",
        noun="retransmitted",
        unit="%",
        definition="bytes that subflows sent again, of all that they sent; empty for UDP, and where no socket was seen",
        source="TCP_INFO of the sender: `bytes_retrans`, `bytes_sent`",
        value=lambda subject: subject.sockets.retransmitted_percent,
        basic=True,
        head="retrans %",
        with_spread=False,
    ),
    _entry(
        name="sent_mbps",
        noun="sent",
        unit="Mbit/s",
        definition="of `flow`: payload at the sender, [below](#at-the-sender)",
        source="as iperf 2 reports it",
        in_table=False,
    ),
)
