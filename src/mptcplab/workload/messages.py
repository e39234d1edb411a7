# SPDX-License-Identifier: MIT
"""Messages at their times: delay, jitter, what was late or lost, and what a call was like.

Delays count from the instant at which a message was to be sent to that at which its last byte was read. Both hosts of
a lab have the same clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from mptcplab.workload.emodel import mean_opinion_score, r_factor
from mptcplab.workload.outputs import percentiles

_MS = 1e6


@dataclass(frozen=True)
class Message:
    """One that arrived: its number, and how long it took in ms."""

    number: int
    delay_ms: float


def messages(events: Sequence[Mapping[str, Any]]) -> list[Message]:
    """From a receiver's ``packets`` events, in the order of arrival; copies of what was there are left out."""
    found: dict[int, Message] = {}
    for event in events:
        for number, delay_ns in zip(event["seq"], event["delay_ns"], strict=True):
            found.setdefault(number, Message(number, delay_ns / _MS))
    return list(found.values())


def delay_metrics(arrived: Sequence[Message], sent: int) -> dict[str, float]:
    """Delay of what arrived, jitter, and the part of ``sent`` that did not arrive."""
    if not sent:
        return {}
    metrics = {"lost_percent": 100 * (1 - len(arrived) / sent)}
    delays = [one.delay_ms for one in arrived]
    if delays:
        metrics["delay_mean_ms"] = sum(delays) / len(delays)
        metrics |= percentiles(delays, "delay", "ms", (50, 95, 99))
        metrics["delay_max_ms"] = max(delays)
    if len(delays) > 1:
        metrics["jitter_ms"] = sum(abs(b - a) for a, b in pairwise(delays)) / (len(delays) - 1)
    return metrics


def stream_metrics(arrived: Sequence[Message], sent: int, deadline_ms: float) -> dict[str, float]:
    """As above, and the part of ``sent`` that arrived after the deadline."""
    late = sum(one.delay_ms > deadline_ms for one in arrived)
    return {**delay_metrics(arrived, sent), **({"late_percent": 100 * late / sent} if sent else {})}


def call_metrics(arrived: Sequence[Message], sent: int, playout_ms: float, interval_ms: float) -> dict[str, float]:
    """As above, against a fixed play-out buffer, and what the E-model says.

    The first packet that arrives is played ``playout_ms`` later, and with it the clock of all others is set: a packet
    that takes more than ``playout_ms`` longer than the first is late, and as good as lost. From mouth to ear it takes
    the first packet's delay, the buffer, and the time that the voice of one packet takes to speak.
    """
    if not arrived:
        return delay_metrics(arrived, sent)
    until_ms = arrived[0].delay_ms + playout_ms
    metrics = stream_metrics(arrived, sent, until_ms)
    rating = r_factor(until_ms + interval_ms, metrics["lost_percent"] + metrics["late_percent"])
    return {**metrics, "r_factor": rating, "mos": mean_opinion_score(rating)}
