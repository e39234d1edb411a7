# SPDX-License-Identifier: MIT
"""Events: links that fail, recover and change, addresses that are removed and added, endpoints and limits of path
managers that change, radios that go, come, move and change their power, while workloads run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    create_model,
    model_serializer,
    model_validator,
)

from mptcplab.errors import Mistake
from mptcplab.fields import LinkName, Misnomers, NodeName, Part, Time, Whole, conflict, idle, misnomers_of, value_error
from mptcplab.network.registry import VARIABLE_KEY_NAMES, VARIABLE_KEYS
from mptcplab.node.cell import Dbm
from mptcplab.node.placed import Position
from mptcplab.node.transport import Endpoint, Limits
from mptcplab.node.words import ADDED, CHANGED, LIMITS, OF_ENDPOINTS, OF_PATH_MANAGERS, REMOVED
from mptcplab.scenario.links import DIRECTIONS, DirectionSettings

EventType = Literal[
    "down",
    "up",
    "change",
    "address-removed",
    "address-added",
    "endpoint-added",
    "endpoint-removed",
    "endpoint-changed",
    "limits-changed",
    "move",
    "power",
]
FailureMode = Literal["silent", "carrier", "interface"]


#: The key that each of these types sets, at a node.
_OF_NODES = {"move": "position", "power": "power_dbm"}
EndpointWord = Literal["signal", "subflow", "backup", "fullmesh", "nobackup", "nofullmesh"]
#: The flags that the kernel can change, with the words that clear them.
_CHANGES = {"backup": "nobackup", "fullmesh": "nofullmesh"}
_LIMIT_KEYS = ("subflows", "add_addr_accepted")
#: The keys of path managers, and the types of events that have them.
_OF_PATH_MANAGERS = {
    "flags": (ADDED, CHANGED),
    "port": OF_ENDPOINTS,
    **dict.fromkeys(_LIMIT_KEYS, (LIMITS,)),
}
#: Keys that a recorded event has only if they are set.
_OPTIONAL = (*_OF_NODES.values(), *_OF_PATH_MANAGERS)


class _Event(Part):
    """One change of a link, an address, a path manager or a node's radios at one instant."""

    misnomers: ClassVar[Misnomers] = {
        "at": ("time", "when", "t", "start", "instant"),
        "type": ("what", "kind", "event", "action"),
        "link": ("links", "path", "interface", "iface", "device"),
        "direction": ("side", "dir", "way"),
        "mode": ("how", "failure", "failure_mode"),
        "node": ("host", "end", "where", "on"),
        "position": ("place", "location", "coordinates"),
        "power_dbm": ("power", "tx_power", "txpower"),
        "flags": ("flag",),
        "port": ("listen_port",),
        "subflows": ("max_subflows",),
        "add_addr_accepted": ("add_addr", "add_addrs", "accepted"),
    }
    advice: ClassVar[dict[str, str]] = {
        "limits": "write `subflows` and `add_addr_accepted` into the event itself",
        "endpoint": "name its address by `link`, and by `node` if the link joins two hosts",
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
        "the only host at the link. For endpoints and limits-changed: the node that has them. "
        "For move, power, and for down and up without a link: the node with the radios",
        examples=["client"],
    )
    flags: tuple[EndpointWord, ...] | None = Field(
        default=None,
        description='for endpoint-added: its flags, as in a list of `endpoints` (default: ["subflow"]); for '
        "endpoint-changed: the flags to set (backup, fullmesh) and to clear (nobackup, nofullmesh); the others stay",
        examples=[["backup"]],
    )
    port: Whole | None = Field(
        default=None, ge=1, le=65535, description="the port that the endpoint announces, as in a list of `endpoints`"
    )
    subflows: Whole | None = Field(
        default=None, ge=0, le=8, description="for limits-changed: additional subflows per connection", examples=[2]
    )
    add_addr_accepted: Whole | None = Field(
        default=None,
        ge=0,
        le=8,
        description="for limits-changed: accepted announced addresses per connection",
        examples=[2],
    )
    position: Position | None = Field(
        default=None, description="for move: where the node is from then on, x and y in metres", examples=[[50, 0]]
    )
    power_dbm: Dbm | None = Field(
        default=None, description="for power: transmit power of the node's radios from then on, in dBm", examples=[10]
    )

    @model_serializer(mode="wrap", when_used="json")
    def _without_unused(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out later keys if they are not set, as in recordings from before events could have them."""
        dumped: dict[str, Any] = dump(self)
        return {key: value for key, value in dumped.items() if key not in _OPTIONAL or value is not None}

    @model_validator(mode="after")
    def _check(self) -> _Event:
        if self.type == "change" and not self.new:
            raise idle("has no value to change", f"add {VARIABLE_KEY_NAMES}", "type")
        if self.type != "change" and self.new:
            raise idle(f"does nothing with type = {_quote(self.type)}", 'use type = "change"', next(iter(self.new)))
        self._check_radios()
        self._check_path_manager()
        if self.mode is not None and self.type != "down":
            hint = "remove it: `up` undoes every kind of `down`"
            raise idle(f"does nothing with type = {_quote(self.type)}", hint, "mode")
        self._check_place()
        return self

    def _check_radios(self) -> None:
        """Refuse keys of radios for other events, and events of radios without what they need."""
        for kind, key in _OF_NODES.items():
            is_given = getattr(self, key) is not None
            if self.type == kind and not is_given:
                example = "[50, 0]" if kind == "move" else "10"
                raise value_error(f"has no {key}", f"add {key} = {example}", "type", kind=Mistake.MISSING)
            if self.type != kind and is_given:
                raise idle(f"does nothing with type = {_quote(self.type)}", f"use type = {_quote(kind)}", key)
        if self.type in _OF_NODES:
            if self.node is None:
                raise value_error(
                    "names no node", 'add node = "NAME", the node with the radios', "type", kind=Mistake.MISSING
                )
            if self.link:
                raise idle("does nothing for this event", "remove it: the node's radios have one position", "link")
        elif self.type == LIMITS:
            if self.link:
                raise idle("does nothing for this event", "remove it: limits apply to a node", "link")
            if self.node is None:
                hint = 'add node = "client", with the name of a node'
                raise value_error("names no node", hint, "type", kind=Mistake.MISSING)
        elif not self.link and not (self.type in ("down", "up") and self.node is not None):
            raise value_error("is missing", 'add link = "link1", with the name of a link', "link", kind=Mistake.MISSING)
        if self.is_of_node and (self.mode is not None or self.direction != "both"):
            key = "mode" if self.mode is not None else "direction"
            raise idle("does nothing for the radios of a node", "remove it, or name a link", key)

    def _check_path_manager(self) -> None:
        """Refuse keys of path managers for other events, and flags that the kernel refuses."""
        for key, types in _OF_PATH_MANAGERS.items():
            if getattr(self, key) is not None and self.type not in types:
                hint = f"use type = {' or '.join(map(_quote, types))}"
                raise idle(f"does nothing with type = {_quote(self.type)}", hint, key)
        if self.type == LIMITS and not any(getattr(self, key) is not None for key in _LIMIT_KEYS):
            raise idle("has no limit to change", f"add {' or '.join(_LIMIT_KEYS)}", "type")
        if self.type == ADDED:
            self._check_added()
        if self.type == CHANGED:
            self._check_changed()

    def _check_added(self) -> None:
        for flag, cleared in _CHANGES.items():
            if self.flags and cleared in self.flags:
                hint = f'remove it: a new endpoint has "{flag}" only if its flags name it'
                raise value_error(f'has "{cleared}", which clears a flag', hint, "flags")
        try:
            Endpoint.model_validate(
                {"link": self.link, "port": self.port, **({"flags": self.flags} if self.flags is not None else {})}
            )
        except ValidationError as error:
            context = error.errors()[0]["ctx"]
            raise value_error(context["text"], context["hint"], *context["key"], kind=context["kind"]) from error

    def _check_changed(self) -> None:
        if not self.flags:
            words = [word for pair in _CHANGES.items() for word in pair]
            hint = f"add flags with one or more of {', '.join(words)}"
            raise idle("has no flag to change", hint, "type" if self.flags is None else "flags")
        if lasting := [flag for flag in self.flags if flag in ("signal", "subflow")]:
            hint = f'remove the endpoint and add it again with other flags, by "{REMOVED}" and "{ADDED}"'
            raise value_error(f"names {lasting[0]}, which the kernel cannot change", hint, "flags")
        if len(set(self.flags)) != len(self.flags):
            raise value_error("names a flag twice", "name each flag once", "flags")
        for flag, cleared in _CHANGES.items():
            if flag in self.flags and cleared in self.flags:
                raise conflict(f"has both {flag} and {cleared}", "remove one of the two", "flags")

    def _check_place(self) -> None:
        """Refuse a direction or a node for events that have none."""
        if self.direction != "both" and self.needs_node:
            hint = "remove `direction`: the event affects both"
            raise conflict("cannot be set for an event of an interface, address or endpoint", hint, "direction")
        if self.direction != "both" and self.type == LIMITS:
            raise idle("does nothing for this event", "remove it: limits apply to a node", "direction")
        if self.node is not None and not self.needs_node and not self.is_of_node and self.type != LIMITS:
            hint = 'remove `node`: it belongs to mode = "carrier" and mode = "interface", to addresses and to endpoints'
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
        """True if it concerns all radios of its ``node``."""
        return not self.link and self.type != LIMITS

    @property
    def is_of_path_manager(self) -> bool:
        """True if it changes endpoints or limits."""
        return self.type in OF_PATH_MANAGERS

    @property
    def words(self) -> tuple[str, ...]:
        """The flags of an endpoint that is added, or the changes of its flags."""
        if self.type == ADDED and self.flags is None:
            return Endpoint(link=self.link).flags
        return tuple(self.flags or ())

    def new_limits(self, before: Limits) -> Limits:
        """Return ``before`` with the limits of this event."""
        new = {key: value for key in _LIMIT_KEYS if (value := getattr(self, key)) is not None}
        return before.model_copy(update=new)

    @property
    def needs_node(self) -> bool:
        """True if the event happens at one end of the link."""
        return self.mode in ("carrier", "interface") or self.type.startswith(("address", "endpoint"))

    @property
    def failure_mode(self) -> str:
        """``silent``, ``carrier`` or ``interface``."""
        return self.mode or "silent"

    def apply(self, before: DirectionSettings) -> DirectionSettings:
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
            key: (variable.quantity | None, Field(default=None, description=variable.meaning))
            for key, variable in VARIABLE_KEYS.items()
        },
    )
    Event.misnomers = misnomers_of(_Event, DirectionSettings)


def _quote(word: str) -> str:
    return f'"{word}"'


def _list(events: Any) -> Any:
    if not isinstance(events, (list, tuple)):
        raise value_error(
            "is not a list of tables", "write [[events]], with two brackets, above each event", kind=Mistake.TYPE
        )
    return events


Events = Annotated[tuple[Event, ...], BeforeValidator(_list), Field(description="changes while the workloads run")]
