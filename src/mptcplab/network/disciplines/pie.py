# SPDX-License-Identifier: MIT
"""PIE (RFC 8033), which drops at the tail with a probability that steers the delay to a target, and FQ-PIE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from mptcplab.fields import Boolean, Misnomers, Part
from mptcplab.network.behaviour import EffectCounter, Words
from mptcplab.network.disciplines.base import Discipline, Shaping, Span, marks, option
from mptcplab.units import Rate


class PieParameters(Part):
    """The parameters of PIE's control law."""

    misnomers: ClassVar[Misnomers] = {
        "target": ("target_delay",),
        "update": ("tupdate", "update_interval"),
        "ecn": ("mark", "marking"),
    }

    target: Span | None = Field(default=None, description="target delay in the queue")
    update: Span | None = Field(default=None, description="time between updates of the drop probability")
    ecn: Boolean = marks()


class Pie(Discipline[PieParameters]):
    """PIE with one queue for all flows."""

    name = "pie"
    parameters = PieParameters
    counters = (EffectCounter("pie", "ecn_mark", "packets that were marked"),)

    def child_qdiscs(self, shaped: Shaping, rate: Rate, parameters: PieParameters, frame: int) -> Iterator[Words]:
        """See the base class."""
        packets = max(1, shaped.held_bytes(rate, frame) // frame)
        times = (*option("target", parameters.target), *option("tupdate", parameters.update))
        yield (self.name, "limit", str(packets), *times, "ecn" if parameters.ecn else "noecn")


class FqPie(Pie):
    """PIE with one queue per flow."""

    name = "fq_pie"
    counters = (EffectCounter("fq_pie", "ecn_mark", "packets that were marked"),)
