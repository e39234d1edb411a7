# SPDX-License-Identifier: MIT
"""CoDel (RFC 8289), which drops at the head when packets have waited too long, and FQ-CoDel (RFC 8290)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from mptcplab.fields import Boolean, Misnomers, Part
from mptcplab.network.behaviour import EffectCounter, Words
from mptcplab.network.disciplines.base import Discipline, Shaping, Span, marks, option
from mptcplab.units import Rate


class CodelParameters(Part):
    """The parameters of CoDel's control law."""

    misnomers: ClassVar[Misnomers] = {
        "target": ("target_delay",),
        "interval": ("window",),
        "ecn": ("mark", "marking"),
    }

    target: Span | None = Field(default=None, description="target delay in the queue")
    interval: Span | None = Field(default=None, description="time within which the delay has to fall below target")
    ecn: Boolean = marks()


class Codel(Discipline[CodelParameters]):
    """CoDel with one queue for all flows."""

    name = "codel"
    parameters = CodelParameters
    counters = (EffectCounter("codel", "ecn_mark", "packets that were marked"),)

    def child_qdiscs(self, shaped: Shaping, rate: Rate, parameters: CodelParameters, frame: int) -> Iterator[Words]:
        """Return the discipline; it marks only with ``ecn``, although FQ-CoDel's own default is to mark."""
        packets = max(1, shaped.held_bytes(rate, frame) // frame)
        times = (*option("target", parameters.target), *option("interval", parameters.interval))
        yield (self.name, "limit", str(packets), *times, "ecn" if parameters.ecn else "noecn")


class FqCodel(Codel):
    """CoDel with one queue per flow, new flows first."""

    name = "fq_codel"
    counters = (EffectCounter("fq_codel", "ecn_mark", "packets that were marked"),)
