# SPDX-License-Identifier: MIT
"""What a failure interrupts at once, and whether the outage of a run is that, or comes later.

The longest time without a network may begin long after the failure: at the return of the link, or where TCP recovers
from losses of its own full queue. Then it does not say how long a failure holds up data.
"""

from __future__ import annotations

import math
from functools import partial

from mptcplab.metrics.catalog.usable import Episode, longest_outage, measured_episodes, outage_s, outages
from mptcplab.metrics.column import LAST, Display
from mptcplab.metrics.delivery import WINDOW_S, Delivery
from mptcplab.metrics.metric import Metric, Subject


def interruption_s(curve: Delivery, episode: Episode) -> float | None:
    """Return the longest outage that begins less than a second after the failure, in s; 0 if none does.

    Infinity if it had not ended when the run did; None if the episode has no outage.
    """
    failed, length = episode.failure.time_s, outage_s(curve, episode)
    if length is None or (math.isinf(length) and _last_data_s(curve) < failed + WINDOW_S):
        return length
    spans = outages(curve, episode)
    return max((end - begin for begin, end in spans if begin < failed + WINDOW_S), default=0.0)


def outage_after_s(curve: Delivery, episode: Episode) -> float | None:
    """Return the time from the failure to the begin of its outage, in s: 0 if data stopped before it."""
    length = outage_s(curve, episode)
    if length is None:
        return None
    if math.isinf(length):
        begin = _last_data_s(curve)
    else:
        begin, _ = max(outages(curve, episode), key=lambda span: span[1] - span[0], default=(0.0, 0.0))
    return max(0.0, begin - episode.failure.time_s)


def _last_data_s(curve: Delivery) -> float:
    """Return the time of the first sample that has all data."""
    return float(curve.times[int((curve.total >= curve.total[-1]).argmax())])


def _interruption(subject: Subject) -> float | None:
    """Return the longest interruption, None without an outage: an unknown one may have been longer."""
    if subject.compute_once(longest_outage) is None:
        return None
    values = (interruption_s(curve, episode) for curve, episode in subject.compute_once(measured_episodes))
    return max((value for value in values if value is not None), default=None)


def _outage_after(subject: Subject) -> float | None:
    """Return the value of the failure with the longest outage."""
    if subject.compute_once(longest_outage) is None:
        return None
    measured = [
        (outage_s(curve, episode), outage_after_s(curve, episode))
        for curve, episode in subject.compute_once(measured_episodes)
    ]
    known = [(length, after) for length, after in measured if length is not None and after is not None]
    return max(known, default=(0.0, None))[1]


_entry = partial(Metric, section="failures", unit="s", of_failures=True, source="reads of the receiver")
#: After the metrics of the whole gap and outage.
_PLACE = LAST + 1

METRICS = (
    _entry(
        name="interruption_s",
        noun="interruption",
        definition="the longest outage that begins less than a second after the failure: what the failure itself stops",
        value=_interruption,
        display=Display(place=_PLACE, in_table=False, never="no end", axis="interruption by the failure"),
    ),
    _entry(
        name="outage_after_s",
        noun="outage after",
        definition="time from the failure to the begin of the outage",
        value=_outage_after,
        display=Display(place=_PLACE, in_table=False),
    ),
)
