# SPDX-License-Identifier: MIT
"""The effect of failures on a workload: its interruption, its outage, and the time until its rate is back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from mptcplab.lazy import Numbers, np
from mptcplab.metrics.catalog.paths import path_capacities
from mptcplab.metrics.column import LAST, Display, Metric, Subject
from mptcplab.metrics.delivery import (
    BACK,
    BEFORE_S,
    WINDOW_S,
    Delivery,
    earlier_rate,
    gap_s,
    pauses_in,
    read_delivery,
    read_usable_delivery,
    recovery_s,
    request_times,
    sent_until_s,
)
from mptcplab.metrics.instants import Instant, changes_shape, follows_trace, instants
from mptcplab.metrics.manifest import read_paths
from mptcplab.metrics.subflows import Ends
from mptcplab.recording.record import Recording

if TYPE_CHECKING:
    from numpy.typing import NDArray


# The effect of failures on a workload: the longest time without data, and the time until the earlier rate was back.


@dataclass(frozen=True)
class Recovery:
    """The effect of one failure or restoration.

    ``level_bps`` is the rate that counts as recovered: 90 % of the mean before the failure. ``recovery_s`` is None if
    it was not reached before the next instant. ``gap_s`` is the longest time without data up to the next instant:
    infinity if it had not ended when the run did, None if unknown. Only an instant that ``has_time`` before the next
    one, for a window in which data was sent, shows whether the rate recovered.
    """

    at: Instant
    level_bps: float
    recovery_s: float | None
    gap_s: float | None
    has_time: bool = True


def workload_recoveries(recording: Recording, ends: Ends) -> list[Recovery]:
    """Return the effects of all failures and restorations of links and gateways on a workload."""
    changes = instants(recording)
    curve = read_delivery(recording, ends) if changes else None
    if curve is None:
        return []
    of_data = find_recoveries(curve.with_sent_until(sent_until_s(recording, ends)), changes)
    usable = read_usable_delivery(recording, ends)
    if usable is None or not usable.is_messages:
        return of_data
    # A gap is one of all data. What came too late has no part in a rate.
    of_messages = {recovery.at: recovery for recovery in find_recoveries(usable, changes)}
    lacking = Recovery(changes[0], 0.0, None, None, has_time=False)
    return [
        replace(of_messages.get(recovery.at, lacking), at=recovery.at, gap_s=recovery.gap_s) for recovery in of_data
    ]


def find_recoveries(delivery: Delivery, instants: Sequence[Instant]) -> list[Recovery]:
    """Return the effect of each instant while the workload ran.

    A restoration is compared with the rate before its failure. Instants before the first data and after the last are
    left out, as are restorations without a failure.
    """
    ordered = sorted(instants, key=lambda instant: instant.time_s)
    inside = [other for other in ordered if delivery.times[0] < other.time_s < delivery.end_s]
    # Of links that fail or return at the same instant, none ends the time of another.
    ends = [next((other.time_s for other in inside if other.time_s > at.time_s), delivery.end_s) for at in inside]
    levels: dict[str, float] = {}
    result = []
    for instant, until_s in zip(inside, ends, strict=True):
        if instant.is_failure:
            levels.pop(instant.place, None)
            before = earlier_rate(delivery, instant.time_s)
            if before is not None and before > 0:
                levels[instant.place] = BACK * before
        level = levels.get(instant.place)
        if level is not None:
            recovered = recovery_s(delivery, instant.time_s, level, until_s)
            has_time = recovered is not None or delivery.has_time(instant.time_s, until_s)
            result.append(Recovery(instant, level, recovered, gap_s(delivery, instant.time_s, until_s), has_time))
    return result


def recovery_metrics(recoveries: Sequence[Recovery]) -> dict[str, float]:
    """Return the longest gap and recovery times. They are infinity if the rate did not recover each time.

    The gap is infinity if one had not ended when the run did. Without a known one there is none.
    """
    gaps = [recovery.gap_s for recovery in recoveries if recovery.gap_s is not None]
    values = {"gap_s": max(gaps)} if gaps else {}
    for name, is_failure in (("recovery_after_failure_s", True), ("recovery_after_restoration_s", False)):
        times = [
            recovery.recovery_s for recovery in recoveries if recovery.at.is_failure == is_failure and recovery.has_time
        ]
        if times:
            values[name] = max(math.inf if time is None else time for time in times)
    return values


def _metrics(subject: Subject) -> dict[str, float]:
    return recovery_metrics(workload_recoveries(subject.recording, subject.ends))


def _recovery_time(subject: Subject, name: str) -> float | None:
    """Return a recovery time; None where a trace sets other rates than those before the failure."""
    return None if follows_trace(subject.recording, subject.ends.workload) else subject.compute_once(_metrics).get(name)


def _gap(subject: Subject) -> float | None:
    if subject.sockets.use.with_mptcp and subject.ends.receiving is None:
        # Sampled sockets only show subflows: data of one may still wait for data of another.
        return None
    return subject.compute_once(_metrics).get("gap_s")


_entry = partial(Metric, section="failures", unit="s", of_failures=True, source="reads of the receiver")

METRICS = (
    _entry(
        name="gap_s",
        noun="gap",
        definition="the longest time without data around a failure or restoration",
        value=_gap,
        display=Display(never="no end", axis="longest gap without data"),
    ),
    _entry(
        name="recovery_after_failure_s",
        noun="recovered",
        definition="time until the earlier rate was back, with the link or gateway still down",
        value=lambda subject: _recovery_time(subject, "recovery_after_failure_s"),
        display=Display(shown_without_values=False, axis="recovery after the failure"),
    ),
    _entry(
        name="recovery_after_restoration_s",
        noun="restored",
        definition="time from the return of the link or gateway until the earlier rate was back",
        value=lambda subject: _recovery_time(subject, "recovery_after_restoration_s"),
        display=Display(axis="recovery after the restoration"),
    ),
)


# How long a workload was without a usable network after a failure: its outage, and the waits of its requests.
#
# What is usable is measured against what could be expected: the rate before the failure, or the capacity of the best
# path that still works, if that is less. So a transfer that loses the faster of two paths is usable again on the
# slower.

#: The shares of the expected rate from which the network is usable, and below which it is out.
_USABLE, _TRICKLE = 0.5, 0.1
#: The share of windows with a trickle before a failure above which data is said to come in pieces.
_PIECES = 0.1
#: A trickle is found in windows of this length, or of two samples if that is longer.
_OUTAGE_WINDOW_S = 0.5


@dataclass(frozen=True)
class Episode:
    """The time from a failure to the next failure, or to the end, and the rate that could be expected in it.

    ``restored_s`` is the time at which what failed came back, infinity if it did not.
    """

    failure: Instant
    until_s: float
    expected_bps: float
    restored_s: float = math.inf

    @property
    def trickle_bps(self) -> float:
        """The rate below which the network is out."""
        return _TRICKLE * self.expected_bps


def usable_s(curve: Delivery, episode: Episode) -> float | None:
    """Return the time from the failure to the first window of 1 s with half of the expected rate; None if none had.

    If the failure interrupts the data for longer than such a window, even if not at once, the window ends after that.
    """
    # What had arrived already, or a path that stalls later, may give the first second its rate.
    spans = [span for span in outages(curve, episode) if span[0] < episode.restored_s]
    begin, end = max(spans, key=_length, default=(0.0, 0.0))
    instant = episode.failure.time_s
    first = max(instant, end - WINDOW_S) if end - begin > WINDOW_S else instant
    recovery = recovery_s(curve, first, _USABLE * episode.expected_bps, episode.until_s, window_s=WINDOW_S)
    return None if recovery is None else first + recovery - instant


def outage_s(curve: Delivery, episode: Episode) -> float | None:
    """Return the longest time in the episode without data, or in which no window had a tenth of the expected rate.

    It is in s, and never less than the gap: an interruption that is shorter than a window counts, too. If it
    had not ended when the run did, it is infinity. None if data came in pieces before the failure: if a tenth of such
    windows had less.
    """
    window, begin = outage_window_s(curve), episode.failure.time_s
    before = _mark_low_windows(curve, max(begin - BEFORE_S, float(curve.times[0])), begin, window, episode.trickle_bps)
    if len(before) and float(before.mean()) > _PIECES:
        return None
    longest = max(map(_length, outages(curve, episode)), default=0.0)
    # Only the gap knows that data which was sent did not arrive before the end: then it is infinity.
    gap = gap_s(curve, begin, episode.until_s)
    return longest if gap is None else max(longest, gap)


def outage_window_s(curve: Delivery) -> float:
    """Return the length of the windows in which a trickle is found."""
    return max(_OUTAGE_WINDOW_S, 2 * float(np.median(np.diff(curve.times))))


def outages(curve: Delivery, episode: Episode) -> list[tuple[float, float]]:
    """Return the begin and end of each time in the episode without data, or in which no window had enough."""
    window, begin = outage_window_s(curve), episode.failure.time_s
    trickles = _slow_spans(curve, begin - window, episode.until_s, window, episode.trickle_bps)
    if curve.is_messages:
        trickles = [silence for span in trickles if (silence := _silence(curve, *span)) is not None]
    return [*trickles, *((float(low), float(high)) for low, high in pauses_in(curve, begin, episode.until_s))]


def _silence(curve: Delivery, begin_s: float, end_s: float) -> tuple[float, float] | None:
    """Return the span without the messages at its ends that are there: windows overlap, and messages are exact."""
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


def _slow_spans(
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


def episodes(
    curve: Delivery, changes: Sequence[Instant], capacities: Mapping[str, float], links: Mapping[str, set[str]]
) -> Iterator[Episode]:
    """Yield the episode of each failure while data was delivered.

    ``capacities`` belong to the workload's paths, empty if they are unknown or change; ``links`` to each path.
    """
    down: set[str] = set()
    ordered = sorted(changes, key=lambda instant: instant.time_s)
    failures = [other.time_s for other in ordered if other.is_failure]
    for instant in ordered:
        if not instant.is_failure:
            down.discard(instant.place)
            continue
        # Links that fail at the same instant begin one episode.
        down |= {other.place for other in ordered if other.is_failure and other.time_s == instant.time_s}
        before = earlier_rate(curve, instant.time_s) if curve.times[0] < instant.time_s < curve.end_s else None
        if before:
            up = [bps for path, bps in capacities.items() if not links[path] & down]
            best = max(up or capacities.values(), default=before)
            until = min((time for time in failures if time > instant.time_s), default=curve.end_s)
            back = (other.time_s for other in ordered if not other.is_failure and other.place == instant.place)
            restored = min((time for time in back if time > instant.time_s), default=math.inf)
            yield Episode(instant, min(until, curve.end_s), min(before, best), restored)


def _paths(subject: Subject) -> tuple[dict[str, float], dict[str, set[str]]]:
    """Return the capacity and the links of each path of a workload."""
    paths = read_paths(subject.recording, subject.ends.workload)
    links = {path: {link for link, _ in steps} for path, steps in paths.items()}
    if changes_shape(subject.recording):
        return {}, links
    known = {path: path_capacities(subject.recording, subject.ends.workload, [path]) for path in paths}
    return {path: values[0] for path, values in known.items() if values}, links


def usable_curve(subject: Subject) -> Delivery | None:
    """Return what was of use for a workload over time; None in runs without failures, or if it is unknown."""
    return read_usable_delivery(subject.recording, subject.ends) if instants(subject.recording) else None


def measured_episodes(subject: Subject) -> list[tuple[Delivery, Episode]]:
    """Return the episodes of a workload, each with its delivery."""
    curve, changes = subject.compute_once(usable_curve), instants(subject.recording)
    return [(curve, episode) for episode in episodes(curve, changes, *_paths(subject))] if curve is not None else []


def _longest_time(times: Sequence[float | None]) -> float | None:
    """Return the longest time, infinity if one had not ended when the run did; None if none or one is unknown."""
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


def _longest_usable_time(subject: Subject) -> float | None:
    """Return the longest time of :func:`usable_s`, infinity for None. Episodes without time for it do not count.

    There is none where a trace sets other rates than those before the failure.
    """
    if follows_trace(subject.recording, subject.ends.workload):
        return None
    pairs = subject.compute_once(measured_episodes)
    times = [
        (usable_s(curve, episode), curve.has_time(episode.failure.time_s, episode.until_s)) for curve, episode in pairs
    ]
    return _longest_time(
        [math.inf if time is None else time for time, has_time in times if has_time or time is not None]
    )


def longest_outage(subject: Subject) -> float | None:
    """Return the longest outage.

    There is none if data came in pieces before one of the failures, which may have had a longer one. Messages have a
    warning then, which names the failure, and the outages of the others stay.
    """
    pairs = subject.compute_once(measured_episodes)
    times = [outage_s(curve, episode) for curve, episode in pairs]
    is_messages = any(curve.is_messages for curve, _ in pairs)
    return _longest_time([time for time in times if time is not None] if is_messages else times)


def _request_waits(subject: Subject) -> list[tuple[float, float]]:
    """Return when requests were made and answered; none in runs without failures."""
    return request_times(subject.recording, subject.ends) if instants(subject.recording) else []


def _longest_wait(subject: Subject) -> float | None:
    first = min((instant.time_s for instant in instants(subject.recording) if instant.is_failure), default=math.inf)
    return max((end - begin for begin, end in subject.compute_once(_request_waits) if end > first), default=None)


def _first_answer_time(subject: Subject) -> float | None:
    """Return the longest time from a failure to the first answer to a request that was made after it."""
    waits = subject.compute_once(_request_waits)
    failures = [instant.time_s for instant in instants(subject.recording) if instant.is_failure]
    ends = [min((end - at for begin, end in waits if begin >= at), default=None) for at in failures]
    return _longest_time(ends) if waits else None


OUTAGE_METRICS = (
    _entry(
        name="outage_s",
        noun="outage",
        definition="the longest time after a failure without data, or with less than a tenth of the rate to expect in "
        "each half second",
        value=lambda subject: subject.compute_once(longest_outage),
        display=Display(never="no end", headline=4, axis="outage"),
    ),
    _entry(
        name="usable_after_failure_s",
        noun="usable",
        definition="time from the failure until half of the rate to expect was there",
        value=_longest_usable_time,
        display=Display(axis="usable after the failure"),
    ),
    _entry(
        name="answered_after_failure_s",
        noun="answered",
        definition="`requests` and `web`: time from the failure to the first answer to a request made after it",
        source="the client",
        value=_first_answer_time,
        display=Display(axis="first answer after the failure"),
    ),
    _entry(
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


#: After the metrics of the whole gap and outage.
_PLACE = LAST + 1

INTERRUPTION_METRICS = (
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
