# SPDX-License-Identifier: MIT
"""Probabilities of what may happen to a packet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator

from mptcplab.fields import invalid
from mptcplab.units import Probability

CERTAIN = 10**9


def _not_certain(probability: Probability) -> Probability:
    if probability == CERTAIN:
        raise invalid("leaves no packet as it was", "use less than 100 %")
    return probability


Chance = Annotated[Probability, AfterValidator(_not_certain)]


@dataclass(frozen=True)
class LossChances:
    """How likely chance takes a packet of a direction, as recordings have it: see mptcplab.metrics.loss.Chances.

    From ``low`` to ``high``, which differ if it changes during a run. ``bursts`` are the four probabilities of a
    chain of two states: to the bad one, to the good one, and of loss in each.
    """

    low: float = 0.0
    high: float = 0.0
    bursts: tuple[float, ...] | None = None

    def and_lost(self, low: float, high: float) -> LossChances:
        """Return them with another cause beside, which does not look at the others."""
        return replace(self, low=self.low + (1 - self.low) * low, high=self.high + (1 - self.high) * high)


def percent(share: Fraction | Probability) -> str:
    """Return a share for ``tc``: exact to a part in 10^9, of which it keeps one in 4 * 10^9."""
    parts = share if isinstance(share, Probability) else Probability(round(share * CERTAIN))
    return f"{parts.percent_text}%"
