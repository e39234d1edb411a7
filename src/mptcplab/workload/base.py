# SPDX-License-Identifier: MIT
"""The base class of workload kinds. A kind is one class in one file; all other code about workloads asks it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, SerializerFunctionWrapHandler, TypeAdapter, model_serializer, model_validator

from mptcplab.errors import Mistake
from mptcplab.fields import (
    Algorithm,
    GatewayName,
    LinkName,
    Misnomers,
    NodeName,
    Part,
    Scheduler,
    Time,
    conflict,
    value_error,
)
from mptcplab.steps import Program
from mptcplab.units import Duration, Size
from mptcplab.workload import cost
from mptcplab.workload.context import WorkloadContext
from mptcplab.workload.outputs import NO_FAILURES, Failures, Items, Reading, TimedMessages
from mptcplab.workload.recorded import Ends, client_program, server_program

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording


#: The hint for `direction` in a workload with a key `reverse`.
REVERSE_ADVICE = "`from` sends to `to`; with reverse = true, `to` sends"


class WorkloadBase(Part):
    """The base of all workloads.

    A kind is a subclass whose ``kind`` is its name. Its fields are the keys in a scenario. Its methods return programs
    and estimates, and read a recording, whose manifest has the same keys: see :meth:`from_recording`.
    """

    misnomers: ClassVar[Misnomers] = {
        "kind": ("type", "what", "application", "app", "program", "tool", "generator"),
        "from": ("src", "source", "client", "sender"),
        "to": ("dst", "dest", "destination", "server", "receiver", "target", "sink"),
        "via": ("link", "path", "address", "interface"),
        "through": ("gateway", "proxy", "tunnel", "vpn"),
        "start": ("at", "begin", "when", "start_time", "after", "offset"),
        "start_spread": ("spread", "start_jitter"),
        "timeout": ("time_limit", "max_time"),
        "congestion_control": ("cc", "cca", "congestion", "tcp_congestion_control"),
        "scheduler": ("sched", "packet_scheduler"),
        "duration": ("time", "seconds", "runtime", "lasts"),
        "size": ("bytes", "amount", "volume", "data", "file_size"),
        "connections": ("parallel", "streams", "conns", "concurrency", "n_connections"),
        "reverse": ("download", "backward"),
        "protocol": ("proto", "socket"),
        "interval": ("period", "gap", "every"),
        "packet": ("message", "payload", "datagram", "packet_size"),
        "response": ("answer", "reply", "object", "response_size"),
    }

    samples_itself: ClassVar[bool] = False
    """Its programs are ``tools/flow``, which samples its own sockets."""
    is_bulk: ClassVar[bool] = False
    """It sends as much as the network carries: with several paths, it should use all of them."""
    server_sends: ClassVar[bool] = False
    """The host ``to`` always sends the measured data."""
    has_control_connections: ClassVar[bool] = True
    """It may have control connections, which carry hardly any data and are ignored."""
    only_protocol: ClassVar[str | None] = None
    """The protocol of its sockets, if neither the hosts' transport nor the workload selects it."""
    speaks_socks: ClassVar[bool] = False
    """Its client can use a SOCKS5 proxy."""
    can_be_forwarded: ClassVar[bool] = False
    """Its client can connect to a port elsewhere that leads to its server's only port."""
    packages: ClassVar[Mapping[str, str]] = {}
    """Debian packages of programs that it starts, if the package's name differs from the program's."""
    recorded_if_set: ClassVar[tuple[str, ...]] = ("through", "start_spread")
    """Keys that recordings have only where a scenario sets them: older recordings remain as they are."""
    example: ClassVar[Mapping[str, Any]] = {}
    """The keys of a minimal workload, beside the keys of all kinds."""
    first: ClassVar[Mapping[str, str]] = {}
    """The keys that `mptcplab init` writes, beside the keys of all kinds and the key that ends the workload."""

    # The names of both fields are in campaign/contract.py, and so a part of identities. Payload may go either way.
    sender: NodeName = Field(alias="from", description="the host that opens the connection", examples=["client"])
    receiver: NodeName = Field(alias="to", description="the host that accepts the connection", examples=["server"])
    via: LinkName | None = Field(
        default=None, description="the link of `to` whose address `from` connects to", examples=["link1"]
    )
    through: GatewayName | None = Field(
        default=None,
        description="the gateway with mode local or tunnel that `from` speaks to, at its entry",
        examples=["bond"],
    )
    start: Time = Field(default=Duration(0), description="start, from time zero; random phases add to it")
    start_spread: Time | None = Field(
        default=None,
        description="each seed draws the start, uniformly within this time after `start`, in place of its random phase",
        examples=["2 s"],
    )
    timeout: Time = Field(default=Duration(3600 * 10**9), description="the run fails if the workload takes longer")
    congestion_control: Algorithm | None = Field(
        default=None, description="congestion control of the workload's sockets, on both hosts", examples=["cubic"]
    )
    scheduler: Scheduler | None = Field(
        default=None, description="scheduler of the workload's MPTCP sockets, on both hosts", examples=["roundrobin"]
    )

    @classmethod
    def summarize(cls) -> str:
        """Return what it is in one sentence, for readers of a scenario."""
        return (cls.__doc__ or "").partition("\n")[0].replace("``", "`")

    @classmethod
    def has_key(cls, key: str) -> bool:
        """Return whether workloads of the kind have ``key``."""
        return key in cls.model_fields

    def programs(self, name: str, context: WorkloadContext) -> Iterator[Program]:
        """Return the programs of the workload called ``name``: servers first."""
        raise NotImplementedError

    def cpu_seconds(self, capacity_bps: float) -> float:
        """Return an estimate of the workload's CPU time; its paths together carry ``capacity_bps``."""
        raise NotImplementedError

    def logged_bytes(self, seconds: float, samples: float, subflows: int) -> float:  # noqa: ARG002
        """Return an estimate of what its programs write in ``seconds`` with ``samples`` of ``subflows``."""
        return cost.LOG

    @property
    def connection_count(self) -> int:
        """The number of connections that it has at one time: the key ``connections`` of kinds that have it, else 1."""
        return getattr(self, "connections", 1)

    def expected_seconds(self, capacity_bps: float) -> float:
        """Return an estimate of the workload's duration in virtual time."""
        duration: Duration | None = getattr(self, "duration", None)
        size: Size | None = getattr(self, "size", None)
        if duration is not None:
            return duration.seconds
        return 8 * float(size) / capacity_bps if size is not None else 0.0

    @classmethod
    def from_recording(cls, keys: Mapping[str, Any]) -> WorkloadBase:
        """Return the workload of a recording, from its ``keys`` in the manifest.

        Only the types of values are checked: a recording stays readable if a later check of scenarios refuses its
        workload, and has no keys that are newer. :raises ValueError: if a value is not of its type.
        """
        values = {name: adapter.validate_python(keys[key]) for name, key, adapter in _adapters(cls) if key in keys}
        return cls.model_construct(set(values), **values)

    def read(self, recording: Recording, name: str) -> Reading:
        """Return the results that the workload's programs report. :raises LabError: if their output is corrupt."""
        raise NotImplementedError

    def items(self, recording: Recording, name: str) -> Items | None:  # noqa: ARG002
        """Return what a workload of a recording delivered one by one; None for a kind that sends a single stream."""
        return None

    def timed_messages(self, recording: Recording, name: str) -> TimedMessages | None:  # noqa: ARG002
        """Return the messages of a workload that sends them at scheduled instants; None for another kind."""
        return None

    def failed_connections(self, recording: Recording, name: str) -> Failures:  # noqa: ARG002
        """Return the failed connections of a workload; none if a failure would end the run."""
        return NO_FAILURES

    @property
    def accepted_statuses(self) -> tuple[int, ...]:
        """The exit statuses of its client, beside 0, with which a run goes on."""
        return ()

    @property
    def accepted_server_statuses(self) -> tuple[int, ...]:
        """The same of its server."""
        return ()

    @property
    def latest_start(self) -> Duration:
        """The latest start that a seed may draw, without phases."""
        return Duration(int(self.start) + int(self.start_spread or 0))

    @property
    def own_protocol(self) -> str | None:
        """The protocol that it requests for its sockets; None leaves the choice to the hosts' transport."""
        return self.only_protocol or getattr(self, "protocol", None)

    @classmethod
    def data_ports(cls, port: int) -> Collection[int]:
        """Return the ports of data connections if the server listens on ``port``."""
        return (port,)

    @classmethod
    def sends_to_client(cls, described: Mapping[str, Any]) -> bool:
        """Return whether the host ``to`` sends the measured data."""
        return cls.server_sends or bool(described.get("reverse"))

    @classmethod
    def ends(cls, name: str, described: Mapping[str, Any], port: int) -> dict[str, Any]:
        """Return the ends of a workload for a manifest, as JSON data: see :class:`mptcplab.workload.recorded.Ends`."""
        sides = [(described["from"], client_program(name)), (described["to"], server_program(name))]
        if cls.sends_to_client(described):
            sides.reverse()
        (sender, sending), (receiver, receiving) = sides
        return Ends(
            workload=name,
            sender=sender,
            receiver=receiver,
            sending=sending if cls.samples_itself else None,
            receiving=receiving if cls.samples_itself else None,
            protocol=cls.only_protocol or described.get("protocol"),
            ports=tuple(cls.data_ports(port)),
            is_bulk=cls.is_bulk,
            has_control_connections=cls.has_control_connections,
        ).to_json()

    @property
    def advances_time(self) -> bool:
        """True if it waits by itself, so that virtual time advances even if the network takes none."""
        return False

    @model_serializer(mode="wrap", when_used="json")
    def _drop_unset(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        dumped: dict[str, Any] = dump(self)
        return {key: value for key, value in dumped.items() if key not in self.recorded_if_set or self.is_set(key)}

    @model_validator(mode="after")
    def _check_hosts(self) -> WorkloadBase:
        if self.sender == self.receiver:
            raise conflict("is the same host as `from`", "name two different hosts", "to")
        if self.timeout == 0:
            raise value_error("leaves no time to run", 'use a longer time, like timeout = "1 h"', "timeout")
        return self

    def _check_goal(self, duration: Duration | None, size: Size | None) -> None:
        """Check that exactly one of the two is set, and that it allows data before the timeout."""
        if duration is None and size is None:
            hint = 'add duration = "10 s" or size = "1 GiB"'
            raise value_error("has neither a duration nor a size", hint, kind=Mistake.MISSING)
        if duration is not None and size is not None:
            hint = "remove one of the two: either ends the workload"
            raise conflict("cannot be combined with a duration", hint, "size")
        if duration == 0 or size == 0:
            raise value_error(
                "would transfer nothing", "use more than zero", "size" if duration is None else "duration"
            )
        if duration is not None and duration >= self.timeout:
            hint = f'set a longer timeout, like timeout = "{Duration(2 * duration)}"'
            raise conflict(f"is not less than the timeout of {self.timeout}", hint, "duration")


@cache
def _adapters(kind: type[WorkloadBase]) -> tuple[tuple[str, str, TypeAdapter[Any]], ...]:
    """Return the name, the key and the parser of each field."""
    adapters = []
    for name, field in kind.model_fields.items():
        checked: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        adapters.append((name, field.alias or name, TypeAdapter(checked)))
    return tuple(adapters)
