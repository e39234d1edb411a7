# SPDX-License-Identifier: MIT
"""Statistics of results. Pure functions of numbers: the same values give the same result.

SciPy is imported late, and ``scipy.stats`` only where nothing else has it: importing it takes longer than most
commands.
"""

from mptcplab.stats.differences import (
    POWER,
    Difference,
    assign_group_letters,
    detectable,
    paired_difference,
    runs_needed,
    welch_difference,
)
from mptcplab.stats.intervals import (
    CONFIDENCE,
    Interval,
    QuantileInterval,
    jain_index,
    mean_interval,
    median_interval,
    nearest_rank_quantile,
    quantile_interval,
)

__all__ = [
    "CONFIDENCE",
    "POWER",
    "Difference",
    "Interval",
    "QuantileInterval",
    "assign_group_letters",
    "detectable",
    "jain_index",
    "mean_interval",
    "median_interval",
    "nearest_rank_quantile",
    "paired_difference",
    "quantile_interval",
    "runs_needed",
    "welch_difference",
]
