# SPDX-License-Identifier: MIT
"""Paced messages and calls. The workload kinds report these metrics: see :mod:`mptcplab.workload.messages`."""

from __future__ import annotations

from functools import partial

from mptcplab.metrics.column import HIDDEN, Display
from mptcplab.metrics.metric import Metric

_entry = partial(Metric, section="messages")
_RANK = "nearest rank"


def _delay(part: str, definition: str) -> Metric:
    name = f"delay_{part}_ms"
    return _entry(name=name, noun=f"delay {part}", unit="ms", definition=definition, source=_RANK, display=HIDDEN)


METRICS = (
    _entry(
        name="delay_mean_ms",
        noun="delay",
        unit="ms",
        definition="mean one-way delay of the messages that arrived, from the scheduled instant to the last byte read",
        source="the receiving program; all hosts share one clock",
        display=Display(headline=1),
    ),
    _delay("p50", "its median"),
    _delay("p95", "its 95th percentile"),
    _delay("p99", "its 99th percentile"),
    _delay("max", "the longest"),
    _entry(
        name="jitter_ms",
        noun="jitter",
        unit="ms",
        definition="mean absolute difference of the delays of consecutive arrivals",
        source="the mean of the values that RFC 3550 (6.4.1) smooths",
    ),
    _entry(
        name="late_percent",
        noun="late",
        unit="%",
        definition="messages that arrived too late, of all sent",
        highest=100,
        source="`deadline`, or `playout` of a call",
    ),
    _entry(
        name="lost_percent",
        noun="lost",
        unit="%",
        definition="messages that did not arrive, of all sent. For `udp`, duplicates count as arrivals",
        source="sequence numbers of the messages",
        highest=100,
    ),
    _entry(
        name="mos",
        higher_is_better=True,
        noun="MOS",
        unit="",
        definition="1 to 4.41: quality of a call by the E-model",
        source="ITU-T G.107, Annex B",
        highest=4.41,
        display=Display(headline=3, lowest=1),
    ),
    _entry(
        name="r_factor",
        higher_is_better=True,
        noun="R",
        unit="",
        definition="0 to 93.2: the E-model's rating, from which MOS follows",
        source="ITU-T G.107; Cole and Rosenbluth 2001",
        highest=93.2,
        display=HIDDEN,
    ),
)
