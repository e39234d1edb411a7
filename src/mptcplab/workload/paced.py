# SPDX-License-Identifier: MIT
"""What streams, calls and cross traffic have in common: ``tools/flow`` sends messages at their times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.errors import LabError
from mptcplab.fields import Time, idle, invalid
from mptcplab.recording.record import Recording
from mptcplab.steps import Call, Program
from mptcplab.units import Duration
from mptcplab.workload import cost
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.context import FLOW, Context, client, server, socket_options
from mptcplab.workload.messages import Message, messages
from mptcplab.workload.outputs import NS, Reading, events

#: What messages need for their number and time, and what a datagram of a full packet holds.
MIN_PACKET, MAX_DATAGRAM = 16, 1472
_MAX_PACKET = 65000


class TimedWorkload(WorkloadBase):
    """What sends messages of one size at their times, whether or not they get through."""

    samples_itself = True
    smallest: ClassVar[Mapping[str, Any]] = {"duration": "1 s"}

    duration: Time = Field(description="send for this long", examples=["10 s"])

    @property
    def advances_time(self) -> bool:
        return True

    @model_validator(mode="after")
    def _goal(self) -> TimedWorkload:
        self._check_goal(self.duration, None)
        return self

    def programs(self, name: str, context: Context) -> Iterator[Program]:
        """A server that ends after its connection, and the client that says what is sent, by whom."""
        yield server(name, self, Call((FLOW, "server", *self._common(context, serves=True))))
        where = ("--connect", context.address)
        what = ("--seconds", self.duration.decimal_seconds, *self._messages())
        seed = ("--seed", str(context.seed))
        yield client(name, self, Call((FLOW, "client", *where, *what, *seed, *self._common(context, serves=False))))

    def _common(self, context: Context, *, serves: bool) -> Iterator[str]:
        yield from ("--port", str(context.port))
        own = self.only_protocol or getattr(self, "protocol", None)
        protocol = own or (context.server_protocol if serves else context.client_protocol)
        if protocol == "udp":
            yield "--udp"
        else:
            yield from socket_options(self, protocol)
        if serves:
            yield from ("--connections", "1")
        yield from context.sampling

    def _messages(self) -> Iterator[str]:
        """Return what ``flow`` takes for their sizes and times."""
        raise NotImplementedError

    def _count(self) -> float:
        """Return about how many are sent."""
        raise NotImplementedError

    def cpu_seconds(self, capacity_bps: float) -> float:  # noqa: ARG002
        """See the base class."""
        return cost.messages(self._count())

    @classmethod
    def read(cls, recording: Recording, name: str, described: Mapping[str, Any]) -> Reading:
        """What arrived, over the duration that was asked for, or longer if the last message came later."""
        sides = (f"{name}.client", f"{name}.server")
        sending, receiving = reversed(sides) if described.get("reverse") else sides
        (sender,), received = events(recording, sending, "end"), events(recording, receiving, "end")
        if not received and events(recording, receiving, "start"):
            raise LabError(f"{name}: the receiver's report has no end", hint=f"see out/{receiving}.out")
        # A receiver that says nothing at all has got nothing.
        report: Mapping[str, Any] = received[0] if received else {"bytes": 0, "messages": 0, "last_ns": None}
        began = int(sender["first_ns"])
        finished = int(report["last_ns"] or began)
        # The last message's turn ends with the duration: a stream that lost nothing has the rate that was asked for.
        elapsed = max(int(Duration.parse(described["duration"])), finished - began) / NS
        metrics = cls._metrics(recording, receiving, described, int(sender["messages"]), report)
        return Reading(8 * int(report["bytes"]) / elapsed, elapsed, metrics)

    @classmethod
    def _metrics(
        cls, recording: Recording, receiver: str, described: Mapping[str, Any], sent: int, report: Mapping[str, Any]
    ) -> dict[str, float]:
        """Return what became of the ``sent`` messages; ``report`` is the last event of the receiver's output."""
        raise NotImplementedError


class PacedWorkload(TimedWorkload):
    """Messages whose receiver tells how long each took."""

    protocol: Literal["mptcp", "tcp", "udp"] | None = Field(
        default=None, description="of its sockets; left out: what the hosts' transport says"
    )
    reverse: bool = False

    @model_validator(mode="after")
    def _udp_has_no_algorithms(self) -> PacedWorkload:
        for key in ("congestion_control", "scheduler") if self.protocol == "udp" else ():
            if getattr(self, key) is not None:
                raise idle("does nothing over UDP", "remove it, or the protocol", key)
        return self

    def _check_packet(self, size: int, key: str) -> None:
        most = MAX_DATAGRAM if self.protocol == "udp" else _MAX_PACKET
        if not MIN_PACKET <= size <= most:
            word = "small" if size < MIN_PACKET else "large"
            raise invalid(f"is too {word} for a message", f"use from {MIN_PACKET} B to {most} B", key)

    def _options(self, packet: int, interval: Duration) -> Iterator[str]:
        yield from ("--message-bytes", str(packet), "--message-ns", str(int(interval)), "--log")
        if self.reverse:
            yield "--download"

    @staticmethod
    def _arrived(recording: Recording, receiver: str) -> list[Message]:
        return messages(events(recording, receiver, "packets"))
