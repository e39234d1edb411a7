# SPDX-License-Identifier: MIT
"""Shares of a connection's paths, which every row has and comparisons can test."""

from __future__ import annotations

from mptcplab.metrics.column import Display
from mptcplab.metrics.metric import Metric

#: A row has its values by path as ``share_values``, see :class:`mptcplab.metrics.rows.ResultRow`.
SHARE = Metric(
    name="share_percent",
    noun="share",
    unit="%",
    definition="part of the payload that arrived over a path; in `rows[].share_values` as fractions, by path and seed",
    source="bytes received by each subflow",
    section="paths",
    highest=100,
    by_path=True,
    display=Display(place=1, in_table=False),
)
