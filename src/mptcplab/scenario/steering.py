# SPDX-License-Identifier: MIT
"""The ``[steering]`` table: a node that moves terminals between access points by MPTCP's priorities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.errors import Mistake
from mptcplab.fields import Misnomers, NodeName, Number, Part, Time, idle, value_error
from mptcplab.scenario.document import Document
from mptcplab.scenario.references import check_known
from mptcplab.steering.policies import policy_classes
from mptcplab.units import Duration

if TYPE_CHECKING:
    from mptcplab.scenario.network import Network

_POLICIES = policy_classes()
#: Keys that have another name in the daemon's configuration, whose times are numbers.
_NAMES = {"hold": "hold_s"}
if TYPE_CHECKING:
    PolicyName = str
else:
    PolicyName = Literal[tuple(_POLICIES)]
_SHORTEST = Duration(100 * 10**6)


class Steering(Part):
    """The daemon of docs/steering.md on one node, and an agent on each access point."""

    misnomers: ClassVar[Misnomers] = {
        "at": ("node", "host", "on", "runs_on"),
        "policy": ("algorithm", "strategy", "method"),
        "access_points": ("aps", "ap"),
        "period": ("interval", "every", "cycle"),
        "floor_dbm": ("floor", "rssi_floor", "min_dbm", "min_rssi"),
        "threshold": ("limit", "max_ratio"),
        "pick": ("choose", "choice", "select"),
        "margin_db": ("margin", "hysteresis", "hysteresis_db"),
        "hold": ("hold_time", "dwell", "cooldown"),
    }

    at: NodeName = Field(description="the node with the terminals' connections, on which the daemon runs")
    policy: PolicyName = Field(
        default="ratio",
        description="ratio: Algorithm 1 of Asakura et al. 2019; fair: as few terminals as possible at the most crowded "
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
    pick: Literal["random", "strongest"] = Field(
        default="random", description="of ratio: which terminal moves: any, or the one heard best where it goes"
    )
    margin_db: Annotated[Number, Field(ge=0, le=40)] = Field(
        default=3.0, description="of fair: by how much the signal must be above the floor"
    )
    hold: Time = Field(default=Duration(5 * 10**9), description="of fair: time before a terminal moves again")

    @property
    def policy_keys(self) -> dict[str, Any]:
        """The keys of its policy, as the daemon's configuration has them."""
        keys = _keys_of(self.policy)
        return {_NAMES.get(key, key): _number(getattr(self, key)) for key in keys}

    @model_validator(mode="after")
    def _check_policy(self) -> Steering:
        allowed = _keys_of(self.policy)
        for policy in _POLICIES:
            for key in _keys_of(policy):
                if key not in allowed and self.is_set(key):
                    raise idle(
                        f'does nothing with policy = "{self.policy}"', f'remove it, or use policy = "{policy}"', key
                    )
        if self.policy == "ratio" and self.threshold is None:
            hint = "add threshold = 1.15: how much more one access point must have received"
            raise value_error("has no threshold", hint, kind=Mistake.MISSING)
        if self.period < _SHORTEST:
            raise value_error("is too short", f'use at least "{_SHORTEST}"', "period")
        return self


def _keys_of(policy: str) -> tuple[str, ...]:
    """Return the keys of a policy as scenarios have them."""
    written_names = {written: key for key, written in _NAMES.items()}
    return tuple(written_names.get(key, key) for key in _POLICIES[policy].keys)


def _number(value: Any) -> Any:
    return value.seconds if isinstance(value, Duration) else value


def check_steering(document: Document, network: Network) -> None:
    """Check the table, if there is one. :raises InputError: for the first inconsistency."""
    scenario, steering = network.scenario, network.scenario.steering
    if steering is None:
        return
    check_known(document, ("steering", "at"), steering.at, scenario.transports, "node with a transport")
    for index, name in enumerate(steering.access_points):
        check_known(document, ("steering", "access_points", index), name, network.nodes, "node")
    points = steering.access_points or [name for name, node in network.nodes.items() if node.cell(name) is not None]
    if len(points) < 2:
        hint = 'add a second [access_points.NAME], or name routers, like access_points = ["ap1", "ap2"]'
        raise document.error(("steering",), "has fewer than two access points", hint=hint, kind=Mistake.MISSING)
    for name in points:
        if network.nearest_port(name, steering.at) is None:
            hint = "add a link, so that the agent there can report"
            message = f"is not reachable from {name}"
            raise document.error(("steering", "at"), message, hint=hint, kind=Mistake.REFERENCE)
    transport = scenario.transports[steering.at]
    if transport.path_manager != "userspace" or transport.endpoints != "none":
        table = network.nodes[steering.at].table
        hint = f'write [{table}.{steering.at}.transport] with path_manager = "userspace" and endpoints = "none"'
        message = "steers, which the kernel allows for connections of a path manager in user space only"
        raise document.error(("steering", "at"), message, hint=hint, kind=Mistake.CONFLICT)
