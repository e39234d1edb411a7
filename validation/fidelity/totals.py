# SPDX-License-Identifier: MIT
"""The goodput of all flows of a run together.

Where flows share a full queue, the smallest difference in time decides who gets how much of it, and the parts vary by
tens of percent between seeds. Their sum does not, so that it can be compared with far fewer seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from mptcplab.metrics.registry import IN_EVERY_ROW

TOGETHER = "all together"
_MIN_FLOWS = 2
_Row = dict[str, Any]


def totals(rows: Sequence[_Row], flows: Iterable[str]) -> Iterator[_Row]:
    """Yield a row for the ``flows`` of each point together, if it has several; ``rows`` are from a results file."""
    names = set(flows)
    for _, group in groupby(rows, key=lambda row: sorted(row["settings"].items())):
        parts = [row for row in group if row["workload"] in names and row["goodput_mbps"]["n"]]
        seeds = [row["seeds"] for row in parts]
        if len(parts) < _MIN_FLOWS or any(seed != seeds[0] for seed in seeds):
            continue
        values = [sum(parts) for parts in zip(*(row["goodput_mbps"]["values"] for row in parts), strict=True)]
        yield {
            **{key: parts[0][key] for key in ("settings", "seeds", "runs", "kernel", "hz", "time")},
            "workload": TOGETHER,
            "mptcp": "",
            **{key: {"values": [], "n": 0} for key in IN_EVERY_ROW},
            "goodput_mbps": {"values": values, "n": len(values)},
        }
