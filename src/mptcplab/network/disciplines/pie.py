# SPDX-License-Identifier: MIT
"""PIE (RFC 8033): drops at the tail with a probability that brings the delay to a target; also one per flow."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from mptcplab.fields import Boolean, Part
from mptcplab.network.behaviour import EffectCounter, Words
from mptcplab.network.disciplines.base import Discipline, Shaping, Span, marks, option
from mptcplab.units import Rate


class PieParameters(Part):
    """Both times of the control law."""

    target: Span | None = Field(default=None, description="delay in the queue that is aimed at")
    update: Span | None = Field(default=None, description="time between updates of the drop probability")
    ecn: Boolean = marks()


class Pie(Discipline[PieParameters]):
    """One queue for all."""

    name = "pie"
    parameters = PieParameters
    counters = (EffectCounter("pie", "ecn_mark", "packets that were marked"),)

    def child_qdiscs(self, shaped: Shaping, rate: Rate, parameters: PieParameters, frame: int) -> Iterator[Words]:
        """See the base class."""
        packets = max(1, shaped.held_bytes(rate, frame) // frame)
        times = (*option("target", parameters.target), *option("tupdate", parameters.update))
        yield (self.name, "limit", str(packets), *times, "ecn" if parameters.ecn else "noecn")


class FqPie(Pie):
    """A queue per flow, PIE in each."""

    name = "fq_pie"
    counters = (EffectCounter("fq_pie", "ecn_mark", "packets that were marked"),)
