# SPDX-License-Identifier: MIT
"""Metrics of timed messages: delay, jitter, late and lost messages, and the quality of calls.

A delay is the time from a message's scheduled instant to the read of its last byte. Both hosts of a lab have the same
clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mptcplab.workload.emodel import mean_opinion_score, r_factor
from mptcplab.workload.outputs import Arrivals, percentiles

_MS = 1e6


@dataclass(frozen=True)
class Message:
    """A message that arrived: its number and its delay in ms."""

    number: int
    delay_ms: float


def messages(arrivals: Iterable[Arrivals]) -> list[Message]:
    """Return the messages of a receiver's reports, in the order of arrival, without duplicates."""
    found_messages: dict[int, Message] = {}
    for some in arrivals:
        for number, delay_ns in zip(some.seq, some.delay_ns, strict=True):
            found_messages.setdefault(number, Message(number, delay_ns / _MS))
    return list(found_messages.values())


def delay_metrics(arrived: Sequence[Message], sent: int) -> dict[str, float]:
    """Return delay and jitter of the messages that arrived, and the percentage of ``sent`` that did not."""
    if not sent:
        return {}
    metrics = {"lost_percent": 100 * (1 - len(arrived) / sent)}
    delays = [message.delay_ms for message in arrived]
    if delays:
        metrics["delay_mean_ms"] = sum(delays) / len(delays)
        metrics |= percentiles(delays, "delay", "ms", (50, 95, 99))
        metrics["delay_max_ms"] = max(delays)
    if len(delays) > 1:
        metrics["jitter_ms"] = sum(abs(b - a) for a, b in pairwise(delays)) / (len(delays) - 1)
    return metrics


def stream_metrics(arrived: Sequence[Message], sent: int, deadline_ms: float) -> dict[str, float]:
    """Return :func:`delay_metrics`, and the percentage of ``sent`` that arrived after the deadline."""
    late = sum(message.delay_ms > deadline_ms for message in arrived)
    return {**delay_metrics(arrived, sent), **({"late_percent": 100 * late / sent} if sent else {})}


def call_metrics(arrived: Sequence[Message], sent: int, playout_ms: float, interval_ms: float) -> dict[str, float]:
    """Return :func:`stream_metrics` for a fixed play-out buffer, and the rating of the E-model.

    The first packet to arrive is played ``playout_ms`` later, which sets the play-out times of all others: a packet
    whose delay exceeds the first one's by more than ``playout_ms`` is late, which counts as lost. The mouth-to-ear
    delay is the first packet's delay, the buffer, and the duration of the voice in one packet.
    """
    if not arrived:
        return delay_metrics(arrived, sent)
    until_ms = arrived[0].delay_ms + playout_ms
    metrics = stream_metrics(arrived, sent, until_ms)
    rating = r_factor(until_ms + interval_ms, metrics["lost_percent"] + metrics["late_percent"])
    return {**metrics, "r_factor": rating, "mos": mean_opinion_score(rating)}
