# SPDX-License-Identifier: MIT
"""Intervals against SciPy's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import sem, t

from mptcplab.stats import Interval, mean_interval

_VALUES = st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=2, max_size=40)


@given(_VALUES)
def test_interval_is_student_s(values: list[float]) -> None:
    found = mean_interval(values)
    mean, error = float(np.mean(values)), float(sem(values))
    scale = max(map(abs, values), default=0) or 1
    assert found.n == len(values)
    assert found.mean == pytest.approx(mean, rel=1e-9, abs=1e-9 * scale)
    assert found.half_width is not None
    if error > 1e-9 * scale:  # SciPy knows no interval of width 0
        low, high = t.interval(0.95, len(values) - 1, loc=mean, scale=error)
        assert found.low == pytest.approx(low, rel=1e-6, abs=1e-6 * scale)
        assert found.high == pytest.approx(high, rel=1e-6, abs=1e-6 * scale)


def test_interval_covers_as_often_as_it_says() -> None:
    """95 % of 4,000 samples of five: between 94 and 96 % with a probability of 99.6 %."""
    random = np.random.default_rng(1)
    found = [mean_interval(list(random.normal(10, 2, 5))) for _ in range(4000)]
    covering = sum(one.low <= 10 <= one.high for one in found) / len(found)
    assert 0.94 < covering < 0.96, f"{covering:.1%} of the intervals cover the mean"


def test_one_value_has_no_interval() -> None:
    assert mean_interval([5.0]) == Interval(5.0, None, 1)
    assert (mean_interval([5.0]).low, mean_interval([5.0]).high) == (5.0, 5.0)


def test_equal_values_have_a_narrow_one() -> None:
    assert mean_interval([3.0, 3.0, 3.0]) == Interval(3.0, 0.0, 3)


def test_no_value_is_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        mean_interval([])
