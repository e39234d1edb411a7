# SPDX-License-Identifier: MIT
"""The bottleneck of a direction: its rate, its queue, and the queue discipline.

The shaper is ``tbf``. Two of its properties need care if a trace changes its rate.

A change of the rate fills its bucket. The packet at the head of a busy queue is still sent when the timer expires that
was set for it before, and leaves in the bucket the tokens beyond one frame. The next frame is earlier by as much. So
the rate of every step is lowered accordingly.

It evaluates its rate only when a packet arrives or when a timer expires that was set at the previous rate. After a
pause that could be long after the link has recovered. So the shaper is woken when a pause ends.

A rate of zero becomes 1 kbit/s, the lowest safe rate: the first frame of a pause still passes, and then one every 12 s.
The queue keeps the length in bytes that it has at the mean rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from mptcplab.fields import Misnomers, conflict, idle, value_error
from mptcplab.network.behaviour import Behaviour, DirectionContext, EffectCounter, TraceValues, VariableKey, Words
from mptcplab.network.captions import DirectionCaption, Table
from mptcplab.network.disciplines.base import MIN_BURST, Shaping
from mptcplab.network.disciplines.registry import DISCIPLINES, TAIL_DROP, Aqm, DisciplineName
from mptcplab.network.frames import full_frame
from mptcplab.units import QueueLength, Rate, Size

_MIN_RATE, _MAX_RATE = 1000, 10**11
_MAX_QUEUE = 2**30
#: ``tc`` stores the duration of a full bucket in 32 bits of 64 ns.
_MAX_BURST_S = 250
#: Covers preamble, gap, checksum, tunnels and cells; a frame with this overhead still fits the smallest burst.
_MAX_OVERHEAD = 80
_SECOND_NS = 10**9
_LARGEST = "MTU and offload of the link decide how large packets are"
#: A step up wakes the shaper if a frame took longer than this at the rate before.
_PAUSE_NS = 20_000_000


class BottleneckKeys(Shaping):
    """Rate, queue and discipline of one direction."""

    misnomers: ClassVar[Misnomers] = {
        "discipline": ("qdisc", "queue_discipline", "queueing", "queue_type"),
        "aqm": ("aqm_parameters", "parameters", "qdisc_options"),
    }

    discipline: DisciplineName = Field(default=TAIL_DROP, description="queue discipline of the bottleneck")
    aqm: Aqm = Field(
        default_factory=Aqm, description="parameters of the discipline", examples=[{"target": "5 ms", "ecn": True}]
    )


class Bottleneck(Behaviour[BottleneckKeys]):
    """A shaper with a queue."""

    name = "bottleneck"
    model = BottleneckKeys
    order = 10
    at_bottleneck = True
    example: ClassVar = {"rate": "10 Mbit/s"}
    variable: ClassVar = {
        "rate": VariableKey(
            Rate,
            "new rate",
            {
                "rate_bit_s": 1,
                "rate_kbit_s": 10**3,
                "rate_mbit_s": 10**6,
                "rate_byte_s": 8,
                "rate_kbyte_s": 8 * 10**3,
                "rate_mbyte_s": 8 * 10**6,
            },
            largest=_MAX_RATE,
            needs_value=True,
        )
    }
    needs_rate = ("queue", "burst", "overhead", "discipline", "aqm")
    counters = (EffectCounter("tbf", "drops", "packets that the queue dropped"),)
    caption_if_absent = TAIL_DROP

    def check(self, keys: BottleneckKeys) -> None:
        """See the base class."""
        if keys.rate is not None:
            _check_rate(keys, keys.rate)
            _check_queue(keys, keys.rate)
            _check_discipline(keys, keys.rate)

    def check_frame(self, keys: BottleneckKeys, frame: int) -> None:
        """See the base class."""
        if keys.burst is not None and keys.burst < frame:
            raise conflict("is less than one packet", f"use at least {frame} B: {_LARGEST}", "burst")
        held = keys.queue.bytes_at(keys.rate) if keys.rate is not None and keys.is_set("queue") else None
        if held is not None and held < frame:
            raise conflict("holds less than one packet", f"use at least {frame} B: {_LARGEST}", "queue")

    def takes_time(self, keys: BottleneckKeys) -> bool:
        """See the base class."""
        return bool(keys.rate)

    def passes_aggregates(self, keys: BottleneckKeys) -> bool:
        """Return whether it counts bytes only: a discipline drops packets, and tbf adds one overhead to each."""
        return keys.discipline == TAIL_DROP and keys.queue.packets is None and not keys.overhead

    def payload_bps(self, keys: BottleneckKeys, payload: int, frame: int) -> float | None:
        """See the base class."""
        return None if keys.rate is None else float(keys.rate) * payload / (frame + keys.overhead)

    def disciplines(self, keys: BottleneckKeys, context: DirectionContext) -> Iterator[Words]:
        """See the base class."""
        if keys.rate is not None:
            yield from DISCIPLINES[keys.discipline].qdiscs(keys, keys.rate, keys.aqm, context.frame)

    def base_value(self, key: str, first: int, mean: int) -> int:  # noqa: ARG002
        """Return the mean rate, which sizes queues and is used for estimates."""
        if mean < _MIN_RATE:
            raise value_error("has too low a mean rate", "use a trace with a mean rate of at least 1 kbit/s")
        return mean

    def follow(
        self, keys: BottleneckKeys, values: Mapping[str, Sequence[int]], durations_ns: Sequence[int], frame: int
    ) -> list[TraceValues]:
        """Return the rates, corrected as the docstring of this module explains."""
        beyond = DISCIPLINES[keys.discipline].bucket_growth(keys, frame)
        given = [8 * beyond * _SECOND_NS // lasts for lasts in durations_ns]
        rates = [max(_MIN_RATE, rate - less) for rate, less in zip(values["rate"], given, strict=True)]
        held = keys.queue.bytes_at(keys.rate) if keys.rate is not None else None
        queue: dict[str, Any] = {} if held is None else {"queue": QueueLength(size=Size(held))}
        # The first step may follow the last one.
        return [
            TraceValues({"rate": Rate(rate), **queue}, wakes=rate > before and _is_pause(before, frame))
            for rate, before in zip(rates, (rates[-1], *rates[:-1]), strict=True)
        ]

    def caption_above(self, shown: DirectionCaption) -> Iterator[str]:
        """Return the rate as written; the mean of a trace, which is not a round number, with three digits."""
        rate = shown.text("rate", _rate_words)
        if rate:
            yield rate

    def caption_below(self, shown: DirectionCaption) -> Iterator[str]:
        """Return nothing without a rate: then there is no queue."""
        if not shown.text("rate"):
            return
        sized = all(_sizes_itself(point) for point in shown.points)
        for key in ("burst", "overhead") if sized else ("queue", "burst", "overhead"):
            text = shown.text(key)
            if text:
                yield f"{key} {text}"

    def caption(self, described: Table) -> Iterator[str]:
        """Return the queue discipline, unless it is tail drop; it may belong to a plugin that is not installed."""
        name = described.get("discipline", TAIL_DROP)
        if described.get("rate") and name != TAIL_DROP:
            yield DISCIPLINES[name].caption(described.get("aqm", {})) if name in DISCIPLINES else name


def _check_rate(keys: BottleneckKeys, rate: Rate) -> None:
    if not _MIN_RATE <= rate <= _MAX_RATE:
        word = "slow" if rate < _MIN_RATE else "fast"
        raise value_error(f"is too {word} to simulate", "use from 1 kbit/s to 100 Gbit/s", "rate")
    if keys.overhead > _MAX_OVERHEAD:
        raise value_error("is not a plausible overhead", f"use at most {_MAX_OVERHEAD} B", "overhead")
    if keys.burst is not None and keys.burst < MIN_BURST:
        raise value_error("is less than one Ethernet frame", f"use at least {MIN_BURST} B", "burst")
    largest = Size(min(rate * _MAX_BURST_S // 8, _MAX_QUEUE))
    if keys.burst is not None and keys.burst > largest:
        raise conflict(f"is too large a burst at {rate}", f"use at most {largest}", "burst")


def _check_queue(keys: BottleneckKeys, rate: Rate) -> None:
    held = keys.queue.bytes_at(rate)
    if held is None or not keys.is_set("queue"):
        return
    if held < full_frame():
        hint = f'use at least "{full_frame()} B" or "1 packet"'
        raise conflict(f"holds less than one Ethernet frame at {rate}", hint, "queue")
    if held > _MAX_QUEUE:
        raise conflict(f"holds more than 1 GiB at {rate}", "use a shorter queue", "queue")


def _check_discipline(keys: BottleneckKeys, rate: Rate) -> None:
    kind = DISCIPLINES[keys.discipline]
    known = kind.parameters.model_fields
    for key in Aqm.model_fields:
        if keys.aqm.is_set(key) and key not in known:
            hint = f"use a parameter of {kind.name}: {', '.join(known)}" if known else 'add discipline = "codel"'
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
