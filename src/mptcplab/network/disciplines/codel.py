# SPDX-License-Identifier: MIT
"""CoDel (RFC 8289): drops at the head when packets have waited too long; and a queue per flow kept by it (RFC 8290)."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from mptcplab.fields import Part, Truth
from mptcplab.network.behaviour import Seen, Words
from mptcplab.network.disciplines.base import Discipline, Shaped, Span, marks, option
from mptcplab.units import Rate


class CodelParameters(Part):
    """Both times of the control law."""

    target: Span | None = Field(default=None, description="delay in the queue that is aimed at")
    interval: Span | None = Field(default=None, description="time in which a queue has to fall below target")
    ecn: Truth = marks()


class Codel(Discipline[CodelParameters]):
    """One queue for all."""

    name = "codel"
    parameters = CodelParameters
    seen = (Seen("codel", "ecn_mark", "packets that were marked"),)

    def below(self, shaped: Shaped, rate: Rate, told: CodelParameters, frame: int) -> Iterator[Words]:
        """FQ-CoDel marks by default, CoDel does not: here none does unless it is said."""
        packets = max(1, shaped.held_bytes(rate, frame) // frame)
        times = (*option("target", told.target), *option("interval", told.interval))
        yield (self.name, "limit", str(packets), *times, "ecn" if told.ecn else "noecn")


class FqCodel(Codel):
    """A queue per flow, new flows first."""

    name = "fq_codel"
    seen = (Seen("fq_codel", "ecn_mark", "packets that were marked"),)
