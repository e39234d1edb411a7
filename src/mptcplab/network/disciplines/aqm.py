# SPDX-License-Identifier: MIT
"""Active queue management: CoDel and FQ-CoDel (RFC 8289, 8290), PIE (RFC 8033), RED (Floyd and Jacobson 1993)."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from mptcplab.fields import Boolean, Misnomers, Part, conflict, value_error
from mptcplab.network.behaviour import EffectCounter, Words
from mptcplab.network.chances import CERTAIN
from mptcplab.network.disciplines.base import Discipline, Shaping, Span, marks, option
from mptcplab.network.frames import full_frame
from mptcplab.units import Probability, QueueLength, Rate

# CoDel (RFC 8289), which drops at the head when packets have waited too long, and FQ-CoDel (RFC 8290).


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


# PIE (RFC 8033), which drops at the tail with a probability that steers the delay to a target, and FQ-PIE.


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


# RED (Floyd and Jacobson 1993): drops at the tail by the mean length of the queue.

#: RED's mean packet size in bytes, for the weight of its moving average.
_PACKET = 1000
_PROBABILITY = "0.02"


def _check_probability(probability: Probability) -> Probability:
    if not 0 < probability < CERTAIN:
        raise value_error("is not plausible", "use more than 0 % and less than 100 %")
    return probability


class RedParameters(Part):
    """RED's thresholds: between them it drops some packets."""

    misnomers: ClassVar[Misnomers] = {
        "min": ("least", "minimum", "minth", "min_th", "min_threshold"),
        "max": ("most", "maximum", "maxth", "max_th", "max_threshold"),
        "probability": ("max_p", "maxp", "pmax"),
        "ecn": ("mark", "marking"),
    }

    min: QueueLength | None = Field(
        default=None, description="mean queue below which no packet is dropped; default a twelfth of the queue"
    )
    max: QueueLength | None = Field(
        default=None, description="mean queue above which every packet is dropped; default a quarter of the queue"
    )
    probability: Annotated[Probability, AfterValidator(_check_probability)] | None = Field(
        default=None, description="maximum probability of a drop between them; default 2 %"
    )
    ecn: Boolean = marks()


class Red(Discipline[RedParameters]):
    """RED with one queue for all flows."""

    name = "red"
    parameters = RedParameters
    counters = (EffectCounter("red", "marked", "packets that were marked"),)

    def check(self, shaped: Shaping, rate: Rate, parameters: RedParameters) -> None:
        """See the base class."""
        low, high, limit = _range(shaped, rate, parameters)
        if not 0 < low < high <= limit:
            hint = f"use min < max <= queue: the queue holds {limit} B"
            raise conflict("has min, max and queue out of order", hint, "aqm")

    def child_qdiscs(self, shaped: Shaping, rate: Rate, parameters: RedParameters, frame: int) -> Iterator[Words]:  # noqa: ARG002
        """See the base class."""
        low, high, limit = _range(shaped, rate, parameters)
        mean_of = max(1, (2 * low + high) // (3 * _PACKET))
        probability = (
            _PROBABILITY if parameters.probability is None else f"{Decimal(int(parameters.probability)) / CERTAIN:f}"
        )
        words: Words = ("red", "limit", str(limit), "min", str(low), "max", str(high), "avpkt", str(_PACKET))
        words += ("burst", str(mean_of), "probability", probability, "bandwidth", f"{int(rate)}bit")
        yield (*words, "ecn") if parameters.ecn else words


def _range(shaped: Shaping, rate: Rate, parameters: RedParameters) -> tuple[int, int, int]:
    """Return RED's minimum and maximum mean queue, and its limit, in bytes."""
    frame = full_frame()
    limit = max(shaped.held_bytes(rate, frame), frame)
    low = shaped.held_bytes(rate, frame, parameters.min) if parameters.min is not None else limit // 12
    high = shaped.held_bytes(rate, frame, parameters.max) if parameters.max is not None else limit // 4
    return low, high, limit
