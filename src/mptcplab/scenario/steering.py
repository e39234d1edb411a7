# SPDX-License-Identifier: MIT
"""The ``[steering]`` table: a node that moves terminals between access points by MPTCP's priorities."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from mptcplab.errors import Mistake
from mptcplab.fields import NodeName, Number, Part, Time, idle, invalid
from mptcplab.units import Duration

#: The keys that only some policies have.
_OF_POLICY = {"threshold": ("ratio",), "margin_db": ("fair",), "hold": ("fair",)}
_SHORTEST = Duration(100 * 10**6)


class Steering(Part):
    """The daemon of docs/steering.md on one node, and an agent on each access point."""

    at: NodeName = Field(description="the node with the terminals' connections, on which the daemon runs")
    policy: Literal["ratio", "fair", "none"] = Field(
        default="ratio",
        description="ratio: Algorithm 1 of Asakura et al. 2019; fair: as few terminals as can be at the most crowded "
        "access point; none: every terminal stays where it began",
    )
    access_points: tuple[NodeName, ...] = Field(
        default=(),
        description="nodes with an agent; default: all access points. A router counts what its links to hosts carry",
        examples=[["ap1", "ap2"]],
    )
    period: Time = Field(default=Duration(10**9), description="time between two decisions", examples=["2 s"])
    floor_dbm: Annotated[Number, Field(ge=-150, le=40)] = Field(
        default=-90.0, description="S: terminals move only to access points that hear them above this signal"
    )
    threshold: Annotated[Number, Field(ge=1, le=1000)] | None = Field(
        default=None, description="of ratio: T, by how much one access point must have received more", examples=[1.15]
    )
    margin_db: Annotated[Number, Field(ge=0, le=40)] = Field(
        default=3.0, description="of fair: by how much the signal must be above the floor"
    )
    hold: Time = Field(default=Duration(5 * 10**9), description="of fair: time before a terminal moves again")

    @model_validator(mode="after")
    def _check_policy(self) -> Steering:
        for key, policies in _OF_POLICY.items():
            if self.policy not in policies and self.is_set(key):
                hint = f'remove it, or use policy = "{policies[0]}"'
                raise idle(f'does nothing with policy = "{self.policy}"', hint, key)
        if self.policy == "ratio" and self.threshold is None:
            hint = "add threshold = 1.15: how much more one access point must have received"
            raise invalid("has no threshold", hint, kind=Mistake.MISSING)
        if self.period < _SHORTEST:
            raise invalid("is too short", f'use at least "{_SHORTEST}"', "period")
        return self
