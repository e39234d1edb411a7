# SPDX-License-Identifier: MIT
"""The effect of failures on a workload: the longest time without data, and the time until the earlier rate was back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from mptcplab.metrics.column import Display
from mptcplab.metrics.delivery import (
    BACK,
    Delivery,
    delivery,
    earlier_rate,
    gap_s,
    recovery_s,
    sent_until_s,
)
from mptcplab.metrics.ends import Ends
from mptcplab.metrics.in_time import usable_delivery
from mptcplab.metrics.instants import Instant, follows_trace, instants
from mptcplab.metrics.metric import Metric, Subject
from mptcplab.recording.record import Recording


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
    found_instants = instants(recording)
    curve = delivery(recording, ends) if found_instants else None
    if curve is None:
        return []
    of_data = recoveries(curve.until_sent(sent_until_s(recording, ends)), found_instants)
    usable = usable_delivery(recording, ends)
    if usable is None or not usable.is_messages:
        return of_data
    # A gap is one of all data. What came too late has no part in a rate.
    of_messages = {recovery.at: recovery for recovery in recoveries(usable, found_instants)}
    lacking = Recovery(found_instants[0], 0.0, None, None, has_time=False)
    return [
        replace(of_messages.get(recovery.at, lacking), at=recovery.at, gap_s=recovery.gap_s) for recovery in of_data
    ]


def recoveries(delivery: Delivery, instants: Sequence[Instant]) -> list[Recovery]:
    """Return the effect of each instant while the workload ran.

    A restoration is compared with the rate before its failure. Instants before the first data and after the last are
    left out, as are restorations without a failure.
    """
    ordered = sorted(instants, key=lambda instant: instant.time_s)
    inside = [this_instant for this_instant in ordered if delivery.times[0] < this_instant.time_s < delivery.end_s]
    # Of links that fail or return at the same instant, none ends the time of another.
    ends = [
        next((this_instant.time_s for this_instant in inside if this_instant.time_s > at.time_s), delivery.end_s)
        for at in inside
    ]
    levels: dict[str, float] = {}
    found_recoveries = []
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
            found_recoveries.append(
                Recovery(instant, level, recovered, gap_s(delivery, instant.time_s, until_s), has_time)
            )
    return found_recoveries


def recovery_metrics(metrics: Sequence[Recovery]) -> dict[str, float]:
    """Return the longest gap and recovery times. They are infinity if the rate did not recover each time.

    The gap is infinity if one had not ended when the run did. Without a known one there is none.
    """
    gaps = [recovery.gap_s for recovery in metrics if recovery.gap_s is not None]
    values = {"gap_s": max(gaps)} if gaps else {}
    for name, is_failure in (("recovery_after_failure_s", True), ("recovery_after_restoration_s", False)):
        times = [
            recovery.recovery_s for recovery in metrics if recovery.at.is_failure == is_failure and recovery.has_time
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
        display=Display(never_alone=False, axis="recovery after the failure"),
    ),
    _entry(
        name="recovery_after_restoration_s",
        noun="restored",
        definition="time from the return of the link or gateway until the earlier rate was back",
        value=lambda subject: _recovery_time(subject, "recovery_after_restoration_s"),
        display=Display(axis="recovery after the restoration"),
    ),
)
