# SPDX-License-Identifier: MIT
"""The base class of gateways. A program is one class in one file; all other code about gateways asks it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from mptcplab.configuration import NftTable
from mptcplab.fields import LinkName, Misnomers, NodeName, Part, Protocol, Time, Whole, conflict, idle, value_error
from mptcplab.gateway.words import DOWN, UP
from mptcplab.steps import Call, Command, Event, Program, shell
from mptcplab.units import Duration

# The view that a gateway has of its scenario: addresses as text.


@dataclass(frozen=True)
class GatewayContext:
    """The gateway called ``name``, the ``number``-th of the scenario from 0.

    ``server`` is the address of the exit that the entry connects to; with ``more_servers`` it is the first of several.
    ``near`` has the subnets of the entry, ``exits``
    all addresses of the exit, ``beyond`` the subnets that are reached through the exit, and ``local`` the loopback
    address for each workload that speaks to the entry by itself. ``passed`` has the addresses of servers that speak
    MPTCP, if their connections pass the gateway by; ``destination`` is address and port of the server that the entry's
    port leads to, if it forwards. ``folder`` has the files of both programs.
    """

    name: str
    number: int
    server: str
    near: tuple[str, ...]
    exits: tuple[str, ...]
    beyond: tuple[str, ...]
    local: tuple[tuple[str, str], ...] = ()
    folder: str = "/tmp"
    more_servers: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    destination: tuple[str, int] | None = None

    @property
    def is_v6(self) -> bool:
        """True if the scenario uses IPv6."""
        return ":" in self.server

    @property
    def any_address(self) -> str:
        """The address of a socket that listens on all addresses of the scenario's family."""
        return "::" if self.is_v6 else "0.0.0.0"

    def file(self, role: str) -> str:
        """Return the path of a file of one side (``entry.json``)."""
        return f"{self.folder}/mptcplab-gateway-{self.name}.{role}"


# Outages of a gateway's program: it is killed, and started again some time later.

Side = Literal["entry", "exit"]


class Outage(Part):
    """One outage: the program of one side is killed at an instant and started again later."""

    misnomers: ClassVar[Misnomers] = {
        "side": ("end", "where", "node", "who"),
        "at": ("time", "when", "start", "t"),
        "downtime": ("duration", "for", "length", "down"),
    }

    side: Side = Field(description="the side whose program is killed")
    at: Time = Field(description="the instant, from time zero", examples=["5 s"])
    downtime: Time = Field(
        default=Duration(0), description="time until it is started again; 0: at once", examples=["1 s"]
    )

    @model_validator(mode="after")
    def _check(self) -> Outage:
        if self.at == 0:
            raise value_error("is before any workload has begun", 'use a later instant, like at = "5 s"', "at")
        return self


def find_overlap(outages: tuple[Outage, ...]) -> int | None:
    """Return the index of an outage that begins before an earlier one of its side has ended; None if there is none."""
    for index, outage in enumerate(outages):
        for other in outages[:index]:
            first, second = sorted((outage, other), key=lambda outage: int(outage.at))
            if outage.side == other.side and int(second.at) <= int(first.at) + int(first.downtime):
                return index
    return None


def supervise(call: Call, place: str) -> Call:
    """Return ``call`` under a shell that starts it again after each planned outage.

    The shell waits without polling: for the program's end, then for a line in the pipe ``PLACE.up``. The file
    ``PLACE.down`` says whether an outage has been planned; an unplanned end of the program is also the shell's.
    """
    quoted = shlex.quote(place)
    line = (
        f"mkfifo {quoted}.up && echo no > {quoted}.down && while :; do {call} & echo $! > {quoted}.pid; wait $!; "
        f"status=$?; read planned < {quoted}.down; [ $planned = yes ] || exit $status; echo no > {quoted}.down; "
        f"read again < {quoted}.up; done"
    )
    return shell(line, "mkfifo", call)


def outage_events(outage: Outage, name: str, node: str, place: str) -> Iterator[Event]:
    """Yield the two events of an outage of the gateway ``name``, whose program runs on ``node``."""
    quoted = shlex.quote(place)
    kill = f"echo yes > {quoted}.down; read pid < {quoted}.pid; kill -KILL $pid"
    start = f"echo up > {quoted}.up"
    back_ns = int(outage.at) + int(outage.downtime)
    yield Event(int(outage.at), DOWN, name, "both", outage.side, (_shell_command(node, kill),))
    yield Event(back_ns, UP, name, "both", outage.side, (_shell_command(node, start),))


def _shell_command(node: str, line: str) -> Command:
    call = shell(line)
    return Command(node, call.argv, call.starts)


#: The password, or the source of the key, of a lab's gateways.
PASSWORD = "mptcplab-lab-password"
#: The sides in the order of their starts.
SIDES: tuple[Side, ...] = ("exit", "entry")
#: Distinguished before validation, so that an error in a list is not reported as a wrong name as well.
Links = Annotated[
    Annotated[LinkName, Tag("name")] | Annotated[tuple[LinkName, ...], Tag("list")],
    Discriminator(lambda value: "list" if isinstance(value, (list, tuple)) else "name"),
]


@dataclass(frozen=True, kw_only=True)
class PreparedCall(Call):
    """A ``call`` that a shell starts in the lab, after it has written ``files`` and set variables of ``environment``.

    Files are paths with their texts, which end without a newline.
    """

    call: Call
    files: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_call(cls, call: Call) -> PreparedCall:
        """Return ``call`` as a call that may need no preparation."""
        return call if isinstance(call, PreparedCall) else cls(call.argv, call.starts, call=call)


class GatewayBase(Part):
    """The base of all gateways: a program at the ``entry`` carries connections to one at the ``exit``.

    A program is a subclass whose field ``program`` is its name. Further fields of a subclass are ``mode`` and
    ``cipher``, as choices. Its methods return the command lines of both sides.
    """

    misnomers: ClassVar[Misnomers] = {
        "program": ("kind", "type", "what", "proxy", "software", "tool"),
        "entry": ("from", "client", "local", "src", "inside"),
        "exit": ("to", "server", "remote", "dst", "outside"),
        "via": ("link", "links", "path", "address"),
        "protocol": ("proto",),
        "port": ("server_port", "remote_port", "listen_port"),
        "outages": ("outage", "failures", "kills"),
        "cipher": ("encryption", "method", "crypto"),
        "mode": ("how",),
    }

    packages: ClassVar[Mapping[str, str]] = {}
    """Debian packages of programs that it starts, if the package's name differs from the program's."""
    cost_factor: ClassVar[float] = 7.0
    """The CPU time of a workload through it, as a multiple of that without it."""
    start_cpu_seconds: ClassVar[float] = 0.8
    """The CPU time that the start of both sides takes."""
    takes_servers: ClassVar[bool] = False
    """True if the entry may have several addresses of the exit, and chooses one for each connection."""

    entry: NodeName = Field(description="the node that takes connections in", examples=["home"])
    exit: NodeName = Field(description="the node that connects to their destinations", examples=["vps"])
    via: Links | None = Field(
        default=None,
        description="the link of `exit` whose address `entry` connects to; or a list of links, if the program chooses "
        "one for each connection",
        examples=["link1", ["link1", "link2"]],
    )
    protocol: Protocol = Field(default="mptcp", description="protocol between entry and exit: mptcp or tcp")
    port: Whole = Field(default=8388, ge=1, le=65535, description="port on which the exit listens")
    outages: tuple[Outage, ...] = Field(
        default=(),
        description="when one side's program is killed, and for how long",
        examples=[[{"side": "exit", "at": "5 s", "downtime": "1 s"}]],
    )

    @property
    def vias(self) -> tuple[str, ...]:
        """The links of ``via``; none if it is not given."""
        return (self.via,) if isinstance(self.via, str) else self.via or ()

    @property
    def catches_all(self) -> bool:
        """True if it takes all TCP connections that pass the entry, not only connections of workloads that name it."""
        raise NotImplementedError

    @property
    def refuses_mptcp(self) -> bool:
        """True if its entry cannot carry the connections of clients that speak MPTCP themselves."""
        return False

    @property
    def forwards(self) -> bool:
        """True if its entry's port leads to the server of the one workload that names it."""
        return False

    @property
    def lets_mptcp_pass(self) -> bool:
        """True if connections that speak MPTCP from end to end do not go through it."""
        return False

    @property
    def listening_port(self) -> int | None:
        """The port at which the entry's program takes connections in; None if it takes packets."""
        return None

    @property
    def tunnel_device(self) -> str | None:
        """The interface of a tunnel on both nodes; None if it takes connections."""
        return None

    def exit_call(self, context: GatewayContext) -> Call:
        """Return the command line at the exit."""
        raise NotImplementedError

    def entry_call(self, context: GatewayContext) -> Call:
        """Return the command line at the entry."""
        raise NotImplementedError

    def node_of(self, side: Side) -> str:
        """Return the node of a side."""
        return self.exit if side == "exit" else self.entry

    def call_of(self, context: GatewayContext, side: Side) -> Call:
        """Return the command line of a side."""
        return self.exit_call(context) if side == "exit" else self.entry_call(context)

    def tables(self, context: GatewayContext, side: Side) -> Iterator[NftTable]:  # noqa: ARG002
        """Return the tables of nftables of a side."""
        yield from ()

    def commands(self, context: GatewayContext) -> Iterator[Command]:
        """Return commands at the end of the set-up.

        The nodes of a gateway with commands beyond its tables cannot be exported to real machines.
        """
        for side in reversed(SIDES):
            yield from (table.command(self.node_of(side)) for table in self.tables(context, side))

    def programs(self, context: GatewayContext) -> Iterator[Program]:
        """Yield the two programs, which start before time zero: the exit's first."""
        for side in SIDES:
            call = self.call_of(context, side)
            run = supervise(call, context.file(side)) if self._fails(side) else call
            name = f"gateway.{side}-{context.name}"
            yield Program(name, self.node_of(side), "server", run.argv, starts=run.starts)

    def events(self, context: GatewayContext) -> Iterator[Event]:
        """Yield the events of its outages."""
        for outage in self.outages:
            place = context.file(outage.side)
            yield from outage_events(outage, context.name, self.node_of(outage.side), place)

    def description(self, context: GatewayContext) -> dict[str, Any]:
        """Return its description in a manifest, as JSON data."""
        keys: dict[str, Any] = self.model_dump(mode="json", by_alias=True)
        return {
            "name": context.name,
            **keys,
            "server": [context.server, *context.more_servers] if context.more_servers else context.server,
            "listening_port": self.listening_port,
            "local": dict(context.local),
            **({"passed": list(context.passed)} if self.lets_mptcp_pass else {}),
        }

    def _fails(self, side: Side) -> bool:
        return any(outage.side == side for outage in self.outages)

    @model_validator(mode="after")
    def _check_via(self) -> GatewayBase:
        if isinstance(self.via, str) or self.via is None:
            return self
        if not self.via:
            raise idle("is empty", "name a link, or remove the key", "via")
        if len(set(self.via)) != len(self.via):
            raise value_error("names a link twice", "name each link once", "via")
        if len(self.via) > 1 and not self.takes_servers:
            raise conflict("names several links, but this program has one server", "name one link", "via")
        return self

    @model_validator(mode="after")
    def _check_sides(self) -> GatewayBase:
        if self.entry == self.exit:
            raise conflict("is the same node as `entry`", "name two different nodes", "exit")
        index = find_overlap(self.outages)
        if index is not None:
            hint = "let an outage of one side end before the next begins"
            raise conflict("overlaps another outage of the same side", hint, "outages", index)
        if self.listening_port == self.port:
            hint = "use another port for one of them, like port = 8388 and local_port = 1080"
            raise conflict("is also the port of the exit", hint, "local_port")
        return self

    def _refuse_idle(self, key: str, mode: str) -> None:
        if self.is_set(key):
            raise idle(f'does nothing with mode = "{mode}"', "remove the key, or use another mode", key)


def with_file(call: Call, file: str, text: str) -> PreparedCall:
    """Return ``call`` after its configuration ``text`` is written to ``file``."""
    run = shell(f"printf '%s\\n' {shlex.quote(text)} > {shlex.quote(file)} && exec {call}", call)
    inner = PreparedCall.from_call(call)
    files = (*inner.files, (file, text))
    return PreparedCall(run.argv, run.starts, call=inner.call, files=files, environment=inner.environment)


def with_environment(call: Call, **variables: str) -> PreparedCall:
    """Return ``call`` with these environment variables."""
    words = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    run = shell(f"{words} exec {call}", call)
    inner = PreparedCall.from_call(call)
    environment = (*inner.environment, *variables.items())
    return PreparedCall(run.argv, run.starts, call=inner.call, files=inner.files, environment=environment)
