# SPDX-License-Identifier: MIT
"""The bottleneck of a direction: its rate, what may wait for it, and the discipline that the queue is kept by.

The shaper is ``tbf``, and two of its habits need care where a trace changes its rate.

Changing it fills its bucket. What waits at the head of a busy line's queue is sent when the timer ends that was set
for it before, as if nothing had happened, and leaves in the bucket what it holds beyond one frame. The next frame is
that much earlier. So every step's rate is lowered by as much.

It looks at its rate when a packet comes or when a timer ends that it set at the rate of before. After a pause that
could be long after the line is back. So packets that wait are woken when a pause ends.

A rate of zero is 1 kbit/s, the least that is safe to give: the first frame of a pause still passes, and then one in 12
s. The queue keeps the length in bytes that it has at the mean rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from mptcplab.fields import clash, fault, idle
from mptcplab.network.behaviour import Behaviour, Context, EffectCounter, TraceValues, VariableKey, Words
from mptcplab.network.captions import DirectionCaption, Table
from mptcplab.network.disciplines.base import LEAST_BURST, Shaping
from mptcplab.network.disciplines.registry import DISCIPLINES, TAIL_DROP, Aqm, DisciplineName
from mptcplab.network.frames import full_frame
from mptcplab.units import QueueLength, Rate, Size

_LEAST_RATE, _MOST_RATE = 1000, 10**11
_LARGEST_QUEUE = 2**30
#: ``tc`` keeps the time that a full bucket lasts in 32 bits of 64 ns.
_LONGEST_BURST_S = 250
#: Room for preamble, gap, checksum, tunnels and cells; a frame with it still fits the smallest burst.
_LARGEST_OVERHEAD = 80
_SECOND_NS = 10**9
#: A step up from a rate at which a frame takes longer than this wakes the shaper.
_PAUSE_NS = 20_000_000


class BottleneckKeys(Shaping):
    """Rate, queue and discipline of one direction."""

    discipline: DisciplineName = Field(default=TAIL_DROP, description="what the bottleneck's queue is kept by")
    aqm: Aqm = Field(
        default_factory=Aqm, description="parameters of the discipline", examples=[{"target": "5 ms", "ecn": True}]
    )


class Bottleneck(Behaviour[BottleneckKeys]):
    """What cannot leave at the rate waits in a queue."""

    name = "bottleneck"
    model = BottleneckKeys
    rank = 10
    at_bottleneck = True
    smallest: ClassVar = {"rate": "10 Mbit/s"}
    variable: ClassVar = {
        "rate": VariableKey(
            Rate,
            "new rate",
            {"rate_bit_s": 1, "rate_kbit_s": 10**3, "rate_mbit_s": 10**6},
            largest=_MOST_RATE,
            from_start=True,
        )
    }
    of_rate = ("queue", "burst", "overhead", "discipline", "aqm")
    seen = (EffectCounter("tbf", "drops", "packets that the queue dropped"),)
    absent = TAIL_DROP

    def check(self, keys: BottleneckKeys) -> None:
        """See the base class."""
        if keys.rate is not None:
            _check_rate(keys, keys.rate)
            _check_queue(keys, keys.rate)
            _check_discipline(keys, keys.rate)

    def check_frame(self, keys: BottleneckKeys, frame: int) -> None:
        """See the base class."""
        if keys.burst is not None and keys.burst < frame:
            raise clash("is less than one frame", f"use at least {frame} B with this MTU", "burst")

    def takes_time(self, keys: BottleneckKeys) -> bool:
        """See the base class."""
        return bool(keys.rate)

    def payload_bps(self, keys: BottleneckKeys, payload: int, frame: int) -> float | None:
        """See the base class."""
        return None if keys.rate is None else float(keys.rate) * payload / (frame + keys.overhead)

    def disciplines(self, keys: BottleneckKeys, context: Context) -> Iterator[Words]:
        """See the base class."""
        if keys.rate is not None:
            yield from DISCIPLINES[keys.discipline].words(keys, keys.rate, keys.aqm, context.frame)

    def stands_for(self, key: str, first: int, mean: int) -> int:  # noqa: ARG002
        """The mean rate, by which queues are sized and times are estimated."""
        if mean < _LEAST_RATE:
            raise fault("carries nothing to speak of", "its mean rate has to be 1 kbit/s at least")
        return mean

    def follow(
        self, keys: BottleneckKeys, values: Mapping[str, Sequence[int]], lasts_ns: Sequence[int], frame: int
    ) -> list[TraceValues]:
        """See the head of this module."""
        beyond = DISCIPLINES[keys.discipline].filled(keys, frame)
        given = [8 * beyond * _SECOND_NS // lasts for lasts in lasts_ns]
        rates = [max(_LEAST_RATE, rate - less) for rate, less in zip(values["rate"], given, strict=True)]
        held = keys.queue.bytes_at(keys.rate) if keys.rate is not None else None
        queue: dict[str, Any] = {} if held is None else {"queue": QueueLength(size=Size(held))}
        # The first step may come behind the last one.
        return [
            TraceValues({"rate": Rate(rate), **queue}, wakes=rate > before and _is_pause(before, frame))
            for rate, before in zip(rates, (rates[-1], *rates[:-1]), strict=True)
        ]

    def headline(self, shown: DirectionCaption) -> Iterator[str]:
        """A rate as it was written; the mean of a trace, which is no round number, with three digits."""
        rate = shown.text("rate", _rate_words)
        if rate:
            yield rate

    def details(self, shown: DirectionCaption) -> Iterator[str]:
        """Without a rate there is no queue, whatever its length would be."""
        if not shown.text("rate"):
            return
        sized = all(_sizes_itself(point) for point in shown.points)
        for key in ("burst", "overhead") if sized else ("queue", "burst", "overhead"):
            text = shown.text(key)
            if text:
                yield f"{key} {text}"

    def caption(self, described: Table) -> Iterator[str]:
        """What else than its length keeps the queue, which a plug-in may have been."""
        name = described.get("discipline", TAIL_DROP)
        if described.get("rate") and name != TAIL_DROP:
            yield DISCIPLINES[name].caption(described.get("aqm", {})) if name in DISCIPLINES else name


def _check_rate(keys: BottleneckKeys, rate: Rate) -> None:
    if not _LEAST_RATE <= rate <= _MOST_RATE:
        word = "slow" if rate < _LEAST_RATE else "fast"
        raise fault(f"is too {word} to simulate", "use from 1 kbit/s to 100 Gbit/s", "rate")
    if keys.overhead > _LARGEST_OVERHEAD:
        raise fault("is more than a line adds", f"use at most {_LARGEST_OVERHEAD} B", "overhead")
    if keys.burst is not None and keys.burst < LEAST_BURST:
        raise fault("is less than one Ethernet frame", f"use at least {LEAST_BURST} B", "burst")
    largest = Size(min(rate * _LONGEST_BURST_S // 8, _LARGEST_QUEUE))
    if keys.burst is not None and keys.burst > largest:
        raise clash(f"is too large a burst at {rate}", f"use at most {largest}", "burst")


def _check_queue(keys: BottleneckKeys, rate: Rate) -> None:
    held = keys.queue.bytes_at(rate)
    if held is None or not keys.says("queue"):
        return
    if held < full_frame():
        hint = f'use at least "{full_frame()} B" or "1 packet"'
        raise clash(f"holds less than one Ethernet frame at {rate}", hint, "queue")
    if held > _LARGEST_QUEUE:
        raise clash(f"holds more than 1 GiB at {rate}", "use a shorter queue", "queue")


def _check_discipline(keys: BottleneckKeys, rate: Rate) -> None:
    kind = DISCIPLINES[keys.discipline]
    known = kind.parameters.model_fields
    for key in Aqm.model_fields:
        if keys.aqm.says(key) and key not in known:
            hint = f"{kind.name} takes {', '.join(known)}" if known else 'add a discipline like "codel"'
            raise idle(f"does nothing with discipline = {kind.name}", hint, "aqm", key)
    kind.check(keys, rate, keys.aqm)


def _is_pause(rate: int, frame: int) -> bool:
    return 8 * frame * _SECOND_NS // rate > _PAUSE_NS


def _rate_words(described: Table) -> str | None:
    rate = described.get("rate")
    if rate is None or not described.get("trace"):
        return None if rate is None else str(rate)
    return f"{Rate.parse(str(rate)) / 10**6:.3g} Mbit/s"


def _sizes_itself(described: Table) -> bool:
    kind = DISCIPLINES.get(described.get("discipline", TAIL_DROP))
    return kind is not None and kind.sizes_itself
