# SPDX-License-Identifier: MIT
"""What one direction of a link does to packets before its bottleneck: delay, loss, copies, damage, order."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from mptcplab.fields import Part, Truth, fault
from mptcplab.units import Duration, Packets, Probability

_LONGEST_DELAY = Duration(3600 * 10**9)
#: netem keeps the spread of a delay in 31 bits of nanoseconds.
_LONGEST_SPREAD = Duration(2 * 10**9)
#: A reordered packet is drawn from a table, and netem's tables have at most this many entries.
MOST_ENTRIES = 16384
_CERTAIN = 10**9


def _not_certain(probability: Probability) -> Probability:
    if probability == _CERTAIN:
        raise fault("leaves no packet as it was", "use less than 100 %")
    return probability


def _quantiles(times: tuple[Duration, ...]) -> tuple[Duration, ...]:
    if list(times) != sorted(times):
        raise fault("is not in ascending order", "begin with the least delay, and end with the largest")
    if len(times) == 1 or len(times) > MOST_ENTRIES // 16:
        raise fault("has the wrong number of quantiles", f"use 2 to {MOST_ENTRIES // 16} of them")
    if times and times[0] == times[-1]:
        raise fault("is the same for every packet", "write it as delay")
    if times and times[-1] > 4 * _LONGEST_SPREAD:
        raise fault("is not plausible", f"use at most {Duration(4 * _LONGEST_SPREAD)}")
    return times


Chance = Annotated[Probability, AfterValidator(_not_certain)]


class BurstLoss(Part):
    """Loss in bursts, by a chain of two states (Gilbert 1960, Elliott 1963) that takes a step with every packet.

    Either the chain's own parameters, or the mean loss and the mean length of a burst of lost packets, which mean a
    chain that loses everything in its bad state and nothing in its good one.
    """

    p: Probability | None = Field(default=None, description="a packet in the good state makes it bad")
    r: Probability | None = Field(default=None, description="a packet in the bad state makes it good")
    lost_in_bad: Probability = Field(
        default=Probability(_CERTAIN), alias="1-h", description="loss in the bad state", examples=["80 %"]
    )
    lost_in_good: Probability = Field(
        default=Probability(0), alias="1-k", description="loss in the good state", examples=["0.1 %"]
    )
    mean: Probability | None = Field(default=None, description="of all packets, in place of p and r")
    length: Packets | None = Field(
        default=None, description="mean number of packets lost in a row, beside mean", examples=["5 packets"]
    )

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> BurstLoss:
        chain = self.p is not None or self.r is not None or self.says("lost_in_bad") or self.says("lost_in_good")
        summary = self.mean is not None or self.length is not None
        if chain and summary:
            raise fault("says the chain twice", "give either p and r (and 1-h, 1-k), or mean and length")
        if summary and (self.mean is None or self.length is None):
            raise fault("is incomplete", 'like { mean = "1 %", length = "5 packets" }')
        if not summary and (self.p is None or self.r is None):
            raise fault("is incomplete", 'like { p = "0.2 %", r = "20 %" } or { mean = "1 %", length = "5 packets" }')
        if self.r == 0:
            raise fault("never leaves the bad state", "use more than zero", "r")
        if self.length == 0:
            raise fault("is no burst", "use at least 1 packet", "length")
        if summary and self.to_bad > 1:
            hint = f"with bursts of {self.length} at most {_most(self.length)} % of the packets can be lost"
            raise fault("is too much for bursts this short", hint, "mean")
        return self

    @property
    def to_good(self) -> Fraction:
        """r, the probability of leaving the bad state."""
        return Fraction(1, int(self.length)) if self.length is not None else Fraction(int(self.r or 0), _CERTAIN)

    @property
    def to_bad(self) -> Fraction:
        """p, the probability of leaving the good state: what makes the mean loss p / (p + r)."""
        if self.mean is None:
            return Fraction(int(self.p or 0), _CERTAIN)
        mean = Fraction(int(self.mean), _CERTAIN)
        return self.to_good * mean / (1 - mean) if mean < 1 else Fraction(2)

    @property
    def mean_loss(self) -> Fraction:
        """Of all packets, in the long run."""
        bad = self.to_bad / (self.to_bad + self.to_good)
        return (bad * int(self.lost_in_bad) + (1 - bad) * int(self.lost_in_good)) / _CERTAIN


def _most(length: int | None) -> int:
    return int(Fraction(100 * int(length or 1), int(length or 1) + 1))


class Impairments(Part):
    """Delay, loss, copies, damage and order of the packets of one direction."""

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
    loss: Probability = Field(default=Probability(0), description="independent random loss, before the queue")
    burst_loss: BurstLoss | None = Field(
        default=None,
        description="loss in bursts, before the queue, in place of loss",
        examples=[{"mean": "1 %", "length": "5 packets"}],
    )
    duplicate: Chance = Field(default=Probability(0), description="a packet comes twice")
    corrupt: Chance = Field(default=Probability(0), description="a packet has one wrong bit somewhere")

    @model_validator(mode="after")
    def _possible(self) -> Impairments:
        if self.delay > _LONGEST_DELAY:
            raise fault("is not plausible for a delay", "use at most 1 h", "delay")
        if self.delay_limit == 0:
            raise fault("holds no packet", "use at least 1 packet", "delay_limit")
        if self.loss == _CERTAIN:
            raise fault("loses every packet", "use less than 100 %", "loss")
        if self.loss and self.burst_loss is not None:
            raise fault("stands beside burst_loss", "choose one: 1-k of burst_loss is loss between bursts", "loss")
        self._check_jitter()
        self._check_order()
        return self

    def _check_jitter(self) -> None:
        if self.jitter > self.delay:
            hint = f"nothing arrives before it is sent: use at most {self.delay}, or a longer delay"
            raise fault(f"is more than the delay of {self.delay}", hint, "jitter")
        if self.jitter > _LONGEST_SPREAD:
            raise fault("is not plausible for a jitter", f"use at most {_LONGEST_SPREAD}", "jitter")
        if self.extra_delay and self.jitter:
            raise fault("stands beside jitter, and both describe one thing", "choose one", "extra_delay")
        if self.says("distribution") and not self.jitter:
            raise fault("does nothing without a jitter", 'add a jitter, like jitter = "5 ms"', "distribution")

    def _check_order(self) -> None:
        varies = bool(self.jitter or self.extra_delay)
        if self.overtake and not varies:
            raise fault("does nothing where all delays are equal", "add a jitter, or use reorder", "overtake")
        if not self.reorder:
            return
        if varies:
            raise fault("stands beside a jitter", "packets overtake by jitter with overtake = true", "reorder")
        if not 0 < self.delay <= _LONGEST_SPREAD:
            hint = f"packets overtake others that are delayed: use a delay of up to {_LONGEST_SPREAD}"
            raise fault(f"cannot be done with a delay of {self.delay}", hint, "reorder")
        if self.reorder * MOST_ENTRIES < _CERTAIN:
            raise fault("is too rare to simulate", "use at least 62 ppm", "reorder")
