# SPDX-License-Identifier: MIT
"""Intervals and tests, compared with SciPy, with published values, and by their algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import stdtrit
from scipy.stats import bootstrap, sem, t, ttest_ind, ttest_rel

from mptcplab.stats import (
    Difference,
    Interval,
    QuantileInterval,
    assign_group_letters,
    detectable,
    jain_index,
    mean_interval,
    median_interval,
    paired_difference,
    quantile_interval,
    runs_needed,
    welch_difference,
)

#: Squares of anything smaller are lost to underflow, in SciPy as well.
_LEAST = 1e-100
_VALUES = st.lists(
    st.floats(-1e9, 1e9).map(lambda value: value if abs(value) > _LEAST else 0.0), min_size=2, max_size=40
)
_SHARES = st.lists(st.floats(0, 1e9).map(lambda value: value if value > _LEAST else 0.0), min_size=1, max_size=40)
#: Student 1908, "The probable error of a mean": additional hours of sleep by two drugs, ten patients.
_SLEEP = (
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
)


@given(_VALUES)
def test_interval_is_student_s(values: list[float]) -> None:
    interval = mean_interval(values)
    mean, error = float(np.mean(values)), float(sem(values))
    scale = max(map(abs, values), default=0) or 1
    assert interval.n == len(values)
    assert interval.mean == pytest.approx(mean, rel=1e-9, abs=1e-9 * scale)
    assert interval.half_width is not None
    if error > 1e-9 * scale:  # SciPy knows no interval of width 0
        low, high = t.interval(0.95, len(values) - 1, loc=mean, scale=error)
        assert interval.low == pytest.approx(low, rel=1e-6, abs=1e-6 * scale)
        assert interval.high == pytest.approx(high, rel=1e-6, abs=1e-6 * scale)


@pytest.mark.parametrize("n", range(2, 41))
def test_quantiles_of_student_s_t_are_scipy_s(n: int) -> None:
    """To the last bit, whether our code has them in a table or lets SciPy compute them."""
    values = [0.0] * (n - 1) + [1.0]
    error = math.sqrt(math.fsum((value - 1 / n) ** 2 for value in values) / (n - 1) / n)
    assert mean_interval(values).half_width == float(stdtrit(n - 1, 0.975)) * error


@given(_VALUES, st.sampled_from([0.5, 2.0, 1024.0]))
def test_interval_scales_with_its_values(values: list[float], factor: float) -> None:
    """In another unit, the same interval. Powers of two, so that nothing is rounded."""
    interval, scaled = mean_interval(values), mean_interval([factor * value for value in values])
    assert interval.half_width is not None
    assert scaled.mean == pytest.approx(factor * interval.mean)
    assert scaled.half_width == pytest.approx(factor * interval.half_width)


def test_coverage_of_the_interval() -> None:
    """95 % of 4,000 samples of five: between 94 and 96 % with a probability of 99.6 %."""
    random = np.random.default_rng(1)
    mean_intervals = [mean_interval(list(random.normal(10, 2, 5))) for _ in range(4000)]
    covering = sum(interval.low <= 10 <= interval.high for interval in mean_intervals) / len(mean_intervals)
    assert 0.94 < covering < 0.96, f"{covering:.1%} of the intervals cover the mean"


def test_one_value_has_no_interval() -> None:
    assert mean_interval([5.0]) == Interval(5.0, None, 1)
    assert (mean_interval([5.0]).low, mean_interval([5.0]).high) == (5.0, 5.0)
    assert not mean_interval([5.0]).is_within(1.0)
    assert median_interval([5.0]) == QuantileInterval(5.0, None, None, 1)
    assert paired_difference([1.0], [2.0]).p is None
    assert welch_difference([1.0], [2.0, 3.0]).half_width is None


def test_equal_values_have_a_narrow_one() -> None:
    assert mean_interval([3.0, 3.0, 3.0]) == Interval(3.0, 0.0, 3)
    assert median_interval([3.0, 3.0, 3.0]) == QuantileInterval(3.0, 3.0, 3.0, 3)
    assert mean_interval([3.0, 3.0, 3.0]).is_within(0.0)


@given(st.floats(-1e9, 1e9), st.integers(2, 30))
def test_identical_values_have_exactly_no_spread(value: float, n: int) -> None:
    """Their sum divided by their number may be another float, which left a spread of 5e-15 of three times 15.3037."""
    assert mean_interval([value] * n) == Interval(value, 0.0, n)
    assert mean_interval([value] * n).is_identical
    assert not mean_interval([value]).is_identical
    assert not mean_interval([value, value + abs(value) * 1e-9 + 1e-9]).is_identical


def test_no_value_is_refused() -> None:
    for function in (mean_interval, median_interval, jain_index):
        with pytest.raises(ValueError, match=r"no values|at least one"):
            function([])
    with pytest.raises(ValueError, match="no values"):
        welch_difference([], [1.0])
    with pytest.raises(ValueError, match="partner"):
        paired_difference([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="not a quantile"):
        quantile_interval([1.0], 1.5)


def test_is_within_a_share_of_the_mean() -> None:
    assert Interval(-100.0, 2.0, 5).is_within(0.02)
    assert not Interval(100.0, 2.1, 5).is_within(0.02)


@given(_VALUES, st.floats(0, 1))
def test_quantile_is_inside_its_interval_and_that_inside_the_values(values: list[float], quantile: float) -> None:
    interval = quantile_interval(values, quantile)
    assert interval.low is not None
    assert interval.high is not None
    scale = 1e-9 * (max(map(abs, values)) or 1)
    assert min(values) - scale <= interval.low <= interval.value + scale
    assert interval.value - scale <= interval.high <= max(values) + scale


@pytest.mark.slow
def test_bootstrap_is_reproducible_and_covers() -> None:
    """The median of 30 exponential values: about 95 % of 400 intervals cover ln 2, at least 91 % (four errors)."""
    random = np.random.default_rng(2)
    samples = [list(random.exponential(1, 30)) for _ in range(400)]
    assert median_interval(samples[0]) == median_interval(samples[0])
    median_intervals = [median_interval(sample) for sample in samples]
    covering = sum((interval.low or 0) <= math.log(2) <= (interval.high or 0) for interval in median_intervals) / len(
        median_intervals
    )
    print(f"{covering:.1%} of the bootstrap's intervals cover the median")
    assert 0.91 < covering < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 5, 20, 100, 700])
def test_bootstrap_is_that_of_scipy(n: int) -> None:
    """To the last bit, also in several batches; of values of one size, of very different ones, and of equal ones."""
    random = np.random.default_rng(n)
    for values in (random.normal(10, 2, n), 10 ** random.uniform(-3, 9, n), random.integers(0, n, n) / 8):
        for quantile in (0.05, 0.5, 0.9):
            theirs = bootstrap(
                (values,),
                lambda sample, axis, quantile=quantile: np.quantile(sample, quantile, axis=axis),
                n_resamples=2000,
                batch=max(1, 1_000_000 // n),
                method="percentile",
                random_state=np.random.default_rng(1),
            ).confidence_interval
            interval = quantile_interval(list(values), quantile)
            if len(set(values)) > 1:
                assert (interval.low, interval.high) == (theirs.low, theirs.high)


@pytest.mark.slow
def test_many_values_are_resampled_in_batches() -> None:
    interval = median_interval(list(map(float, range(50_001))))
    assert interval.value == 25_000
    assert interval.low is not None
    assert 24_000 < interval.low < 25_000


def test_paired_difference_of_students_patients() -> None:
    """Published many times: t = -4.0621 with 9 degrees of freedom, p = 0.00283, interval -2.46 to -0.70 hours."""
    difference = paired_difference(*_SLEEP)
    assert difference.test == "paired t"
    assert difference.mean == pytest.approx(1.58)
    assert difference.half_width is not None
    assert difference.mean - difference.half_width == pytest.approx(0.7001, abs=1e-4)
    assert difference.mean + difference.half_width == pytest.approx(2.4599, abs=1e-4)
    assert difference.p == pytest.approx(0.002833, abs=1e-6)


def test_welch_difference_of_students_patients() -> None:
    """As if they had been twenty: t = -1.8608, 17.776 degrees of freedom, p = 0.07939, interval -3.365 to 0.205."""
    difference = welch_difference(*_SLEEP)
    assert difference.test == "Welch's t"
    assert difference.half_width is not None
    assert difference.mean - difference.half_width == pytest.approx(-0.2054832, abs=1e-6)
    assert difference.mean + difference.half_width == pytest.approx(3.3654832, abs=1e-6)
    assert difference.p == pytest.approx(0.07939414, abs=1e-7)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)), min_size=2, max_size=30))
def test_differences_are_scipy_s(pairs: list[tuple[int, int]]) -> None:
    first, second = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    assume(len({b - a for a, b in pairs}) > 1)
    paired, welch = paired_difference(first, second), welch_difference(first, second)
    assert paired.p == pytest.approx(float(ttest_rel(second, first).pvalue), rel=1e-6, abs=1e-12)
    assert welch.p == pytest.approx(float(ttest_ind(second, first, equal_var=False).pvalue), rel=1e-6, abs=1e-12)
    assert paired.mean == pytest.approx(welch.mean, abs=1e-9)
    for difference in (paired, welch):
        # An interval without zero and a small p are the same statement.
        assert difference.half_width is not None
        assert difference.p is not None
        assume(abs(difference.p - 0.05) > 1e-9)
        assert (abs(difference.mean) > difference.half_width) == (difference.p < 0.05)


@given(_VALUES, st.integers(1, 1000))
def test_identical_differences_are_certain(values: list[float], shift: int) -> None:
    whole = [float(round(value)) for value in values]
    assert paired_difference(whole, whole).p == 1.0
    assert paired_difference(whole, [value + shift for value in whole]).p == 0.0
    assert welch_difference([1.0, 1.0], [1.0, 1.0]).p == 1.0
    assert welch_difference([1.0, 1.0], [2.0, 2.0]).p == 0.0


def test_power_of_a_detectable_difference() -> None:
    """20,000 experiments of five pairs with noise of a seed: 80 % have p < 0.05, with an error of 0.3 %."""
    random = np.random.default_rng(1)
    first, noise = random.normal(100, 3, (20_000, 5)), random.normal(0, 2, (20_000, 5))
    size = 2 / math.sqrt(5) * detectable_in_errors(5)
    values = ttest_rel(first + noise + size, first, axis=1).pvalue
    share = float((values < 0.05).mean())
    assert share == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / 20_000)), share


def detectable_in_errors(n: int) -> float:
    """Return the detectable difference of n pairs in standard errors of the mean difference."""
    difference = paired_difference([0.0] * n, [float(number) for number in range(n)])
    assert difference.standard_error is not None
    size = detectable(difference, 0.05)
    assert size is not None
    return size / difference.standard_error


def test_identical_values_have_no_detectable_difference() -> None:
    assert detectable(paired_difference([1.0], [2.0]), 0.05) is None
    assert detectable(paired_difference([1.0, 1.0], [2.0, 2.0]), 0.05) is None
    assert detectable(welch_difference([1.0, 1.0], [2.0, 2.0]), 0.05) is None


def test_fewer_runs_and_a_larger_family_need_a_larger_difference() -> None:
    sizes = [detectable_in_errors(n) for n in (3, 5, 10, 100)]
    assert sizes == sorted(sizes, reverse=True), sizes
    assert sizes[-1] > 1.96 + 0.84, "the normal distribution's, which Student's t approaches"
    alone, of_ten = (detectable(welch_difference(*_SLEEP), 0.05 / tests) for tests in (1, 10))
    assert alone is not None
    assert of_ten is not None
    assert 0 < alone < of_ten


def test_an_interval_at_another_significance() -> None:
    """Student's patients: t with 9 degrees of freedom is 3.2498 at 1 % (two-sided)."""
    difference = paired_difference(*_SLEEP)
    assert difference.standard_error is not None
    assert difference.half_width_at(0.01) == pytest.approx(3.2498 * difference.standard_error, rel=1e-4)
    assert difference.half_width_at(0.05) == pytest.approx(difference.half_width)
    assert paired_difference([1.0, 1.0], [2.0, 2.0]).half_width_at(0.01) == 0.0
    assert paired_difference([1.0], [2.0]).half_width_at(0.01) is None


@pytest.mark.slow
@given(st.lists(st.integers(-100, 100), min_size=3, max_size=20), st.floats(0.1, 200))
def test_equivalence_is_two_one_sided_tests(values: list[int], margin: float) -> None:
    """SciPy tests each side; both reject at half the significance if, and only if, the interval lies in the margin."""
    assume(len(set(values)) > 1)
    first, second = [0.0] * len(values), [float(value) for value in values]
    difference = paired_difference(first, second)
    low = ttest_rel([value + margin for value in second], first, alternative="greater").pvalue
    high = ttest_rel([value - margin for value in second], first, alternative="less").pvalue
    p, half_width = difference.equivalence_p(margin), difference.half_width_at(0.05)
    assert p is not None
    assert half_width is not None
    assert p == pytest.approx(float(max(low, high)), rel=1e-6, abs=1e-12)
    assume(abs(p - 0.025) > 1e-9)
    assert (abs(difference.mean) + half_width < margin) == (p < 0.025)


@pytest.mark.parametrize(("effect", "n"), [(0.5, 34), (0.8, 15), (1.0, 10), (2.0, 5)])
def test_runs_that_show_a_difference_are_those_of_cohen_s_tables(effect: float, n: int) -> None:
    """Without a margin nothing is equivalent, and Cohen's numbers of pairs (1988, table 2.4.1) remain."""
    difference = Difference(effect, 1.0, 0.5, "paired t", (2, 2), 1.0, 1, deviation=1.0)
    assert runs_needed(difference, 0.0, 0.05) == n


@pytest.mark.slow
def test_that_many_runs_settle_four_of_five() -> None:
    """4000 repetitions with the forecast number of pairs; no true difference, so they show equivalence."""
    difference = Difference(0.0, 1.0, 1.0, "paired t", (5, 5), 1.0, 4, deviation=1.0)
    n = runs_needed(difference, 0.5, 0.01)
    assert n is not None
    random = np.random.default_rng(1)
    pairs = [paired_difference([0.0] * n, list(random.normal(0, 1, n))) for _ in range(4000)]
    share = sum(abs(pair.mean) + (pair.half_width_at(0.01) or 0) <= 0.5 for pair in pairs) / 4000
    error = math.sqrt(0.8 * 0.2 / 4000)
    assert 0.8 - 3 * error <= share <= 0.85, f"{n} pairs: {share}"


def test_what_no_number_of_runs_settles() -> None:
    assert runs_needed(paired_difference([1.0], [2.0]), 0.1, 0.05) is None
    assert runs_needed(paired_difference([1.0, 1.0], [2.0, 2.0]), 0.1, 0.05) is None
    at_the_margin = Difference(1e-9, 1.0, 1.0, "paired t", (5, 5), 1.0, 4, deviation=1.0)
    assert runs_needed(at_the_margin, 1e-6, 0.05) is None
    certain = paired_difference([100.0] * 3, [100 + 1e-9, 100 + 2e-9, 100 + 1e-9])
    assert runs_needed(certain, 1.0, 0.05 / 800) == 2, "SciPy's noncentral t ends far before this"


def test_letters_by_hand() -> None:
    """Piepho 2004: each pair that differs has no letter in common, each other pair has one."""
    assert assign_group_letters(3, []) == ["a", "a", "a"]
    assert assign_group_letters(3, [(0, 2)]) == ["a", "ab", "b"]
    assert assign_group_letters(4, [(0, 1), (0, 2), (0, 3), (1, 3)]) == ["a", "b", "bc", "c"]
    every = [(first, second) for second in range(30) for first in range(second)]
    assert assign_group_letters(30, every)[25:28] == ["z", "a1", "b1"]


@pytest.mark.slow
@given(
    st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)))))
)
def test_letters_say_which_pairs_differ(drawn: tuple[int, set[tuple[int, int]]]) -> None:
    count, pairs = drawn
    different = sorted({(min(pair), max(pair)) for pair in pairs if max(pair) < count and pair[0] != pair[1]})
    text = assign_group_letters(count, different)
    for second in range(count):
        for first in range(second):
            assert bool(set(text[first]) & set(text[second])) == ((first, second) not in different)


@given(_SHARES)
def test_jain_lies_between_one_nth_and_one(shares: list[float]) -> None:
    assert 1 / len(shares) - 1e-9 <= jain_index(shares) <= 1 + 1e-9


@given(_SHARES, st.sampled_from([1e-6, 0.5, 1e6]))
def test_jain_does_not_depend_on_units_or_order(shares: list[float], factor: float) -> None:
    assume(min((share for share in shares if share), default=1) > 1e-200)
    assert jain_index([factor * share for share in reversed(shares)]) == pytest.approx(jain_index(shares))


def test_jain_of_jain() -> None:
    """Jain, Chiu and Hawe 1984: fair to k of n gives k/n."""
    assert jain_index([1.0] * 3 + [0.0] * 7) == pytest.approx(0.3)
    assert jain_index([7.0] * 5) == 1.0
    assert jain_index([0.0, 0.0]) == 1.0
    with pytest.raises(ValueError, match="below zero"):
        jain_index([1.0, -1.0])
