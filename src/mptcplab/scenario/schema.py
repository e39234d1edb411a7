# SPDX-License-Identifier: MIT
"""What a scenario may say: the typed, checked form of one experiment.

Everything here is plain data without defaults that depend on the machine. A :class:`Scenario` describes one point:
sweeps have been taken apart and presets expanded before it is built. Unknown keys are refused by every class.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mptcplab.fields import Line, LinkName, NodeName, Part, Version, WorkloadName
from mptcplab.scenario.events import Events
from mptcplab.scenario.links import Link
from mptcplab.scenario.middlebox import Middlebox
from mptcplab.scenario.record import Record
from mptcplab.scenario.transport import SYSCTL_EXAMPLE, Sysctl, Transport
from mptcplab.workload.registry import Workload


class Host(Part):
    """A computer at the edge: runs workloads, does not forward."""

    transport: Transport = Field(default_factory=Transport)


class Router(Part):
    """Forwards between its links; shaping happens here."""

    sysctl: Sysctl = Field(default_factory=dict, description="any net.* setting of the router", examples=SYSCTL_EXAMPLE)
    nat: tuple[LinkName, ...] = Field(
        default=(), description="links whose own address everything gets that leaves by them", examples=[["line1"]]
    )
    middlebox: Middlebox = Field(
        default_factory=Middlebox,
        description="what it does to packets beside forwarding them",
        examples=[{"strip": ["mp_join"]}],
    )


class Scenario(Part):
    """One experiment at one point, ready to be planned."""

    title: Line = Field(description="what the scenario is about", examples=["Two lines, one server"])
    question: str = Field(default="", description="what it is to answer", examples=["Is MPTCP faster than TCP?"])
    kernel: Version = Field(
        default="7.2",
        description="version of the lab kernel (also 7.2-hz250), or an entry or path of `mptcplab kernel list`",
        examples=["7.2"],
    )
    family: Literal["ipv4", "ipv6"] = "ipv4"
    phases: Literal["random", "fixed"] = Field(
        default="random",
        description="random: each seed moves the starts of workloads, by less than a round trip, and the delays of "
        "links that have a rate, by less than a packet's time; fixed: all are exactly as written",
    )
    hosts: dict[NodeName, Host]
    routers: dict[NodeName, Router] = Field(default_factory=dict)
    links: dict[LinkName, Link]
    workloads: dict[WorkloadName, Workload]
    events: Events = ()
    record: Record = Field(default_factory=Record)
