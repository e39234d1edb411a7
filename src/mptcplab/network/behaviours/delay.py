# SPDX-License-Identifier: MIT
"""How long packets take, how much that varies, and which of them overtake others: netem's delay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from mptcplab.fields import Part, Truth, clash, fault, idle
from mptcplab.network.behaviour import Behaviour, Context, Values, VariableKey, microseconds
from mptcplab.network.captions import NOTHING, DirectionCaption, Table
from mptcplab.network.chances import CERTAIN, Chance, LossChances
from mptcplab.network.tables import MOST_ENTRIES, DelayDistribution, early, interpolated, table_command
from mptcplab.steps import Command
from mptcplab.units import Duration, Packets, Probability

_LONGEST_DELAY = Duration(3600 * 10**9)
#: netem keeps the spread of a delay in 31 bits of nanoseconds.
_LONGEST_SPREAD = Duration(2 * 10**9)
_MOST_QUANTILES = MOST_ENTRIES // 16
#: Packets that netem may hold where a scenario gives no limit: enough for 10 Gbit/s over a second of delay.
_DELAY_LINE = 1_000_000
#: Any rate makes netem keep packets in order; this one is too high to delay them.
_IN_ORDER = ("rate", "1000gbit")


def _quantiles(times: tuple[Duration, ...]) -> tuple[Duration, ...]:
    if list(times) != sorted(times):
        raise fault("is not in ascending order", "begin with the least delay, and end with the largest")
    if len(times) == 1 or len(times) > _MOST_QUANTILES:
        raise fault("has the wrong number of quantiles", f"use 2 to {_MOST_QUANTILES} of them")
    if times and times[0] == times[-1]:
        raise fault("is the same for every packet", "write it as delay")
    if times and times[-1] > 4 * _LONGEST_SPREAD:
        raise fault("is not plausible", f"use at most {Duration(4 * _LONGEST_SPREAD)}")
    return times


class DelayKeys(Part):
    """Delay and order of the packets of one direction."""

    delay: Duration = Field(default=Duration(0), description="one-way delay")
    delay_limit: Packets | None = Field(
        default=None,
        description="packets that the delay may hold at a time; netem's own default is 1000",
        examples=["1000 packets"],
    )
    jitter: Duration = Field(default=Duration(0), description="how much the delay varies")
    distribution: Literal["uniform", "normal", "pareto", "paretonormal"] = Field(
        default="uniform",
        description="of the delay: uniform within jitter, or one of netem's tables with jitter as deviation",
    )
    extra_delay: Annotated[tuple[Duration, ...], AfterValidator(_quantiles)] = Field(
        default=(),
        description="in place of jitter: quantiles, evenly spaced from least to largest, of what is added to delay",
        examples=[["0 ms", "1 ms", "2 ms", "5 ms", "40 ms"]],
    )
    overtake: Truth = Field(default=False, description="a packet with a shorter delay passes those before it")
    reorder: Chance = Field(
        default=Probability(0), description="a packet is not delayed, and so overtakes those that are"
    )


class Delay(Behaviour[DelayKeys]):
    """A constant delay, one that is drawn for every packet, or none for some."""

    name = "delay"
    model = DelayKeys
    rank = 20
    smallest: ClassVar = {"delay": "10 ms"}
    example: ClassVar = {"delay": "1 ms", "reorder": "1 %"}
    variable: ClassVar = {
        "delay": VariableKey(Duration, "new delay", {"delay_ms": 10**6}, largest=int(_LONGEST_DELAY)),
        "jitter": VariableKey(
            Duration, "new jitter", {"jitter_ms": 10**6}, largest=int(_LONGEST_SPREAD), within="delay"
        ),
    }

    def check(self, keys: DelayKeys) -> None:
        """See the base class."""
        if keys.delay > _LONGEST_DELAY:
            raise fault("is not plausible for a delay", "use at most 1 h", "delay")
        if keys.delay_limit == 0:
            raise fault("holds no packet", "use at least 1 packet", "delay_limit")
        _check_jitter(keys)
        _check_order(keys)

    def takes_time(self, keys: DelayKeys) -> bool:
        """See the base class."""
        return bool(keys.delay or keys.extra_delay)

    def chances(self, keys: DelayKeys, values: Values, before: LossChances) -> LossChances:  # noqa: ARG002
        """What the delay has no room for, netem counts as lost."""
        return before if keys.delay_limit is None else replace(before, high=1.0)

    def files(self, keys: DelayKeys, link: str, way: str) -> Iterator[Command]:
        """The table that delays are drawn from, if it is one of our own."""
        spread = spread_of(keys)
        if spread is not None:
            yield table_command(link, way, spread)

    def netem(self, keys: DelayKeys, context: Context) -> Iterator[str]:
        """Its words are there wherever netem is: without a limit of ours it would hold 1000 packets."""
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
        # A delay that gets shorter would let later packets overtake those under way, just as jitter does.
        varies = keys.jitter or spread is not None or context.changeable
        if varies and not (keys.overtake or keys.reorder):
            yield from _IN_ORDER

    def headline(self, shown: DirectionCaption) -> Iterator[str]:
        """``20 ms ± 5 ms``."""
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
    """Return the table that delays are drawn from; None when a constant or one of netem's own tables will do."""
    if keys.reorder:
        return early(keys.delay, keys.reorder.as_fraction)
    if keys.extra_delay:
        return interpolated(keys.delay, keys.extra_delay)
    return None


def _check_jitter(keys: DelayKeys) -> None:
    if keys.jitter > keys.delay:
        hint = f"nothing arrives before it is sent: use at most {keys.delay}, or a longer delay"
        raise clash(f"is more than the delay of {keys.delay}", hint, "jitter")
    if keys.jitter > _LONGEST_SPREAD:
        raise fault("is not plausible for a jitter", f"use at most {_LONGEST_SPREAD}", "jitter")
    if keys.extra_delay and keys.jitter:
        raise clash("stands beside jitter, and both describe one thing", "choose one", "extra_delay")
    if keys.says("distribution") and not keys.jitter:
        raise idle("does nothing without a jitter", 'add a jitter, like jitter = "5 ms"', "distribution")


def _check_order(keys: DelayKeys) -> None:
    varies = bool(keys.jitter or keys.extra_delay)
    if keys.overtake and not varies:
        raise idle("does nothing where all delays are equal", "add a jitter, or use reorder", "overtake")
    if not keys.reorder:
        return
    if varies:
        raise clash("stands beside a jitter", "packets overtake by jitter with overtake = true", "reorder")
    if not 0 < keys.delay <= _LONGEST_SPREAD:
        hint = f"packets overtake others that are delayed: use a delay of up to {_LONGEST_SPREAD}"
        raise clash(f"cannot be done with a delay of {keys.delay}", hint, "reorder")
    if keys.reorder * MOST_ENTRIES < CERTAIN:
        raise fault("is too rare to simulate", "use at least 62 ppm", "reorder")
