# SPDX-License-Identifier: MIT
"""The first table of "What phases change" in docs/sweeps.md: two senders that share a queue, by phases."""

from __future__ import annotations

from pathlib import Path

from tools.docs.making.pages import table_of as markdown

from mptcplab.metrics.rows import ResultRow
from mptcplab.report.table import interval_text, spread_text
from mptcplab.results import open_results
from mptcplab.stats import paired_difference

_SENDERS = {"tcp": "TCP and TCP", "mptcp": "MPTCP (two subflows) and TCP"}
_HEAD = ("senders", "phases", "first", "second", "first - second, paired", "different values of the first")


def table_of(folder: Path) -> str:
    """Return the goodput in Mbit/s of both senders, their paired difference, and the number of distinct runs."""
    points: dict[tuple[str, str], dict[str, ResultRow]] = {}
    for row in open_results(folder).rows:
        place = (_SENDERS[row.settings["transport.protocol"]], f"`{row.settings['phases']}`")
        points.setdefault(place, {})[row.workload] = row
    return markdown(_HEAD, [[*place, *_cells(rows["multipath"], rows["singlepath"])] for place, rows in points.items()])


def _cells(first: ResultRow, second: ResultRow) -> list[str]:
    values, others = (row.samples["goodput_mbps"] for row in (first, second))
    difference = paired_difference(others, values)
    return [
        interval_text(first.goodput_mbps),
        interval_text(second.goodput_mbps),
        f"{difference.mean:.2f}{spread_text(difference.half_width)}",
        f"{len(set(values))} of {len(values)}",
    ]
