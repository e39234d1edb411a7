# SPDX-License-Identifier: MIT
"""The delivery of a workload over time: bytes, messages, responses; and the fairness of rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from mptcplab.lazy import Numbers, np, pl
from mptcplab.metrics.subflows import Ends, SocketSample, ends_of, read_samples, workload_samples
from mptcplab.recording.record import Recording
from mptcplab.stats import jain_index
from mptcplab.workload.outputs import NS, TimedMessages, read_responses, read_terminations
from mptcplab.workload.recorded import client_program, read_programs, read_workload, read_workloads, read_zero_ns
from mptcplab.workload.registry import workload_of

# Bytes that the receiver of a workload had over time, and their rate after a failure.
#
# For programs that report their own sockets, these are the bytes that the application has read; for others, the sum of
# the bytes that the host's subflows have received in order. Times are in seconds from the plan's time zero.

_NS_PER_S = 1e9
_BITS = 8
#: The rate before a failure is the mean over ``BEFORE_S``. It has recovered once the mean over a window is
#: ``RECOVERED_SHARE`` of it.
BEFORE_S = 5.0
WINDOW_S = 1.0
RECOVERED_SHARE = 0.9


@dataclass(frozen=True)
class Delivery:
    """Bytes that had arrived at ``times``. ``pauses`` has the begin and end of the longest pause of every sample.

    Pauses are exact, and known only if the receiver reports them and had one connection. ``sent_until_s`` is the time
    at which the sender's application wrote its last data, None if it does not report that. If it ``is_messages``, each
    message counts for the time until the next one.
    """

    times: Numbers
    total: Numbers
    pauses: Numbers | None = None
    sent_until_s: float | None = None
    is_messages: bool = False

    @property
    def end_s(self) -> float:
        """The time of the last sample."""
        return float(self.times[-1])

    def with_sent_until(self, time_s: float | None) -> Delivery:
        """Return this delivery of data that was sent until then."""
        return replace(self, sent_until_s=time_s)

    @cached_property
    def growth_times(self) -> Numbers:
        """The times of the samples with new data."""
        return self.times[np.flatnonzero(np.diff(self.total, prepend=0.0) > 0)]

    @property
    def active_until_s(self) -> float:
        """The time of the last data that arrived or was sent: after that, the workload may just have been complete."""
        times = self.growth_times
        arrived_s = float(times[-1]) if len(times) else -math.inf
        return arrived_s if self.sent_until_s is None else max(arrived_s, self.sent_until_s)

    def can_observe_recovery(self, instant_s: float, until_s: float) -> bool:
        """Return whether a recovery by ``until_s`` would be seen: whether a window of data fits between the times."""
        return instant_s + WINDOW_S <= min(until_s, self.active_until_s)

    def rate(self, begin_s: float, end_s: float) -> float:
        """Return the mean in bit/s between two times; before the first sample and after the last it is zero."""
        arrived = np.interp([begin_s, end_s], self.times, self.total, left=0.0)
        return float(_BITS * (arrived[1] - arrived[0]) / (end_s - begin_s))

    def rates(self, begins_s: Numbers, window_s: float) -> Numbers:
        """Return the mean in bit/s over each of the windows that begin at these times."""
        begin, end = (np.interp(times, self.times, self.total, left=0.0) for times in (begins_s, begins_s + window_s))
        return np.asarray(_BITS * (end - begin) / window_s)


def compute_earlier_rate(delivery: Delivery, instant_s: float) -> float | None:
    """Return the mean rate in the 5 s before an instant, or since the first sample; None if that is later."""
    begin = max(instant_s - BEFORE_S, float(delivery.times[0]))
    return delivery.rate(begin, instant_s) if begin < instant_s else None


def compute_recovery_s(
    delivery: Delivery, instant_s: float, level_bps: float, until_s: float, *, window_s: float = WINDOW_S
) -> float | None:
    """Return the time from ``instant_s`` to the first window whose mean rate is at least ``level_bps``.

    Windows begin at the instant and at every sample after it, and end before ``until_s``. The time is 0 if the rate
    never fell, and None if it did not recover. Of messages, the window begins with a message that arrived.
    """
    later = delivery.times[(delivery.times > instant_s) & (delivery.times + window_s <= until_s)]
    begins = np.concatenate(([instant_s], later)) if instant_s + window_s <= until_s else later
    recovered = np.flatnonzero(delivery.rates(begins, window_s) >= level_bps)
    if not len(recovered):
        return None
    begin = float(begins[recovered[0]])
    return (_find_data_time(delivery, begin) if delivery.is_messages else begin) - instant_s


def _find_data_time(delivery: Delivery, time_s: float) -> float:
    """Return the first time from an instant on at which data arrives."""
    starts = delivery.times[:-1][(np.diff(delivery.total) > 0) & (delivery.times[1:] > time_s)]
    return max(time_s, float(starts[0])) if len(starts) else time_s


def find_pauses(delivery: Delivery, begin_s: float, until_s: float) -> Numbers:
    """Return the begin and end of each known time without data that overlaps a span."""
    times = delivery.growth_times
    pauses = delivery.pauses if delivery.pauses is not None else np.stack((times[:-1], times[1:]), axis=1)
    return pauses[(pauses[:, 1] > begin_s) & (pauses[:, 0] < until_s)]


def compute_gap_s(delivery: Delivery, begin_s: float, until_s: float) -> float | None:
    """Return the longest time without data that overlaps a span, in s.

    It is taken from the pauses that the receiver reports. Without them, it is the time between two consecutive samples
    with new data, which is wrong by at most one sampling interval. It is infinity if the longest had not ended when the
    run did, and None if no two reads around the span are known.
    """
    overlapping = find_pauses(delivery, begin_s, until_s)
    longest = float((overlapping[:, 1] - overlapping[:, 0]).max()) if len(overlapping) else None
    times = delivery.growth_times
    if delivery.sent_until_s is not None and until_s >= delivery.end_s and len(times):
        # Data was sent after the last arrival. The end of the data itself is not a gap.
        waited = delivery.sent_until_s - float(times[-1])
        return math.inf if waited > 0 and (longest is None or waited > longest) else longest
    return longest


def read_delivery(recording: Recording, ends: Ends) -> Delivery | None:
    """Return the delivery of a workload; None if nothing was sampled."""
    return _read_sampled(recording, ends) if ends.receiving is None else _read_reported(recording, ends.receiving)


def read_sent_until_s(recording: Recording, ends: Ends) -> float | None:
    """Return the time at which the sender's application wrote its last data, in s; None if it does not report that."""
    if ends.sending is None:
        return None
    known = [end.last_ns for end in read_terminations(recording, ends.sending) if end.last_ns is not None]
    return (max(known) - read_zero_ns(recording)) / _NS_PER_S if known else None


def _read_reported(recording: Recording, program: str) -> Delivery | None:
    table = recording.connections
    if not table.height or "total" not in table.columns:
        return None
    reported = table.lazy().filter((pl.col("program") == program) & pl.col("total").is_not_null())
    rows = reported.sort("time_ns", maintain_order=True).collect()
    if not rows.height:
        return None
    is_one = rows["conn"].n_unique() == 1
    groups = [rows] if is_one else [each for _, each in rows.group_by("conn", maintain_order=True)]
    curves = [_build_curve(each, "total") for each in groups]
    added = _add_curves(curves)
    return added if len(curves) > 1 else Delivery(added.times, added.total, _read_pauses(rows))


def _read_pauses(rows: pl.DataFrame) -> Numbers | None:
    """Return the pauses of ``rows``; None if they have none: the column may exist for another workload."""
    if "pause_ns" not in rows.columns:
        return None
    known = rows.filter(pl.col("pause_ns").is_not_null())
    if not known.height:
        return None
    begins = known["pause_at_ns"].to_numpy().astype(float) / _NS_PER_S
    return np.stack((begins, begins + known["pause_ns"].to_numpy().astype(float) / _NS_PER_S), axis=1)


def _read_sampled(recording: Recording, ends: Ends) -> Delivery | None:
    """Return the delivery on the receiving host's sockets that belong to connections to the workload's server."""
    table = recording.subflows
    if not table.height:
        return None
    rows = table.filter(pl.col("node") == ends.receiver)
    if "program" in rows.columns:
        rows = rows.filter(pl.col("program").is_null())
    rows = rows.sort("time_ns", maintain_order=True)
    curves = {}
    last: list[SocketSample] = []
    for (local, remote), each in rows.drop_nulls("bytes_received").group_by("local", "remote", maintain_order=True):
        curves[local, remote] = _build_curve(each, "bytes_received")
        last += read_samples(each.tail(1))
    of_workload = workload_samples(last, recording, ends, ends.receiver, None)
    chosen = [curves[sample.local, sample.remote] for sample in of_workload]
    return _add_curves(chosen) if chosen else None


def _build_curve(rows: pl.DataFrame, column: str) -> tuple[Numbers, Numbers]:
    times = rows["time_ns"].to_numpy().astype(float) / _NS_PER_S
    return times, rows[column].to_numpy().astype(float)


def _add_curves(curves: Sequence[tuple[Numbers, Numbers]]) -> Delivery:
    times = np.sort(np.concatenate([times for times, _ in curves]))
    times = times[np.diff(times, prepend=-math.inf) > 0]  # `np.unique` would import numpy.ma, which takes 20 ms
    total = sum((np.interp(times, *curve, left=0.0) for curve in curves), np.zeros(len(times)))
    return Delivery(times, total)


# The delivery that a listener or viewer had over time: the messages of a call or stream that arrived in time.
#
# Bytes say little of these: what an interruption held up arrives in one burst, which gives a second its rate, and
# nobody can play it any more. So each message counts at the instant at which it was due to be sent, and for the time
# to the next one; a late or lost message is silence. The listener hears that later by as much as its buffer holds,
# which may be seconds, but not for longer. Counted there, a failure would seem to interrupt nothing at first.


def read_usable_delivery(recording: Recording, ends: Ends) -> Delivery | None:
    """Return what was of use for a workload: messages in time, or else all data that arrived, until it was sent."""
    messages = workload_of(read_workload(recording, ends.workload)).timed_messages(recording, ends.workload)
    if messages is not None:
        return build_timely_delivery(messages)
    curve = read_delivery(recording, ends)
    return curve.with_sent_until(read_sent_until_s(recording, ends)) if curve is not None else None


def build_timely_delivery(messages: TimedMessages) -> Delivery | None:
    """Return the delivery of the messages that arrived in time; None without any message.

    Its pauses are exact: they begin with the first missing message, and end with the next that arrived. The last
    silence does not count if it lasts to the end.
    """
    punctual = np.array(messages.delay_ms) <= messages.latest_ms
    due = np.concatenate((messages.due_s, messages.lost_s))
    order = np.argsort(due)
    due, heard = due[order], np.concatenate((punctual, np.zeros(len(messages.lost_s), dtype=bool)))[order]
    if not len(due):
        return None
    times = np.append(due, due[-1] + messages.interval_s)
    total = np.concatenate(([0.0], np.cumsum(heard * float(messages.size))))
    # Silence begins with a missing message after a present one, and ends with the next present one.
    steps = np.flatnonzero(np.diff(np.concatenate(([1], heard, [1]))))
    pauses = times[steps].reshape(-1, 2)
    return Delivery(times, total, pauses[pauses[:, 1] < times[-1]], float(times[-1]), is_messages=True)


# Fairness over time: Jain's index of the goodputs of concurrent workloads, window by window.
#
# An index over the whole run is 1 even if two workloads take turns of a minute each. This one is not.


def compute_jain_over_time(
    curves: Sequence[Delivery], begin_s: float, end_s: float, *, window_s: float = WINDOW_S
) -> Numbers:
    """Return the index in each whole window from ``begin_s`` to ``end_s``, without windows in which no data arrived."""
    edges = begin_s + window_s * np.arange(int((end_s - begin_s) / window_s + 1e-9) + 1)
    received = np.array([np.diff(np.interp(edges, curve.times, curve.total, left=0.0)) for curve in curves])
    return np.array([jain_index(list(window)) for window in received.T if window.any()])


def find_common_span_s(recording: Recording) -> tuple[float, float] | None:
    """Return the time span in which all workloads of a run ran, in s; None if there is none, or one workload only."""
    clients = {client_program(workload.name) for workload in read_workloads(recording)}
    programs = [program for program in read_programs(recording) if program.name in clients]
    spans = [span for program in programs if (span := program.span_ns) is not None]
    begin, end = max((start for start, _ in spans), default=0), min((end for _, end in spans), default=0)
    return (begin / 1e9, end / 1e9) if len(spans) > 1 and begin < end else None


def compute_mean_jain_over_time(recording: Recording, begin_s: float, end_s: float) -> float | None:
    """Return the mean index over the windows of a span in which all workloads ran; None if it is unknown."""
    curves = [read_delivery(recording, ends) for ends in ends_of(recording)]
    known = [curve for curve in curves if curve is not None]
    if len(known) < 2 or len(known) < len(curves):
        return None
    values = compute_jain_over_time(known, begin_s, end_s)
    return float(values.mean()) if len(values) else None


# When the requests of a workload were made and answered.


def read_request_times(recording: Recording, ends: Ends) -> list[tuple[float, float]]:
    """Return when each answered request was made and when its answer was complete, in s from the plan's time zero.

    Empty for workloads without requests, or whose programs do not report them.
    """
    answers = read_responses(recording, ends.receiving) if ends.receiving is not None else []
    zero_ns = read_zero_ns(recording) if answers else 0
    return [((answer.asked_ns - zero_ns) / NS, (answer.t_ns - zero_ns) / NS) for answer in answers]
