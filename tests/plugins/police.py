# SPDX-License-Identifier: MIT
"""A behaviour of links and a queueing discipline from outside of the package: a policer, and SFQ.

Providers police as often as they shape (Flach et al., An Internet-Wide Analysis of Traffic Policing, 2016): what comes
faster than a rate is dropped at once, and does not wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from mptcplab.fields import Part, Whole, fault
from mptcplab.network.behaviour import Behaviour, EffectCounter, VariableKey, Words
from mptcplab.network.captions import Table
from mptcplab.network.disciplines.base import Discipline, Shaping
from mptcplab.units import Rate

_BURST = 20_000


class PoliceKeys(Part):
    """A limit without a queue."""

    police: Rate | None = Field(default=None, description="what comes faster is dropped, and does not wait")


class Police(Behaviour[PoliceKeys]):
    """A token bucket in front of the queue."""

    name = "police"
    model = PoliceKeys
    smallest: ClassVar = {"police": "5 Mbit/s"}
    variable: ClassVar = {
        "police": VariableKey(
            Rate, "new rate of the policer", {"police_mbit_s": 10**6}, largest=10**11, from_start=True
        )
    }
    seen = (EffectCounter("clsact", "drops", "packets that came too fast"),)

    def check(self, keys: PoliceKeys) -> None:
        """See the base class."""
        if keys.police is not None and keys.police < 8000:
            raise fault("lets hardly anything pass", "use at least 8 kbit/s", "police")

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
    """What SFQ can be told."""

    perturb: Whole | None = Field(default=None, ge=1, le=3600, description="seconds after which flows are mixed anew")


class Sfq(Discipline[SfqParameters]):
    """A queue per flow, each served in turn."""

    name = "sfq"
    parameters = SfqParameters

    def below(self, shaped: Shaping, rate: Rate, described: SfqParameters, frame: int) -> Iterator[Words]:
        """See the base class."""
        mixed = () if described.perturb is None else ("perturb", str(described.perturb))
        yield ("sfq", "limit", str(max(1, shaped.held_bytes(rate, frame) // frame)), *mixed)
