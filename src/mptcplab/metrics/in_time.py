# SPDX-License-Identifier: MIT
"""The delivery that a listener or viewer had over time: the messages of a call or stream that arrived in time.

Bytes say little of these: what an interruption held up arrives in one burst, which gives a second its rate, and nobody
can play it any more. So each message counts at the instant at which it was due to be sent, and for the time to the next
one; a late or lost message is silence. The listener hears that later by as much as its buffer holds, which may be
seconds, but not for longer. Counted there, a failure would seem to interrupt nothing at first.
"""

from __future__ import annotations

from mptcplab.lazy import np
from mptcplab.metrics.delivery import Delivery, delivery, sent_until_s
from mptcplab.metrics.ends import Ends
from mptcplab.recording.record import Recording
from mptcplab.workload.outputs import TimedMessages
from mptcplab.workload.recorded import read_workload
from mptcplab.workload.registry import workload_of


def usable_delivery(recording: Recording, ends: Ends) -> Delivery | None:
    """Return what was of use for a workload: messages in time, or else all data that arrived, until it was sent."""
    messages = workload_of(read_workload(recording, ends.workload)).timed_messages(recording, ends.workload)
    if messages is not None:
        return timely_delivery(messages)
    curve = delivery(recording, ends)
    return curve.until_sent(sent_until_s(recording, ends)) if curve is not None else None


def timely_delivery(messages: TimedMessages) -> Delivery | None:
    """Return the delivery of the messages that arrived in time; None without any message.

    Its pauses are exact: they begin where the first message is missing, and end where one is there again. The last one
    is none if it had not ended with the last message.
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
