# SPDX-License-Identifier: MIT
"""What a kind of node is: one class in one file, from which everything else that knows of nodes asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from mptcplab.fields import Part
from mptcplab.node import mptcp, path_manager, routes
from mptcplab.node.context import Context
from mptcplab.node.graph import Port
from mptcplab.node.transport import Transport
from mptcplab.steps import Call, Command, Counter, Event, Program

_FORWARDING = ("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")


class NodeBase(Part):
    """What every node is: a Linux of its own, which forwards or does not, and has sockets of its own or has none.

    A kind is a subclass with a ``kind``. As a model it is what a scenario says in ``[TABLE.NAME]``. Its methods say
    what one of it adds to a plan; its class methods draw and word it from a scenario as recordings hold it.
    """

    kind: ClassVar[str]
    """The name of the kind, in one word: ``host``."""
    table: ClassVar[str]
    """The table of a scenario in which nodes of the kind stand, each by its name: ``hosts``."""
    forwards: ClassVar[bool] = False
    """Paths lead through it."""
    is_required: ClassVar[bool] = False
    """A scenario without one is none."""
    is_recorded_empty: ClassVar[bool] = False
    """A resolved scenario has the kind's table even if nothing is in it."""
    shares_transport: ClassVar[bool] = False
    """``[transport]`` is laid under its own ``transport``."""
    packages: ClassVar[Mapping[str, str]] = {}
    """Debian packages of programs that it starts, for those that are not in a package of their own name."""
    example: ClassVar[Mapping[str, Any]] = {}
    """What a node of the kind says that has the links ``link1`` and ``link2``, and uses all programs that one may."""
    corner: ClassVar[int] = 6
    """How round the corners of its box are in pictures."""

    @property
    def own_transport(self) -> Transport | None:
        """How its own sockets are set up; None for a node without programs that open any: no workload runs there."""
        return None

    @property
    def shapes(self) -> bool:
        """Whether what it sends is shaped on itself; else behind the wire, where its sockets do not see the queue."""
        return self.own_transport is None

    # -- what it adds to a plan

    def settings(self, context: Context) -> Iterator[str]:
        """``name=value`` for ``sysctl``."""
        if self.forwards:
            yield from _FORWARDING
        if self.own_transport is not None:
            yield from mptcp.settings(context, self.own_transport)

    def routes(self, context: Context) -> Iterator[Command]:
        """All routes and rules; those of one interface are given again, as ``replace``, when it comes back."""
        return routes.route_commands(context, self.own_transport)

    def endpoints(self, context: Context) -> Iterator[Command]:
        """What its path manager is told when addresses and routes are there."""
        return mptcp.endpoint_commands(context, self.own_transport)

    def readdress(self, context: Context, port: Port, *, add: bool) -> Iterator[Command]:
        """What its path manager is told when the address of ``port`` goes, or comes back."""
        return mptcp.change_commands(context, self.own_transport, port, add=add)

    def commands(self, context: Context) -> Iterator[Command]:  # noqa: ARG002
        """What else is done at set-up, in the end: every interface and what shapes it is there."""
        yield from ()

    def programs(self, context: Context) -> Iterator[Program]:
        """Servers that run the whole time; the workloads' start after them. See :meth:`server`."""
        return path_manager.path_managers(context, self.own_transport)

    def events(self, context: Context) -> Iterator[Event]:  # noqa: ARG002
        """What happens to it while workloads run; ``link`` is its name. See :class:`mptcplab.steps.Event`."""
        yield from ()

    def counters(self, context: Context) -> Iterator[Counter]:
        """What is read in the end beside its links and queues."""
        if self.own_transport is not None:
            yield from mptcp.counters(context.name)

    def server(self, context: Context, purpose: str, call: Call) -> Program:
        """Return a program for :meth:`programs`; its output is kept as ``KIND.PURPOSE-NAME.out``."""
        return Program(f"{self.kind}.{purpose}-{context.name}", context.name, "server", call.argv, starts=call.starts)

    # -- what readers of recordings are told

    def description(self, context: Context) -> dict[str, Any]:
        """What a manifest says of it beside its name and kind, as JSON has it.

        Of one with sockets of its own, its transport and the MPTCP endpoints that it was to have.
        """
        transport = self.own_transport
        if transport is None:
            return {}
        endpoints = list(mptcp.described_endpoints(context, transport))
        return {"transport": transport.model_dump(mode="json", by_alias=True), "endpoints": endpoints}

    # -- checks

    def named_links(self) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Keys, and the links that they name: only its own make sense."""
        yield from ()

    def check(self, context: Context) -> None:
        """Check what its fields alone cannot say. :raises PydanticCustomError: made by ``mptcplab.fields.fault``."""

    # -- picture and words

    @classmethod
    def phrase(cls) -> str:
        """``a host``, within a sentence."""
        return f"{'an' if cls.kind[0] in 'aeiou' else 'a'} {cls.kind.replace('-', ' ')}"

    @classmethod
    def words(cls, described: Mapping[str, Any]) -> str:  # noqa: ARG003
        """What one does beside what all of its kind do, for below its box; empty for a plain one.

        ``described`` is of a resolved scenario, as recordings hold it.
        """
        return ""

    @classmethod
    def outline(cls, left: float, top: float, width: float, height: float) -> str:
        """Return its shape as SVG: a ``rect`` or a ``path``, which the page colours."""
        return f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:g}" height="{height:g}" rx="{cls.corner}"/>'
