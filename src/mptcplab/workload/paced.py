# SPDX-License-Identifier: MIT
"""The common part of streams, calls and cross traffic: messages at scheduled instants, and their metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.errors import LabError
from mptcplab.fields import Boolean, Time, idle, value_error
from mptcplab.steps import Call, Program
from mptcplab.units import Duration
from mptcplab.workload import cost
from mptcplab.workload.base import REVERSE_ADVICE
from mptcplab.workload.context import FLOW, WorkloadContext, client, server, socket_options
from mptcplab.workload.failures import FlowWorkload
from mptcplab.workload.outputs import (
    NS,
    Arrivals,
    ConnectionTermination,
    Item,
    Items,
    Reading,
    TimedMessages,
    compute_percentiles,
    read_arrivals,
    read_starts,
    read_terminations,
    reading_of_failures,
)
from mptcplab.workload.recorded import client_program, read_zero_ns, server_program

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording


# The quality of a call: the E-model of ITU-T G.107 (06/2015), with its defaults for everything but the network.
#
#     R = Ro - Is - Id - Ie,eff        Ro - Is = 93.2 with all defaults (G.107, 7.7)
#     Id      = 0.024 d + 0.11 (d - 177.3) H(d - 177.3)          d: one-way delay from mouth to ear, ms
#     Ie,eff  = Ie + (95 - Ie) Ppl / (Ppl / BurstR + Bpl)         G.107, 7.5; Ppl: lost packets, %
#
# The formula of Id is from Cole and Rosenbluth, Voice over IP Performance Monitoring, ACM CCR 31(2), 2001, who fitted
# G.107's curve. G.711 has Ie = 0 and, with packet loss concealment, Bpl = 25.1 (G.113, Appendix I). Losses are assumed
# to be random (BurstR = 1).

_UNIMPAIRED = 93.2
_IE, _BPL, _BURST_RATIO = 0.0, 25.1, 1.0
_KNEE_MS = 177.3


def r_factor(delay_ms: float, lost_percent: float) -> float:
    """Return the rating, 0 to 93.2, of a call with this mouth-to-ear delay and this loss, late packets included."""
    delay = 0.024 * delay_ms + 0.11 * max(0.0, delay_ms - _KNEE_MS)
    loss = _IE + (95 - _IE) * lost_percent / (lost_percent / _BURST_RATIO + _BPL)
    return max(0.0, _UNIMPAIRED - delay - loss)


def mean_opinion_score(rating: float) -> float:
    """Return the mean opinion score of a rating (G.107, Annex B), from 1, bad, to 4.5, the best."""
    if rating <= 0:
        return 1.0
    if rating >= 100:
        return 4.5
    # Between 0 and 6.5 the polynomial of Annex B is slightly below 1, the minimum of scores.
    return max(1.0, 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6)


# Metrics of timed messages: delay, jitter, late and lost messages, and the quality of calls.
#
# A delay is the time from a message's scheduled instant to the read of its last byte. Both hosts of a lab have the
# same clock.

_MS = 1e6


@dataclass(frozen=True)
class Message:
    """A message that arrived: its number and its delay in ms."""

    number: int
    delay_ms: float


def messages(arrivals: Iterable[Arrivals]) -> list[Message]:
    """Return the messages of a receiver's reports, in the order of arrival, without duplicates."""
    by_number: dict[int, Message] = {}
    for some in arrivals:
        for number, delay_ns in zip(some.seq, some.delay_ns, strict=True):
            by_number.setdefault(number, Message(number, delay_ns / _MS))
    return list(by_number.values())


def delay_metrics(arrived: Sequence[Message], sent: int) -> dict[str, float]:
    """Return delay and jitter of the messages that arrived, and the percentage of ``sent`` that did not."""
    if not sent:
        return {}
    metrics = {"lost_percent": 100 * (1 - len(arrived) / sent)}
    delays = [message.delay_ms for message in arrived]
    if delays:
        metrics["delay_mean_ms"] = sum(delays) / len(delays)
        metrics |= compute_percentiles(delays, "delay", "ms", (50, 95, 99))
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


# The common part of streams, calls and cross traffic: ``tools/flow`` sends messages at scheduled instants.

#: Bytes for a message's number and time, and the payload of a full-size datagram.
MIN_PACKET, MAX_DATAGRAM = 16, 1472
_MAX_PACKET = 65000


class TimedWorkload(FlowWorkload):
    """A workload that sends messages of one size at scheduled instants, whether or not earlier ones arrive."""

    samples_itself = True
    connects_at_once = True
    example: ClassVar[Mapping[str, Any]] = {"duration": "1 s"}
    advice: ClassVar[Mapping[str, str]] = {"direction": REVERSE_ADVICE}

    if TYPE_CHECKING:
        reverse: bool  # a field of each kind, in its place among the others
    duration: Time = Field(description="time to send for", examples=["10 s"])

    @property
    def advances_time(self) -> bool:
        return True

    @model_validator(mode="after")
    def _goal(self) -> TimedWorkload:
        self._check_goal(self.duration, None)
        return self

    def programs(self, name: str, context: WorkloadContext) -> Iterator[Program]:
        """Yield a server that ends after its connection, and the client, which has the options for both."""
        yield server(name, self, Call((FLOW, "server", *self._common(context, serves=True))))
        options = ("--connect", context.address, "--seconds", self.duration.decimal_seconds, *self._messages())
        seed = ("--seed", str(context.seed))
        yield client(name, self, Call((FLOW, "client", *options, *seed, *self._common(context, serves=False))))

    def _common(self, context: WorkloadContext, *, serves: bool) -> Iterator[str]:
        yield from ("--port", str(context.port))
        only = self.own_protocol
        protocol = only or (context.server_protocol if serves else context.client_protocol)
        if protocol == "udp":
            yield "--udp"
        else:
            yield from socket_options(self, protocol)
        if serves:
            yield from ("--connections", "1")
        yield from context.sampling

    def _messages(self) -> Iterator[str]:
        """Return the options of ``flow`` for the sizes and times of messages."""
        raise NotImplementedError

    def _count(self) -> float:
        """Return the approximate number of messages sent."""
        raise NotImplementedError

    def cpu_seconds(self, capacity_bps: float) -> float:  # noqa: ARG002
        """See the base class."""
        return cost.messages_cpu_seconds(self._count())

    def logged_bytes(self, seconds: float, samples: float, subflows: int) -> float:  # noqa: ARG002
        """See the base class."""
        return cost.sample_log_bytes(samples, subflows) + cost.LOGGED_MESSAGE * self._count()

    def _sides(self, name: str) -> tuple[str, str]:
        """Return the programs that send and receive the messages."""
        client, server = client_program(name), server_program(name)
        return (server, client) if self.reverse else (client, server)

    def read(self, recording: Recording, name: str) -> Reading:
        """Return the received bytes over the configured duration, or longer if the last message arrived later."""
        sending, receiving = self._sides(name)
        sender, received = (
            next(iter(read_terminations(recording, sending)), None),
            read_terminations(recording, receiving),
        )
        if not received and read_starts(recording, receiving):
            raise LabError(f"{name}: the receiver's report has no end", hint=f"see out/{receiving}.out")
        if sender is None or sender.first_ns is None:
            return reading_of_failures(recording, name, self.failed_connections(recording, name))
        # A receiver without output, or without a connection, has received nothing.
        report = ConnectionTermination(conn=0, t_ns=0, bytes=0, messages=0)
        report = next((end for end in received if end.messages is not None), report)
        sent = self._count_sent(recording, name, sender)
        if sent is None:
            raise LabError(f"{name}: the sender's report has no messages", hint=f"see out/{sending}.out")
        finished = report.last_ns or sender.first_ns
        # The last message's interval ends with the duration: a stream without loss has the configured rate.
        elapsed = max(int(self.duration), finished - sender.first_ns) / NS
        metrics = self._metrics(recording, receiving, sent, report)
        return Reading(8 * report.bytes / elapsed, elapsed, metrics)

    def _count_sent(self, recording: Recording, name: str, sender: ConnectionTermination) -> int | None:  # noqa: ARG002
        """Return the number of messages that were sent; None if the sender does not report it."""
        return sender.messages

    def _metrics(
        self, recording: Recording, receiver: str, sent: int, report: ConnectionTermination
    ) -> dict[str, float]:
        """Return the metrics of the ``sent`` messages; ``report`` is the last event of the receiver's output."""
        raise NotImplementedError


class PacedWorkload(TimedWorkload):
    """A workload whose receiver reports the delay of each message."""

    if TYPE_CHECKING:
        interval: Duration  # a field of each kind, with a default of its own
    protocol: Literal["mptcp", "tcp", "udp"] | None = Field(
        default=None, description="protocol of its sockets; default: as in each host's transport"
    )
    reverse: Boolean = False

    @model_validator(mode="after")
    def _udp_has_no_algorithms(self) -> PacedWorkload:
        for key in ("congestion_control", "scheduler") if self.protocol == "udp" else ():
            if getattr(self, key) is not None:
                raise idle("does nothing over UDP", "remove it, or use another protocol", key)
        return self

    def _count_sent(self, recording: Recording, name: str, sender: ConnectionTermination) -> int | None:
        """See the base class. What was due after the connection had failed counts as sent: it is lost, too."""
        if sender.messages is None or not self.failed_connections(recording, name).failed:
            return sender.messages
        return max(sender.messages, -(-int(self.duration) // int(self.interval)))

    def _check_packet(self, size: int, key: str) -> None:
        upper = MAX_DATAGRAM if self.protocol == "udp" else _MAX_PACKET
        if not MIN_PACKET <= size <= upper:
            word = "small" if size < MIN_PACKET else "large"
            raise value_error(f"is too {word} for a message", f"use from {MIN_PACKET} B to {upper} B", key)

    def _options(self, packet: int, interval: Duration) -> Iterator[str]:
        yield from ("--message-bytes", str(packet), "--message-ns", str(int(interval)), "--log")
        if self.reverse:
            yield "--download"

    def items(self, recording: Recording, name: str) -> Items:
        """See the base class; delays of the messages that arrived."""
        arrived = self._read_messages(recording, self._sides(name)[1])
        return Items("messages", "delay", "ms", tuple(Item(message.number, message.delay_ms) for message in arrived))

    def timed_messages(self, recording: Recording, name: str) -> TimedMessages | None:
        """See the base class; the first message is due when sending begins."""
        sending, receiving = self._sides(name)
        terminations = read_terminations(recording, sending)
        if not terminations or terminations[0].first_ns is None:
            return None
        sent = self._count_sent(recording, name, terminations[0])
        if sent is None:
            return None
        begun_s = (terminations[0].first_ns - read_zero_ns(recording)) / NS
        interval_s = int(self.interval) / NS
        arrived = self._read_messages(recording, receiving)
        lost = sorted(set(range(sent)) - {message.number for message in arrived})
        return TimedMessages(
            tuple(begun_s + interval_s * message.number for message in arrived),
            tuple(message.delay_ms for message in arrived),
            tuple(begun_s + interval_s * number for number in lost),
            self._latest_ms(arrived),
            interval_s,
            self._size(),
        )

    def _latest_ms(self, arrived: Sequence[Message]) -> float:
        """Return the largest delay in ms of a message that is not late."""
        raise NotImplementedError

    def _size(self) -> int:
        """Return the bytes of each message."""
        raise NotImplementedError

    @staticmethod
    def _read_messages(recording: Recording, receiver: str) -> list[Message]:
        return messages(read_arrivals(recording, receiver))
