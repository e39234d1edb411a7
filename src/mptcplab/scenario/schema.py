# SPDX-License-Identifier: MIT
"""What a scenario may say: the typed, checked form of one experiment.

Everything here is plain data without defaults that depend on the machine. A :class:`Scenario` describes one point:
sweeps have been taken apart and presets expanded before it is built. Unknown keys are refused by every class.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mptcplab.units import Duration, Probability, QueueLength, Rate, Size

#: Names become network namespaces, interfaces and files, so they keep to what all of these allow.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_LONGEST_LINK_NAME = 15  # IFNAMSIZ - 1
_LONGEST_NODE_NAME = 32
_SYSCTL = re.compile(r"net\.[a-z0-9_.*/-]+\Z", re.IGNORECASE)


def fault(message: str, hint: str) -> PydanticCustomError:
    """An error for pydantic to report, with a hint for the user."""
    return PydanticCustomError("scenario", "{text}", {"text": message, "hint": hint})


def _name_of(length: int, noun: str) -> Any:
    def check(name: str) -> str:
        if not _NAME.match(name):
            raise fault(f"'{name}' is not a name for a {noun}", "use a letter, then letters, digits, '-' or '_'")
        if len(name) > length:
            raise fault(f"'{name}' is too long for a {noun}", f"use at most {length} characters")
        return name

    return AfterValidator(check)


NodeName = Annotated[str, _name_of(_LONGEST_NODE_NAME, "node")]
LinkName = Annotated[str, _name_of(_LONGEST_LINK_NAME, "link")]
WorkloadName = Annotated[str, _name_of(_LONGEST_NODE_NAME, "workload")]
Protocol = Literal["mptcp", "tcp"]
Flag = Literal["signal", "subflow", "backup", "fullmesh"]


class Part(BaseModel):
    """Base of all parts of a scenario: immutable, and no key is accepted that does nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Endpoint(Part):
    """One address that MPTCP may use, as ``ip mptcp endpoint`` takes it."""

    link: LinkName = Field(description="the link whose address on this host is meant")
    flags: tuple[Flag, ...] = Field(default=("subflow",), description="signal, subflow, backup, fullmesh")
    port: int | None = Field(default=None, ge=1, le=65535, description="port to announce; signal only")

    @model_validator(mode="after")
    def _sensible(self) -> Endpoint:
        if self.port is not None and "signal" not in self.flags:
            raise fault("a port can only be announced", 'add "signal" to the flags, or leave the port out')
        if "fullmesh" in self.flags and "signal" in self.flags:
            raise fault("an endpoint cannot be fullmesh and signal at once", "the kernel refuses this pair: choose one")
        return self


class Limits(Part):
    """How many additional subflows and announced addresses a connection may use (the kernel's own bound is 8)."""

    subflows: int = Field(default=8, ge=0, le=8, description="additional subflows per connection")
    add_addr_accepted: int = Field(default=8, ge=0, le=8, description="announced addresses that are accepted")


def _ascending(sizes: tuple[Size, Size, Size]) -> tuple[Size, Size, Size]:
    if not sizes[0] <= sizes[1] <= sizes[2]:
        raise fault("minimum, default and maximum are not in ascending order", 'like ["4 KiB", "128 KiB", "6 MiB"]')
    return sizes


BufferSizes = Annotated[tuple[Size, Size, Size], AfterValidator(_ascending)]


class Transport(Part):
    """How a host's transport layer is set up. Whatever is left out keeps the kernel's default."""

    protocol: Protocol = Field(default="mptcp", description="what the host's programs open: mptcp or tcp")
    congestion_control: str | None = Field(default=None, description="net.ipv4.tcp_congestion_control")
    scheduler: str | None = Field(default=None, description="net.mptcp.scheduler")
    path_manager: Literal["kernel", "userspace"] = Field(default="kernel", description="net.mptcp.pm_type")
    endpoints: Literal["auto", "fullmesh", "none"] | tuple[Endpoint, ...] = Field(
        default="auto", description="auto uses every address that can reach the other side"
    )
    limits: Limits = Field(default_factory=Limits)
    tcp_rmem: BufferSizes | None = Field(default=None, description="receive buffer: minimum, default, maximum")
    tcp_wmem: BufferSizes | None = Field(default=None, description="send buffer: minimum, default, maximum")
    sysctl: dict[str, str | int] = Field(default_factory=dict, description="any net.* setting of the host")

    @model_validator(mode="after")
    def _only_net(self) -> Transport:
        for key in self.sysctl:
            if not _SYSCTL.match(key):
                raise fault(f"'{key}' is not a setting of a host", "settings of a host's network begin with net.")
        return self


class Host(Part):
    """A computer at the edge: runs workloads, does not forward."""

    transport: Transport = Field(default_factory=Transport)


class Router(Part):
    """Forwards between its links; shaping happens here."""

    sysctl: dict[str, str | int] = Field(default_factory=dict, description="any net.* setting of the router")


class Direction(Part):
    """What one direction of a link does to packets. No rate means as fast as they come."""

    rate: Rate | None = Field(default=None, description="bottleneck rate, counting whole Ethernet frames")
    delay: Duration = Field(default=Duration(0), description="one-way delay")
    jitter: Duration = Field(default=Duration(0), description="delay varies uniformly by up to this, in order")
    loss: Probability = Field(default=Probability(0), description="independent random loss, before the queue")
    queue: QueueLength = Field(default=QueueLength(time=Duration(100_000_000)), description="of the bottleneck")
    burst: Size | None = Field(default=None, description="token bucket of the rate; default one full frame")

    @model_validator(mode="after")
    def _possible(self) -> Direction:
        if self.rate is not None and self.rate < 1000:
            raise fault(f"{self.rate} is too slow to simulate", "use at least 1 kbit/s")
        if self.jitter > self.delay:
            raise fault(f"jitter {self.jitter} is more than the delay {self.delay}", "packets cannot arrive before")
        if self.jitter > 2 * 10**9:
            raise fault(f"a jitter of {self.jitter} is not plausible", "use at most 2 s")
        if self.burst is not None and self.rate is None:
            raise fault("a burst needs a rate", "give the link a rate, or leave the burst out")
        if self.burst is not None and self.burst < 1600:
            raise fault(f"{self.burst} is less than one Ethernet frame", "use a burst of at least 1600 B")
        if self.delay > 3600 * 10**9:
            raise fault(f"a delay of {self.delay} is not plausible", "use at most 1 h")
        return self


class Link(Part):
    """A full-duplex link between two nodes. ``forward`` is from the first to the second of ``between``."""

    between: tuple[NodeName, NodeName]
    forward: Direction = Field(default_factory=Direction)
    backward: Direction = Field(default_factory=Direction)
    shape: Literal["router", "sender"] = Field(
        default="router", description="where a host's sending direction is shaped: behind the wire, or on the host"
    )
    addresses: tuple[str, str] | None = Field(default=None, description="both ends with prefix length")

    @model_validator(mode="after")
    def _two_ends(self) -> Link:
        if self.between[0] == self.between[1]:
            raise fault(f"both ends are '{self.between[0]}'", "a link joins two different nodes")
        return self


class Record(Part):
    """What is sampled while the workloads run."""

    interval: Duration = Field(default=Duration(10**9), description="time between samples of every socket")

    @model_validator(mode="after")
    def _possible(self) -> Record:
        if self.interval < 1_000_000:
            raise fault(f"{self.interval} is too fine", "sample at most every 1 ms")
        return self


class WorkloadBase(Part):
    """What every workload has."""

    sender: NodeName = Field(alias="from", description="the host that opens the connection")
    receiver: NodeName = Field(alias="to", description="the host that is connected to")
    via: LinkName | None = Field(default=None, description="the receiver's link whose address is connected to")
    start: Duration = Field(default=Duration(0), description="after the lab is set up")
    timeout: Duration = Field(default=Duration(3600 * 10**9), description="the run fails if it takes longer")

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    @model_validator(mode="after")
    def _two_hosts(self) -> WorkloadBase:
        if self.sender == self.receiver:
            raise fault(f"'{self.sender}' would talk to itself", "'from' and 'to' are two different hosts")
        return self


def _one_goal(duration: Duration | None, size: Size | None) -> None:
    if (duration is None) == (size is None):
        raise fault("needs a duration or a size, and not both", 'for example duration = "10 s" or size = "1 GiB"')
    if duration == 0 or size == 0:
        raise fault("would transfer nothing", "use a duration or a size above zero")


class Flow(WorkloadBase):
    """Bulk transfer by ``tools/flow``: exact samples of every subflow, cheap to run."""

    kind: Literal["flow"]
    duration: Duration | None = Field(default=None, description="send for this long")
    size: Size | None = Field(default=None, description="send this much on each connection")
    connections: int = Field(default=1, ge=1, le=1024)
    direction: Literal["upload", "download"] = "upload"
    congestion_control: str | None = Field(default=None, description="per socket, on the sending side")
    read_quantum: Duration = Field(default=Duration(0), description="the application reads at most this often")
    checksum: bool = Field(default=False, description="compare a checksum of the payload at both ends")

    @model_validator(mode="after")
    def _goal(self) -> Flow:
        _one_goal(self.duration, self.size)
        return self


class Iperf3(WorkloadBase):
    """``iperf3``; its own JSON is kept with the recording."""

    kind: Literal["iperf3"]
    duration: Duration | None = Field(default=None, description="-t, whole seconds")
    size: Size | None = Field(default=None, description="-n")
    connections: int = Field(default=1, ge=1, le=128, description="-P")
    direction: Literal["upload", "download"] = "upload"
    congestion_control: str | None = Field(default=None, description="-C")
    window: Size | None = Field(default=None, description="-w, socket buffers of both sides")

    @model_validator(mode="after")
    def _goal(self) -> Iperf3:
        _one_goal(self.duration, self.size)
        if self.duration is not None and self.duration % 10**9:
            raise fault(f"iperf3 cannot run for {self.duration}", "iperf3 takes whole seconds")
        return self


class Transfer(WorkloadBase):
    """A file through ``nc``, timed, its SHA-256 compared at the far end."""

    kind: Literal["transfer"]
    size: Size

    @model_validator(mode="after")
    def _goal(self) -> Transfer:
        _one_goal(None, self.size)
        return self


Workload = Annotated[Flow | Iperf3 | Transfer, Field(discriminator="kind")]


class Scenario(Part):
    """One experiment at one point, ready to be planned."""

    title: str = Field(min_length=1)
    question: str = ""
    kernel: str = Field(default="7.2", description="version of the lab kernel, see `mptcplab kernel list`")
    family: Literal["ipv4", "ipv6"] = "ipv4"
    hosts: dict[NodeName, Host]
    routers: dict[NodeName, Router] = Field(default_factory=dict)
    links: dict[LinkName, Link]
    workloads: dict[WorkloadName, Workload]
    record: Record = Field(default_factory=Record)
