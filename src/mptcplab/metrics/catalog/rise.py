# SPDX-License-Identifier: MIT
"""The time in which a workload reaches its highest rate: slow start, and what the congestion control makes of it."""

from __future__ import annotations

from mptcplab.lazy import np
from mptcplab.metrics.column import HIDDEN
from mptcplab.metrics.delivery import BACK, Delivery, delivery
from mptcplab.metrics.metric import Metric, Subject

#: Rates are means over this share of a workload's time.
_SHARE = 0.1
#: With fewer samples, a window is not much longer than the time between two of them.
_MIN_SAMPLES = 20


def rise_s(curve: Delivery) -> float | None:
    """Return the time from the first data to the end of the first window with ``BACK`` of the highest rate, in s.

    A window is a tenth of the time from the first data to the last, and begins at a sample. None if there are too few
    samples.
    """
    grown = np.flatnonzero(np.diff(curve.total, prepend=0.0) > 0)
    if len(grown) < _MIN_SAMPLES:
        return None
    begin, end = curve.times[grown[0]], curve.times[grown[-1]]
    window = _SHARE * (end - begin)
    begins = curve.times[(curve.times >= begin) & (curve.times + window <= end)]
    rates = curve.rates(begins, window)
    return float(begins[np.flatnonzero(rates >= BACK * rates.max())[0]] + window - begin)


def _value(subject: Subject) -> float | None:
    curve = delivery(subject.recording, subject.ends)
    return rise_s(curve) if curve is not None else None


METRICS = (
    Metric(
        name="rise_s",
        noun="rise",
        unit="s",
        definition="time from the first data until the mean rate over a tenth of the time first had 90 % of its "
        "highest; empty with fewer than 20 samples",
        source="reads of the receiver",
        value=_value,
        section="basic",
        display=HIDDEN,
    ),
)
