# SPDX-License-Identifier: MIT
"""The time without a usable network after a failure: outage, interruption, and the waits of requests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mptcplab.lazy import Numbers, np
from mptcplab.metrics.catalog.paths import path_capacities
from mptcplab.metrics.catalog.recovery import failure_metric
from mptcplab.metrics.column import LAST, Display, Subject
from mptcplab.metrics.delivery import (
    BEFORE_S,
    WINDOW_S,
    Delivery,
    compute_earlier_rate,
    compute_gap_s,
    compute_recovery_s,
    find_pauses,
    read_request_times,
    read_usable_delivery,
)
from mptcplab.metrics.instants import Instant, changes_shape, follows_trace, read_instants
from mptcplab.metrics.manifest import read_paths

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How long a workload was without a usable network after a failure: its outage, and the waits of its requests.
#
# What is usable is measured against what could be expected: the rate before the failure, or the capacity of the best
# path that still works, if that is less. So a transfer that loses the faster of two paths is usable again on the
# slower.

#: The shares of the expected rate from which the network is usable, and below which the rate is low: an outage.
_USABLE_SHARE, _LOW_RATE_SHARE = 0.5, 0.1
#: Data is said to come in pieces if more than this share of the windows before a failure have a low rate.
_PIECES_SHARE = 0.1
#: A low rate is found in windows of this length, or of two samples if that is longer.
_LOW_RATE_WINDOW_S = 0.5


@dataclass(frozen=True)
class FailureInterval:
    """The time from a failure to the next failure, or to the end of the data, and the rate to expect in it.

    ``restored_s`` is the time at which what failed came back, infinity if it did not.
    """

    failure: Instant
    until_s: float
    expected_bps: float
    restored_s: float = math.inf

    @property
    def low_rate_bps(self) -> float:
        """The rate below which the network is unusable."""
        return _LOW_RATE_SHARE * self.expected_bps


def compute_usable_s(curve: Delivery, interval: FailureInterval) -> float | None:
    """Return the time from the failure to the first window of 1 s with half of the expected rate; None if none had.

    If the failure interrupts the data for longer than such a window, even if not at once, the window ends after that.
    """
    # What had arrived already, or a path that stalls later, may give the first second its rate.
    spans = [span for span in list_outages(curve, interval) if span[0] < interval.restored_s]
    begin, end = max(spans, key=_length, default=(0.0, 0.0))
    instant = interval.failure.time_s
    first = max(instant, end - WINDOW_S) if end - begin > WINDOW_S else instant
    recovery = compute_recovery_s(
        curve, first, _USABLE_SHARE * interval.expected_bps, interval.until_s, window_s=WINDOW_S
    )
    return None if recovery is None else first + recovery - instant


def compute_outage_s(curve: Delivery, interval: FailureInterval) -> float | None:
    """Return the longest time in the interval without data, or in which no window had a tenth of the expected rate.

    It is in s, and never less than the gap: an interruption that is shorter than a window counts, too. It is infinity
    if it had not ended when the run did, and None if data came in pieces before the failure: if more than a tenth of
    the windows then had less than this rate.
    """
    window, begin = choose_outage_window_s(curve), interval.failure.time_s
    before_s = max(begin - BEFORE_S, float(curve.times[0]))
    before = _mark_low_windows(curve, before_s, begin, window, interval.low_rate_bps)
    if len(before) and float(before.mean()) > _PIECES_SHARE:
        return None
    longest = max(map(_length, list_outages(curve, interval)), default=0.0)
    # Only the gap knows that data which was sent did not arrive before the end: then it is infinity.
    gap = compute_gap_s(curve, begin, interval.until_s)
    return longest if gap is None else max(longest, gap)


def choose_outage_window_s(curve: Delivery) -> float:
    """Return the length of the windows in which a low rate is found."""
    return max(_LOW_RATE_WINDOW_S, 2 * float(np.median(np.diff(curve.times))))


def list_outages(curve: Delivery, interval: FailureInterval) -> list[tuple[float, float]]:
    """Return the begin and end of each time in the interval without data, or with a low rate in every window."""
    window, begin = choose_outage_window_s(curve), interval.failure.time_s
    low_rates = _low_rate_spans(curve, begin - window, interval.until_s, window, interval.low_rate_bps)
    if curve.is_messages:
        low_rates = [silence for span in low_rates if (silence := _trim_to_silence(curve, *span)) is not None]
    return [*low_rates, *((float(low), float(high)) for low, high in find_pauses(curve, begin, interval.until_s))]


def _trim_to_silence(curve: Delivery, begin_s: float, end_s: float) -> tuple[float, float] | None:
    """Return the span from the first missing message in it to the end of the last: windows overlap, messages do not."""
    inside = (curve.times[:-1] >= begin_s) & (curve.times[1:] <= end_s)
    missing = np.flatnonzero(inside & (np.diff(curve.total) == 0))
    return (float(curve.times[missing[0]]), float(curve.times[missing[-1] + 1])) if len(missing) else None


def _length(span: tuple[float, float]) -> float:
    return span[1] - span[0]


def _window_begins(curve: Delivery, begin_s: float, end_s: float, window_s: float) -> Numbers:
    """Return the begins of the windows between two times: they begin at samples."""
    return curve.times[(curve.times >= begin_s) & (curve.times + window_s <= end_s)]


def _mark_low_windows(
    curve: Delivery, begin_s: float, end_s: float, window_s: float, level_bps: float
) -> NDArray[np.bool_]:
    """Return of each window between two times whether its rate is below a level."""
    return curve.rates(_window_begins(curve, begin_s, end_s, window_s), window_s) < level_bps


def _low_rate_spans(
    curve: Delivery, begin_s: float, end_s: float, window_s: float, level_bps: float
) -> list[tuple[float, float]]:
    """Return the begin and end of each union of overlapping windows below a rate."""
    low = _window_begins(curve, begin_s, end_s, window_s)[_mark_low_windows(curve, begin_s, end_s, window_s, level_bps)]
    if not len(low):
        return []
    # A union ends where the next low window begins after the end of the one before.
    starts = np.concatenate(([0], np.flatnonzero(np.diff(low) > window_s) + 1))
    stops = np.concatenate((starts[1:] - 1, [len(low) - 1]))
    return [(float(low[start]), float(low[stop] + window_s)) for start, stop in zip(starts, stops, strict=True)]


def list_failure_intervals(
    curve: Delivery, changes: Sequence[Instant], capacities: Mapping[str, float], links: Mapping[str, set[str]]
) -> Iterator[FailureInterval]:
    """Yield the interval of each failure while data was delivered.

    ``capacities`` has the capacity of each path, and is empty if they are unknown or change; ``links`` has the links of
    each path.
    """
    down: set[str] = set()
    ordered = sorted(changes, key=lambda instant: instant.time_s)
    failures = [other.time_s for other in ordered if other.is_failure]
    for instant in ordered:
        if not instant.is_failure:
            down.discard(instant.place)
            continue
        # All links that fail at this instant are down in the interval of each.
        down |= {other.place for other in ordered if other.is_failure and other.time_s == instant.time_s}
        before = compute_earlier_rate(curve, instant.time_s) if curve.times[0] < instant.time_s < curve.end_s else None
        if before:
            up = [bps for path, bps in capacities.items() if not links[path] & down]
            best = max(up or capacities.values(), default=before)
            until = min((time for time in failures if time > instant.time_s), default=curve.end_s)
            restorations = (other.time_s for other in ordered if not other.is_failure and other.place == instant.place)
            restored_s = min((time for time in restorations if time > instant.time_s), default=math.inf)
            yield FailureInterval(instant, min(until, curve.end_s), min(before, best), restored_s)


def _read_capacities(subject: Subject) -> tuple[dict[str, float], dict[str, set[str]]]:
    """Return the capacity and the links of each path of a workload."""
    paths = read_paths(subject.recording, subject.ends.workload)
    links = {path: {link for link, _ in steps} for path, steps in paths.items()}
    if changes_shape(subject.recording):
        return {}, links
    known = {path: path_capacities(subject.recording, subject.ends.workload, [path]) for path in paths}
    return {path: values[0] for path, values in known.items() if values}, links


def read_usable_curve(subject: Subject) -> Delivery | None:
    """Return the delivery that was of use for a workload; None in runs without failures, or if it is unknown."""
    return read_usable_delivery(subject.recording, subject.ends) if read_instants(subject.recording) else None


def measure_failure_intervals(subject: Subject) -> list[tuple[Delivery, FailureInterval]]:
    """Return the failure intervals of a workload, each with its delivery."""
    curve, changes = subject.compute_once(read_usable_curve), read_instants(subject.recording)
    if curve is None:
        return []
    return [(curve, interval) for interval in list_failure_intervals(curve, changes, *_read_capacities(subject))]


def _longest_time(times: Sequence[float | None]) -> float | None:
    """Return the longest time, infinity if one had not ended when the run did; None if none or one is unknown."""
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


def _longest_usable_time(subject: Subject) -> float | None:
    """Return the longest time of :func:`compute_usable_s`, infinity for None. Too short intervals do not count.

    There is none where a trace sets other rates than those before the failure.
    """
    if follows_trace(subject.recording, subject.ends.workload):
        return None
    pairs = subject.compute_once(measure_failure_intervals)
    times = [
        math.inf if usable_s is None else usable_s
        for curve, interval in pairs
        if (usable_s := compute_usable_s(curve, interval)) is not None
        or curve.can_observe_recovery(interval.failure.time_s, interval.until_s)
    ]
    return _longest_time(times)


def longest_outage(subject: Subject) -> float | None:
    """Return the longest outage.

    There is none if data came in pieces before one of the failures, which may have had a longer one. Messages have a
    warning then, which names the failure, and the outages of the others stay.
    """
    pairs = subject.compute_once(measure_failure_intervals)
    times = [compute_outage_s(curve, interval) for curve, interval in pairs]
    is_messages = any(curve.is_messages for curve, _ in pairs)
    return _longest_time([time for time in times if time is not None] if is_messages else times)


def _request_waits(subject: Subject) -> list[tuple[float, float]]:
    """Return when requests were made and answered; none in runs without failures."""
    return read_request_times(subject.recording, subject.ends) if read_instants(subject.recording) else []


def _longest_wait(subject: Subject) -> float | None:
    failures = (instant.time_s for instant in read_instants(subject.recording) if instant.is_failure)
    first = min(failures, default=math.inf)
    return max((end - begin for begin, end in subject.compute_once(_request_waits) if end > first), default=None)


def _first_answer_time(subject: Subject) -> float | None:
    """Return the longest time from a failure to the first answer to a request that was made after it."""
    waits = subject.compute_once(_request_waits)
    failures = [instant.time_s for instant in read_instants(subject.recording) if instant.is_failure]
    ends = [min((end - at for begin, end in waits if begin >= at), default=None) for at in failures]
    return _longest_time(ends) if waits else None


OUTAGE_METRICS = (
    failure_metric(
        name="outage_s",
        noun="outage",
        definition="the longest time after a failure without data, or with less than a tenth of the rate to expect in "
        "each half second",
        value=lambda subject: subject.compute_once(longest_outage),
        display=Display(never="no end", headline=4, axis="outage"),
    ),
    failure_metric(
        name="usable_after_failure_s",
        noun="usable",
        definition="time from the failure until half of the rate to expect was there",
        value=_longest_usable_time,
        display=Display(axis="usable after the failure"),
    ),
    failure_metric(
        name="answered_after_failure_s",
        noun="answered",
        definition="`requests` and `web`: time from the failure to the first answer to a request made after it",
        source="the client",
        value=_first_answer_time,
        display=Display(axis="first answer after the failure"),
    ),
    failure_metric(
        name="longest_wait_s",
        noun="longest wait",
        definition="`requests` and `web`: the longest time from a request to its answer, of answers after a failure",
        source="the client",
        value=_longest_wait,
    ),
)


# What a failure interrupts at once, and whether the outage of a run is that, or comes later.
#
# The longest time without a network may begin long after the failure: at the return of the link, or where TCP recovers
# from losses of its own full queue. Then it does not say how long a failure holds up data.


def compute_interruption_s(curve: Delivery, interval: FailureInterval) -> float | None:
    """Return the longest outage that begins less than a second after the failure, in s; 0 if none does.

    Infinity if it had not ended when the run did; None if it is unknown whether there was an outage.
    """
    failed, length = interval.failure.time_s, compute_outage_s(curve, interval)
    if length is None or (math.isinf(length) and _last_data_s(curve) < failed + WINDOW_S):
        return length
    spans = list_outages(curve, interval)
    return max((end - begin for begin, end in spans if begin < failed + WINDOW_S), default=0.0)


def compute_outage_after_s(curve: Delivery, interval: FailureInterval) -> float | None:
    """Return the time from the failure to the begin of its outage, in s: 0 if data stopped before it."""
    length = compute_outage_s(curve, interval)
    if length is None:
        return None
    if math.isinf(length):
        begin = _last_data_s(curve)
    else:
        begin, _ = max(list_outages(curve, interval), key=lambda span: span[1] - span[0], default=(0.0, 0.0))
    return max(0.0, begin - interval.failure.time_s)


def _last_data_s(curve: Delivery) -> float:
    """Return the time of the first sample that has all data."""
    return float(curve.times[int((curve.total >= curve.total[-1]).argmax())])


def _longest_interruption(subject: Subject) -> float | None:
    """Return the longest interruption; None if an outage is unknown, since it may have been longer."""
    if subject.compute_once(longest_outage) is None:
        return None
    values = (
        compute_interruption_s(curve, interval) for curve, interval in subject.compute_once(measure_failure_intervals)
    )
    return max((value for value in values if value is not None), default=None)


def _time_to_longest_outage(subject: Subject) -> float | None:
    """Return the value of the failure with the longest outage."""
    if subject.compute_once(longest_outage) is None:
        return None
    measured = [
        (compute_outage_s(curve, interval), compute_outage_after_s(curve, interval))
        for curve, interval in subject.compute_once(measure_failure_intervals)
    ]
    known = [(length, after) for length, after in measured if length is not None and after is not None]
    return max(known, default=(0.0, None))[1]


#: After the metrics of the whole gap and outage.
_ORDER = LAST + 1

INTERRUPTION_METRICS = (
    failure_metric(
        name="interruption_s",
        noun="interruption",
        definition="the longest outage that begins less than a second after the failure: what the failure itself stops",
        value=_longest_interruption,
        display=Display(order=_ORDER, in_table=False, never="no end", axis="interruption by the failure"),
    ),
    failure_metric(
        name="outage_after_s",
        noun="outage after",
        definition="time from the failure to the begin of the outage",
        value=_time_to_longest_outage,
        display=Display(order=_ORDER, in_table=False),
    ),
)
