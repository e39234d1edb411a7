# SPDX-License-Identifier: MIT
"""The spread of the lab's own runs over seeds, and the number of seeds that show another side to be within 2 %.

It needs no stock kernel, whose runs take a hundred times as long. Assumed is that the other side's runs differ as much,
have the same mean, and have nothing but the seed in common with the lab's.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from typing import Any

from mptcplab.metrics.compare import SIGNIFICANCE
from mptcplab.stats import Difference, runs_needed

_MIN_VALUES = 3


def spread_of(document: dict[str, Any], margin_percent: float) -> Iterator[dict[str, Any]]:
    """Yield mean and deviation of each goodput in a results file, and the seeds that settle it (None: over 10,000)."""
    rows = [row for row in document["rows"] if row["goodput_mbps"]["n"] >= _MIN_VALUES]
    for row in rows:
        values = row["goodput_mbps"]["values"]
        mean, deviation = statistics.mean(values), statistics.stdev(values)
        both = Difference(0.0, None, None, "paired t", (len(values),) * 2, deviation=math.sqrt(2) * deviation)
        yield {
            "settings": row["settings"],
            "workload": row["workload"],
            "mean": round(mean, 4),
            "percent": round(100 * deviation / mean, 4),
            "n": len(values),
            "needed": runs_needed(both, mean * margin_percent / 100, SIGNIFICANCE / len(rows)),
        }
