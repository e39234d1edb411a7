# SPDX-License-Identifier: MIT
"""Bit errors."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

from pydantic import Field

from mptcplab.fields import Misnomers, Part
from mptcplab.network.behaviour import Behaviour, DirectionContext
from mptcplab.network.captions import NOTHING, Table
from mptcplab.network.chances import Chance, percent
from mptcplab.units import Probability


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
    rank = 60
    smallest: ClassVar = {"corrupt": "1 %"}

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
