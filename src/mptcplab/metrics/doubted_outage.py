# SPDX-License-Identifier: MIT
"""Warn of outages in which data kept coming: the rate to expect is a path's capacity, and it carries far less.

A tenth of the capacity is then near what TCP gets there. With losses, that is a matter of the round-trip time and
of how many there are, and not of the capacity.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from mptcplab.metrics.catalog.usable import Episode, measured_episodes, outage_s, outage_window_s, outages
from mptcplab.metrics.delivery import Delivery, gap_s
from mptcplab.metrics.metric import Subject

#: An outage that is longer than so many of its gaps is no interruption. A trickle of TCP's retransmissions is one, with
#: gaps that double, so that all of them together are shorter than two of the last, and the windows at both ends add
#: less than another.
_GAPS = 3
#: A usual rate of less than so many thresholds is near them: two losses in a row reduce CUBIC's rate to 0.7 * 0.7 of
#: it, or a half, so that the flow falls below the threshold again and again without any interruption.
_NEAR = 2
_BITS = 1e6


def outage_warnings(subject: Subject) -> Iterator[str]:
    """Yield a warning for each failure whose outage is rather a low rate."""
    for curve, episode in subject.once(measured_episodes):
        yield from episode_warnings(curve, episode)


def episode_warnings(curve: Delivery, episode: Episode) -> Iterator[str]:
    """Yield a warning if the outage of one failure is rather a low rate."""
    if not outage_s(curve, episode):
        return
    begin, end = max(outages(curve, episode), key=lambda span: span[1] - span[0])
    gap = gap_s(curve, begin, end)
    usual = _usual_bps(curve, episode, end)
    if gap is None or end - begin <= _GAPS * gap or not 0 < usual < _NEAR * episode.trickle_bps:
        return
    yield (
        f"the outage is rather a low rate than an interruption: for {_number(end - begin)} s less than "
        f"{_number(episode.trickle_bps / _BITS)} Mbit/s came in each half second, a tenth of the rate to expect, but "
        f"nothing for {_number(gap)} s at most, and {_number(usual / _BITS)} Mbit/s is usual in this failure; what "
        "works carries less than its capacity, so judge by the gap"
    )


def _usual_bps(curve: Delivery, episode: Episode, end_s: float) -> float:
    """Return the median rate from the failure to the restoration, or to the end of the outage if that is later."""
    window = outage_window_s(curve)
    until = min(max(end_s, episode.restored_s), episode.until_s)
    inside = (curve.times >= episode.failure.time_s) & (curve.times + window <= until)
    rates = curve.rates(curve.times[inside], window)
    return float(np.median(rates)) if len(rates) else math.nan


def _number(value: float) -> str:
    """Return a number with three digits, and never with an exponent, so that warnings can be merged."""
    return f"{value:.3g}" if 1e-3 <= value < 1e3 else f"{value:.6f}".rstrip("0").rstrip(".")
