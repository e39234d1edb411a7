# SPDX-License-Identifier: MIT
"""Statistics that a result has to carry. Pure functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean of ``n`` independent values with the half width of its 95 % confidence interval by Student's t.

    ``half_width`` is None for a single value: one run says nothing about the spread.
    """

    mean: float
    half_width: float | None
    n: int

    @property
    def low(self) -> float:
        """Lower end of the interval; the mean itself when there is no interval."""
        return self.mean - (self.half_width or 0.0)

    @property
    def high(self) -> float:
        """Upper end of the interval; the mean itself when there is no interval."""
        return self.mean + (self.half_width or 0.0)


def mean_interval(values: Sequence[float]) -> Interval:
    """Mean and 95 % confidence interval of ``values``. :raises ValueError: for none."""
    n = len(values)
    if n == 0:
        raise ValueError("no values")
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, None, 1)
    from scipy.special import stdtrit  # late, because importing it takes longer than most commands need in all

    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    quantile = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return Interval(mean, quantile * math.sqrt(variance / n), n)
