# SPDX-License-Identifier: MIT
"""Statistics of results. Pure functions of numbers: the same values give the same result; the bootstrap's resampling
has a fixed seed.

SciPy is imported late, and ``scipy.stats`` only where nothing else has it: importing it takes longer than most
commands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

CONFIDENCE = 0.95
#: Quantiles of Student's t distribution by degrees of freedom from 1, as SciPy has them, to the last bit: most commands
#: need nothing else of SciPy.
_STUDENT_T = (
    12.706204736174694,
    4.302652729749462,
    3.1824463052837078,
    2.7764451051977934,
    2.5705818356363146,
    2.4469118511449786,
    2.364624251592784,
    2.306004135204166,
    2.262157162798205,
    2.228138851986274,
    2.200985160091639,
    2.1788128296672284,
    2.1603686564627913,
    2.144786687917804,
    2.131449545559776,
    2.1199052992212546,
    2.1098155778333156,
    2.1009220402410382,
    2.0930240544083087,
    2.085963447265864,
    2.0796138447276795,
    2.0738730679040254,
    2.0686576104190486,
    2.0638985616280245,
    2.0595385527532972,
    2.0555294386428735,
    2.0518305164802846,
    2.0484071417952454,
    2.045229642132703,
    2.0422724563012378,
)
#: The probability with which a test shows a detectable effect.
POWER = 0.8
_RESAMPLES = 2000
#: Maximum size of a batch of resamples, in numbers: bounds the memory for many values.
_BATCH_NUMBERS = 1_000_000
_BOOTSTRAP_SEED = 1
#: Relative error of a noncentrality parameter.
_EXACT = 1e-9


@dataclass(frozen=True)
class Interval:
    """The mean of ``n`` independent values, and the half width of its 95 % confidence interval by Student's t.

    ``half_width`` is None for a single value: one run does not show the spread. It is exactly 0 if and only if several
    values are identical: then they are not a sample either (:attr:`is_identical`).
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
        """Whether several values are identical. Then their runs are the same run, and the interval has no meaning."""
        return self.half_width == 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the interval as JSON data."""
        return {"mean": self.mean, "ci95_half_width": self.half_width, "n": self.n}

    @classmethod
    def from_json(cls, described: Mapping[str, Any]) -> Interval:
        """Return the interval from the data of :meth:`to_json`; other keys are ignored."""
        return cls(described["mean"], described["ci95_half_width"], described["n"])

    def is_within(self, share: float) -> bool:
        """Return whether the half width is at most ``share`` of the mean's magnitude; False for a single value."""
        return self.half_width is not None and self.half_width <= share * abs(self.mean)


@dataclass(frozen=True)
class QuantileInterval:
    """A quantile of ``n`` values, and the ends of its 95 % confidence interval by the percentile bootstrap.

    The ends are None for a single value.
    """

    value: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Difference:
    """The amount by which the second of two sets of values is larger, in the values' unit.

    ``half_width`` is that of the 95 % confidence interval by ``test``, and ``p`` the probability of at least this
    difference if the sets do not differ; both are None if a set is too small. ``n`` has the sizes of the sets.
    ``standard_error`` is that of the difference, and ``freedom`` has the degrees of freedom of the test's t
    distribution; both are None without a test, or if the values do not vary.
    """

    mean: float
    half_width: float | None
    p: float | None
    test: Literal["paired t", "Welch's t"]
    n: tuple[int, int]
    standard_error: float | None = None
    freedom: float | None = None


def mean_interval(values: Sequence[float]) -> Interval:
    """Return mean and 95 % confidence interval of ``values``. :raises ValueError: for no values."""
    n = len(values)
    if n == 0:
        raise ValueError("no values")
    if n == 1:
        return Interval(values[0], None, 1)
    if min(values) == max(values):
        # Computed separately, since rounding would give identical values a spread.
        return Interval(values[0], 0.0, n)
    mean = math.fsum(values) / n
    return Interval(mean, _student_t(n - 1) * math.sqrt(_variance(values, mean) / n), n)


def _student_t(freedom: int) -> float:
    """Return the quantile of Student's t distribution for both ends of the 95 % confidence interval."""
    if freedom <= len(_STUDENT_T):
        return _STUDENT_T[freedom - 1]
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))


def _variance(values: Sequence[float], mean: float) -> float:
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def median_interval(values: Sequence[float]) -> QuantileInterval:
    """Return median and 95 % confidence interval of ``values``. :raises ValueError: for no values."""
    return quantile_interval(values, 0.5)


def quantile_interval(values: Sequence[float], quantile: float) -> QuantileInterval:
    """Return a quantile (0 to 1) and its 95 % confidence interval.

    The interval cannot extend beyond the values themselves: with few values it is too narrow for outer quantiles.
    :raises ValueError: for no values, or a quantile out of range.
    """
    n = len(values)
    if n == 0:
        raise ValueError("no values")
    if not 0 <= quantile <= 1:
        raise ValueError(f"{quantile} is not a quantile")
    import numpy as np

    found = float(np.quantile(values, quantile))
    if n == 1:
        return QuantileInterval(found, None, None, 1)
    if min(values) == max(values):
        return QuantileInterval(found, found, found, n)
    low, high = _bootstrapped(np.asarray(values, dtype=float), quantile)
    return QuantileInterval(found, low, high, n)


def _bootstrapped(values: FloatArray, quantile: float) -> tuple[float, float]:
    """Return the ends of the interval by the percentile bootstrap (Efron, Annals of Statistics 7, 1979).

    ``scipy.stats.bootstrap`` gives the same numbers. But most commands need this, and nothing else of ``scipy.stats``.
    """
    import numpy as np

    generator, n = np.random.default_rng(_BOOTSTRAP_SEED), len(values)
    batch, found = max(1, _BATCH_NUMBERS // n), []
    for done in range(0, _RESAMPLES, batch):
        chosen = generator.integers(0, n, (min(batch, _RESAMPLES - done), n))
        found.append(np.quantile(values[chosen], quantile, axis=1))
    ranked, tail = np.sort(np.concatenate(found)), (1 - CONFIDENCE) / 2
    return _between_ranks(ranked, tail), _between_ranks(ranked, 1 - tail)


def _between_ranks(ranked: FloatArray, quantile: float) -> float:
    """Return a quantile of sorted values by linear interpolation, to the last bit as ``scipy.stats.quantile`` does."""
    place = quantile * len(ranked) + (1 - quantile)
    rank = math.floor(place)
    share = place - rank
    return float((1 - share) * ranked[rank - 1] + share * ranked[rank])


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Return ``second`` minus ``first``, value by value, for runs on shared seeds, by Student's t on the differences.

    If all differences are equal and not zero, p is 0. :raises ValueError: for no values or unequal numbers of values.
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
    """Return ``second`` minus ``first``, means of independent sets whose variances may differ, by Welch's t.

    If neither set varies, p is 0 or 1. :raises ValueError: for no values.
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
    """Return the smallest true difference that a test like this one detects with the probability ``power``.

    It is for p below ``significance``, and the same number and spread of values. In the values' unit; None if the
    values do not vary or are too few.
    """
    if difference.standard_error is None or difference.freedom is None:
        return None
    return _noncentrality(difference.freedom, significance, power) * difference.standard_error


def _noncentrality(freedom: float, significance: float, power: float) -> float:
    """Return the noncentrality at which a two-sided t test has this power; its far tail is ignored.

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
    """Return ``p_values`` adjusted by Holm's step-down method, which bounds the family-wise error rate, in order."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda number: p_values[number])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def jain_index(values: Sequence[float]) -> float:
    """Return Jain's fairness index of shares: 1 if all are equal, 1/n if one has everything.

    It is 1 as well if all are zero. :raises ValueError: for no values or a negative one.
    """
    if not values or min(values) < 0:
        raise ValueError("needs at least one share, and none below zero")
    largest = max(values)
    if largest == 0:
        return 1.0
    # Scaled to the largest, because squares of very small and very large numbers exceed the range of a float.
    scaled = [value / largest for value in values]
    return math.fsum(scaled) ** 2 / (len(scaled) * math.fsum(value * value for value in scaled))
