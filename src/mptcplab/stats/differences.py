# SPDX-License-Identifier: MIT
"""Differences of sets of values: tests, intervals, equivalence, groups of what cannot be told apart."""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from mptcplab.stats.intervals import CONFIDENCE, mean_interval, variance

# Differences of two sets of values: tests, intervals at any level, equivalence, and how many runs settle a question.
#
# Every answer can be read off one interval. A difference is shown if the interval excludes zero. Two sets are
# equivalent within a margin if it lies inside the margin; that is two one-sided tests (Schuirmann, Journal of
# Pharmacokinetics and Biopharmaceutics 15, 1987), each at half the significance. With the significance divided by the
# number of tests (Bonferroni), the intervals are simultaneous: all of them contain the true differences with the
# probability of one.

#: The probability with which a test shows a detectable effect.
POWER = 0.8
#: Relative error of a noncentrality parameter.
_EXACT = 1e-9
#: More runs than this are not worth a forecast.
_MAX_RUNS = 10_000
_MAX_NONCENTRALITY = 100.0


@dataclass(frozen=True)
class Difference:
    """The amount by which the second of two sets of values is larger, in the values' unit.

    ``half_width`` belongs to the 95 % confidence interval by ``test``, and ``p`` the probability of at least this
    difference if the sets do not differ; both are None if a set is too small. ``n`` has the sizes of the sets.
    ``standard_error`` is the difference's, and ``freedom`` has the degrees of freedom of the test's t
    distribution; both are None without a test, or if the values do not vary. ``deviation`` is the standard deviation of
    the difference between one value of each set, None without a test.
    """

    mean: float
    half_width: float | None
    p: float | None
    test: Literal["paired t", "Welch's t"]
    n: tuple[int, int]
    standard_error: float | None = None
    freedom: float | None = None
    deviation: float | None = None

    def half_width_at(self, significance: float) -> float | None:
        """Return the half width of the interval that misses the true difference with this probability."""
        if self.standard_error is None or self.freedom is None:
            return self.half_width
        from scipy.special import stdtrit

        return float(stdtrit(self.freedom, 1 - significance / 2)) * self.standard_error

    def equivalence_p(self, margin: float) -> float | None:
        """Return the larger p of the two one-sided tests that the difference is within ± ``margin``."""
        if self.standard_error is None or self.freedom is None:
            return None if self.p is None else float(abs(self.mean) > margin)
        from scipy.special import stdtr

        return float(stdtr(self.freedom, (abs(self.mean) - margin) / self.standard_error))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Return ``second`` minus ``first``, value by value, for runs on shared seeds, by Student's t on the differences.

    If all differences are equal and not zero, p is 0. :raises ValueError: for no values or unequal numbers of values.
    """
    if len(first) != len(second):
        raise ValueError("values without a partner")
    differences = [b - a for a, b in zip(first, second, strict=True)]
    interval, n = mean_interval(differences), len(differences)
    if interval.half_width is None:
        return Difference(interval.mean, None, None, "paired t", (n, n))
    from scipy.special import stdtr

    deviation = math.sqrt(variance(differences, interval.mean))
    error = deviation / math.sqrt(n)
    if not error:
        p = 1.0 if interval.mean == 0 else 0.0
        return Difference(interval.mean, interval.half_width, p, "paired t", (n, n), deviation=0.0)
    p = 2 * float(stdtr(n - 1, -abs(interval.mean) / error))
    return Difference(interval.mean, interval.half_width, p, "paired t", (n, n), error, n - 1, deviation)


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
    variances = [variance(part, mean) for part, mean in zip((first, second), means, strict=True)]
    error = math.sqrt(sum(variance / count for variance, count in zip(variances, n, strict=True)))
    if not error:
        return Difference(difference, 0.0, 1.0 if difference == 0 else 0.0, "Welch's t", n, deviation=0.0)
    from scipy.special import stdtr, stdtrit

    shares = [variance / count for variance, count in zip(variances, n, strict=True)]
    # Welch, Biometrika 34, 1947; as shares, because squares of very small and very large numbers exceed a float.
    whole = sum(shares)
    freedom = 1 / sum((share / whole) ** 2 / (count - 1) for share, count in zip(shares, n, strict=True))
    half_width = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(difference) / error))
    return Difference(difference, half_width, p, "Welch's t", n, error, freedom, math.sqrt(sum(variances)))


def detectable(difference: Difference, significance: float) -> float | None:
    """Return the smallest true difference that a test like this one detects with the probability :data:`POWER`.

    It is for p below ``significance``, and the same number and spread of values. In the values' unit; None if the
    values do not vary or are too few.
    """
    if difference.standard_error is None or difference.freedom is None:
        return None
    return _noncentrality(difference.freedom, significance) * difference.standard_error


def _noncentrality(freedom: float, significance: float) -> float:
    """Return the noncentrality at which a two-sided t test has the probability :data:`POWER`; its far tail is ignored.

    The test statistic follows the noncentral t distribution (Cohen, Statistical Power Analysis, 1988, chapter 2).
    """
    from scipy.special import nctdtr, stdtrit

    critical = float(stdtrit(freedom, 1 - significance / 2))
    low, high = 0.0, 2 * critical
    while nctdtr(freedom, high, critical) > 1 - POWER:
        high *= 2
    while high - low > _EXACT * high:
        middle = (low + high) / 2
        low, high = (middle, high) if nctdtr(freedom, middle, critical) > 1 - POWER else (low, middle)
    return high


def runs_needed(difference: Difference, margin: float, significance: float) -> int | None:
    """Return the number of runs of each set that settles with the probability :data:`POWER` whether the sets differ.

    It is settled when the interval excludes zero, or lies within ± ``margin``. Assumed is that the true difference and
    spread are those found. None if that takes more than 10,000, or nothing was tested.
    """
    if not difference.deviation or _power(difference, margin, significance, _MAX_RUNS) < POWER:
        return None
    low, high = 1, _MAX_RUNS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(difference, margin, significance, middle) >= POWER else (middle, high)
    return high


def _power(difference: Difference, margin: float, significance: float, runs: int) -> float:
    """Return the probability that this number of runs shows either a difference or equivalence."""
    from scipy.special import stdtrit

    assert difference.deviation is not None
    freedom = (runs - 1) * (1 if difference.test == "paired t" else 2)
    error = difference.deviation / math.sqrt(runs)
    critical = float(stdtrit(freedom, 1 - significance / 2))

    def exceeds(true: float) -> float:
        return _share_above(freedom, true / error, critical)

    size = abs(difference.mean)
    # Both one-sided tests reject at least as often as their probabilities of not doing so add up to.
    within = exceeds(margin - size) + exceeds(margin + size) - 1 if size < margin else 0.0
    return max(exceeds(size), within)


def _share_above(freedom: float, noncentrality: float, critical: float) -> float:
    """Return the probability that a noncentral t is above ``critical``."""
    from scipy.special import chdtr, nctdtr

    value = float(nctdtr(freedom, noncentrality, critical)) if noncentrality < _MAX_NONCENTRALITY else math.nan
    if math.isnan(value):
        # SciPy has no value. Far from zero, the divisor of t varies and its normal part hardly does.
        return float(chdtr(freedom, freedom * (noncentrality / critical) ** 2))
    return 1 - value


# Groups of what cannot be told apart, as letters: the compact letter display.

_LETTERS = string.ascii_lowercase


def assign_group_letters(count: int, different: Iterable[tuple[int, int]]) -> list[str]:
    """Return the group letters of each of ``count`` items, of which the pairs in ``different`` are known to differ.

    Two share a letter if, and only if, they are not known to differ. The first item has the letter a. The method is
    insertion and absorption (Piepho, Journal of Computational and Graphical Statistics 13, 2004).
    """
    groups = [frozenset(range(count))]
    for pair in different:
        both = frozenset(pair)
        split = [group - {index} for group in groups for index in (pair if both <= group else ())]
        kept = [group for group in groups if not both <= group]
        groups = _maximal_groups([*kept, *split])
    ordered = sorted(groups, key=sorted)
    return ["".join(_letter(place) for place, group in enumerate(ordered) if index in group) for index in range(count)]


def _maximal_groups(groups: list[frozenset[int]]) -> list[frozenset[int]]:
    """Return the groups that no other group contains, each once."""
    once = list(dict.fromkeys(groups))
    return [group for group in once if not any(group < other for other in once)]


def _letter(place: int) -> str:
    """Return a to z, then a1 to z1, and so on."""
    turn, index = divmod(place, len(_LETTERS))
    return f"{_LETTERS[index]}{turn or ''}"
