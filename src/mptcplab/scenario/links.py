# SPDX-License-Identifier: MIT
"""What a link does to packets, in each of its directions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from mptcplab.scenario.types import NodeName, Part, fault
from mptcplab.units import Duration, Probability, QueueLength, Rate, Size

#: One full packet with its Ethernet header, as queueing disciplines count.
_FULL_FRAME = 1514
_LEAST_BURST = 1600
_LARGEST_QUEUE = 2**30
#: ``tc`` keeps the time that a full bucket lasts in 32 bits of 64 ns.
_LONGEST_BURST_S = 250


#: Room for preamble, gap, checksum, tunnels and cells; a frame with it still fits the smallest burst.
_LARGEST_OVERHEAD = 80


class Direction(Part):
    """What one direction of a link does to packets. No rate means as fast as they come."""

    rate: Rate | None = Field(default=None, description="bottleneck rate, counting whole Ethernet frames")
    delay: Duration = Field(default=Duration(0), description="one-way delay")
    jitter: Duration = Field(default=Duration(0), description="delay varies uniformly by up to this, in order")
    loss: Probability = Field(default=Probability(0), description="independent random loss, before the queue")
    queue: QueueLength = Field(
        default=QueueLength(time=Duration(100_000_000)), description="of the bottleneck; default 100 ms"
    )
    burst: Size | None = Field(default=None, description="token bucket of the rate; default one full frame")
    overhead: Size = Field(
        default=Size(0),
        description="what the line adds to every frame, e.g. 24 B on Ethernet cables",
        examples=["24 B"],
    )

    @model_validator(mode="after")
    def _possible(self) -> Direction:
        if self.delay > 3600 * 10**9:
            raise fault("is not plausible for a delay", "use at most 1 h", "delay")
        if self.jitter > self.delay:
            hint = f"nothing arrives before it is sent: use at most {self.delay}, or a longer delay"
            raise fault(f"is more than the delay of {self.delay}", hint, "jitter")
        if self.jitter > 2 * 10**9:
            raise fault("is not plausible for a jitter", "use at most 2 s", "jitter")
        if self.loss == 10**9:
            raise fault("loses every packet", "use less than 100 %", "loss")
        if self.rate is not None:
            self._check_bottleneck(self.rate)
        return self

    def _check_bottleneck(self, rate: Rate) -> None:
        if not 1000 <= rate <= 10**11:
            word = "slow" if rate < 1000 else "fast"
            raise fault(f"is too {word} to simulate", "use from 1 kbit/s to 100 Gbit/s", "rate")
        if self.overhead > _LARGEST_OVERHEAD:
            raise fault("is more than a line adds", f"use at most {_LARGEST_OVERHEAD} B", "overhead")
        if self.burst is not None and self.burst < _LEAST_BURST:
            raise fault("is less than one Ethernet frame", f"use at least {_LEAST_BURST} B", "burst")
        largest = Size(min(rate * _LONGEST_BURST_S // 8, _LARGEST_QUEUE))
        if self.burst is not None and self.burst > largest:
            raise fault(f"is too large a burst at {rate}", f"use at most {largest}", "burst")
        held = self.queue.bytes_at(rate)
        if held is None or not self.says("queue"):
            return
        if held < _FULL_FRAME:
            hint = f'use at least "{_FULL_FRAME} B" or "1 packet"'
            raise fault(f"holds less than one Ethernet frame at {rate}", hint, "queue")
        if held > _LARGEST_QUEUE:
            raise fault(f"holds more than 1 GiB at {rate}", "use a shorter queue", "queue")


class Link(Part):
    """A full-duplex link between two nodes. ``forward`` is from the first to the second of ``between``."""

    between: tuple[NodeName, NodeName] = Field(examples=[["client", "r1"]])
    forward: Direction = Field(default_factory=Direction)
    backward: Direction = Field(default_factory=Direction)
    shape: Literal["router", "sender"] = Field(
        default="router", description="where a host's sending direction is shaped: behind the wire, or on the host"
    )
    addresses: tuple[str, str] | None = Field(
        default=None, description="both ends with prefix length", examples=[["10.1.1.1/24", "10.1.1.2/24"]]
    )

    @model_validator(mode="after")
    def _two_ends(self) -> Link:
        if self.between[0] == self.between[1]:
            raise fault(f"joins '{self.between[0]}' to itself", "name two different nodes", "between")
        return self

    @model_validator(mode="after")
    def _limits_need_rates(self) -> Link:
        """Queue, burst and overhead belong to a rate; a direction without one may only have what both share."""
        for key in ("queue", "burst", "overhead"):
            sides = {n: side for n in ("forward", "backward") if (side := getattr(self, n)).says(key)}
            idle = [name for name, side in sides.items() if side.rate is None]
            shared = len(sides) == 2 and getattr(self.forward, key) == getattr(self.backward, key)
            if idle and not (shared and len(idle) == 1):
                raise fault("does nothing without a rate", 'add a rate, like rate = "10 Mbit/s"', idle[0], key)
        return self
