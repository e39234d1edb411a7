# SPDX-License-Identifier: MIT
"""Probabilities of what may happen to a packet."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator

from mptcplab.fields import fault
from mptcplab.units import Probability

CERTAIN = 10**9


def _not_certain(probability: Probability) -> Probability:
    if probability == CERTAIN:
        raise fault("leaves no packet as it was", "use less than 100 %")
    return probability


Chance = Annotated[Probability, AfterValidator(_not_certain)]


def percent(share: Fraction | Probability) -> str:
    """Return a share for ``tc``: exact to a part in 10^9, of which it keeps one in 4 * 10^9."""
    parts = share if isinstance(share, Probability) else Probability(round(share * CERTAIN))
    return f"{parts.percent_text}%"
