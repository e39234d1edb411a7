# SPDX-License-Identifier: MIT
"""The time in which a workload reaches its highest rate."""

from __future__ import annotations

import numpy as np
import pytest

from mptcplab.metrics.catalog.basic import compute_rise_s
from mptcplab.metrics.delivery import Delivery


def _curve(rates: list[float], *, step_s: float = 0.1, start_s: float = 5.0) -> Delivery:
    """Return the delivery of these bytes in each step."""
    times = start_s + step_s * np.arange(1, len(rates) + 1, dtype=np.float64)
    return Delivery(times, np.cumsum(np.array(rates, dtype=np.float64)))


def test_a_constant_rate_has_risen_after_one_window() -> None:
    assert compute_rise_s(_curve([100.0] * 50)) == pytest.approx(0.1 * 4.9)


def test_a_step_is_found_where_the_window_is_full() -> None:
    # 4 s at half the rate, 6 s at the whole one; a window is about 1 s. It has 90 % with 0.8 s of the whole rate.
    rise = compute_rise_s(_curve([50.0] * 40 + [100.0] * 60))
    assert rise == pytest.approx(3.9 + 0.8, abs=0.1), rise


def test_the_shape_counts_and_not_the_scale() -> None:
    ramp = [float(step) for step in range(1, 60)] + [60.0] * 40
    larger = _curve([7 * rate for rate in ramp], start_s=50.0)
    assert compute_rise_s(larger) == pytest.approx(compute_rise_s(_curve(ramp)), abs=1e-6)


def test_too_few_samples_say_nothing() -> None:
    assert compute_rise_s(_curve([100.0] * 10)) is None
