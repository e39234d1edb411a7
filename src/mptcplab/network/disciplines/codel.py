# SPDX-License-Identifier: MIT
"""CoDel (RFC 8289): drops at the head when packets have waited too long; and a queue per flow kept by it (RFC 8290)."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from mptcplab.fields import Boolean, Part
from mptcplab.network.behaviour import EffectCounter, Words
from mptcplab.network.disciplines.base import Discipline, Shaping, Span, marks, option
from mptcplab.units import Rate


class CodelParameters(Part):
    """Both times of the control law."""

    target: Span | None = Field(default=None, description="delay in the queue that is aimed at")
    interval: Span | None = Field(default=None, description="time in which a queue has to fall below target")
    ecn: Boolean = marks()


class Codel(Discipline[CodelParameters]):
    """One queue for all."""

    name = "codel"
    parameters = CodelParameters
    counters = (EffectCounter("codel", "ecn_mark", "packets that were marked"),)

    def child_qdiscs(self, shaped: Shaping, rate: Rate, parameters: CodelParameters, frame: int) -> Iterator[Words]:
        """FQ-CoDel marks by default, CoDel does not: here none does unless it is said."""
        packets = max(1, shaped.held_bytes(rate, frame) // frame)
        times = (*option("target", parameters.target), *option("interval", parameters.interval))
        yield (self.name, "limit", str(packets), *times, "ecn" if parameters.ecn else "noecn")


class FqCodel(Codel):
    """A queue per flow, new flows first."""

    name = "fq_codel"
    counters = (EffectCounter("fq_codel", "ecn_mark", "packets that were marked"),)
