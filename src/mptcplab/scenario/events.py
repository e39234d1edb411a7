# SPDX-License-Identifier: MIT
"""Events: links that fail, recover and change, addresses that are removed and added, radios that go, come, move and
change their power, while workloads run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    create_model,
    model_serializer,
    model_validator,
)

from mptcplab.errors import Mistake
from mptcplab.fields import LinkName, Misnomers, NodeName, Part, Time, conflict, idle, invalid, misnomers_of
from mptcplab.network.registry import VARIABLE_KEY_NAMES, VARIABLE_KEYS
from mptcplab.node.cell import Dbm
from mptcplab.node.placed import Position
from mptcplab.scenario.links import DIRECTIONS, DirectionSettings

EventType = Literal["down", "up", "change", "address-removed", "address-added", "move", "power"]
FailureMode = Literal["silent", "carrier", "interface"]


#: The key that each of these types sets, at a node.
_OF_NODES = {"move": "position", "power": "power_dbm"}


class _Event(Part):
    """One change of a link, an address or a node's radios at one instant."""

    misnomers: ClassVar[Misnomers] = {
        "at": ("time", "when", "t", "start", "instant"),
        "type": ("what", "kind", "event", "action"),
        "link": ("links", "path", "interface", "iface", "device"),
        "direction": ("side", "dir", "way"),
        "mode": ("how", "failure", "failure_mode"),
        "node": ("host", "end", "where", "on"),
        "position": ("place", "location", "coordinates"),
        "power_dbm": ("power", "tx_power", "txpower"),
    }

    at: Time = Field(description="instant, from time zero", examples=["30 s"])
    type: EventType = Field(description="the type of change", examples=["down"])
    link: LinkName = Field(
        default="", description="the link concerned; an event of all radios of a `node` has none", examples=["link1"]
    )
    direction: Literal["forward", "backward", "both"] = Field(
        default="both", description="the direction that a change, or a silent failure and its end, applies to"
    )
    mode: FailureMode | None = Field(
        default=None,
        description="for down: silent (packets are dropped and no host notices; the default), carrier (the interface "
        "of `node` loses its carrier), interface (the interface of `node` is set down)",
        examples=["carrier"],
    )
    node: NodeName | None = Field(
        default=None,
        description="the end of the link that loses its carrier, is set down, or loses or gets its address; default: "
        "the only host at the link. For move, power, and for down and up without a link: the node with the radios",
        examples=["client"],
    )
    position: Position | None = Field(
        default=None, description="for move: where the node is from then on, x and y in metres", examples=[[50, 0]]
    )
    power_dbm: Dbm | None = Field(
        default=None, description="for power: transmit power of the node's radios from then on, in dBm", examples=[10]
    )

    @model_serializer(mode="wrap", when_used="json")
    def _without_radios(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out the keys of radios if they are not set, as in recordings from before events could have them."""
        dumped: dict[str, Any] = dump(self)
        return {key: value for key, value in dumped.items() if key not in _OF_NODES.values() or value is not None}

    @model_validator(mode="after")
    def _check(self) -> _Event:
        if self.type == "change" and not self.new:
            raise idle("has no value to change", f"add {VARIABLE_KEY_NAMES}", "type")
        if self.type != "change" and self.new:
            raise idle(f"does nothing with type = {_quoted(self.type)}", 'use type = "change"', next(iter(self.new)))
        self._check_radios()
        if self.mode is not None and self.type != "down":
            hint = "remove it: `up` undoes every kind of `down`"
            raise idle(f"does nothing with type = {_quoted(self.type)}", hint, "mode")
        self._check_place()
        return self

    def _check_radios(self) -> None:
        """Refuse keys of radios for other events, and events of radios without what they need."""
        for kind, key in _OF_NODES.items():
            is_given = getattr(self, key) is not None
            if self.type == kind and not is_given:
                example = "[50, 0]" if kind == "move" else "10"
                raise invalid(f"has no {key}", f"add {key} = {example}", "type", kind=Mistake.MISSING)
            if self.type != kind and is_given:
                raise idle(f"does nothing with type = {_quoted(self.type)}", f"use type = {_quoted(kind)}", key)
        if self.type in _OF_NODES:
            if self.node is None:
                raise invalid(
                    "names no node", 'add node = "NAME", the node with the radios', "type", kind=Mistake.MISSING
                )
            if self.link:
                raise idle("does nothing for this event", "remove it: the node's radios have one position", "link")
        elif not self.link and not (self.type in ("down", "up") and self.node is not None):
            raise invalid("is missing", 'add link = "link1", with the name of a link', "link", kind=Mistake.MISSING)
        if self.is_of_node and (self.mode is not None or self.direction != "both"):
            key = "mode" if self.mode is not None else "direction"
            raise idle("does nothing for the radios of a node", "remove it, or name a link", key)

    def _check_place(self) -> None:
        """Refuse a direction or a node for events that have none."""
        if self.direction != "both" and self.needs_node:
            hint = "remove `direction`: the event affects both"
            raise conflict("cannot be set for an event of an interface or address", hint, "direction")
        if self.node is not None and not self.needs_node and not self.is_of_node:
            hint = 'remove `node`: it belongs to mode = "carrier" and mode = "interface", and to addresses'
            raise idle("does nothing for this event", hint, "node")

    @property
    def new(self) -> dict[str, Any]:
        """The values that a change sets, by their keys."""
        return {key: value for key in VARIABLE_KEYS if (value := getattr(self, key)) is not None}

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions that the event applies to."""
        return DIRECTIONS if self.direction == "both" else (self.direction,)

    @property
    def is_of_node(self) -> bool:
        """Whether it concerns all radios of its ``node``."""
        return not self.link

    @property
    def needs_node(self) -> bool:
        """Whether the event happens at one end of the link."""
        return self.mode in ("carrier", "interface") or self.type.startswith("address")

    @property
    def failure_mode(self) -> str:
        """``silent``, ``carrier`` or ``interface``."""
        return self.mode or "silent"

    def changed(self, before: DirectionSettings) -> DirectionSettings:
        """Return ``before`` with the values of this event. :raises ValidationError: if the result is invalid."""
        return DirectionSettings.model_validate({**before.model_dump(by_alias=True), **self.new})


if TYPE_CHECKING:
    Event = _Event
else:
    Event = create_model(
        "Event",
        __base__=_Event,
        __doc__=_Event.__doc__,
        **{
            key: (one.quantity | None, Field(default=None, description=one.meaning))
            for key, one in VARIABLE_KEYS.items()
        },
    )
    Event.misnomers = misnomers_of(_Event, DirectionSettings)


def _quoted(word: str) -> str:
    return f'"{word}"'


def _list(events: Any) -> Any:
    if not isinstance(events, (list, tuple)):
        raise invalid(
            "is not a list of tables", "write [[events]], with two brackets, above each event", kind=Mistake.TYPE
        )
    return events


Events = Annotated[tuple[Event, ...], BeforeValidator(_list), Field(description="changes while the workloads run")]
