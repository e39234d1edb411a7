# SPDX-License-Identifier: MIT
"""CAKE: shapes by itself, keeps flows and hosts apart, and drops as CoDel does."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from mptcplab.fields import Part, idle
from mptcplab.network.behaviour import EffectCounter, Words
from mptcplab.network.disciplines.base import Discipline, Shaping, Span, option
from mptcplab.network.frames import ETHERNET
from mptcplab.units import Rate


class CakeParameters(Part):
    """What it may be told of the paths behind it."""

    interval: Span | None = Field(default=None, description="its rtt")


class Cake(Discipline[CakeParameters]):
    """It stands in place of tbf."""

    name = "cake"
    parameters = CakeParameters
    sizes_itself = True
    counters = (EffectCounter("cake", "drops", "packets that the queue dropped"),)

    def check(self, shaped: Shaping, rate: Rate, parameters: CakeParameters) -> None:  # noqa: ARG002
        """See the base class."""
        for key in ("queue", "burst"):
            if shaped.is_set(key):
                hint = "remove it: CAKE shapes and sizes its queue by itself"
                raise idle(f"does nothing with {self.name}", hint, key)

    def qdiscs(self, shaped: Shaping, rate: Rate, parameters: CakeParameters, frame: int) -> Iterator[Words]:  # noqa: ARG002
        """With an overhead of its own, CAKE counts from the network header on."""
        overhead = ("overhead", str(ETHERNET + int(shaped.overhead))) if shaped.overhead else ()
        yield ("cake", "bandwidth", f"{int(rate)}bit", *option("rtt", parameters.interval), *overhead)

    def filled(self, shaped: Shaping, frame: int) -> int:  # noqa: ARG002
        """It has no bucket."""
        return 0
