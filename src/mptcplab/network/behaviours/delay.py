# SPDX-License-Identifier: MIT
"""Delay, jitter and reordering, by netem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from mptcplab.fields import Boolean, Misnomers, Part, conflict, idle, value_error
from mptcplab.network.behaviour import Behaviour, DirectionContext, Values, VariableKey, microseconds
from mptcplab.network.captions import NOTHING, DirectionCaption, Table
from mptcplab.network.chances import CERTAIN, Chance, LossChances
from mptcplab.network.tables import MAX_ENTRIES, DelayDistribution, interpolate, table_command, undelayed_share
from mptcplab.steps import Command
from mptcplab.units import Duration, Packets, Probability

_MAX_DELAY = Duration(3600 * 10**9)
#: netem stores the spread of a delay in 31 bits of nanoseconds.
_MAX_SPREAD = Duration(2 * 10**9)
_MAX_QUANTILES = MAX_ENTRIES // 16
#: netem's limit in packets if a scenario gives none: enough for 10 Gbit/s with a delay of one second.
_DELAY_LINE = 1_000_000
#: Any rate makes netem keep packets in order; this one is too high to delay them.
_IN_ORDER = ("rate", "1000gbit")


def _quantiles(times: tuple[Duration, ...]) -> tuple[Duration, ...]:
    if list(times) != sorted(times):
        raise value_error("is not in ascending order", "list delays from the smallest to the largest")
    if len(times) == 1 or len(times) > _MAX_QUANTILES:
        raise value_error("has the wrong number of quantiles", f"use 2 to {_MAX_QUANTILES} of them")
    if times and times[0] == times[-1]:
        raise value_error("is the same for every packet", "use delay instead")
    if times and times[-1] > 4 * _MAX_SPREAD:
        raise value_error("is not plausible", f"use at most {Duration(4 * _MAX_SPREAD)}")
    return times


class DelayKeys(Part):
    """The keys of delay and packet order."""

    misnomers: ClassVar[Misnomers] = {
        "delay": ("latency", "lat", "owd", "one_way_delay", "propagation_delay", "rtt", "ping", "round_trip_time"),
        "delay_limit": ("netem_limit",),
        "jitter": ("delay_variation", "mdev", "pdv", "variation"),
        "distribution": ("dist", "jitter_distribution"),
        "extra_delay": ("extra", "quantiles", "delays", "histogram"),
        "overtake": ("out_of_order",),
        "reorder": ("reordering", "gap"),
    }

    delay: Duration = Field(default=Duration(0), description="one-way delay")
    delay_limit: Packets | None = Field(
        default=None,
        description="maximum number of delayed packets at a time; netem's own default is 1000",
        examples=["1000 packets"],
    )
    jitter: Duration = Field(default=Duration(0), description="variation of the delay")
    distribution: Literal["uniform", "normal", "pareto", "paretonormal"] = Field(
        default="uniform",
        description="distribution of the delay: uniform within jitter, or a table of netem's with jitter as deviation",
    )
    extra_delay: Annotated[tuple[Duration, ...], AfterValidator(_quantiles)] = Field(
        default=(),
        description="in place of jitter: evenly spaced quantiles, from smallest to largest, of an addition to delay",
        examples=[["0 ms", "1 ms", "2 ms", "5 ms", "40 ms"]],
    )
    overtake: Boolean = Field(default=False, description="packets with a shorter delay overtake earlier ones")
    reorder: Chance = Field(
        default=Probability(0), description="probability that a packet is not delayed, and so overtakes others"
    )


class Delay(Behaviour[DelayKeys]):
    """A delay that is constant, drawn for every packet, or absent for some packets."""

    name = "delay"
    model = DelayKeys
    order = 20
    example: ClassVar = {"delay": "10 ms"}
    example_with_more_programs: ClassVar = {"delay": "1 ms", "reorder": "1 %"}
    variable: ClassVar = {
        "delay": VariableKey(Duration, "new delay", {"delay_ms": 10**6}, largest=int(_MAX_DELAY)),
        "jitter": VariableKey(
            Duration, "new jitter", {"jitter_ms": 10**6}, largest=int(_MAX_SPREAD), bounded_by="delay"
        ),
    }

    def check(self, keys: DelayKeys) -> None:
        """See the base class."""
        if keys.delay > _MAX_DELAY:
            raise value_error("is not plausible for a delay", "use at most 1 h", "delay")
        if keys.delay_limit == 0:
            raise value_error("holds no packet", "use at least 1 packet", "delay_limit")
        _check_jitter(keys)
        _check_order(keys)

    def takes_time(self, keys: DelayKeys) -> bool:
        """See the base class."""
        return bool(keys.delay or keys.extra_delay)

    def passes_aggregates(self, keys: DelayKeys) -> bool:
        """Return whether all packets are delayed: none overtakes others, and no limit counts them."""
        return not (keys.overtake or keys.reorder) and keys.delay_limit is None

    def chances(self, keys: DelayKeys, values: Values, before: LossChances) -> LossChances:  # noqa: ARG002
        """Return chances of up to 1 with a limit: netem counts packets beyond it as lost."""
        return before if keys.delay_limit is None else replace(before, high=1.0)

    def files(self, keys: DelayKeys, link: str, direction: str) -> Iterator[Command]:
        """Return the command that writes the table of delays, if it is one of our own."""
        spread = spread_of(keys)
        if spread is not None:
            yield table_command(link, direction, spread)

    def netem(self, keys: DelayKeys, context: DirectionContext) -> Iterator[str]:
        """Return netem's options; always with a limit, since netem's own is 1000 packets."""
        yield from ("limit", str(int(keys.delay_limit or _DELAY_LINE)))
        spread = spread_of(keys)
        if spread is not None:
            middle, deviation = microseconds(spread.middle_ns), microseconds(spread.deviation_ns)
            yield from ("delay", middle, deviation, "distribution", context.table)
        elif keys.delay:
            yield from ("delay", microseconds(keys.delay))
            if keys.jitter:
                yield microseconds(keys.jitter)
                if keys.distribution != "uniform":
                    yield from ("distribution", keys.distribution)
        # A delay that becomes shorter would let packets overtake those in flight, as jitter does.
        varies = keys.jitter or spread is not None or context.changeable
        if varies and not (keys.overtake or keys.reorder):
            yield from _IN_ORDER

    def caption_above(self, shown: DirectionCaption) -> Iterator[str]:
        """Return a text like ``20 ms ± 5 ms``."""
        delay, jitter = shown.text("delay"), shown.text("jitter")
        if delay or jitter:
            yield delay + (f" ± {jitter}" if jitter else "")

    def caption(self, described: Table) -> Iterator[str]:
        """See the base class."""
        distribution = described.get("distribution", "uniform")
        if distribution != "uniform":
            yield f"jitter {distribution}"
        extra = described.get("extra_delay") or ()
        if extra:
            yield f"+ {'0' if extra[0] in NOTHING else extra[0]} … {extra[-1]}"
        if described.get("delay_limit"):
            yield f"at most {described['delay_limit']} delayed"
        if described.get("overtake"):
            yield "overtaking"
        if described.get("reorder") not in NOTHING:
            yield f"reordered {described['reorder']}"


def spread_of(keys: DelayKeys) -> DelayDistribution | None:
    """Return the table that delays are drawn from; None if a constant or a table of netem's suffices."""
    if keys.reorder:
        return undelayed_share(keys.delay, keys.reorder.as_fraction)
    if keys.extra_delay:
        return interpolate(keys.delay, keys.extra_delay)
    return None


def _check_jitter(keys: DelayKeys) -> None:
    if keys.jitter > keys.delay:
        hint = f"use a jitter of at most {keys.delay}, or a longer delay"
        raise conflict(f"is more than the delay of {keys.delay}", hint, "jitter")
    if keys.jitter > _MAX_SPREAD:
        raise value_error("is not plausible for a jitter", f"use at most {_MAX_SPREAD}", "jitter")
    if keys.extra_delay and keys.jitter:
        raise conflict("cannot be combined with jitter", "remove one of the two", "extra_delay")
    if keys.is_set("distribution") and not keys.jitter:
        raise idle("does nothing without a jitter", 'add a jitter, like jitter = "5 ms"', "distribution")


def _check_order(keys: DelayKeys) -> None:
    varies = bool(keys.jitter or keys.extra_delay)
    if keys.overtake and not varies:
        raise idle("does nothing if all delays are equal", 'add jitter = "5 ms", or use reorder', "overtake")
    if not keys.reorder:
        return
    if varies:
        raise conflict("cannot be combined with a jitter", "use overtake = true: it reorders by jitter", "reorder")
    if not 0 < keys.delay <= _MAX_SPREAD:
        hint = f"use a delay of more than 0 and at most {_MAX_SPREAD}"
        raise conflict(f"is not possible with a delay of {keys.delay}", hint, "reorder")
    if keys.reorder * MAX_ENTRIES < CERTAIN:
        raise value_error("is too rare to simulate", "use at least 62 ppm", "reorder")
