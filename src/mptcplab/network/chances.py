# SPDX-License-Identifier: MIT
"""Probabilities of effects on packets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator

from mptcplab.fields import value_error
from mptcplab.units import Probability

CERTAIN = 10**9


def _check_not_certain(probability: Probability) -> Probability:
    if probability == CERTAIN:
        raise value_error("affects every packet", "use less than 100 %")
    return probability


Chance = Annotated[Probability, AfterValidator(_check_not_certain)]


@dataclass(frozen=True)
class LossChances:
    """The probability of random loss in a direction, as recordings have it: see mptcplab.metrics.loss.Chances.

    It is from ``low`` to ``high``, which differ if it changes during a run. ``bursts`` has the four probabilities of
    a two-state chain: of a transition to the bad state, to the good state, and of loss in each.
    """

    low: float = 0.0
    high: float = 0.0
    bursts: tuple[float, ...] | None = None

    def and_lost(self, low: float, high: float) -> LossChances:
        """Return the chances together with another, independent cause of loss."""
        return replace(self, low=self.low + (1 - self.low) * low, high=self.high + (1 - self.high) * high)


def percent(share: Fraction | Probability) -> str:
    """Return a share for ``tc``, exact to one part in 10^9; ``tc`` itself keeps one part in 4 * 10^9."""
    parts = share if isinstance(share, Probability) else Probability(round(share * CERTAIN))
    return f"{parts.percent_text}%"
