# SPDX-License-Identifier: MIT
"""Rows that chance dominates: does the other engine differ from the lab by more than the lab differs from itself?

Where flows share a full queue, or losses are drawn, single runs of one engine differ by far more than the margin. No
number of seeds within reach shows two engines to be the same there. A rank test asks less: whether the runs of both can
be told apart at all.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any

#: Below this many runs on a side the test could not find any difference: the smallest p of 3 and 3 runs is 10 %.
MIN_RUNS = 4


def rank_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p of the exact rank-sum test (Wilcoxon 1945, Mann and Whitney 1947); ties get mean ranks.

    It is the share of all divisions of the values into groups of these sizes whose rank sums are as far from the mean.
    """
    from scipy.stats import rankdata  # late: pages import this module, and scipy.stats takes longer than they do

    doubled = [round(2 * rank) for rank in rankdata([*first, *second])]  # Mean ranks of ties are halves.
    middle = len(first) * (len(doubled) + 1)
    distance = abs(sum(doubled[: len(first)]) - middle)
    # Divisions by the size of the first group and its rank sum: there are far fewer sums than divisions.
    ways: list[Counter[int]] = [Counter({0: 1}), *(Counter[int]() for _ in first)]
    for rank in doubled:
        for size in range(len(first), 0, -1):
            for total, count in ways[size - 1].items():
                ways[size][total + rank] += count
    as_far = sum(count for total, count in ways[-1].items() if abs(total - middle) >= distance)
    return as_far / ways[-1].total()


def deviation_percent(values: Sequence[float]) -> float:
    """Return the standard deviation in percent of the mean; not a number for a mean of zero."""
    mean = statistics.mean(values)
    return 100 * statistics.stdev(values) / mean if mean else math.nan


def spreads_of(row: dict[str, Any]) -> tuple[list[float], list[float]] | None:
    """Return the values of both sides; None if there are too few of them to distinguish the sides."""
    lab, other = row.get("values", ([], []))
    return (lab, other) if min(len(lab), len(other)) >= MIN_RUNS else None
