# SPDX-License-Identifier: MIT
"""What a scenario may say: the typed, checked form of one experiment.

Everything here is plain data without defaults that depend on the machine. A :class:`Scenario` describes one point:
sweeps have been taken apart and presets expanded before it is built. Unknown keys are refused by every class.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from mptcplab.scenario.record import Record
from mptcplab.scenario.types import (
    Algorithm,
    Flag,
    Line,
    LinkName,
    NodeName,
    Part,
    Protocol,
    Time,
    Truth,
    Version,
    Whole,
    WorkloadName,
    fault,
    whole_units,
)
from mptcplab.units import Duration, Probability, QueueLength, Rate, Size

#: One full packet with its Ethernet header, as queueing disciplines count.
_FULL_FRAME = 1514
_LEAST_BURST = 1600
_LARGEST_QUEUE = 2**30
#: ``tc`` keeps the time that a full bucket lasts in 32 bits of 64 ns.
_LONGEST_BURST_S = 250
_SYSCTL = re.compile(r"net\.[a-z0-9_.*/-]+\Z", re.IGNORECASE)


class Endpoint(Part):
    """One address that MPTCP may use, as ``ip mptcp endpoint`` takes it."""

    link: LinkName = Field(description="the link whose address on this host is meant", examples=["line1"])
    flags: tuple[Flag, ...] = Field(
        default=("subflow",), description="signal, subflow, backup, fullmesh", examples=[["signal", "backup"]]
    )
    port: Whole | None = Field(default=None, ge=1, le=65535, description="port to announce; signal only", examples=[80])

    @model_validator(mode="after")
    def _sensible(self) -> Endpoint:
        if self.port is not None and "signal" not in self.flags:
            raise fault("a port can only be announced", 'add "signal" to the flags, or leave the port out', "port")
        if "fullmesh" in self.flags and "signal" in self.flags:
            hint = "the kernel refuses this pair: choose one"
            raise fault("an endpoint cannot be fullmesh and signal at once", hint, "flags")
        if not self.flags:
            raise fault("an endpoint without flags does nothing", 'for example flags = ["subflow"]', "flags")
        if len(set(self.flags)) != len(self.flags):
            raise fault("names a flag twice", "name every flag once", "flags")
        return self


class Limits(Part):
    """How many additional subflows and announced addresses a connection may use (the kernel's own bound is 8)."""

    subflows: Whole = Field(default=8, ge=0, le=8, description="additional subflows per connection", examples=[2])
    add_addr_accepted: Whole = Field(
        default=8, ge=0, le=8, description="announced addresses that are accepted", examples=[2]
    )


def _ascending(sizes: tuple[Size, Size, Size]) -> tuple[Size, Size, Size]:
    if not sizes[0] <= sizes[1] <= sizes[2]:
        raise fault("minimum, default and maximum are not in ascending order", 'like ["4 KiB", "128 KiB", "6 MiB"]')
    return sizes


BufferSizes = Annotated[tuple[Size, Size, Size], AfterValidator(_ascending)]
_BUFFER_EXAMPLE = ["4 KiB", "128 KiB", "6 MiB"]


def _word_or_list(endpoints: Any) -> Any:
    if not isinstance(endpoints, (list, tuple)) and endpoints not in ("auto", "fullmesh", "none"):
        hint = 'use "auto", "fullmesh", "none" or a list like [{ link = "line1", flags = ["subflow"] }]'
        raise fault("is neither a choice nor a list of endpoints", hint)
    return endpoints


#: Told apart before validation, so that what is wrong in a list is not reported as a wrong word as well.
Endpoints = Annotated[
    Annotated[Literal["auto", "fullmesh", "none"], Tag("word")] | Annotated[tuple[Endpoint, ...], Tag("list")],
    Discriminator(lambda value: "list" if isinstance(value, (list, tuple)) else "word"),
    BeforeValidator(_word_or_list),
]


def _setting(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise fault("is neither text nor a whole number", 'for example "net.ipv4.tcp_ecn" = 1')
    if isinstance(value, str) and not value.isprintable():
        raise fault("is not one line of text", 'separate values by blanks, like "4096 131072 6291456"')
    return value


def _of_network(name: str) -> str:
    if name == "net":
        raise fault("is a table, and not a setting", 'write the whole name in quotes, like "net.ipv4.tcp_ecn" = 1')
    if not _SYSCTL.match(name):
        raise fault(
            "is not a setting of one node", "settings of a node's network begin with net., like net.ipv4.tcp_ecn"
        )
    return name


#: What editors are told of a setting's name.
_SYSCTL_SHAPE = {"type": "string", "pattern": r"^[Nn][Ee][Tt]\.[A-Za-z0-9_.*/-]+$"}
Sysctl = dict[
    Annotated[str, AfterValidator(_of_network), WithJsonSchema(_SYSCTL_SHAPE)],
    Annotated[str | int, BeforeValidator(_setting)],
]
_SYSCTL_EXAMPLE = [{"net.ipv4.tcp_ecn": 1}]


#: Schedulers that look at weights.
WEIGHING = ("weighted", "priority")
MOST_WEIGHTS = 16
_LARGEST_WEIGHT = 255


def _weight(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LARGEST_WEIGHT:
        raise fault("is not a weight", f"use a whole number from 1 to {_LARGEST_WEIGHT}")
    return value


_WEIGHT_SHAPE = {"type": "integer", "minimum": 1, "maximum": _LARGEST_WEIGHT}
Weights = dict[LinkName, Annotated[int, BeforeValidator(_weight), WithJsonSchema(_WEIGHT_SHAPE)]]


class Transport(Part):
    """How a host's transport layer is set up. Whatever is left out keeps the kernel's default."""

    protocol: Protocol = Field(default="mptcp", description="what the host's programs open: mptcp or tcp")
    congestion_control: Algorithm | None = Field(
        default=None, description="net.ipv4.tcp_congestion_control", examples=["cubic"]
    )
    scheduler: Algorithm | None = Field(default=None, description="net.mptcp.scheduler", examples=["default"])
    weights: Weights = Field(
        default_factory=dict,
        description="of paths, 1 to 255, by links of this host or of the other side; for the schedulers "
        + " and ".join(WEIGHING),
        examples=[{"line1": 3, "line2": 1}],
    )
    path_manager: Literal["kernel", "userspace"] = Field(default="kernel", description="net.mptcp.pm_type")
    endpoints: Endpoints = Field(default="auto", description="auto uses every address that can reach the other side")
    limits: Limits = Field(default_factory=Limits)
    tcp_rmem: BufferSizes | None = Field(
        default=None, description="receive buffer: minimum, default, maximum", examples=[_BUFFER_EXAMPLE]
    )
    tcp_wmem: BufferSizes | None = Field(
        default=None, description="send buffer: minimum, default, maximum", examples=[_BUFFER_EXAMPLE]
    )
    sysctl: Sysctl = Field(default_factory=dict, description="any net.* setting of the host", examples=_SYSCTL_EXAMPLE)

    @model_validator(mode="after")
    def _said_once(self) -> Transport:
        for key, name in _OWN_SETTINGS.items():
            if name in self.sysctl and self.says(key):
                raise fault(f"is also set by `{key}`", "keep one of the two", "sysctl", name)
        return self


#: Settings that have a key of their own.
_OWN_SETTINGS = {
    "congestion_control": "net.ipv4.tcp_congestion_control",
    "scheduler": "net.mptcp.scheduler",
    "weights": "net.mptcp.scheduler_weights",
    "path_manager": "net.mptcp.pm_type",
    "tcp_rmem": "net.ipv4.tcp_rmem",
    "tcp_wmem": "net.ipv4.tcp_wmem",
}


class Host(Part):
    """A computer at the edge: runs workloads, does not forward."""

    transport: Transport = Field(default_factory=Transport)


class Router(Part):
    """Forwards between its links; shaping happens here."""

    sysctl: Sysctl = Field(
        default_factory=dict, description="any net.* setting of the router", examples=_SYSCTL_EXAMPLE
    )


#: Room for preamble, gap, checksum, tunnels and cells; a frame with it still fits the smallest burst.
_LARGEST_OVERHEAD = 80


class Direction(Part):
    """What one direction of a link does to packets. No rate means as fast as they come."""

    rate: Rate | None = Field(default=None, description="bottleneck rate, counting whole Ethernet frames")
    delay: Duration = Field(default=Duration(0), description="one-way delay")
    jitter: Duration = Field(default=Duration(0), description="delay varies uniformly by up to this, in order")
    loss: Probability = Field(default=Probability(0), description="independent random loss, before the queue")
    queue: QueueLength = Field(
        default=QueueLength(time=Duration(100_000_000)), description="of the bottleneck; default 100 ms"
    )
    burst: Size | None = Field(default=None, description="token bucket of the rate; default one full frame")
    overhead: Size = Field(
        default=Size(0),
        description="what the line adds to every frame, e.g. 24 B on Ethernet cables",
        examples=["24 B"],
    )

    @model_validator(mode="after")
    def _possible(self) -> Direction:
        if self.delay > 3600 * 10**9:
            raise fault("is not plausible for a delay", "use at most 1 h", "delay")
        if self.jitter > self.delay:
            hint = f"nothing arrives before it is sent: use at most {self.delay}, or a longer delay"
            raise fault(f"is more than the delay of {self.delay}", hint, "jitter")
        if self.jitter > 2 * 10**9:
            raise fault("is not plausible for a jitter", "use at most 2 s", "jitter")
        if self.loss == 10**9:
            raise fault("loses every packet", "use less than 100 %", "loss")
        if self.rate is not None:
            self._check_bottleneck(self.rate)
        return self

    def _check_bottleneck(self, rate: Rate) -> None:
        if not 1000 <= rate <= 10**11:
            word = "slow" if rate < 1000 else "fast"
            raise fault(f"is too {word} to simulate", "use from 1 kbit/s to 100 Gbit/s", "rate")
        if self.overhead > _LARGEST_OVERHEAD:
            raise fault("is more than a line adds", f"use at most {_LARGEST_OVERHEAD} B", "overhead")
        if self.burst is not None and self.burst < _LEAST_BURST:
            raise fault("is less than one Ethernet frame", f"use at least {_LEAST_BURST} B", "burst")
        largest = Size(min(rate * _LONGEST_BURST_S // 8, _LARGEST_QUEUE))
        if self.burst is not None and self.burst > largest:
            raise fault(f"is too large a burst at {rate}", f"use at most {largest}", "burst")
        held = self.queue.bytes_at(rate)
        if held is None or not self.says("queue"):
            return
        if held < _FULL_FRAME:
            hint = f'use at least "{_FULL_FRAME} B" or "1 packet"'
            raise fault(f"holds less than one Ethernet frame at {rate}", hint, "queue")
        if held > _LARGEST_QUEUE:
            raise fault(f"holds more than 1 GiB at {rate}", "use a shorter queue", "queue")


class Link(Part):
    """A full-duplex link between two nodes. ``forward`` is from the first to the second of ``between``."""

    between: tuple[NodeName, NodeName] = Field(examples=[["client", "r1"]])
    forward: Direction = Field(default_factory=Direction)
    backward: Direction = Field(default_factory=Direction)
    shape: Literal["router", "sender"] = Field(
        default="router", description="where a host's sending direction is shaped: behind the wire, or on the host"
    )
    addresses: tuple[str, str] | None = Field(
        default=None, description="both ends with prefix length", examples=[["10.1.1.1/24", "10.1.1.2/24"]]
    )

    @model_validator(mode="after")
    def _two_ends(self) -> Link:
        if self.between[0] == self.between[1]:
            raise fault(f"joins '{self.between[0]}' to itself", "name two different nodes", "between")
        return self

    @model_validator(mode="after")
    def _limits_need_rates(self) -> Link:
        """Queue, burst and overhead belong to a rate; a direction without one may only have what both share."""
        for key in ("queue", "burst", "overhead"):
            sides = {n: side for n in ("forward", "backward") if (side := getattr(self, n)).says(key)}
            idle = [name for name, side in sides.items() if side.rate is None]
            shared = len(sides) == 2 and getattr(self.forward, key) == getattr(self.backward, key)
            if idle and not (shared and len(idle) == 1):
                raise fault("does nothing without a rate", 'add a rate, like rate = "10 Mbit/s"', idle[0], key)
        return self


class WorkloadBase(Part):
    """What every workload has."""

    sender: NodeName = Field(alias="from", description="the host that opens the connection", examples=["client"])
    receiver: NodeName = Field(alias="to", description="the host that is connected to", examples=["server"])
    via: LinkName | None = Field(
        default=None, description="the receiver's link whose address is connected to", examples=["line1"]
    )
    start: Time = Field(default=Duration(0), description="after the lab is set up")
    timeout: Time = Field(default=Duration(3600 * 10**9), description="the run fails if it takes longer")
    congestion_control: Algorithm | None = Field(
        default=None, description="of the workload's sockets, at both ends", examples=["cubic"]
    )
    scheduler: Algorithm | None = Field(
        default=None, description="of the workload's MPTCP sockets, at both ends", examples=["roundrobin"]
    )

    @model_validator(mode="after")
    def _two_hosts(self) -> WorkloadBase:
        if self.sender == self.receiver:
            raise fault("is the same host as `from`", "a workload runs between two different hosts", "to")
        if self.timeout == 0:
            raise fault("leaves no time to run", 'for example timeout = "1 h"', "timeout")
        return self

    def _check_goal(self, duration: Duration | None, size: Size | None) -> None:
        """Exactly one of the two, and something to do before the timeout."""
        if duration is None and size is None:
            raise fault("has neither a duration nor a size", 'for example duration = "10 s" or size = "1 GiB"')
        if duration is not None and size is not None:
            raise fault("stands beside a duration, and only one can end the workload", "remove one of the two", "size")
        if duration == 0 or size == 0:
            raise fault("would transfer nothing", "use more than zero", "size" if duration is None else "duration")
        if duration is not None and duration >= self.timeout:
            hint = f'set a timeout that is longer, like timeout = "{Duration(2 * duration)}"'
            raise fault(f"is not less than the timeout of {self.timeout}", hint, "duration")


class Flow(WorkloadBase):
    """Bulk transfer by ``tools/flow``: exact samples of every subflow, cheap to run."""

    kind: Literal["flow"]
    duration: Time | None = Field(default=None, description="send for this long")
    size: Size | None = Field(default=None, description="send this much on each connection")
    connections: Whole = Field(default=1, ge=1, le=1024, description="at the same time", examples=[1])
    direction: Literal["upload", "download"] = "upload"
    read_quantum: Annotated[Time, whole_units(Duration(1000), "microseconds")] = Field(
        default=Duration(0), description="the application reads at multiples of this time; 0: as data comes"
    )
    checksum: Truth = Field(default=False, description="compare a checksum of the payload at both ends")

    @model_validator(mode="after")
    def _goal(self) -> Flow:
        self._check_goal(self.duration, self.size)
        return self


class Iperf3(WorkloadBase):
    """``iperf3``; its own JSON is kept with the recording."""

    kind: Literal["iperf3"]
    duration: Time | None = Field(default=None, description="-t, whole seconds")
    size: Size | None = Field(default=None, description="-n")
    connections: Whole = Field(default=1, ge=1, le=128, description="-P", examples=[1])
    direction: Literal["upload", "download"] = "upload"
    window: Size | None = Field(default=None, description="-w, socket buffers of both sides")

    @model_validator(mode="after")
    def _goal(self) -> Iperf3:
        self._check_goal(self.duration, self.size)
        if self.duration is not None and self.duration % 10**9:
            hint = 'round it, or use kind = "flow"'
            raise fault("is not a whole number of seconds, as iperf3 needs", hint, "duration")
        return self


class Transfer(WorkloadBase):
    """A file through ``socat``, timed as ``time nc`` would, its checksum compared at the far end."""

    kind: Literal["transfer"]
    size: Size

    @model_validator(mode="after")
    def _goal(self) -> Transfer:
        self._check_goal(None, self.size)
        return self


Workload = Annotated[Flow | Iperf3 | Transfer, Field(discriminator="kind")]


class Scenario(Part):
    """One experiment at one point, ready to be planned."""

    title: Line = Field(description="what the scenario is about", examples=["Two lines, one server"])
    question: str = Field(default="", description="what it is to answer", examples=["Is MPTCP faster than TCP?"])
    kernel: Version = Field(
        default="7.2",
        description="version of the lab kernel, or an entry or path of `mptcplab kernel list`",
        examples=["7.2"],
    )
    family: Literal["ipv4", "ipv6"] = "ipv4"
    hosts: dict[NodeName, Host]
    routers: dict[NodeName, Router] = Field(default_factory=dict)
    links: dict[LinkName, Link]
    workloads: dict[WorkloadName, Workload]
    record: Record = Field(default_factory=Record)
