# SPDX-License-Identifier: MIT
"""What happens to the network while workloads run: links that fail, return and change, addresses that go and come."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from mptcplab.fields import LinkName, NodeName, Part, Time, fault
from mptcplab.scenario.links import Direction
from mptcplab.units import Duration, Probability, Rate

#: What `change` may set.
CHANGEABLE = ("rate", "delay", "jitter", "loss")
WAYS = ("forward", "backward")
What = Literal["down", "up", "change", "address-removed", "address-added"]
How = Literal["silent", "carrier", "interface"]


class Event(Part):
    """One change of a link or of an address, at one instant."""

    at: Time = Field(description="after the lab is set up", examples=["30 s"])
    what: What = Field(description="what happens", examples=["down"])
    link: LinkName = Field(description="the link that it happens to", examples=["line1"])
    direction: Literal["forward", "backward", "both"] = Field(
        default="both", description="of a change, or of a silent failure and its end"
    )
    how: How | None = Field(
        default=None,
        description="of down: silent (packets vanish, no host sees anything; the default), carrier (the interface of "
        "`node` loses its carrier), interface (it is set down)",
        examples=["carrier"],
    )
    node: NodeName | None = Field(
        default=None,
        description="whose end of the link loses its carrier, is set down, or loses or gets its address; default the "
        "only host at the link",
        examples=["client"],
    )
    rate: Rate | None = Field(default=None, description="new rate")
    delay: Duration | None = Field(default=None, description="new delay")
    jitter: Duration | None = Field(default=None, description="new jitter")
    loss: Probability | None = Field(default=None, description="new loss; 100 % is a silent failure: use down")

    @model_validator(mode="after")
    def _sensible(self) -> Event:
        new = [key for key in CHANGEABLE if getattr(self, key) is not None]
        if self.what == "change" and not new:
            raise fault("is a change of nothing", f"add {', '.join(CHANGEABLE[:-1])} or {CHANGEABLE[-1]}", "what")
        if self.what != "change" and new:
            raise fault(f"does nothing with what = {_quoted(self.what)}", 'use what = "change"', new[0])
        if self.how is not None and self.what != "down":
            raise fault(f"does nothing with what = {_quoted(self.what)}", "leave it out: `up` undoes `down`", "how")
        self._check_place()
        return self

    def _check_place(self) -> None:
        """Only some events concern one direction or one end."""
        if self.direction != "both" and self.needs_node:
            raise fault("is not of one direction", "leave `direction` out: both ends of a wire see it", "direction")
        if self.node is not None and not self.needs_node:
            hint = 'leave `node` out; it belongs to how = "carrier" and how = "interface", and to addresses'
            raise fault("does nothing for this event", hint, "node")

    @property
    def ways(self) -> tuple[str, ...]:
        """The directions that it concerns."""
        return WAYS if self.direction == "both" else (self.direction,)

    @property
    def needs_node(self) -> bool:
        """Whether it happens at one end of the link."""
        return self.how in ("carrier", "interface") or self.what.startswith("address")

    @property
    def kind_of_failure(self) -> str:
        """``silent``, ``carrier`` or ``interface``."""
        return self.how or "silent"

    def changed(self, before: Direction) -> Direction:
        """``before`` with what this event sets. :raises ValidationError: when that makes an impossible direction."""
        new = {key: value for key in CHANGEABLE if (value := getattr(self, key)) is not None}
        return Direction.model_validate({**before.model_dump(by_alias=True), **new})


def _quoted(word: str) -> str:
    return f'"{word}"'


def _list(events: Any) -> Any:
    if not isinstance(events, (list, tuple)):
        raise fault("is not a list of tables", "write [[events]], with two brackets, above each of them")
    return events


Events = Annotated[tuple[Event, ...], BeforeValidator(_list), Field(description="what changes while the workloads run")]
