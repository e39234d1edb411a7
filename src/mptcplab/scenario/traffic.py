# SPDX-License-Identifier: MIT
"""Workloads that do not send as fast as they can: streams, calls, cross traffic, requests, short flows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from mptcplab.scenario.types import Number, Time, Whole, fault, whole_units
from mptcplab.scenario.workloads import WorkloadBase
from mptcplab.units import Duration, Rate, Size

#: What messages need for their number and time, and what a datagram of a full packet holds.
_LEAST_PACKET, _MOST_PACKET, _MOST_DATAGRAM = 16, 65000, 1472
_MOST_FLOWS = 20_000
_SHAPES = {"pareto": 1.2, "lognormal": 1.0}

Microseconds = Annotated[Time, whole_units(Duration(1000), "microseconds")]
Sizes = Literal["fixed", "exponential", "pareto", "lognormal"]
Times = Literal["exponential", "fixed"]


class Paced(WorkloadBase):
    """What sends messages of one size at their times, whether or not they get through."""

    duration: Time = Field(description="send for this long", examples=["10 s"])
    protocol: Literal["mptcp", "tcp", "udp"] | None = Field(
        default=None, description="of its sockets; left out: what the hosts' transport says"
    )
    direction: Literal["upload", "download"] = "upload"

    @property
    def keeps_time(self) -> bool:
        return True

    @model_validator(mode="after")
    def _goal(self) -> Paced:
        self._check_goal(self.duration, None)
        return self

    @model_validator(mode="after")
    def _udp_has_no_algorithms(self) -> Paced:
        for key in ("congestion_control", "scheduler") if self.protocol == "udp" else ():
            if getattr(self, key) is not None:
                raise fault("does nothing over UDP", "remove it, or the protocol", key)
        return self

    def _check_packet(self, size: int, key: str) -> None:
        most = _MOST_DATAGRAM if self.protocol == "udp" else _MOST_PACKET
        if not _LEAST_PACKET <= size <= most:
            word = "small" if size < _LEAST_PACKET else "large"
            raise fault(f"is too {word} for a message", f"use from {_LEAST_PACKET} B to {most} B", key)


class Stream(Paced):
    """A message of one size at constant intervals, as of a camera or a sensor."""

    kind: Literal["stream"]
    packet: Size = Field(default=Size(1200), description="payload of each message")
    interval: Time = Field(default=Duration(10**7), description="from one message to the next")
    deadline: Time = Field(default=Duration(150 * 10**6), description="what takes longer is late")

    @model_validator(mode="after")
    def _messages(self) -> Stream:
        self._check_packet(self.packet, "packet")
        if self.interval < 1000:
            raise fault("is too short", "use at least 1 us", "interval")
        return self


class Voip(Paced):
    """One direction of a call with G.711: 64 kbit/s of voice, and RTP's 12 bytes in front of each packet."""

    kind: Literal["voip"]
    interval: Annotated[Time, whole_units(Duration(10**6), "milliseconds")] = Field(
        default=Duration(20 * 10**6), description="voice in each packet"
    )
    playout: Time = Field(
        default=Duration(60 * 10**6), description="the receiver's buffer, counted from the first packet"
    )

    @model_validator(mode="after")
    def _messages(self) -> Voip:
        if not 10**6 <= self.interval <= 180 * 10**6:
            raise fault("is not a packet of voice", "use from 1 ms to 180 ms", "interval")
        return self

    @property
    def packet(self) -> int:
        """Bytes of each: 8,000 samples of one byte per second, and RTP's header."""
        return int(self.interval) * 8 // 10**6 + 12


class Udp(WorkloadBase):
    """Cross traffic: UDP at a constant rate, all the time or now and then."""

    kind: Literal["udp"]
    duration: Time = Field(description="send for this long", examples=["10 s"])
    rate: Rate = Field(description="of the payload, while it sends", examples=["5 Mbit/s"])
    packet: Size = Field(default=Size(1400), description="payload of each datagram")
    on: Microseconds | None = Field(default=None, description="how long it sends, on average", examples=["1 s"])
    off: Microseconds | None = Field(default=None, description="how long it is silent, on average", examples=["1 s"])
    times: Times = Field(default="exponential", description="how the times of `on` and `off` are distributed")
    direction: Literal["upload", "download"] = "upload"

    @property
    def keeps_time(self) -> bool:
        return True

    @model_validator(mode="after")
    def _goal(self) -> Udp:
        self._check_goal(self.duration, None)
        for key in ("congestion_control", "scheduler"):
            if getattr(self, key) is not None:
                raise fault("does nothing over UDP", "remove it", key)
        if not _LEAST_PACKET <= self.packet <= _MOST_DATAGRAM:
            hint = f"use from {_LEAST_PACKET} B to {_MOST_DATAGRAM} B, which fit one packet"
            raise fault("is not a size for a datagram", hint, "packet")
        if self.rate < 1 or self.interval_ns < 1000:
            raise fault("is not plausible for cross traffic", "use from 1 bit/s to 10 Gbit/s", "rate")
        return self

    @model_validator(mode="after")
    def _both_times(self) -> Udp:
        if (self.on is None) != (self.off is None):
            key, other = ("on", "off") if self.off is None else ("off", "on")
            raise fault(f"stands without `{other}`", f'add {other} = "1 s"', key)
        if self.on is None and self.says("times"):
            raise fault("does nothing without `on` and `off`", 'add on = "1 s" and off = "1 s"', "times")
        if self.on == 0 or self.off == 0:
            raise fault("is no time", "leave both out for a constant rate", "on" if self.on == 0 else "off")
        return self

    @property
    def interval_ns(self) -> int:
        """From one datagram to the next while it sends."""
        return int(self.packet) * 8 * 10**9 // max(1, int(self.rate))


class Answered(WorkloadBase):
    """What asks for responses whose sizes may be random."""

    request: Size = Field(default=Size(200), description="what is sent to ask")
    sizes: Sizes = Field(default="fixed", description="how the sizes of responses are distributed")
    shape: Number | None = Field(
        default=None, description="alpha of pareto (default 1.2), sigma of lognormal (default 1)", examples=[1.2]
    )
    largest: Size | None = Field(default=None, description="larger ones are cut to this; default 100 MB")

    @model_validator(mode="after")
    def _distribution(self) -> Answered:
        if self.shape is not None and self.sizes not in _SHAPES:
            raise fault(f"does nothing with sizes that are {self.sizes}", 'set sizes = "pareto"', "shape")
        if self.largest is not None and self.sizes == "fixed":
            raise fault("does nothing with sizes that are fixed", 'set sizes = "pareto"', "largest")
        if self.sizes == "pareto" and self.shape_or_default <= 1:
            raise fault("has no mean", "use a shape of more than 1", "shape")
        if not 0 <= self.shape_or_default <= 100 or self.shape == 0:
            raise fault("is not a shape", "use more than 0 and at most 100", "shape")
        if self.largest == 0:
            raise fault("leaves nothing to send", "use more than zero", "largest")
        return self

    @property
    def shape_or_default(self) -> float:
        """0 where there is none."""
        return self.shape if self.shape is not None else _SHAPES.get(self.sizes, 0.0)


class Requests(Answered):
    """Requests and responses on connections that stay, with a pause for thought in between."""

    kind: Literal["requests"]
    duration: Time | None = Field(default=None, description="ask for this long")
    count: Whole | None = Field(
        default=None, ge=1, le=1_000_000, description="ask this often on each connection", examples=[100]
    )
    response: Size = Field(default=Size(10_000), description="size of a response, or the mean")
    think: Microseconds = Field(default=Duration(0), description="from a response to the next request")
    times: Times = Field(default="fixed", description="how the times of `think` are distributed")
    connections: Whole = Field(default=1, ge=1, le=1024, description="at the same time", examples=[1])

    @property
    def keeps_time(self) -> bool:
        return self.think > 0

    @model_validator(mode="after")
    def _goal(self) -> Requests:
        if self.count is None:
            self._check_goal(self.duration, None)
        elif self.duration is not None:
            raise fault("stands beside a duration, and only one can end the workload", "remove one of the two", "count")
        if self.response == 0:
            raise fault("would transfer nothing", "use more than zero", "response")
        return self


class Web(Answered):
    """Short flows, each on a connection of its own, that arrive at random as visitors do."""

    kind: Literal["web"]
    duration: Time = Field(description="flows arrive for this long", examples=["10 s"])
    interval: Microseconds = Field(description="from one arrival to the next, on average", examples=["100 ms"])
    times: Times = Field(default="exponential", description="how these times are distributed: exponential is Poisson")
    response: Size = Field(default=Size(30_000), description="size of a flow, or the mean")

    @property
    def keeps_time(self) -> bool:
        return True

    @model_validator(mode="after")
    def _goal(self) -> Web:
        self._check_goal(self.duration, None)
        if self.response == 0:
            raise fault("would transfer nothing", "use more than zero", "response")
        if self.interval == 0 or self.duration > self.interval * _MOST_FLOWS:
            raise fault("makes too many flows", f"use a longer one: at most {_MOST_FLOWS} may arrive", "interval")
        return self
