# SPDX-License-Identifier: MIT
"""Means, medians and their intervals. The bootstrap's resampling has a fixed seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
_RESAMPLES = 2000
#: Maximum size of a batch of resamples, in numbers: bounds the memory for many values.
_BATCH_NUMBERS = 1_000_000
_BOOTSTRAP_SEED = 1


@dataclass(frozen=True)
class Interval:
    """The mean of ``n`` independent values, and the half width of its 95 % confidence interval by Student's t.

    ``half_width`` is None for a single value: one run does not show the spread. It is exactly 0 if and only if several
    values are identical: then their spread is not known either (:attr:`is_identical`).
    """

    mean: float
    half_width: float | None
    n: int

    @property
    def low(self) -> float:
        """Lower bound of the interval; the mean itself when there is no interval."""
        return self.mean if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper bound of the interval; the mean itself when there is no interval."""
        return self.mean if self.half_width is None else self.mean + self.half_width

    @property
    def is_identical(self) -> bool:
        """True if several values are identical. Then the interval has no meaning: Student's t needs a spread.

        Their runs may be the same run, or differ in everything but this value, as no lost packet.
        """
        return self.half_width == 0.0

    def scale(self, factor: float) -> Interval:
        """Return the interval in another unit, of values ``factor`` times as high."""
        return Interval(self.mean * factor, None if self.half_width is None else self.half_width * factor, self.n)

    def to_json(self) -> dict[str, Any]:
        """Return the interval as JSON data."""
        return {"mean": self.mean, "ci95_half_width": self.half_width, "n": self.n}

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Interval:
        """Return the interval from the data of :meth:`to_json`; other keys are ignored."""
        return cls(entry["mean"], entry["ci95_half_width"], entry["n"])

    def is_within(self, share: float) -> bool:
        """Return whether the half width is at most ``share`` of the mean's magnitude; False for a single value."""
        return self.half_width is not None and self.half_width <= share * abs(self.mean)


@dataclass(frozen=True)
class QuantileInterval:
    """A quantile of ``n`` values, and the bounds of its 95 % confidence interval by the percentile bootstrap.

    The bounds are None for a single value.
    """

    value: float
    low: float | None
    high: float | None
    n: int


def mean_interval(values: Sequence[float]) -> Interval:
    """Return mean and 95 % confidence interval of ``values``. :raises ValueError: if there are no values."""
    n = len(values)
    if n == 0:
        raise ValueError("no values")
    if n == 1:
        return Interval(values[0], None, 1)
    if min(values) == max(values):
        # Computed separately, since rounding would give identical values a spread.
        return Interval(values[0], 0.0, n)
    mean = math.fsum(values) / n
    return Interval(mean, _student_t(n - 1) * math.sqrt(variance(values, mean) / n), n)


def _student_t(freedom: int) -> float:
    """Return the quantile of Student's t distribution for both bounds of the 95 % confidence interval."""
    if freedom <= len(_STUDENT_T):
        return _STUDENT_T[freedom - 1]
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))


def variance(values: Sequence[float], mean: float) -> float:
    """Return the sample variance of ``values`` around their ``mean``."""
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def median_interval(values: Sequence[float]) -> QuantileInterval:
    """Return median and 95 % confidence interval of ``values``. :raises ValueError: for no values."""
    return quantile_interval(values, 0.5)


def nearest_rank_quantile(ordered: Sequence[float], percent: int) -> float:
    """Return the smallest of sorted values that at least ``percent`` % of them do not exceed; there must be some."""
    return ordered[max(1, -(-percent * len(ordered) // 100)) - 1]


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

    value = float(np.quantile(values, quantile))
    if n == 1:
        return QuantileInterval(value, None, None, 1)
    if min(values) == max(values):
        return QuantileInterval(value, value, value, n)
    low, high = _bootstrap_interval(np.asarray(values, dtype=float), quantile)
    return QuantileInterval(value, low, high, n)


def _bootstrap_interval(values: FloatArray, quantile: float) -> tuple[float, float]:
    """Return the bounds of the interval by the percentile bootstrap (Efron, Annals of Statistics 7, 1979).

    ``scipy.stats.bootstrap`` gives the same numbers. But most commands need this, and nothing else of ``scipy.stats``.
    """
    import numpy as np

    generator, n = np.random.default_rng(_BOOTSTRAP_SEED), len(values)
    batch, arrays = max(1, _BATCH_NUMBERS // n), []
    for done in range(0, _RESAMPLES, batch):
        chosen = generator.integers(0, n, (min(batch, _RESAMPLES - done), n))
        arrays.append(np.quantile(values[chosen], quantile, axis=1))
    ranked, tail = np.sort(np.concatenate(arrays)), (1 - CONFIDENCE) / 2
    return _interpolate_quantile(ranked, tail), _interpolate_quantile(ranked, 1 - tail)


def _interpolate_quantile(ranked: FloatArray, quantile: float) -> float:
    """Return a quantile of sorted values by linear interpolation, to the last bit as ``scipy.stats.quantile`` does."""
    place = quantile * len(ranked) + (1 - quantile)
    rank = math.floor(place)
    share = place - rank
    return float((1 - share) * ranked[rank - 1] + share * ranked[rank])


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
