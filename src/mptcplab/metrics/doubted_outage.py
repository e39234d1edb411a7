# SPDX-License-Identifier: MIT
"""Warn of doubtful outages: data kept coming, but the rate to expect is a path's capacity, and it carries less.

A tenth of the capacity is then near what TCP gets there. With losses, that is a matter of the round-trip time and
of how many there are, and not of the capacity.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from mptcplab.lazy import np
from mptcplab.metrics.catalog.usable import (
    Episode,
    longest_outage,
    measured_episodes,
    outage_s,
    outage_window_s,
    outages,
    usable_curve,
)
from mptcplab.metrics.delivery import BACK, BEFORE_S, Delivery, gap_s
from mptcplab.metrics.instants import instants
from mptcplab.metrics.metric import Subject

#: An outage that is longer than this number of its gaps is not an interruption. A trickle of TCP's retransmissions is
#: one, with gaps that double, so that all of them together are shorter than two of the last, and the windows at both
#: ends add less than another.
_GAPS = 3
#: A usual rate below this multiple of the threshold is near it: two losses in a row reduce CUBIC's rate to 0.7 * 0.7 of
#: it, or a half, so that the flow falls below the threshold again and again without any interruption.
_NEAR = 2
#: An outage up to this multiple of the sampling interval may not be real. Closer samples do not mislead.
_SAMPLES, _COARSE_S = 2.1, 0.2
_BITS = 1e6


def outage_warnings(subject: Subject) -> Iterator[str]:
    """Yield a warning for each failure whose outage is rather a low rate, or which messages were late before."""
    yield from _earlier_lateness_warnings(subject)
    yield from _sampling_warnings(subject)
    for curve, episode in subject.compute_once(measured_episodes):
        # Of messages, one in ten in time is silence, however they arrive.
        yield from () if curve.is_messages else episode_warnings(curve, episode)


def _earlier_lateness_warnings(subject: Subject) -> Iterator[str]:
    """Yield a warning for each failure of which a call or stream shows little: much was late before it already."""
    failures: dict[float, list[str]] = {}
    for instant in instants(subject.recording):
        if instant.is_failure:
            failures.setdefault(instant.time_s, []).append(instant.place)
    curve = subject.compute_once(usable_curve)
    if curve is None or not curve.is_messages:
        return
    for at, places in failures.items():
        before = (curve.times[1:] > at - BEFORE_S) & (curve.times[1:] <= at)
        late = float(np.mean(np.diff(curve.total)[before] == 0)) if before.any() else 0.0
        if late > 1 - BACK:
            where = " and ".join(filter(None, places)) or "something"
            yield (
                f"{_number(100 * late)} % of the messages were late or lost in the {BEFORE_S:.0f} s before {where} "
                f"went down at {_number(at)} s: that failure has no outage of its own, and a return to such a rate "
                "says little; judge by late and gap"
            )


def _sampling_warnings(subject: Subject) -> Iterator[str]:
    """Yield a warning if the gap and the outage are no longer than what lies between two samples of the sockets."""
    curve, outage = subject.compute_once(usable_curve), subject.compute_once(longest_outage)
    if curve is None or curve.pauses is not None or curve.is_messages or outage is None:
        return
    step = _interval_s(curve)
    if step >= _COARSE_S and outage <= _SAMPLES * step:
        yield (
            f"gap, outage and interruption are only known to the time between two samples, {_number(step)} s: a "
            "shorter `interval` in [record] shows more"
        )


def _interval_s(curve: Delivery) -> float:
    """Return the interval of samples: at least half of the time is in intervals of that length.

    Of many connections, samples of one instant are some microseconds apart.
    """
    steps = np.sort(np.diff(curve.times))
    whole = np.cumsum(steps)
    return float(steps[np.searchsorted(whole, whole[-1] / 2)])


def episode_warnings(curve: Delivery, episode: Episode) -> Iterator[str]:
    """Yield a warning if the outage of one failure is rather a low rate."""
    spans = outages(curve, episode)
    if not spans or not outage_s(curve, episode):
        return
    begin, end = max(spans, key=lambda span: span[1] - span[0])
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
