# SPDX-License-Identifier: MIT
"""How long a workload was without a usable network after a failure: its outage, and the waits of its requests.

What is usable is measured against what could be expected: the rate before the failure, or the capacity of the best
path that still works, if that is less. So a transfer that loses the faster of two paths is usable again on the slower.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mptcplab.lazy import Numbers, np
from mptcplab.metrics.catalog.aggregation import path_capacities
from mptcplab.metrics.column import Display
from mptcplab.metrics.delivery import (
    BEFORE_S,
    WINDOW_S,
    Delivery,
    earlier_rate,
    gap_s,
    pauses_in,
    recovery_s,
)
from mptcplab.metrics.in_time import usable_delivery
from mptcplab.metrics.instants import Instant, changes_shape, follows_trace, instants
from mptcplab.metrics.manifest import read_paths
from mptcplab.metrics.metric import Metric, Subject
from mptcplab.metrics.waits import request_times

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    curve: Delivery, found_episodes: Sequence[Instant], capacities: Mapping[str, float], links: Mapping[str, set[str]]
) -> Iterator[Episode]:
    """Yield the episode of each failure while data was delivered.

    ``capacities`` belong to the workload's paths, empty if they are unknown or change; ``links`` to each path.
    """
    down: set[str] = set()
    ordered = sorted(found_episodes, key=lambda instant: instant.time_s)
    failures = [this_instant.time_s for this_instant in ordered if this_instant.is_failure]
    for instant in ordered:
        if not instant.is_failure:
            down.discard(instant.place)
            continue
        # Links that fail at the same instant begin one episode.
        down |= {
            this_instant.place
            for this_instant in ordered
            if this_instant.is_failure and this_instant.time_s == instant.time_s
        }
        before = earlier_rate(curve, instant.time_s) if curve.times[0] < instant.time_s < curve.end_s else None
        if before:
            up = [bps for path, bps in capacities.items() if not links[path] & down]
            best = max(up or capacities.values(), default=before)
            until = min((time for time in failures if time > instant.time_s), default=curve.end_s)
            back = (
                this_instant.time_s
                for this_instant in ordered
                if not this_instant.is_failure and this_instant.place == instant.place
            )
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
    return usable_delivery(subject.recording, subject.ends) if instants(subject.recording) else None


def measured_episodes(subject: Subject) -> list[tuple[Delivery, Episode]]:
    """Return the episodes of a workload, each with its delivery."""
    curve, found_instants = subject.compute_once(usable_curve), instants(subject.recording)
    return (
        [(curve, episode) for episode in episodes(curve, found_instants, *_paths(subject))] if curve is not None else []
    )


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


_entry = partial(Metric, section="failures", unit="s", of_failures=True, source="reads of the receiver")

METRICS = (
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
