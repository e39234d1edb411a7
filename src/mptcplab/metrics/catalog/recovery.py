# SPDX-License-Identifier: MIT
"""The effect of failures on a workload: the longest gap in its data, and the time until its rate recovers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from mptcplab.metrics.column import LAST, Display, Metric, Subject
from mptcplab.metrics.delivery import (
    RECOVERED_SHARE,
    Delivery,
    compute_earlier_rate,
    compute_gap_s,
    compute_recovery_s,
    read_delivery,
    read_sent_until_s,
    read_usable_delivery,
)
from mptcplab.metrics.instants import Instant, follows_trace, read_instants
from mptcplab.metrics.subflows import Ends
from mptcplab.recording.record import Recording


@dataclass(frozen=True)
class Recovery:
    """The effect of one failure or restoration.

    ``level_bps`` is the rate that counts as recovered: 90 % of the mean before the failure. ``recovery_s`` is None if
    it was not reached before the next instant. ``gap_s`` is the longest time without data up to the next instant:
    infinity if it had not ended when the run did, None if unknown. ``can_observe_recovery`` is False if the next
    instant, or the end of the data, came too soon to see whether the rate recovered.
    """

    at: Instant
    level_bps: float
    recovery_s: float | None
    gap_s: float | None
    can_observe_recovery: bool = True


def workload_recoveries(recording: Recording, ends: Ends) -> list[Recovery]:
    """Return the effects of all failures and restorations of links and gateways on a workload."""
    changes = read_instants(recording)
    curve = read_delivery(recording, ends) if changes else None
    if curve is None:
        return []
    of_data = find_recoveries(curve.with_sent_until(read_sent_until_s(recording, ends)), changes)
    usable = read_usable_delivery(recording, ends)
    if usable is None or not usable.is_messages:
        return of_data
    # All data counts for a gap, but only messages in time for a rate.
    of_messages = {recovery.at: recovery for recovery in find_recoveries(usable, changes)}
    unknown = Recovery(changes[0], 0.0, None, None, can_observe_recovery=False)
    return [
        replace(of_messages.get(recovery.at, unknown), at=recovery.at, gap_s=recovery.gap_s) for recovery in of_data
    ]


def find_recoveries(delivery: Delivery, instants: Sequence[Instant]) -> list[Recovery]:
    """Return the effect of each instant while the workload ran.

    A restoration is compared with the rate before its failure. Instants before the first data and after the last are
    left out, as are restorations without a failure.
    """
    ordered = sorted(instants, key=lambda instant: instant.time_s)
    inside = [other for other in ordered if delivery.times[0] < other.time_s < delivery.end_s]
    # Links that fail or return at the same instant do not end the time of each other.
    ends_s = [next((other.time_s for other in inside if other.time_s > at.time_s), delivery.end_s) for at in inside]
    levels: dict[str, float] = {}
    result = []
    for instant, until_s in zip(inside, ends_s, strict=True):
        if instant.is_failure:
            levels.pop(instant.place, None)
            before = compute_earlier_rate(delivery, instant.time_s)
            if before is not None and before > 0:
                levels[instant.place] = RECOVERED_SHARE * before
        level = levels.get(instant.place)
        if level is not None:
            recovery_s = compute_recovery_s(delivery, instant.time_s, level, until_s)
            gap_s = compute_gap_s(delivery, instant.time_s, until_s)
            is_observed = recovery_s is not None or delivery.can_observe_recovery(instant.time_s, until_s)
            result.append(Recovery(instant, level, recovery_s, gap_s, is_observed))
    return result


def compute_recovery_metrics(recoveries: Sequence[Recovery]) -> dict[str, float]:
    """Return the longest gap and recovery times. They are infinity if the rate did not recover each time.

    The gap is infinity if one had not ended when the run did, and absent if none is known.
    """
    gaps = [recovery.gap_s for recovery in recoveries if recovery.gap_s is not None]
    values = {"gap_s": max(gaps)} if gaps else {}
    for name, is_failure in (("recovery_after_failure_s", True), ("recovery_after_restoration_s", False)):
        times = [
            recovery.recovery_s
            for recovery in recoveries
            if recovery.at.is_failure == is_failure and recovery.can_observe_recovery
        ]
        if times:
            values[name] = max(math.inf if time is None else time for time in times)
    return values


def _compute_metrics(subject: Subject) -> dict[str, float]:
    return compute_recovery_metrics(workload_recoveries(subject.recording, subject.ends))


def _recovery_time(subject: Subject, name: str) -> float | None:
    """Return a recovery time; None where a trace sets other rates than those before the failure."""
    return (
        None
        if follows_trace(subject.recording, subject.ends.workload)
        else subject.compute_once(_compute_metrics).get(name)
    )


def _longest_gap(subject: Subject) -> float | None:
    if subject.sockets.use.with_mptcp and subject.ends.receiving is None:
        # Sampled sockets only show subflows: data of one may still wait for data of another.
        return None
    return subject.compute_once(_compute_metrics).get("gap_s")


#: Make a metric of the section on failures; :mod:`mptcplab.metrics.catalog.outages` has the others.
failure_metric = partial(Metric, section="failures", unit="s", of_failures=True, source="reads of the receiver")
#: Tables have these before the metrics of outages.
_ORDER = LAST - 1

METRICS = (
    failure_metric(
        name="gap_s",
        noun="gap",
        definition="the longest time without data around a failure or restoration",
        value=_longest_gap,
        display=Display(order=_ORDER, never="no end", axis="longest gap without data"),
    ),
    failure_metric(
        name="recovery_after_failure_s",
        noun="recovered",
        definition="time until the earlier rate was back, with the link or gateway still down",
        value=lambda subject: _recovery_time(subject, "recovery_after_failure_s"),
        display=Display(order=_ORDER, shown_without_values=False, axis="recovery after the failure"),
    ),
    failure_metric(
        name="recovery_after_restoration_s",
        noun="restored",
        definition="time from the return of the link or gateway until the earlier rate was back",
        value=lambda subject: _recovery_time(subject, "recovery_after_restoration_s"),
        display=Display(order=_ORDER, axis="recovery after the restoration"),
    ),
)
