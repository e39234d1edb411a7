# SPDX-License-Identifier: MIT
"""Requests and flows: how long each took. Their kinds tell them."""

from __future__ import annotations

from functools import partial

from mptcplab.metrics.metric import Metric

_entry = partial(Metric, section="requests", place=30)
_LATENCY = "of `requests`: from sending the request to the last byte of the response"
_COMPLETION = (
    "of `web`, and of `flow` (with a `size`), `http` and `ftp` with several connections or files: from the SYN, or "
    "from curl's start, to the last byte"
)
_RANK = "nearest rank"

METRICS = (
    _entry(
        name="latency_p50_ms",
        noun="latency p50",
        unit="ms",
        definition=f"{_LATENCY}; median",
        source=_RANK,
        is_main=True,
    ),
    _entry(name="latency_p95_ms", noun="latency p95", unit="ms", definition="95th percentile", source=_RANK),
    _entry(name="latency_p99_ms", noun="latency p99", unit="ms", definition="99th percentile", source=_RANK),
    _entry(name="latency_max_ms", noun="latency max", unit="ms", definition="the longest", in_table=False),
    _entry(name="requests", noun="requests", unit="", definition="number of requests", in_table=False),
    _entry(
        name="completion_mean_s",
        noun="completion",
        unit="s",
        definition=f"{_COMPLETION}; mean",
        in_table=False,
    ),
    _entry(
        name="completion_p50_s",
        noun="completion p50",
        unit="s",
        definition="median",
        source=_RANK,
        is_main=True,
    ),
    _entry(name="completion_p95_s", noun="completion p95", unit="s", definition="95th percentile", source=_RANK),
    _entry(name="completion_p99_s", noun="completion p99", unit="s", definition="99th percentile", source=_RANK),
    _entry(name="flows", noun="flows", unit="", definition="number of flows", in_table=False),
)
