# SPDX-License-Identifier: MIT
"""The evenness of a bulk transfer: the share of seconds in which it had less than half of its mean goodput."""

from __future__ import annotations

import math

from mptcplab.lazy import np
from mptcplab.metrics.column import HIDDEN, Metric, Subject
from mptcplab.metrics.delivery import Delivery, read_delivery, read_sent_until_s

_INTERVAL_S = 1.0
#: An interval with less than this share of the mean goodput is slow.
_SLOW = 0.5
#: Against the rounding of times, which are in s, when whole intervals are counted.
_ROUNDING_S = 1e-6


def slow_seconds_share(curve: Delivery, goodput_bps: float) -> float | None:
    """Return the share of seconds with less than half of a goodput, 0 to 1.

    Seconds begin with the first data, follow each other, and end with the last data that arrived or was sent: the
    part of a second that is left does not count. None without a whole second, and if samples are further apart than
    a second.
    """
    growth_times = curve.growth_times
    if not len(growth_times) or len(curve.times) < 2 or float(np.median(np.diff(curve.times))) > _INTERVAL_S:
        return None
    begin = float(growth_times[0])
    count = math.floor((curve.active_until_s - begin + _ROUNDING_S) / _INTERVAL_S)
    if count < 1:
        return None
    rates = curve.rates(begin + _INTERVAL_S * np.arange(count, dtype=np.float64), _INTERVAL_S)
    return float((rates < _SLOW * goodput_bps).mean())


def _value(subject: Subject) -> float | None:
    if not subject.ends.is_bulk:
        return None
    curve = read_delivery(subject.recording, subject.ends)
    if curve is None:
        return None
    return slow_seconds_share(
        curve.with_sent_until(read_sent_until_s(subject.recording, subject.ends)), subject.reading.goodput_bps
    )


METRICS = (
    Metric(
        name="slow_seconds_share",
        noun="slow seconds",
        definition="bulk transfers: share of seconds, 0 to 1, with less than half of the run's goodput; they follow "
        "each other from the first data on; empty without a whole second",
        source="reads of the receiver",
        value=_value,
        section="basic",
        highest=1,
        display=HIDDEN,
    ),
)
