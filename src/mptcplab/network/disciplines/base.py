# SPDX-License-Identifier: MIT
"""The base class of queue disciplines. A discipline is one class; all other code about disciplines asks it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import AfterValidator, Field

from mptcplab.fields import Misnomers, Part, value_error
from mptcplab.network.behaviour import EffectCounter, Words, microseconds
from mptcplab.network.captions import Table
from mptcplab.network.frames import full_frame
from mptcplab.units import Duration, QueueLength, Rate, Size

#: tbf needs a bucket of one frame to send one; the smallest bucket gives the most even spacing. tc measures buckets in
#: ticks of 64 ns, so very fast links need a bucket of several ticks.
MIN_BURST = 1600
_MIN_BURST_NS = 2000
_MIN_TIME, _MAX_TIME = Duration(1000), Duration(10 * 10**9)


def _check_time(time: Duration) -> Duration:
    if not _MIN_TIME <= time <= _MAX_TIME:
        raise value_error("is not plausible", "use from 1 us to 10 s")
    return time


#: A time parameter of a discipline's control loop.
Span = Annotated[Duration, AfterValidator(_check_time)]


def marks() -> Any:
    """Return the field ``ecn`` of a discipline that can mark packets."""
    return Field(default=False, description="mark packets of ECN-capable flows instead of dropping them")


class Shaping(Part):
    """The keys of a bottleneck's rate and queue. Without a rate, packets pass as fast as they arrive."""

    misnomers: ClassVar[Misnomers] = {
        "rate": ("bandwidth", "bw", "capacity", "bitrate", "data_rate", "speed", "throughput"),
        "queue": ("buffer", "buffer_size", "limit", "queue_size", "queue_length", "max_queue_size", "qlen"),
        "burst": ("bucket", "token_bucket", "burst_size"),
        "overhead": ("framing", "header", "headers"),
    }

    rate: Rate | None = Field(default=None, description="bottleneck rate, counting whole Ethernet frames")
    queue: QueueLength = Field(
        default=QueueLength(time=Duration(100_000_000)), description="length of the bottleneck's queue; default 100 ms"
    )
    burst: Size | None = Field(default=None, description="token bucket of the rate; default one full frame")
    overhead: Size = Field(
        default=Size(0),
        description="bytes that the medium adds to every frame, e.g. 24 B on Ethernet cables",
        examples=["24 B"],
    )

    def held_bytes(self, rate: Rate, frame: int, length: QueueLength | None = None) -> int:
        """Return ``length``, by default the queue's, in bytes; a length in packets counts full frames."""
        asked = length or self.queue
        held = asked.bytes_at(rate)
        return held if held is not None else int(asked.packets or 0) * frame

    def bucket(self, frame: int) -> int:
        """Return the size of the token bucket in bytes, at least one full frame."""
        return int(self.burst or max(MIN_BURST, frame + MIN_BURST - full_frame()))


Parameters = TypeVar("Parameters", bound=Part)


class Discipline(Generic[Parameters]):
    """A discipline decides which packets wait, are dropped or are marked.

    ``parameters`` is its model of the table ``aqm``; missing parameters keep the discipline's own default. Two
    disciplines may share the name of a parameter if its type is the same: methods get the whole table.
    """

    name: ClassVar[str]
    parameters: type[Parameters]
    #: It sizes its queue itself and ignores the key ``queue``.
    sizes_itself: ClassVar[bool] = False
    counters: ClassVar[tuple[EffectCounter, ...]] = ()

    def check(self, shaped: Shaping, rate: Rate, parameters: Parameters) -> None:
        """Check the parameters. :raises PydanticCustomError: if they do not fit the bottleneck."""

    def qdiscs(self, shaped: Shaping, rate: Rate, parameters: Parameters, frame: int) -> Iterator[Words]:
        """Return the queueing disciplines of the bottleneck, from the root down."""
        burst = max(shaped.bucket(frame), int(rate) * _MIN_BURST_NS // (8 * 10**9))
        # The default queue is a time, which on a slow link is less than one frame, the minimum of a queue.
        size = max(shaped.held_bytes(rate, frame), frame)
        overhead = ("overhead", str(int(shaped.overhead))) if shaped.overhead else ()
        yield ("tbf", "rate", f"{int(rate)}bit", "burst", str(burst), "limit", str(size), *overhead)
        yield from self.child_qdiscs(shaped, rate, parameters, frame)

    def child_qdiscs(self, shaped: Shaping, rate: Rate, parameters: Parameters, frame: int) -> Iterator[Words]:
        """Return the discipline of tbf's queue."""
        raise NotImplementedError

    def bucket_growth(self, shaped: Shaping, frame: int) -> int:
        """Return the bytes beyond one frame that a change of the rate adds to the bucket."""
        return shaped.bucket(frame) - frame

    def caption(self, parameters: Table) -> str:
        """Return the caption of its queue in pictures, from the table ``aqm`` of a recording."""
        target = f" {parameters['target']}" if parameters.get("target") else ""
        return f"{self.name}{target}{' ECN' if parameters.get('ecn') else ''}"


def option(name: str, time: Duration | None) -> Words:
    """Return a time as an option of ``tc``, or nothing for None."""
    return () if time is None else (name, microseconds(time))
