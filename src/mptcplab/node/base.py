# SPDX-License-Identifier: MIT
"""The base class of node kinds. A kind is one class in one file; all other code about nodes asks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from mptcplab.configuration import NftTable, Route, Rule
from mptcplab.fields import Boolean, Misnomers
from mptcplab.node import mptcp, routes
from mptcplab.node.cell import RadioCell
from mptcplab.node.context import NodeContext
from mptcplab.node.cpu import Cpu, cpu_counter, cpu_words, limit_time
from mptcplab.node.endpoint_list import EndpointList
from mptcplab.node.placed import PlacedNode
from mptcplab.node.transport import Transport
from mptcplab.steps import Call, Command, Counter, Event, Program
from mptcplab.units import CpuTime

#: Keys that a recorded scenario has only if they have another value than these.
_OPTIONAL: Mapping[str, Any] = {
    "cpu": None,
    "loopback_offload": True,
    "loopback_packet_time": None,
    "transport": None,
    "position": None,
    "waypoints": [],
    "walk": None,
}
_FORWARDING = ("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")


class NodeBase(PlacedNode):
    """The base of all nodes: each is a network namespace that may forward and may have sockets of its own.

    A kind is a subclass with a ``kind``. Its fields are the keys of ``[TABLE.NAME]`` in a scenario. Its methods return
    a node's part of a plan; its class methods draw and describe a node from the scenario in a recording.
    """

    misnomers: ClassVar[Misnomers] = {
        "cpu": ("processor", "cpu_cost", "cpu_time"),
        "loopback_offload": ("lo_offload", "offload", "loopback", "lo"),
        "loopback_packet_time": ("lo_packet_time", "per_packet", "packet_time"),
        "transport": ("mptcp", "tcp", "stack"),
    }

    kind: ClassVar[str]
    """The name of the kind, in one word: ``host``."""
    table: ClassVar[str]
    """The table of a scenario that has the nodes of the kind by name: ``hosts``."""
    forwards: ClassVar[bool] = False
    """It forwards packets, so that paths may lead through it."""
    table_misnomers: ClassVar[tuple[str, ...]] = ()
    """Names that users may write for ``table``, see :class:`mptcplab.fields.Part`."""
    is_required: ClassVar[bool] = False
    """Every scenario needs at least one."""
    is_recorded_empty: ClassVar[bool] = False
    """A resolved scenario has the kind's table even if it is empty."""
    shares_transport: ClassVar[bool] = False
    """Its own ``transport`` inherits from ``[transport]``."""
    transport_is_optional: ClassVar[bool] = False
    """Without a ``transport`` table of its own, it has no sockets, and inherits nothing."""
    packages: ClassVar[Mapping[str, str]] = {}
    """Debian packages of programs that it starts, if the package's name differs from the program's."""
    example: ClassVar[Mapping[str, Any]] = {}
    """The keys of a node with the links ``link1`` and ``link2`` that uses all programs of the kind."""
    corner: ClassVar[int] = 6
    """The corner radius of its rectangle in pictures."""

    cpu: Cpu | None = Field(
        default=None,
        description="the CPU that its programs share; without it, computing takes no time",
        examples=[{"per_call": "1.2 us", "per_byte": "0.35 ns"}],
    )
    loopback_offload: Boolean = Field(
        default=True,
        description="TCP sends aggregates of up to 64 KiB over the node's loopback interface, as on Linux; "
        "false: single packets",
    )
    loopback_packet_time: Annotated[CpuTime, limit_time(CpuTime(10**9), min_time=CpuTime(1000))] | None = Field(
        default=None,
        description="time that each packet takes on the node's loopback interface, one after another; without it, none",
        examples=["1.5 us"],
    )

    @model_serializer(mode="wrap", when_used="json")
    def _drop_unused(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out tables that the node does not have, as in recordings from before nodes could have them."""
        dumped: dict[str, Any] = dump(self)
        return {
            key: value for key, value in dumped.items() if key not in _OPTIONAL or value not in (None, _OPTIONAL[key])
        }

    @property
    def own_transport(self) -> Transport | None:
        """The transport of its own sockets; None for a node whose programs open none: no workload runs there."""
        return None

    @property
    def shapes(self) -> bool:
        """True if the node shapes its own egress; if not, the far end does, where its sockets see no queue."""
        return self.own_transport is None

    def cell(self, name: str) -> RadioCell | None:  # noqa: ARG002
        """Return the radio cell that the node, called ``name``, offers to stations; None if it is not an access
        point.
        """
        return None

    # -- its part of a plan

    def settings(self, context: NodeContext) -> Iterator[str]:
        """Yield ``name=value`` for ``sysctl``."""
        if self.forwards:
            yield from _FORWARDING
        if self.own_transport is not None:
            yield from mptcp.settings(context, self.own_transport)

    def routes(self, context: NodeContext) -> Iterator[Route | Rule]:
        """Return all routes and rules; the routes of an interface are set again when it comes back."""
        return routes.build_routes(context, self.own_transport)

    def endpoints(self, context: NodeContext) -> Iterator[Command]:
        """Return the commands that configure its path manager once addresses and routes exist."""
        return mptcp.endpoint_commands(context, self.own_transport)

    def endpoint_list(self, context: NodeContext) -> EndpointList | None:
        """Return the endpoints and limits after the set-up, for events to change; None without MPTCP."""
        transport = self.own_transport
        if transport is None or not context.speaks_mptcp(transport.protocol):
            return None
        return EndpointList(context, transport)

    def tables(self, context: NodeContext) -> Iterator[NftTable]:  # noqa: ARG002
        """Return the tables of nftables, which are set up last."""
        yield from ()

    def commands(self, context: NodeContext) -> Iterator[Command]:
        """Return further commands at the end of the set-up, when all interfaces and their shaping exist.

        A node with commands beyond its tables cannot be exported to a real machine.
        """
        yield from (table.command(context.name) for table in self.tables(context))

    def programs(self, context: NodeContext) -> Iterator[Program]:
        """Return servers that run throughout; the workloads' programs start after them. See :meth:`server`."""
        return mptcp.path_managers(context, self.own_transport)

    def events(self, context: NodeContext) -> Iterator[Event]:  # noqa: ARG002
        """Return events of the node while workloads run; ``link`` is its name. See :class:`mptcplab.steps.Event`."""
        yield from ()

    def counters(self, context: NodeContext) -> Iterator[Counter]:
        """Return the counters to read at the end, beside counters of its links and queues."""
        if self.own_transport is not None:
            yield from mptcp.counters(context.name)
        if self.cpu is not None:
            yield cpu_counter(context.name)

    def server(self, context: NodeContext, purpose: str, call: Call) -> Program:
        """Return a program for :meth:`programs`; its output is kept as ``KIND.PURPOSE-NAME.out``."""
        return Program(f"{self.kind}.{purpose}-{context.name}", context.name, "server", call.argv, starts=call.starts)

    # -- its description in recordings

    def description(self, context: NodeContext) -> dict[str, Any]:
        """Return its description in a manifest, beside its name and kind, as JSON data.

        For a node with sockets of its own: its transport, and the MPTCP endpoints that it should have;
        ``speaks_mptcp`` if only a gateway of it does.
        """
        transport = self.own_transport
        if transport is None:
            return {}
        endpoints = list(mptcp.endpoints_document(context, transport))
        entry: dict[str, Any] = {
            "transport": transport.model_dump(mode="json", by_alias=True),
            "endpoints": endpoints,
        }
        if transport.protocol == "tcp" and context.speaks_mptcp(transport.protocol):
            entry["speaks_mptcp"] = True
        return entry

    # -- checks

    def named_links(self) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Yield the keys that name links, with these links, which must be its own."""
        yield from ()

    def check(self, context: NodeContext) -> None:
        """Check the node in its network. :raises PydanticCustomError: made by ``mptcplab.fields.value_error``."""

    # -- pictures and text

    @classmethod
    def phrase(cls) -> str:
        """Return a phrase like ``a host``, for use in a sentence."""
        return f"{'an' if cls.kind[0] in 'aeiou' else 'a'} {cls.kind.replace('-', ' ')}"

    @classmethod
    def caption(cls, described: Mapping[str, Any]) -> str:
        """Return the caption below its shape: its function beyond its kind's; empty for a plain node.

        ``described`` is its table in a resolved scenario, as recordings hold it.
        """
        return "; ".join(cpu_words(described))

    @classmethod
    def outline(cls, left: float, top: float, width: float, height: float) -> str:
        """Return its shape as SVG: a ``rect`` or a ``path``, which the page's style sheet colours."""
        return f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:g}" height="{height:g}" rx="{cls.corner}"/>'
