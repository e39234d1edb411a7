# SPDX-License-Identifier: MIT
"""The metrics that every workload has, the rate that its sender reports, and the time until its highest rate."""

from __future__ import annotations

from functools import partial

from mptcplab.lazy import np
from mptcplab.metrics.column import HIDDEN, Display, Metric, Subject
from mptcplab.metrics.delivery import RECOVERED_SHARE, Delivery, read_delivery

_BITS_PER_MBIT = 1e6
_entry = partial(Metric, section="basic")

METRICS = (
    _entry(
        name="goodput_mbps",
        higher_is_better=True,
        noun="goodput",
        unit="Mbit/s",
        definition="payload at the receiver, by time, of all connections of the workload together; see "
        "[limitations](limitations.md#what-the-numbers-mean) for when that time begins and ends",
        source="bytes that the receiving program has read",
        value=lambda subject: subject.reading.goodput_bps / _BITS_PER_MBIT,
        in_every_row=True,
    ),
    _entry(
        name="duration_s",
        noun="duration",
        unit="s",
        definition="the time over which goodput is computed",
        source="as for goodput",
        value=lambda subject: subject.reading.duration_s,
        in_every_row=True,
        display=Display(head="s", with_spread=False),
    ),
    _entry(
        name="retransmitted_percent",
        noun="retransmitted",
        unit="%",
        highest=100,
        definition="bytes that subflows retransmitted, of all bytes that they sent; empty for UDP, and if no socket "
        "was seen",
        source="TCP_INFO of the sender: `bytes_retrans`, `bytes_sent`",
        value=lambda subject: subject.sockets.retransmitted_percent,
        in_every_row=True,
        display=Display(head="retrans %", with_spread=False),
    ),
    _entry(
        name="sent_mbps",
        higher_is_better=True,
        noun="sent",
        unit="Mbit/s",
        definition="of `flow`: payload at the sender, [below](#at-the-sender)",
        source="as iperf 2 reports it",
        display=HIDDEN,
    ),
)


# The time in which a workload reaches its highest rate: slow start, and what the congestion control makes of it.

#: Rates are means over this share of a workload's time.
_SHARE = 0.1
#: With fewer samples, a window is not much longer than the time between two of them.
_MIN_SAMPLES = 20


def compute_rise_s(curve: Delivery) -> float | None:
    """Return the time from the first data to the end of the first window with 90 % of the highest rate, in s.

    A window is a tenth of the time from the first data to the last, and begins at a sample. None if there are too few
    samples.
    """
    growth_times = curve.growth_times
    if len(growth_times) < _MIN_SAMPLES:
        return None
    begin, end = growth_times[0], growth_times[-1]
    window = _SHARE * (end - begin)
    begins = curve.times[(curve.times >= begin) & (curve.times + window <= end)]
    rates = curve.rates(begins, window)
    return float(begins[np.flatnonzero(rates >= RECOVERED_SHARE * rates.max())[0]] + window - begin)


def _value(subject: Subject) -> float | None:
    curve = read_delivery(subject.recording, subject.ends)
    return compute_rise_s(curve) if curve is not None else None


RISE_METRICS = (
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
