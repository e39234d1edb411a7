# SPDX-License-Identifier: MIT
"""Statistics that a result has to carry. Pure functions of numbers: the same values give the same answer, also those
of the bootstrap, whose resampling has a fixed seed.

SciPy is imported late, because importing it takes longer than most commands need in all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

CONFIDENCE = 0.95
#: The probability with which an effect that is called detectable is shown.
POWER = 0.8
_RESAMPLES = 2000
#: Numbers that a batch of resamples may hold: bounds the memory for many values.
_BATCH_NUMBERS = 1_000_000
_BOOTSTRAP_SEED = 1
#: Relative error of a noncentrality parameter.
_EXACT = 1e-9


@dataclass(frozen=True)
class Interval:
    """A mean of ``n`` independent values with the half width of its 95 % confidence interval by Student's t.

    ``half_width`` is None for a single value: one run says nothing about the spread. It is exactly 0 if, and only if,
    several values are identical: then they are no sample either (:attr:`is_identical`).
    """

    mean: float
    half_width: float | None
    n: int

    @property
    def low(self) -> float:
        """Lower end of the interval; the mean itself when there is no interval."""
        return self.mean if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval; the mean itself when there is no interval."""
        return self.mean if self.half_width is None else self.mean + self.half_width

    @property
    def is_identical(self) -> bool:
        """Whether several values are all the same number. Their runs are one run, and the interval means nothing."""
        return self.half_width == 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"mean": self.mean, "ci95_half_width": self.half_width, "n": self.n}

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Interval:
        """Return it as :meth:`to_json` has it, whatever else is told."""
        return cls(described["mean"], described["ci95_half_width"], described["n"])

    def is_within(self, share: float) -> bool:
        """Whether the half width is at most ``share`` of the mean's size. Never for a single value."""
        return self.half_width is not None and self.half_width <= share * abs(self.mean)


@dataclass(frozen=True)
class QuantileInterval:
    """A quantile of ``n`` values with the ends of its 95 % confidence interval by the percentile bootstrap.

    The ends are None for a single value.
    """

    value: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Difference:
    """By how much the second of two sets of values is larger, in the values' unit.

    ``half_width`` is that of the 95 % confidence interval by ``test``, and ``p`` how likely at least such a difference
    would be if there were none; both None when a set is too small to tell. ``n`` are the sizes of the sets.
    ``standard_error`` is that of the difference and ``freedom`` the degrees of freedom of the test's t distribution,
    None where there is no test or the values do not vary.
    """

    mean: float
    half_width: float | None
    p: float | None
    test: Literal["paired t", "Welch's t"]
    n: tuple[int, int]
    standard_error: float | None = None
    freedom: float | None = None


def mean_interval(values: Sequence[float]) -> Interval:
    """Mean and 95 % confidence interval of ``values``. :raises ValueError: for none."""
    n = len(values)
    if n == 0:
        raise ValueError("no values")
    if n == 1:
        return Interval(values[0], None, 1)
    if min(values) == max(values):
        # Not left to arithmetic, whose rounding would make a spread of identical values.
        return Interval(values[0], 0.0, n)
    mean = math.fsum(values) / n
    from scipy.special import stdtrit

    quantile = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return Interval(mean, quantile * math.sqrt(_variance(values, mean) / n), n)


def _variance(values: Sequence[float], mean: float) -> float:
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def median_interval(values: Sequence[float]) -> QuantileInterval:
    """Median and 95 % confidence interval of ``values``. :raises ValueError: for none."""
    return quantile_interval(values, 0.5)


def quantile_interval(values: Sequence[float], quantile: float) -> QuantileInterval:
    """A quantile (0 to 1) and its 95 % confidence interval. :raises ValueError: for no values or no such quantile.

    The interval cannot reach beyond the values themselves: with few values it is too narrow for outer quantiles.
    """
    n = len(values)
    if n == 0:
        raise ValueError("no values")
    if not 0 <= quantile <= 1:
        raise ValueError(f"{quantile} is no quantile")
    import numpy as np

    found = float(np.quantile(values, quantile))
    if n == 1:
        return QuantileInterval(found, None, None, 1)
    if min(values) == max(values):
        return QuantileInterval(found, found, found, n)
    from scipy.stats import bootstrap

    done = bootstrap(
        (np.asarray(values, dtype=float),),
        lambda sample, axis: np.quantile(sample, quantile, axis=axis),
        n_resamples=_RESAMPLES,
        batch=max(1, _BATCH_NUMBERS // n),
        vectorized=True,
        confidence_level=CONFIDENCE,
        method="percentile",
        random_state=np.random.default_rng(_BOOTSTRAP_SEED),
    ).confidence_interval
    return QuantileInterval(found, float(done.low), float(done.high), n)


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """``second`` minus ``first``, value by value: for runs on shared seeds. Student's t on the differences.

    Where every difference is the same and not zero, p is 0. :raises ValueError: for no values or unequal numbers.
    """
    if len(first) != len(second):
        raise ValueError("values without a partner")
    differences = [b - a for a, b in zip(first, second, strict=True)]
    found, n = mean_interval(differences), len(differences)
    if found.half_width is None:
        return Difference(found.mean, None, None, "paired t", (n, n))
    from scipy.special import stdtr

    error = math.sqrt(_variance(differences, found.mean) / n)
    if not error:
        return Difference(found.mean, found.half_width, 1.0 if found.mean == 0 else 0.0, "paired t", (n, n))
    p = 2 * float(stdtr(n - 1, -abs(found.mean) / error))
    return Difference(found.mean, found.half_width, p, "paired t", (n, n), error, n - 1)


def welch_difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """``second`` minus ``first``, means of independent sets whose variances may differ: Welch's t.

    Where neither set varies, p is 0 or 1. :raises ValueError: for no values.
    """
    if not first or not second:
        raise ValueError("no values")
    n = (len(first), len(second))
    means = [math.fsum(values) / len(values) for values in (first, second)]
    difference = means[1] - means[0]
    if min(n) < 2:
        return Difference(difference, None, None, "Welch's t", n)
    error = math.sqrt(sum(_variance(part, mean) / len(part) for part, mean in zip((first, second), means, strict=True)))
    if not error:
        return Difference(difference, 0.0, 1.0 if difference == 0 else 0.0, "Welch's t", n)
    from scipy.stats import ttest_ind

    found = ttest_ind(second, first, equal_var=False)
    ends = found.confidence_interval(CONFIDENCE)
    half_width, p, freedom = float(ends.high - ends.low) / 2, float(found.pvalue), float(found.df)
    return Difference(difference, half_width, p, "Welch's t", n, error, freedom)


def detectable(difference: Difference, significance: float, *, power: float = POWER) -> float | None:
    """Return the smallest true difference that a test like this one shows with the probability ``power``.

    That is, with p below ``significance``, with as many values that vary as much. In the values' unit; None where the
    values do not vary or are too few to tell.
    """
    if difference.standard_error is None or difference.freedom is None:
        return None
    return _noncentrality(difference.freedom, significance, power) * difference.standard_error


def _noncentrality(freedom: float, significance: float, power: float) -> float:
    """Return the noncentrality at which a two-sided t test has this power; its far tail is left out.

    The test statistic follows the noncentral t distribution (Cohen, Statistical Power Analysis, 1988, chapter 2).
    """
    from scipy.special import nctdtr, stdtrit

    critical = float(stdtrit(freedom, 1 - significance / 2))
    low, high = 0.0, 2 * critical
    while nctdtr(freedom, high, critical) > 1 - power:
        high *= 2
    while high - low > _EXACT * high:
        middle = (low + high) / 2
        low, high = (middle, high) if nctdtr(freedom, middle, critical) > 1 - power else (low, middle)
    return high


def holm(p_values: Sequence[float]) -> list[float]:
    """``p_values`` adjusted by Holm's step-down method, in their order: as many tests, one chance of a false alarm."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda number: p_values[number])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def jain_index(values: Sequence[float]) -> float:
    """Jain's fairness index of what several got: 1 when all got the same, 1/n when one got everything.

    1 as well when nobody got anything. :raises ValueError: for no values or a negative one.
    """
    if not values or min(values) < 0:
        raise ValueError("shares are zero or more, and at least one")
    largest = max(values)
    if largest == 0:
        return 1.0
    # Scaled to the largest, because squares of very small and very large numbers leave the range of a float.
    scaled = [value / largest for value in values]
    return math.fsum(scaled) ** 2 / (len(scaled) * math.fsum(value * value for value in scaled))
