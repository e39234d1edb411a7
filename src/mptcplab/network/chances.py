# SPDX-License-Identifier: MIT
"""Probabilities of effects on packets."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator

from mptcplab.fields import value_error
from mptcplab.network.losses import LossChances as LossChances  # for the description of scenarios in recordings
from mptcplab.units import Probability

CERTAIN = 10**9


def _check_not_certain(probability: Probability) -> Probability:
    if probability == CERTAIN:
        raise value_error("affects every packet", "use less than 100 %")
    return probability


Chance = Annotated[Probability, AfterValidator(_check_not_certain)]


def percent(share: Fraction | Probability) -> str:
    """Return a share for ``tc``, exact to one part in 10^9; ``tc`` itself keeps one part in 4 * 10^9."""
    parts = share if isinstance(share, Probability) else Probability(round(share * CERTAIN))
    return f"{parts.percent_text}%"
