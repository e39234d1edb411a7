# SPDX-License-Identifier: MIT
"""Links, and the settings of each of their directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, create_model, model_serializer, model_validator

from mptcplab.fields import Misnomers, NodeName, Part, conflict, idle, value_error
from mptcplab.network.frames import MTU
from mptcplab.network.registry import BEHAVIOURS, VARIABLE_KEY_NAMES, aggregate_of
from mptcplab.scenario.trace import Trace, TraceOrFile
from mptcplab.scenario.wifi import Radio
from mptcplab.units import Size

#: The datagram size that every IPv4 host must accept, IPv6's minimum, and a common limit for jumbo frames.
MIN_MTU, MIN_MTU_IPV6, MAX_MTU = 576, 1280, 9216
DIRECTIONS = ("forward", "backward")

if TYPE_CHECKING:
    from mptcplab.network.behaviours.bottleneck import BottleneckKeys
    from mptcplab.network.behaviours.burst_loss import BurstLossKeys
    from mptcplab.network.behaviours.delay import DelayKeys

    class _Keys(BottleneckKeys, BurstLossKeys, DelayKeys):
        """The keys that code outside of the behaviours reads."""
else:
    # pydantic puts the fields of the last base first.
    _Keys = create_model(
        "_Keys", __base__=tuple(behaviour.model for behaviour in reversed(BEHAVIOURS)), __module__=__name__
    )


class DirectionSettings(_Keys):
    """The settings of one direction of a link. Without a rate, packets pass as fast as they arrive."""

    misnomers: ClassVar[Misnomers] = {
        "trace": ("trace_file", "mahimahi", "file"),
    }

    trace: TraceOrFile = Field(
        default=None,
        description=f"a file with values of {VARIABLE_KEY_NAMES} over time: its name, or a table",
        examples=["lte.down"],
    )

    @property
    def traced(self) -> Trace | None:
        """The trace as read on loading."""
        return self.trace if isinstance(self.trace, Trace) else None

    @model_validator(mode="after")
    def _check_behaviours(self) -> DirectionSettings:
        for behaviour in BEHAVIOURS:
            behaviour.check(self)
        if aggregate_of(self) is not None:
            for behaviour in BEHAVIOURS:
                if not behaviour.passes_aggregates(self):
                    hint = f"remove offload, or the {behaviour.name}: it would act on whole aggregates, not on packets"
                    raise conflict(f"cannot be combined with this {behaviour.name}", hint, "offload")
        return self


class Link(Part):
    """A full-duplex link between two nodes. ``forward`` is from the first to the second of ``between``."""

    misnomers: ClassVar[Misnomers] = {
        "between": ("ends", "endpoints", "nodes", "hosts", "connects", "joins", "peers"),
        "forward": ("up", "upload", "uplink", "upstream", "tx"),
        "backward": ("down", "download", "downlink", "downstream", "rx"),
        "shape": ("shaping", "shaper"),
        "addresses": ("address", "ip", "ips", "subnet", "prefix"),
        "mtu": ("max_packet", "max_packet_size"),
        "radio": ("wifi", "wireless"),
    }

    between: tuple[NodeName, NodeName] = Field(examples=[["client", "r1"]])
    forward: DirectionSettings = Field(default_factory=DirectionSettings)
    backward: DirectionSettings = Field(default_factory=DirectionSettings)
    shape: Literal["router", "sender"] = Field(
        default="router",
        description="where the direction is shaped in which a host sends, or a router with a transport: at the other "
        "end of the link, or on the node",
    )
    addresses: tuple[str, str] | None = Field(
        default=None, description="of both ends, with prefix length", examples=[["10.1.1.1/24", "10.1.1.2/24"]]
    )
    mtu: Size = Field(default=Size(MTU), description="largest packet, without its Ethernet header", examples=["1400 B"])

    radio: Radio | None = Field(
        default=None,
        description="a Wi-Fi link to an access point, with the radio of the other end; without this table, a cable",
        examples=[{"power_dbm": 16}],
    )

    @model_serializer(mode="wrap", when_used="json")
    def _drop_radio(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out the radio of a cable, as in recordings from before links could have one."""
        dumped: dict[str, Any] = dump(self)
        return {key: value for key, value in dumped.items() if key != "radio" or value is not None}

    @model_validator(mode="after")
    def _check_radio(self) -> Link:
        if self.radio is None:
            return self
        hint = "remove it: how fast the radio is follows from its mode, the distance, and the other radios"
        for side in DIRECTIONS:
            settings = getattr(self, side)
            for key in type(settings).model_fields:
                if settings.is_set(key):
                    raise conflict("cannot be set for a link with a radio", hint, side, key)
        for key in ("shape", "mtu"):
            if self.is_set(key):
                raise conflict("cannot be set for a link with a radio", "remove it", key)
        return self

    @model_validator(mode="after")
    def _check_ends(self) -> Link:
        if self.between[0] == self.between[1]:
            raise conflict(f"joins '{self.between[0]}' to itself", "name two different nodes", "between")
        if not MIN_MTU <= self.mtu <= MAX_MTU:
            raise value_error("is not a supported MTU", f"use from {MIN_MTU} B to {MAX_MTU} B", "mtu")
        return self

    @model_validator(mode="after")
    def _check_rates(self) -> Link:
        """Refuse keys of the queue without a rate, unless both directions share them and the other has a rate."""
        for key in (key for behaviour in BEHAVIOURS for key in behaviour.needs_rate):
            sides = {n: side for n in DIRECTIONS if (side := getattr(self, n)).is_set(key)}
            without = [name for name, side in sides.items() if side.rate is None]
            shared = len(sides) == 2 and getattr(self.forward, key) == getattr(self.backward, key)
            if without and not (shared and len(without) == 1):
                raise idle("does nothing without a rate", 'add a rate, like rate = "10 Mbit/s"', without[0], key)
        return self
