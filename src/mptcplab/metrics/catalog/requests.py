# SPDX-License-Identifier: MIT
"""Response times of requests and completion times of flows. The workload kinds report these metrics."""

from __future__ import annotations

from functools import partial

from mptcplab.metrics.column import HIDDEN, Display
from mptcplab.metrics.metric import Metric

_entry = partial(Metric, section="requests")
_RESPONSE = "`requests`: response time, from sending the request to the last byte of the response"
_COMPLETION = (
    "`web`, and `flow` (with a `size`), `http` and `ftp` with several connections or files: completion time, from the "
    "SYN, or from curl's start, to the last byte"
)
_RANK = "nearest rank"

METRICS = (
    _entry(
        name="response_p50_ms",
        noun="response p50",
        unit="ms",
        definition=f"{_RESPONSE}; median",
        source=_RANK,
    ),
    _entry(
        name="response_p95_ms",
        noun="response p95",
        unit="ms",
        definition="95th percentile",
        source=_RANK,
        display=Display(headline=2),
    ),
    _entry(name="response_p99_ms", noun="response p99", unit="ms", definition="99th percentile", source=_RANK),
    _entry(name="response_max_ms", noun="response max", unit="ms", definition="the maximum", display=HIDDEN),
    _entry(name="requests", noun="requests", unit="", definition="number of requests", display=HIDDEN),
    _entry(name="completion_mean_s", noun="completion", unit="s", definition=f"{_COMPLETION}; mean", display=HIDDEN),
    _entry(
        name="completion_p50_s",
        noun="completion p50",
        unit="s",
        definition="median",
        source=_RANK,
    ),
    _entry(
        name="completion_p95_s",
        noun="completion p95",
        unit="s",
        definition="95th percentile",
        source=_RANK,
        display=Display(headline=2),
    ),
    _entry(name="completion_p99_s", noun="completion p99", unit="s", definition="99th percentile", source=_RANK),
    _entry(
        name="broken_downloads",
        noun="broken downloads",
        unit="",
        definition="`http` and `ftp` with `retries`: number of downloads that broke and were repeated",
    ),
    _entry(name="flows", noun="flows", unit="", definition="number of flows", display=HIDDEN),
)
