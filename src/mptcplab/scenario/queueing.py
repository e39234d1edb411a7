# SPDX-License-Identifier: MIT
"""The bottleneck of one direction of a link: its rate, its queue, and the discipline that the queue is kept by."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from mptcplab.fields import Part, Truth, fault
from mptcplab.units import Duration, Probability, QueueLength, Rate, Size

#: One full packet of the usual MTU with its Ethernet header, as queueing disciplines count.
_FULL_FRAME = 1514
_LEAST_BURST = 1600
_LARGEST_QUEUE = 2**30
#: ``tc`` keeps the time that a full bucket lasts in 32 bits of 64 ns.
_LONGEST_BURST_S = 250
#: Room for preamble, gap, checksum, tunnels and cells; a frame with it still fits the smallest burst.
_LARGEST_OVERHEAD = 80
_SECOND = Duration(10**9)

Discipline = Literal["tail-drop", "codel", "fq_codel", "pie", "fq_pie", "red", "cake"]
#: What each discipline can be told; tail drop has nothing to be told but its length.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "tail-drop": (),
    "codel": ("target", "interval", "ecn"),
    "fq_codel": ("target", "interval", "ecn"),
    "pie": ("target", "update", "ecn"),
    "fq_pie": ("target", "update", "ecn"),
    "red": ("least", "most", "probability", "ecn"),
    "cake": ("interval",),
}


class Aqm(Part):
    """Parameters of a discipline. What is left out keeps the discipline's own default."""

    target: Duration | None = Field(default=None, description="delay in the queue that is aimed at: CoDel, PIE")
    interval: Duration | None = Field(
        default=None, description="time in which a queue has to fall below target: CoDel; CAKE's rtt"
    )
    update: Duration | None = Field(default=None, description="time between updates of the drop probability: PIE")
    least: QueueLength | None = Field(
        default=None, description="mean queue below which nothing is dropped: RED; default a twelfth of the queue"
    )
    most: QueueLength | None = Field(
        default=None, description="mean queue above which all is dropped: RED; default a quarter of the queue"
    )
    probability: Probability | None = Field(default=None, description="of a drop at most: RED; default 2 %")
    ecn: Truth = Field(default=False, description="mark packets of flows that speak ECN instead of dropping them")

    @model_validator(mode="after")
    def _possible(self) -> Aqm:
        for key in ("target", "interval", "update"):
            time: Duration | None = getattr(self, key)
            if time is not None and not 1000 <= time <= 10 * _SECOND:
                raise fault("is not plausible", "use from 1 us to 10 s", key)
        if self.probability is not None and not 0 < self.probability < 10**9:
            raise fault("is not plausible", "use more than 0 % and less than 100 %", "probability")
        return self


class Queueing(Part):
    """Rate, queue and discipline of the bottleneck of one direction. No rate means as fast as packets come."""

    rate: Rate | None = Field(default=None, description="bottleneck rate, counting whole Ethernet frames")
    queue: QueueLength = Field(
        default=QueueLength(time=Duration(100_000_000)), description="of the bottleneck; default 100 ms"
    )
    discipline: Discipline = Field(default="tail-drop", description="what the bottleneck's queue is kept by")
    aqm: Aqm = Field(
        default_factory=Aqm, description="parameters of the discipline", examples=[{"target": "5 ms", "ecn": True}]
    )
    burst: Size | None = Field(default=None, description="token bucket of the rate; default one full frame")
    overhead: Size = Field(
        default=Size(0),
        description="what the line adds to every frame, e.g. 24 B on Ethernet cables",
        examples=["24 B"],
    )

    @model_validator(mode="after")
    def _possible_bottleneck(self) -> Queueing:
        if self.rate is not None:
            self._check_rate(self.rate)
            self._check_queue(self.rate)
            self._check_discipline(self.rate)
        return self

    def _check_rate(self, rate: Rate) -> None:
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

    def _check_queue(self, rate: Rate) -> None:
        held = self.queue.bytes_at(rate)
        if held is None or not self.says("queue"):
            return
        if held < _FULL_FRAME:
            hint = f'use at least "{_FULL_FRAME} B" or "1 packet"'
            raise fault(f"holds less than one Ethernet frame at {rate}", hint, "queue")
        if held > _LARGEST_QUEUE:
            raise fault(f"holds more than 1 GiB at {rate}", "use a shorter queue", "queue")

    def _check_discipline(self, rate: Rate) -> None:
        known = PARAMETERS[self.discipline]
        for key in Aqm.model_fields:
            if self.aqm.says(key) and key not in known:
                hint = f"{self.discipline} takes {', '.join(known)}" if known else 'add a discipline like "codel"'
                raise fault(f"does nothing with discipline = {self.discipline}", hint, "aqm", key)
        if self.discipline == "cake":
            for key in ("queue", "burst"):
                if self.says(key):
                    raise fault("does nothing with cake", "remove it: CAKE shapes and sizes its queue by itself", key)
        if self.discipline == "red":
            least, most, limit = self.red_bytes(rate)
            if not 0 < least < most <= limit:
                hint = f"the queue holds {limit} B: least < most <= queue"
                raise fault("has least, most and queue not in order", hint, "aqm")

    def red_bytes(self, rate: Rate) -> tuple[int, int, int]:
        """RED's least and most mean queue, and its longest queue, in bytes."""
        limit = max(held_bytes(self.queue, rate), _FULL_FRAME)
        least = held_bytes(self.aqm.least, rate) if self.aqm.least is not None else limit // 12
        most = held_bytes(self.aqm.most, rate) if self.aqm.most is not None else limit // 4
        return least, most, limit


def held_bytes(length: QueueLength, rate: Rate, frame: int = _FULL_FRAME) -> int:
    """``length`` in bytes; packets count as full frames."""
    held = length.bytes_at(rate)
    return held if held is not None else int(length.packets or 0) * frame
