# SPDX-License-Identifier: MIT
"""The interval of a difference where the other side has a single run.

One run does not show how much runs vary. But the lab's runs do, and if the other side's runs vary as much, the
difference has Student's interval for two sets of equal variance, whose second set has one value.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from typing import Any

from scipy.special import stdtrit

from mptcplab.metrics.compare import SIGNIFICANCE, Verdict, verdict_of

#: Fewer runs of the lab have no deviation.
MIN_LAB = 2
_DECIMALS = 4


def with_single_runs(rows: Iterable[dict[str, Any]], margin: float) -> list[dict[str, Any]]:
    """Return rows of one family of tests, with intervals also where the other side has a single run.

    These have ``single``. ``margin`` is in percent of the lab's mean, and of the whole for shares.
    """
    copies = list(rows)
    family = sum(map(_is_single, copies))
    return [_fill(row, margin, SIGNIFICANCE / family) if _is_single(row) else row for row in copies]


def _is_single(row: dict[str, Any]) -> bool:
    """Return whether a row has one run of the other side, and enough of the lab, which are not all alike."""
    lab, other = row["values"]
    return len(other) == 1 and len(lab) >= MIN_LAB and len(set(lab)) > 1 and row["verdict"] == Verdict.TOO_FEW


def _fill(row: dict[str, Any], margin: float, significance: float) -> dict[str, Any]:
    lab, (other,) = row["values"]
    mean = statistics.mean(lab)
    error = statistics.stdev(lab) * math.sqrt(1 + 1 / len(lab))
    size, half_width = other - mean, float(stdtrit(len(lab) - 1, 1 - significance / 2)) * error
    smallest = margin if row["metric"] == "share_percent" else abs(mean) * margin / 100
    numbers = {"a": mean, "b": other, "difference": size, "half_width": half_width}
    if mean:
        numbers |= {"percent": 100 * size / mean, "percent_half_width": 100 * half_width / abs(mean)}
    rounded = {key: round(value, _DECIMALS) for key, value in numbers.items()}
    return {**row, **rounded, "verdict": str(verdict_of(abs(size), half_width, smallest)), "single": True}
