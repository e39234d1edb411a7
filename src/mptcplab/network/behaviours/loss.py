# SPDX-License-Identifier: MIT
"""Random loss: independent, in bursts, and by bit errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from pydantic import Field, model_validator

from mptcplab.fields import Misnomers, Part, conflict, value_error
from mptcplab.network.behaviour import Behaviour, DirectionContext, EffectCounter, Values, VariableKey
from mptcplab.network.captions import NOTHING, DirectionCaption, Table
from mptcplab.network.chances import CERTAIN, BurstChain, Chance, LossChances, percent
from mptcplab.units import Packets, Probability

# Independent random loss.

LOST = EffectCounter("netem", "drops", "packets that were lost before the queue")


class LossKeys(Part):
    """The key of independent loss."""

    misnomers: ClassVar[Misnomers] = {
        "loss": ("packet_loss", "plr", "loss_rate", "drop", "drop_rate", "drop_probability", "error_rate"),
    }

    loss: Probability = Field(default=Probability(0), description="probability of independent loss, before the queue")


class Loss(Behaviour[LossKeys]):
    """The loss of every packet with the same probability."""

    name = "loss"
    model = LossKeys
    order = 30
    example: ClassVar = {"loss": "1 %"}
    variable: ClassVar = {
        "loss": VariableKey(
            Probability, "new loss; 100 % is a silent failure: use down", {"loss_percent": 10**7}, largest=CERTAIN
        )
    }
    counters = (LOST,)

    def check(self, keys: LossKeys) -> None:
        """See the base class."""
        if keys.loss == CERTAIN:
            raise value_error("loses every packet", "use less than 100 %", "loss")

    def loss_rate(self, keys: LossKeys) -> Fraction:
        """See the base class."""
        return keys.loss.as_fraction

    def chances(self, keys: LossKeys, values: Values, before: LossChances) -> LossChances:  # noqa: ARG002
        """See the base class."""
        shares = [loss.fraction for loss in values["loss"]]
        return before.and_lost(min(shares), max(shares))

    def netem(self, keys: LossKeys, context: DirectionContext) -> Iterator[str]:  # noqa: ARG002
        """See the base class."""
        if keys.loss:
            yield from ("loss", "random", percent(keys.loss))

    def base_value(self, key: str, first: int, mean: int) -> int:  # noqa: ARG002
        """Return less than 100 %: a trace may lose every packet for a while, a direction may not."""
        return min(first, CERTAIN - 1)

    def caption_below(self, shown: DirectionCaption) -> Iterator[str]:
        """See the base class."""
        loss = shown.text("loss")
        if loss:
            yield f"loss {loss}"


# Loss in bursts, by a two-state chain (Gilbert 1960, Elliott 1963).


class BurstLoss(Part):
    """Loss in bursts, by a two-state chain (Gilbert 1960, Elliott 1963) that takes a step with every packet.

    It has either the chain's own parameters, or the mean loss and the mean length of a burst. The latter define a
    chain that loses every packet in its bad state and none in its good state.
    """

    misnomers: ClassVar[Misnomers] = {
        "p": ("p13", "good_to_bad"),
        "r": ("p31", "bad_to_good"),
        "1-h": ("h", "bad", "loss_bad", "loss_in_bad"),
        "1-k": ("k", "good", "loss_good", "loss_in_good"),
        "mean": ("loss", "rate", "average"),
        "length": ("burst", "burst_length", "mean_length"),
    }

    p: Probability | None = Field(default=None, description="probability per packet of a step from good to bad")
    r: Probability | None = Field(default=None, description="probability per packet of a step from bad to good")
    lost_in_bad: Probability = Field(
        default=Probability(CERTAIN), alias="1-h", description="loss in the bad state", examples=["80 %"]
    )
    lost_in_good: Probability = Field(
        default=Probability(0), alias="1-k", description="loss in the good state", examples=["0.1 %"]
    )
    mean: Probability | None = Field(default=None, description="mean loss of all packets, in place of p and r")
    length: Packets | None = Field(
        default=None, description="mean number of packets lost in a row, with mean", examples=["5 packets"]
    )

    @model_validator(mode="after")
    def _check(self) -> BurstLoss:
        chain = self.p is not None or self.r is not None or self.is_set("lost_in_bad") or self.is_set("lost_in_good")
        summary = self.mean is not None or self.length is not None
        if chain and summary:
            raise conflict("describes the chain twice", "use either p and r (and 1-h, 1-k), or mean and length")
        if summary and (self.mean is None or self.length is None):
            raise value_error("is incomplete", 'write for example { mean = "1 %", length = "5 packets" }')
        if not summary and (self.p is None or self.r is None):
            raise value_error(
                "is incomplete", 'write { p = "0.2 %", r = "20 %" } or { mean = "1 %", length = "5 packets" }'
            )
        if self.r == 0:
            raise value_error("never leaves the bad state", "use more than zero", "r")
        if self.length == 0:
            raise value_error("is not the length of a burst", "use at least 1 packet", "length")
        if summary and self.to_bad > 1:
            hint = f"use at most {_max_percent(self.length)} % with bursts of {self.length}, or longer bursts"
            raise conflict("is too much for such short bursts", hint, "mean")
        return self

    @property
    def to_good(self) -> Fraction:
        """r, the probability of leaving the bad state."""
        return Fraction(1, int(self.length)) if self.length is not None else Fraction(int(self.r or 0), CERTAIN)

    @property
    def to_bad(self) -> Fraction:
        """p, the probability of leaving the good state; the mean loss is p / (p + r)."""
        if self.mean is None:
            return Fraction(int(self.p or 0), CERTAIN)
        mean = Fraction(int(self.mean), CERTAIN)
        return self.to_good * mean / (1 - mean) if mean < 1 else Fraction(2)

    @property
    def shares(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """p, r, 1-h and 1-k."""
        return self.to_bad, self.to_good, self.lost_in_bad.as_fraction, self.lost_in_good.as_fraction

    @property
    def mean_loss(self) -> Fraction:
        """The mean loss of all packets."""
        bad = self.to_bad / (self.to_bad + self.to_good)
        return (bad * int(self.lost_in_bad) + (1 - bad) * int(self.lost_in_good)) / CERTAIN


def _max_percent(length: int | None) -> int:
    return int(Fraction(100 * int(length or 1), int(length or 1) + 1))


class BurstLossKeys(LossKeys):
    """The key of loss in bursts."""

    misnomers: ClassVar[Misnomers] = {
        "burst_loss": ("gemodel", "gilbert", "gilbert_elliott", "loss_model"),
    }

    burst_loss: BurstLoss | None = Field(
        default=None,
        description="loss in bursts, before the queue, in place of loss",
        examples=[{"mean": "1 %", "length": "5 packets"}],
    )


class Bursts(Behaviour[BurstLossKeys]):
    """Loss that depends on the loss of earlier packets."""

    name = "burst-loss"
    model = BurstLossKeys
    order = 40
    example: ClassVar = {"burst_loss": {"mean": "1 %", "length": "5 packets"}}
    counters = (LOST,)

    def check(self, keys: BurstLossKeys) -> None:
        """See the base class."""
        if keys.loss and keys.burst_loss is not None:
            hint = "remove one of them: 1-k of burst_loss is the loss between bursts"
            raise conflict("cannot be combined with burst_loss", hint, "loss")

    def is_active(self, keys: BurstLossKeys) -> bool:
        """Return whether there is loss in bursts; independent loss is another behaviour."""
        return keys.burst_loss is not None

    def loss_rate(self, keys: BurstLossKeys) -> Fraction:
        """See the base class."""
        chain = keys.burst_loss
        return Fraction(0) if chain is None else chain.mean_loss * chain.to_good

    def chances(self, keys: BurstLossKeys, values: Values, before: LossChances) -> LossChances:  # noqa: ARG002
        """See the base class."""
        chain = keys.burst_loss
        if chain is None:
            return before
        mean = float(chain.mean_loss)
        return replace(before.and_lost(mean, mean), bursts=BurstChain(*map(float, chain.shares)))

    def netem(self, keys: BurstLossKeys, context: DirectionContext) -> Iterator[str]:  # noqa: ARG002
        """See the base class."""
        chain = keys.burst_loss
        if chain is not None:
            yield from ("loss", "gemodel", *map(percent, chain.shares))

    def caption(self, described: Table) -> Iterator[str]:
        """See the base class."""
        chain = described.get("burst_loss")
        if chain and chain.get("mean") is not None:
            yield f"loss {chain['mean']} in bursts of {chain['length']}"
        elif chain:
            yield f"burst loss p {chain['p']}, r {chain['r']}"


# Bit errors.


class CorruptKeys(Part):
    """The key of bit errors."""

    misnomers: ClassVar[Misnomers] = {
        "corrupt": ("corruption", "ber", "bit_errors"),
    }

    corrupt: Chance = Field(default=Probability(0), description="probability of one wrong bit in a packet")


class Corrupt(Behaviour[CorruptKeys]):
    """One flipped bit in some packets; receivers that verify checksums drop them, after the bottleneck."""

    name = "corrupt"
    model = CorruptKeys
    order = 60
    example: ClassVar = {"corrupt": "1 %"}

    def loss_rate(self, keys: CorruptKeys) -> Fraction:
        """See the base class."""
        return keys.corrupt.as_fraction

    def netem(self, keys: CorruptKeys, context: DirectionContext) -> Iterator[str]:  # noqa: ARG002
        """See the base class."""
        if keys.corrupt:
            yield from ("corrupt", percent(keys.corrupt))

    def caption(self, described: Table) -> Iterator[str]:
        """See the base class."""
        if described.get("corrupt") not in NOTHING:
            yield f"corrupted {described['corrupt']}"
