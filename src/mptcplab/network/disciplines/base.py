# SPDX-License-Identifier: MIT
"""What a queueing discipline of a bottleneck is: one class, from which everything else that knows of them asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import AfterValidator, Field

from mptcplab.fields import Part, invalid
from mptcplab.network.behaviour import EffectCounter, Words, microseconds
from mptcplab.network.captions import Table
from mptcplab.network.frames import full_frame
from mptcplab.units import Duration, QueueLength, Rate, Size

#: tbf needs a bucket of one frame to pass it; the smallest bucket spaces packets best. tc counts a bucket in ticks
#: of 64 ns, so that very fast links need one of some ticks.
MIN_BURST = 1600
_MIN_BURST_NS = 2000
_MIN_TIME, _MAX_TIME = Duration(1000), Duration(10 * 10**9)


def _plausible(time: Duration) -> Duration:
    if not _MIN_TIME <= time <= _MAX_TIME:
        raise invalid("is not plausible", "use from 1 us to 10 s")
    return time


#: A time of a discipline's control loop.
Span = Annotated[Duration, AfterValidator(_plausible)]


def marks() -> Any:
    """Return the field ``ecn`` of a discipline that can mark."""
    return Field(default=False, description="mark packets of flows that speak ECN instead of dropping them")


class Shaping(Part):
    """A bottleneck: its rate, and how much may wait for it. No rate means as fast as packets come."""

    rate: Rate | None = Field(default=None, description="bottleneck rate, counting whole Ethernet frames")
    queue: QueueLength = Field(
        default=QueueLength(time=Duration(100_000_000)), description="of the bottleneck; default 100 ms"
    )
    burst: Size | None = Field(default=None, description="token bucket of the rate; default one full frame")
    overhead: Size = Field(
        default=Size(0),
        description="what the line adds to every frame, e.g. 24 B on Ethernet cables",
        examples=["24 B"],
    )

    def held_bytes(self, rate: Rate, frame: int, length: QueueLength | None = None) -> int:
        """Return ``length``, by default the queue's, in bytes; packets count as full frames."""
        asked = length or self.queue
        held = asked.bytes_at(rate)
        return held if held is not None else int(asked.packets or 0) * frame

    def bucket(self, frame: int) -> int:
        """Return the bytes of the token bucket, of a full frame at least."""
        return int(self.burst or max(MIN_BURST, frame + MIN_BURST - full_frame()))


Parameters = TypeVar("Parameters", bound=Part)


class Discipline(Generic[Parameters]):
    """What decides who waits, who is dropped and who is marked.

    ``parameters`` has what it can be told in the table ``aqm``; what is left out keeps the discipline's own default.
    Two disciplines may share the name of a parameter, if they mean the same type by it: methods get the whole table.
    """

    name: ClassVar[str]
    parameters: type[Parameters]
    #: Its queue has a size of its own, whatever the key ``queue`` is.
    sizes_itself: ClassVar[bool] = False
    counters: ClassVar[tuple[EffectCounter, ...]] = ()

    def check(self, shaped: Shaping, rate: Rate, parameters: Parameters) -> None:
        """:raises PydanticCustomError: when its parameters do not fit the bottleneck."""

    def qdiscs(self, shaped: Shaping, rate: Rate, parameters: Parameters, frame: int) -> Iterator[Words]:
        """Return the queueing disciplines of the bottleneck, from the root down."""
        burst = max(shaped.bucket(frame), int(rate) * _MIN_BURST_NS // (8 * 10**9))
        # The default queue is a time, which on a slow link is less than the one frame that a queue has to hold.
        size = max(shaped.held_bytes(rate, frame), frame)
        overhead = ("overhead", str(int(shaped.overhead))) if shaped.overhead else ()
        yield ("tbf", "rate", f"{int(rate)}bit", "burst", str(burst), "limit", str(size), *overhead)
        yield from self.child_qdiscs(shaped, rate, parameters, frame)

    def child_qdiscs(self, shaped: Shaping, rate: Rate, parameters: Parameters, frame: int) -> Iterator[Words]:
        """Return what keeps the queue of tbf."""
        raise NotImplementedError

    def filled(self, shaped: Shaping, frame: int) -> int:
        """Return the bytes beyond one frame that a change of the rate puts into the bucket."""
        return shaped.bucket(frame) - frame

    def caption(self, parameters: Table) -> str:
        """Return what a picture says of a queue that it keeps, by the table ``aqm`` of a recording."""
        target = f" {parameters['target']}" if parameters.get("target") else ""
        return f"{self.name}{target}{' ECN' if parameters.get('ecn') else ''}"


def option(name: str, time: Duration | None) -> Words:
    """Return a time that was said as an option of ``tc``."""
    return () if time is None else (name, microseconds(time))
