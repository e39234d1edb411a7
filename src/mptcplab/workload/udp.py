# SPDX-License-Identifier: MIT
"""Cross traffic over UDP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.errors import Mistake
from mptcplab.fields import Boolean, Microseconds, Misnomers, TimeDistribution, idle, value_error
from mptcplab.units import Rate, Size
from mptcplab.workload.context import microseconds
from mptcplab.workload.outputs import MS, ConnectionTermination
from mptcplab.workload.paced import MAX_DATAGRAM, MIN_PACKET, TimedWorkload

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording


class Udp(TimedWorkload):
    """Cross traffic: UDP at a constant rate, continuous or in on and off periods."""

    misnomers: ClassVar[Misnomers] = {
        "rate": ("bandwidth", "bw", "bitrate", "throughput", "speed"),
        "on": ("on_time", "active"),
        "off": ("off_time", "idle", "silence", "pause"),
        "times": ("time_distribution", "distribution"),
    }

    only_protocol = "udp"
    example: ClassVar[Mapping[str, Any]] = {"duration": "1 s", "rate": "1 Mbit/s"}

    kind: Literal["udp"]
    rate: Rate = Field(description="rate of the payload, while sending", examples=["5 Mbit/s"])
    packet: Size = Field(default=Size(1400), description="payload of each datagram")
    on: Microseconds | None = Field(default=None, description="mean duration of sending", examples=["1 s"])
    off: Microseconds | None = Field(default=None, description="mean duration of silence", examples=["1 s"])
    times: TimeDistribution = Field(default="exponential", description="distribution of the times of `on` and `off`")
    reverse: Boolean = False

    @model_validator(mode="after")
    def _sizes(self) -> Udp:
        for key in ("congestion_control", "scheduler"):
            if getattr(self, key) is not None:
                raise idle("does nothing over UDP", "remove it", key)
        if not MIN_PACKET <= self.packet <= MAX_DATAGRAM:
            hint = f"use from {MIN_PACKET} B to {MAX_DATAGRAM} B, which fits one packet"
            raise value_error("is not a size for a datagram", hint, "packet")
        if self.rate < 1 or self.interval_ns < 1000:
            raise value_error("is not plausible for cross traffic", "use from 1 bit/s to 10 Gbit/s", "rate")
        return self

    @model_validator(mode="after")
    def _both_times(self) -> Udp:
        if (self.on is None) != (self.off is None):
            key, other = ("on", "off") if self.off is None else ("off", "on")
            raise value_error(f"needs `{other}`", f'add {other} = "1 s"', key, kind=Mistake.MISSING)
        if self.on is None and self.is_set("times"):
            raise idle("does nothing without `on` and `off`", 'add on = "1 s" and off = "1 s"', "times")
        if self.on == 0 or self.off == 0:
            hint = "use more than zero, or remove `on` and `off` for a constant rate"
            raise value_error("is zero", hint, "on" if self.on == 0 else "off")
        return self

    @property
    def interval_ns(self) -> int:
        """The time from one datagram to the next while sending."""
        return int(self.packet) * 8 * 10**9 // max(1, int(self.rate))

    def _messages(self) -> Iterator[str]:
        yield from ("--message-bytes", str(int(self.packet)), "--message-ns", str(self.interval_ns))
        if self.on is not None and self.off is not None:
            yield from ("--on-us", microseconds(self.on), "--off-us", microseconds(self.off))
            if self.times == "exponential":
                yield "--exponential"
        if self.reverse:
            yield "--download"

    def _count(self) -> float:
        on, off = float(self.on or 1), float(self.off or 0)
        return float(self.duration) / self.interval_ns * on / (on + off)

    def _metrics(
        self, _recording: Recording, _receiver: str, sent: int, report: ConnectionTermination
    ) -> dict[str, float]:
        count = report.messages or 0
        metrics = {"lost_percent": 100 * max(0.0, 1 - count / sent)} if sent else {}
        return metrics | ({"delay_mean_ms": report.delay_sum_ns / count / MS} if count else {})
