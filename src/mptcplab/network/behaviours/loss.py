# SPDX-License-Identifier: MIT
"""Independent random loss."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

from pydantic import Field

from mptcplab.fields import Misnomers, Part, value_error
from mptcplab.network.behaviour import Behaviour, DirectionContext, EffectCounter, Values, VariableKey
from mptcplab.network.captions import DirectionCaption
from mptcplab.network.chances import CERTAIN, percent
from mptcplab.network.losses import LossChances
from mptcplab.units import Probability

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
    rank = 30
    smallest: ClassVar = {"loss": "1 %"}
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

    def details(self, shown: DirectionCaption) -> Iterator[str]:
        """See the base class."""
        loss = shown.text("loss")
        if loss:
            yield f"loss {loss}"
