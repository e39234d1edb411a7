# SPDX-License-Identifier: MIT
"""CAKE: shapes by itself, isolates flows and hosts, and drops as CoDel does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from mptcplab.fields import Misnomers, Part, idle
from mptcplab.network.behaviour import EffectCounter, Words
from mptcplab.network.disciplines.base import Discipline, Shaping, Span, option
from mptcplab.network.frames import ETHERNET
from mptcplab.units import Rate


class CakeParameters(Part):
    """CAKE's parameters."""

    misnomers: ClassVar[Misnomers] = {
        "interval": ("rtt",),
    }

    interval: Span | None = Field(default=None, description="its parameter rtt")


class Cake(Discipline[CakeParameters]):
    """CAKE in place of tbf."""

    name = "cake"
    parameters = CakeParameters
    sizes_itself = True
    counters = (EffectCounter("cake", "drops", "packets that the queue dropped"),)

    def check(self, shaped: Shaping, rate: Rate, parameters: CakeParameters) -> None:  # noqa: ARG002
        """See the base class."""
        for key in ("queue", "burst"):
            if shaped.is_set(key):
                hint = "remove it: CAKE shapes by itself and sizes its own queue"
                raise idle(f"does nothing with {self.name}", hint, key)

    def qdiscs(self, shaped: Shaping, rate: Rate, parameters: CakeParameters, frame: int) -> Iterator[Words]:  # noqa: ARG002
        """Return CAKE; with an overhead of its own, it counts from the network header on."""
        overhead = ("overhead", str(ETHERNET + int(shaped.overhead))) if shaped.overhead else ()
        yield ("cake", "bandwidth", f"{int(rate)}bit", *option("rtt", parameters.interval), *overhead)

    def bucket_growth(self, shaped: Shaping, frame: int) -> int:  # noqa: ARG002
        """Return 0: CAKE has no bucket."""
        return 0
