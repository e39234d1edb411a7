# SPDX-License-Identifier: MIT
"""Metrics that the workload kinds report: of messages and calls, of requests and flows."""

from __future__ import annotations

from functools import partial

from mptcplab.metrics.column import HIDDEN, Display, Metric

# Paced messages and calls. The workload kinds report these metrics: see :mod:`mptcplab.workload.paced`.

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


# Response times of requests and completion times of flows. The workload kinds report these metrics.

_request_entry = partial(Metric, section="requests")
_RESPONSE = "`requests`: response time, from sending the request to the last byte of the response"
_COMPLETION = (
    "`web`, and `flow` (with a `size`), `http` and `ftp` with several connections or files: completion time, from the "
    "SYN, or from curl's start, to the last byte"
)

REQUEST_METRICS = (
    _request_entry(
        name="response_p50_ms",
        noun="response p50",
        unit="ms",
        definition=f"{_RESPONSE}; median",
        source=_RANK,
    ),
    _request_entry(
        name="response_p95_ms",
        noun="response p95",
        unit="ms",
        definition="95th percentile",
        source=_RANK,
        display=Display(headline=2),
    ),
    _request_entry(name="response_p99_ms", noun="response p99", unit="ms", definition="99th percentile", source=_RANK),
    _request_entry(name="response_max_ms", noun="response max", unit="ms", definition="the maximum", display=HIDDEN),
    _request_entry(name="requests", noun="requests", unit="", definition="number of requests", display=HIDDEN),
    _request_entry(
        name="completion_mean_s", noun="completion", unit="s", definition=f"{_COMPLETION}; mean", display=HIDDEN
    ),
    _request_entry(
        name="completion_p50_s",
        noun="completion p50",
        unit="s",
        definition="median",
        source=_RANK,
    ),
    _request_entry(
        name="completion_p95_s",
        noun="completion p95",
        unit="s",
        definition="95th percentile",
        source=_RANK,
        display=Display(headline=2),
    ),
    _request_entry(
        name="completion_p99_s", noun="completion p99", unit="s", definition="99th percentile", source=_RANK
    ),
    _request_entry(
        name="broken_downloads",
        noun="broken downloads",
        unit="",
        definition="`http` and `ftp` with `retries`: number of downloads that broke and were repeated",
    ),
    _request_entry(name="flows", noun="flows", unit="", definition="number of flows", display=HIDDEN),
)
