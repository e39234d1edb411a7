# SPDX-License-Identifier: MIT
"""Links, and the settings of each of their directions."""

from __future__ import annotations

import ipaddress
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, create_model, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from mptcplab.configuration import Subnet
from mptcplab.errors import Mistake
from mptcplab.fields import Misnomers, NodeName, Part, conflict, idle, value_error
from mptcplab.network.frames import MTU
from mptcplab.network.registry import BEHAVIOURS, VARIABLE_KEY_NAMES, aggregate_of, largest_packet
from mptcplab.node.graph import Interface
from mptcplab.scenario.document import Document
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.references import check_known
from mptcplab.scenario.trace import Trace, TraceOrFile
from mptcplab.scenario.wifi import Radio
from mptcplab.units import Size

#: The datagram size that every IPv4 host must accept, IPv6's minimum, and a common limit for jumbo frames.
MIN_MTU, MIN_MTU_IPV6, MAX_MTU = 576, 1280, 9216
DIRECTIONS = ("forward", "backward")

#: 300 links among 200 nodes run. With 400, one batch of commands takes longer than virtual time may stand still.
_MAX_LINKS = 300
_FAMILIES = {4: "ipv4", 6: "ipv6"}
_ADDRESS_EXAMPLES = {4: "10.1.1.1/24", 6: "fd00:1::1/64"}

if TYPE_CHECKING:
    from mptcplab.network.behaviours.bottleneck import BottleneckKeys
    from mptcplab.network.behaviours.delay import DelayKeys
    from mptcplab.network.behaviours.loss import BurstLossKeys
    from mptcplab.scenario.network import Network
    from mptcplab.scenario.schema import Scenario

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


@dataclass(frozen=True)
class ShapedDirection:
    """One direction of a link, with the settings that shape it: the scenario's, or those after an event."""

    link: str
    #: ``forward`` or ``backward``.
    name: str
    settings: DirectionSettings
    #: Events or a trace change the settings while packets pass.
    changeable: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """The names of its link and of itself."""
        return self.link, self.name


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
        for direction in DIRECTIONS:
            settings = getattr(self, direction)
            for key in type(settings).model_fields:
                if settings.is_set(key):
                    raise conflict("cannot be set for a link with a radio", hint, direction, key)
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
            settings = {name: getattr(self, name) for name in DIRECTIONS}
            having = {name: direction for name, direction in settings.items() if direction.is_set(key)}
            without = [name for name, direction in having.items() if direction.rate is None]
            shared = len(having) == 2 and getattr(self.forward, key) == getattr(self.backward, key)
            if without and not (shared and len(without) == 1):
                raise idle("does nothing without a rate", 'add a rate, like rate = "10 Mbit/s"', without[0], key)
        return self


def check_links(document: Document, scenario: Scenario) -> None:
    """Check the number of links, and their ends. :raises InputError: for the first mistake."""
    if len(scenario.links) > _MAX_LINKS:
        hint = f"use at most {_MAX_LINKS} links"
        raise document.error(("links",), f"has {len(scenario.links)} links", hint=hint, kind=Mistake.VALUE)
    nodes = scenario.nodes
    for name, link in scenario.links.items():
        for index, end in enumerate(link.between):
            check_known(document, ("links", name, "between", index), end, nodes, "node")
        if link.shape == "sender" and all(nodes[end].shapes for end in link.between):
            hint = "remove `shape`: a router without a transport always shapes what it sends"
            raise document.error(
                ("links", name, "shape"), "does nothing on a link without a host", hint=hint, kind=Mistake.IDLE
            )
    if scenario.knows_neighbours and all(link.radio is not None for link in scenario.links.values()):
        hint = "remove `neighbours`: stations and access points always resolve addresses"
        raise document.error(("neighbours",), "does nothing without a wired link", hint=hint, kind=Mistake.IDLE)


def check_addresses(document: Document, scenario: Scenario) -> None:
    """Check that the addresses of links are possible. :raises InputError: for the first that is not."""
    version = 4 if scenario.family == "ipv4" else 6
    users: dict[str, str] = {}
    for name, link in scenario.links.items():
        interfaces: list[Interface] = []
        for index, text in enumerate(link.addresses or ()):
            path: KeyPath = ("links", name, "addresses", index)
            try:
                interface = _interface(text, version)
            except PydanticCustomError as error:
                raise document.to_error(path, error) from error
            user = users.setdefault(str(interface.ip), name)
            if interfaces and interface.ip == interfaces[0].ip:
                hint = "give the two ends different addresses"
                raise document.error(path, "is also the other end's address", hint=hint)
            if user != name:
                raise document.error(path, f"is also used by link '{user}'", hint="choose another address")
            interfaces.append(interface)
        if len({interface.network for interface in interfaces}) > 1:
            word, other = (str(interface.network) for interface in interfaces)
            message = f"are in different networks, {word} and {other}"
            hint = "use two addresses of one network, like 10.1.1.1/24 and 10.1.1.2/24"
            raise document.error(("links", name, "addresses"), message, hint=hint)


def _interface(text: str, version: int) -> Interface:
    """Return ``text`` as the address of a link's end. :raises PydanticCustomError: if it cannot be one."""
    example = _ADDRESS_EXAMPLES[version]
    try:
        interface = ipaddress.ip_interface(text)
    except ValueError:
        interface = None
    if interface is None or "%" in text:
        raise value_error("is not an address", f'write address and prefix length, like "{example}"')
    if interface.version != version:
        family = _FAMILIES[interface.version]
        hint = f'write family = "{family}" at the top of the file, or an address like "{example}"'
        raise conflict(f"is an {family} address in a scenario of {_FAMILIES[version]}", hint)
    if "/" not in text:
        length = example.split("/")[1]
        raise value_error("has no prefix length", f'write "{text}/{length}"')
    network, ip = interface.network, interface.ip
    if network.num_addresses < 2:
        raise value_error("leaves no address for the other end", f'use a shorter prefix: "{example}"')
    is_this_network = version == 4 and int(ip) >> 24 == 0
    if ip.is_loopback or ip.is_multicast or ip.is_unspecified or ip.is_link_local or is_this_network:
        raise value_error("is not a usable unicast address", f'use a private address like "{example}"')
    if network.num_addresses > 2 and ip == network.network_address:
        raise value_error("is the address of the network itself", f'use a host address in it, like "{_host(network)}"')
    if network.num_addresses > 2 and version == 4 and ip == network.broadcast_address:
        raise value_error("is the network's broadcast address", f'use a host address in it, like "{_host(network)}"')
    return interface


def _host(network: Subnet) -> str:
    return f"{network.network_address + 1}/{network.prefixlen}"


def check_subnets(document: Document, network: Network) -> None:
    """Refuse networks that overlap. Two networks either nest or are disjoint, so sorting makes overlaps adjacent."""
    links = network.scenario.links
    subnets = {port.link: port.subnet for port in network.ports.values()}
    ordered = sorted(subnets.items(), key=lambda item: (int(item[1].network_address), item[1].prefixlen))
    for (outer, subnet), (inner, below) in itertools.pairwise(ordered):
        if int(below.network_address) <= int(subnet.broadcast_address):
            culprit, other = (inner, outer) if links[inner].addresses else (outer, inner)
            default = "" if links[other].addresses else "default "
            message = f"overlap {subnets[other]}, the {default}network of link '{other}'"
            hint = "give every link a network of its own, like 192.168.1.0/24 and 192.168.2.0/24"
            raise document.error(("links", culprit, "addresses"), message, hint=hint)


def check_mtus(document: Document, network: Network) -> None:
    """Check that packets of the largest size can be sent. :raises InputError: for the first link where not."""
    scenario = network.scenario
    for name, link in scenario.links.items():
        if scenario.family == "ipv6" and link.mtu < MIN_MTU_IPV6:
            hint = f"use at least {MIN_MTU_IPV6} B, which IPv6 needs on every link"
            raise document.error(("links", name, "mtu"), "is too small for IPv6", hint=hint)
        for direction in DIRECTIONS:
            settings = getattr(link, direction)
            for behaviour in BEHAVIOURS:
                try:
                    behaviour.check_frame(settings, largest_packet(settings, int(link.mtu)))
                except PydanticCustomError as error:
                    raise document.to_error(("links", name, direction), error) from error


def takes_time(link: Link) -> bool:
    """Return whether a packet takes virtual time on ``link``."""
    directions = (link.forward, link.backward)
    return link.radio is not None or any(
        behaviour.takes_time(direction) for direction in directions for behaviour in BEHAVIOURS
    )
