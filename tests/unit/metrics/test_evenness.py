# SPDX-License-Identifier: MIT
"""The share of seconds in which a bulk transfer had less than half of its goodput."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.unit.results_folders import TWO_LINES, make_results

from mptcplab.metrics.catalog.evenness import slow_seconds_share
from mptcplab.metrics.delivery import Delivery
from mptcplab.metrics.measure import measure
from mptcplab.recording.record import Recording


def _curve(rates: list[float], *, step_s: float = 0.1, start_s: float = 5.0) -> Delivery:
    """Return the delivery of these bytes in each step, after one byte at the start."""
    times = start_s + step_s * np.arange(len(rates) + 1, dtype=np.float64)
    return Delivery(times, 1 + np.concatenate(([0.0], np.cumsum(np.array(rates, dtype=np.float64)))))


def _mean_bps(curve: Delivery) -> float:
    return curve.rate(float(curve.times[0]), curve.end_s)


@pytest.mark.parametrize(
    ("seconds", "share"),
    [
        ([80.0] * 5, 0.0),
        ([100.0] * 4 + [0.0], 0.2),
        ([100.0] * 3 + [0.0, 100.0], 0.2),
        ([100.0] * 3 + [39.0, 61.0], 0.2),
        ([100.0] * 3 + [41.0, 59.0], 0.0),
    ],
)
def test_seconds_are_slow_below_half_of_the_mean(seconds: list[float], share: float) -> None:
    curve = _curve([rate for rate in seconds for _ in range(10)]).with_sent_until(10.0)
    assert slow_seconds_share(curve, 8 * 10 * 80.0) == pytest.approx(share)


def test_a_rest_of_less_than_a_second_does_not_count() -> None:
    curve = _curve([100.0] * 20 + [1.0] * 9)
    assert slow_seconds_share(curve, _mean_bps(curve)) == 0.0


def test_what_was_sent_and_did_not_arrive_counts() -> None:
    """A transfer that stalls until the run ends has slow seconds, and a complete transfer has none."""
    curve = _curve([100.0] * 20 + [0.0] * 20)
    assert slow_seconds_share(curve, 800.0) == 0.0
    assert slow_seconds_share(curve.with_sent_until(9.0), 800.0) == 0.5


@pytest.mark.parametrize("curve", [_curve([100.0] * 9), _curve([100.0] * 9, step_s=2.0), _curve([])])
def test_too_little_says_nothing(curve: Delivery) -> None:
    assert slow_seconds_share(curve, 800.0) is None


def test_only_bulk_transfers_have_it(tmp_path: Path) -> None:
    make_results(tmp_path / "r", TWO_LINES.partition("sweep")[0], keep=lambda run: run.seed == 1, steps=40)
    (folder,) = (tmp_path / "r" / "runs").iterdir()
    assert measure(Recording(folder))[0].metrics["slow_seconds_share"] == 0.0
    file = folder / "manifest.json"
    described = json.loads(file.read_text())
    described["workloads"][0]["ends"]["is_bulk"] = False
    file.write_text(json.dumps(described))
    assert "slow_seconds_share" not in measure(Recording(folder))[0].metrics
