# SPDX-License-Identifier: MIT
"""The model of a scenario: the typed, validated form of one experiment.

Everything here is plain data without machine-dependent defaults. A :class:`Scenario` describes one point: sweeps and
presets are expanded before it is built. Every class refuses unknown keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, SerializerFunctionWrapHandler, create_model, model_serializer

from mptcplab.fields import GatewayName, Line, LinkName, Misnomers, NodeName, Part, Version, WorkloadName, value_error
from mptcplab.gateway.registry import Gateway
from mptcplab.node.base import NodeBase
from mptcplab.node.registry import NODE_KINDS
from mptcplab.node.transport import Transport
from mptcplab.scenario.events import Events
from mptcplab.scenario.links import Link
from mptcplab.scenario.record import Record
from mptcplab.scenario.sources import SourceFile
from mptcplab.scenario.steering import Steering
from mptcplab.scenario.wifi import Wifi
from mptcplab.units import Size
from mptcplab.workload.context import FIRST_PORT
from mptcplab.workload.registry import Workload

_MIN_MEMORY, _MAX_MEMORY = Size(1 << 30), Size(64 << 30)


def _plausible(memory: Size) -> Size:
    if not _MIN_MEMORY <= memory <= _MAX_MEMORY:
        raise value_error(f"is too {'little' if memory < _MIN_MEMORY else 'much'}", "use from 1 GiB to 64 GiB")
    if int(memory) % (1 << 20):
        raise value_error("is not a whole number of MiB", 'write for example "2 GiB" or "1536 MiB"')
    return memory


Memory = Annotated[Size, AfterValidator(_plausible)]


class _Head(Part):
    misnomers: ClassVar[Misnomers] = {
        "title": ("name", "label", "heading"),
        "question": ("description", "hypothesis", "purpose", "comment"),
        "kernel": ("linux", "kernel_version", "version"),
        "family": ("ip", "ip_version", "address_family", "af"),
        "phases": ("phase", "randomize", "randomise"),
        "neighbours": ("arp", "ndp"),
        "memory": ("mem", "ram", "lab_memory"),
    }

    title: Line = Field(description="a title for results", examples=["Two paths, one server"])
    question: str = Field(default="", description="the question it answers", examples=["Is MPTCP faster than TCP?"])
    kernel: Version = Field(
        default="7.2",
        description="version of the lab kernel (also 7.2-hz250), or a name or path from `mptcplab kernel list`",
        examples=["7.2"],
    )
    family: Literal["ipv4", "ipv6"] = "ipv4"
    phases: Literal["random", "fixed"] = Field(
        default="random",
        description="random: each seed shifts the starts of workloads, by less than a round-trip time, and the delays "
        "of links with a rate, by less than a packet's transmission time; fixed: all are exactly as written",
    )
    neighbours: Literal["resolve", "known"] = Field(
        default="resolve",
        description="the link-layer addresses of neighbours on wired links. resolve: the first packet into a link "
        "waits for ARP or neighbour discovery, a round trip on it; known: all were resolved before time zero",
    )
    bpf: tuple[SourceFile, ...] = ()
    memory: Memory | None = Field(
        default=None,
        description="memory of the lab, all hosts together, from 1 GiB; without it, 1 GiB, or more if large buffers on "
        "long paths need it",
        examples=["2 GiB"],
    )


if TYPE_CHECKING:
    _Nodes = _Head
else:
    # One table for each kind of node.
    _Nodes = create_model(
        "_Nodes",
        __base__=_Head,
        **{
            kind.table: (dict[NodeName, kind], Field() if kind.is_required else Field(default_factory=dict))
            for kind in NODE_KINDS.values()
        },
    )
    _Nodes.misnomers = {kind.table: kind.table_misnomers for kind in NODE_KINDS.values()}


class Scenario(_Nodes):
    """One point of an experiment, ready to be compiled to a plan."""

    misnomers: ClassVar[Misnomers] = {
        "links": ("link", "edges", "cables", "wires"),
        "workloads": ("workload", "flows", "traffic", "applications", "apps", "transfers", "tests"),
        "gateways": ("gateway", "proxies", "proxy", "tunnels", "vpn"),
        "events": ("event", "timeline", "schedule", "failures", "faults", "actions", "changes"),
        "record": ("recording", "sampling", "logging", "log", "measure", "output"),
        "steering": ("handover", "roaming", "controller"),
        "wifi": ("air", "wireless", "propagation", "medium", "radios"),
    }

    links: dict[LinkName, Link]
    workloads: dict[WorkloadName, Workload]
    gateways: dict[GatewayName, Gateway] = Field(default_factory=dict)
    events: Events = ()
    record: Record = Field(default_factory=Record)
    steering: Steering | None = Field(
        default=None, description="a daemon that moves terminals between access points, and its agents"
    )
    wifi: Wifi = Field(default_factory=Wifi, description="how signals spread between all radios")

    @property
    def has_radios(self) -> bool:
        """True if any link is a radio link."""
        return any(link.radio is not None for link in self.links.values())

    @property
    def knows_neighbours(self) -> bool:
        """True if nodes know the link-layer addresses of their neighbours on wired links from the beginning."""
        return self.neighbours == "known"

    @property
    def node_tables(self) -> dict[str, Mapping[str, NodeBase]]:
        """The nodes of each kind, by the name of its table."""
        return {kind.table: getattr(self, kind.table) for kind in NODE_KINDS.values()}

    @property
    def nodes(self) -> dict[str, NodeBase]:
        """All nodes, by kind."""
        return {name: node for nodes in self.node_tables.values() for name, node in nodes.items()}

    @property
    def transports(self) -> dict[str, Transport]:
        """The transports of all nodes with sockets of their own."""
        by_node = {name: node.own_transport for name, node in self.nodes.items()}
        return {name: transport for name, transport in by_node.items() if transport is not None}

    @property
    def server_ports(self) -> dict[str, int]:
        """The port on which each workload's server listens."""
        return {name: FIRST_PORT + number for number, name in enumerate(self.workloads)}

    @model_serializer(mode="wrap", when_used="json")
    def _drop_unused(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is not used, so that a plugin does not change the identity of runs without it."""
        optional = {"gateways", "bpf", *(kind.table for kind in NODE_KINDS.values() if not kind.is_recorded_empty)}
        dumped: dict[str, Any] = dump(self)
        if not self.has_radios:
            dumped.pop("wifi", None)
        if self.steering is None:
            dumped.pop("steering", None)
        if self.neighbours == "resolve":
            dumped.pop("neighbours", None)
        if self.memory is None:
            dumped.pop("memory", None)
        return {key: value for key, value in dumped.items() if value or key not in optional}
