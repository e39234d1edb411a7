# SPDX-License-Identifier: MIT
"""What a link does to packets, in each of its directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, create_model, model_validator

from mptcplab.fields import NodeName, Part, clash, fault, idle
from mptcplab.network.frames import MTU
from mptcplab.network.registry import BEHAVIOURS, VARIABLE_KEY_NAMES
from mptcplab.scenario.trace import Trace, TraceOrFile
from mptcplab.units import Size

#: What IPv4 has to carry, IPv6's own minimum, and what network cards with jumbo frames take.
LEAST_MTU, LEAST_MTU_IPV6, MOST_MTU = 576, 1280, 9216
DIRECTIONS = ("forward", "backward")

if TYPE_CHECKING:
    from mptcplab.network.behaviours.bottleneck import BottleneckKeys
    from mptcplab.network.behaviours.burst_loss import BurstLossKeys
    from mptcplab.network.behaviours.delay import DelayKeys

    class _Keys(BottleneckKeys, BurstLossKeys, DelayKeys):
        """Those that others than the behaviours themselves ask for."""
else:
    # pydantic puts the fields of the last base first.
    _Keys = create_model("_Keys", __base__=tuple(one.model for one in reversed(BEHAVIOURS)), __module__=__name__)


class Direction(_Keys):
    """What one direction of a link does to packets. No rate means as fast as they come."""

    trace: TraceOrFile = Field(
        default=None,
        description=f"a file that {VARIABLE_KEY_NAMES} follow over time: its name, or a table",
        examples=["lte.down"],
    )

    @property
    def traced(self) -> Trace | None:
        """The trace, as loading has read it."""
        return self.trace if isinstance(self.trace, Trace) else None

    @model_validator(mode="after")
    def _behaves(self) -> Direction:
        for one in BEHAVIOURS:
            one.check(self)
        return self


class Link(Part):
    """A full-duplex link between two nodes. ``forward`` is from the first to the second of ``between``."""

    between: tuple[NodeName, NodeName] = Field(examples=[["client", "r1"]])
    forward: Direction = Field(default_factory=Direction)
    backward: Direction = Field(default_factory=Direction)
    shape: Literal["router", "sender"] = Field(
        default="router", description="where a host's sending direction is shaped: behind the wire, or on the host"
    )
    addresses: tuple[str, str] | None = Field(
        default=None, description="both ends with prefix length", examples=[["10.1.1.1/24", "10.1.1.2/24"]]
    )
    mtu: Size = Field(default=Size(MTU), description="largest packet, without its Ethernet header", examples=["1400 B"])

    @model_validator(mode="after")
    def _two_ends(self) -> Link:
        if self.between[0] == self.between[1]:
            raise clash(f"joins '{self.between[0]}' to itself", "name two different nodes", "between")
        if not LEAST_MTU <= self.mtu <= MOST_MTU:
            raise fault("is not an MTU that IP is used with", f"use from {LEAST_MTU} B to {MOST_MTU} B", "mtu")
        return self

    @model_validator(mode="after")
    def _limits_need_rates(self) -> Link:
        """What describes the queue belongs to a rate; a direction without one may only have what both share."""
        for key in (key for one in BEHAVIOURS for key in one.of_rate):
            sides = {n: side for n in DIRECTIONS if (side := getattr(self, n)).says(key)}
            without = [name for name, side in sides.items() if side.rate is None]
            shared = len(sides) == 2 and getattr(self.forward, key) == getattr(self.backward, key)
            if without and not (shared and len(without) == 1):
                raise idle("does nothing without a rate", 'add a rate, like rate = "10 Mbit/s"', without[0], key)
        return self
