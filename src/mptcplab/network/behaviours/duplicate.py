# SPDX-License-Identifier: MIT
"""Duplicate packets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from mptcplab.fields import Misnomers, Part
from mptcplab.network.behaviour import Behaviour, DirectionContext, Values
from mptcplab.network.captions import NOTHING, Table
from mptcplab.network.chances import Chance, LossChances, percent
from mptcplab.units import Probability


class DuplicateKeys(Part):
    """The key of duplicates."""

    misnomers: ClassVar[Misnomers] = {
        "duplicate": ("dup", "duplication"),
    }

    duplicate: Chance = Field(default=Probability(0), description="probability that a packet is duplicated")


class Duplicate(Behaviour[DuplicateKeys]):
    """A copy of some packets, enqueued as a packet of its own."""

    name = "duplicate"
    model = DuplicateKeys
    order = 50
    example: ClassVar = {"duplicate": "1 %"}

    def chances(self, keys: DuplicateKeys, values: Values, before: LossChances) -> LossChances:  # noqa: ARG002
        """Return a lower minimum: netem passes a packet that is to be copied and lost, and counts no loss."""
        return replace(before, low=before.low * (1 - keys.duplicate.fraction))

    def netem(self, keys: DuplicateKeys, context: DirectionContext) -> Iterator[str]:  # noqa: ARG002
        """See the base class."""
        if keys.duplicate:
            yield from ("duplicate", percent(keys.duplicate))

    def caption(self, described: Table) -> Iterator[str]:
        """See the base class."""
        if described.get("duplicate") not in NOTHING:
            yield f"duplicated {described['duplicate']}"
