# SPDX-License-Identifier: MIT
"""A plugin with a link behaviour and a queue discipline: a policer, and SFQ.

Providers police as often as they shape (Flach et al., An Internet-Wide Analysis of Traffic Policing, 2016): a policer
drops packets above a rate at once, without a queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from mptcplab.fields import Part, Whole, value_error
from mptcplab.network.behaviour import Behaviour, EffectCounter, VariableKey, Words
from mptcplab.network.captions import Table
from mptcplab.network.disciplines.base import Discipline, Shaping
from mptcplab.units import Rate

_BURST = 20_000


class PoliceKeys(Part):
    """The key of a policer."""

    police: Rate | None = Field(default=None, description="rate above which packets are dropped, without a queue")


class Police(Behaviour[PoliceKeys]):
    """A token bucket before the queue."""

    name = "police"
    model = PoliceKeys
    example: ClassVar = {"police": "5 Mbit/s"}
    variable: ClassVar = {
        "police": VariableKey(
            Rate, "new rate of the policer", {"police_mbit_s": 10**6}, largest=10**11, needs_value=True
        )
    }
    counters = (EffectCounter("clsact", "drops", "packets that the policer dropped"),)

    def check(self, keys: PoliceKeys) -> None:
        """See the base class."""
        if keys.police is not None and keys.police < 8000:
            raise value_error("drops almost every packet", "use at least 8 kbit/s", "police")

    def actions(self, keys: PoliceKeys) -> Words:
        """See the base class."""
        if keys.police is None:
            return ()
        return ("police", "rate", f"{int(keys.police)}bit", "burst", str(_BURST), "conform-exceed", "drop/continue")

    def payload_bps(self, keys: PoliceKeys, payload: int, frame: int) -> float | None:
        """See the base class."""
        return None if keys.police is None else float(keys.police) * payload / frame

    def caption(self, described: Table) -> Iterator[str]:
        """See the base class."""
        if described.get("police"):
            yield f"policed to {described['police']}"


class SfqParameters(Part):
    """SFQ's parameters."""

    perturb: Whole | None = Field(default=None, ge=1, le=3600, description="seconds between changes of the hash")


class Sfq(Discipline[SfqParameters]):
    """SFQ: a queue per flow, served in turn."""

    name = "sfq"
    parameters = SfqParameters

    def child_qdiscs(self, shaped: Shaping, rate: Rate, described: SfqParameters, frame: int) -> Iterator[Words]:
        """See the base class."""
        perturb = () if described.perturb is None else ("perturb", str(described.perturb))
        yield ("sfq", "limit", str(max(1, shaped.held_bytes(rate, frame) // frame)), *perturb)
