# SPDX-License-Identifier: MIT
"""What a kind of workload is: one class in one file, from which everything else that knows of workloads asks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator

from mptcplab.errors import Mistake
from mptcplab.fields import Algorithm, LinkName, NodeName, Part, Time, conflict, invalid
from mptcplab.recording.record import Recording
from mptcplab.steps import Program
from mptcplab.units import Duration, Size
from mptcplab.workload.context import Context
from mptcplab.workload.outputs import Reading


class WorkloadBase(Part):
    """What every workload has.

    A kind is a subclass whose ``kind`` is its name. As a model it is what a scenario says. Its methods turn that into
    programs; its class methods read the recording, in which the workload is described as the scenario was resolved.
    """

    samples_itself: ClassVar[bool] = False
    """Its programs are ``tools/flow``, which reports its own sockets."""
    is_bulk: ClassVar[bool] = False
    """It sends as much as the network carries: with several paths, all of them should be in use."""
    server_sends: ClassVar[bool] = False
    """The host ``to`` sends what is measured, whatever the workload's ``direction``."""
    has_control_connections: ClassVar[bool] = True
    """It may have connections that carry hardly any data, and do not count."""
    only_protocol: ClassVar[str | None] = None
    """What its sockets speak, if it is not what the hosts' transport or the workload says."""
    packages: ClassVar[Mapping[str, str]] = {}
    """Debian packages of programs that it starts, for those that are not in a package of their own name."""
    smallest: ClassVar[Mapping[str, Any]] = {}
    """What the smallest workload of the kind needs beside the keys that all have."""

    sender: NodeName = Field(alias="from", description="the host that opens the connection", examples=["client"])
    receiver: NodeName = Field(alias="to", description="the host that is connected to", examples=["server"])
    via: LinkName | None = Field(
        default=None, description="the receiver's link whose address is connected to", examples=["link1"]
    )
    start: Time = Field(default=Duration(0), description="after the lab is set up; random phases add to it")
    timeout: Time = Field(default=Duration(3600 * 10**9), description="the run fails if it takes longer")
    congestion_control: Algorithm | None = Field(
        default=None, description="of the workload's sockets, at both ends", examples=["cubic"]
    )
    scheduler: Algorithm | None = Field(
        default=None, description="of the workload's MPTCP sockets, at both ends", examples=["roundrobin"]
    )

    def programs(self, name: str, context: Context) -> Iterator[Program]:
        """Return the programs of the workload called ``name``: servers first."""
        raise NotImplementedError

    def cpu_seconds(self, capacity_bps: float) -> float:
        """Return roughly how much CPU time the workload takes; its paths carry ``capacity_bps`` together."""
        raise NotImplementedError

    def expected_seconds(self, capacity_bps: float) -> float:
        """Return roughly how long the workload takes, in virtual time."""
        duration: Duration | None = getattr(self, "duration", None)
        size: Size | None = getattr(self, "size", None)
        if duration is not None:
            return duration.seconds
        return 8 * float(size) / capacity_bps if size is not None else 0.0

    @classmethod
    def read(cls, recording: Recording, name: str, described: Mapping[str, Any]) -> Reading:
        """Return what the programs of the workload say that they did. :raises LabError: if their output is broken."""
        raise NotImplementedError

    @classmethod
    def data_ports(cls, port: int) -> Collection[int]:
        """Return where data connections go to if the server listens on ``port``."""
        return (port,)

    @classmethod
    def sends_to_client(cls, described: Mapping[str, Any]) -> bool:
        """Return whether the host ``to`` sends what is measured."""
        return cls.server_sends or bool(described.get("reverse"))

    @classmethod
    def ends(cls, name: str, described: Mapping[str, Any], port: int) -> dict[str, Any]:
        """Return what a recording says of a workload beside its description: who sends, who receives, who reports.

        The hosts ``sender`` and ``receiver`` of the payload; their programs ``sending`` and ``receiving``, None if
        these do not report their own sockets; the ``protocol`` that it asks for by itself; the ``ports`` of its data.
        """
        sides = [(described["from"], f"{name}.client"), (described["to"], f"{name}.server")]
        if cls.sends_to_client(described):
            sides.reverse()
        (sender, sending), (receiver, receiving) = sides
        return {
            "sender": sender,
            "receiver": receiver,
            "sending": sending if cls.samples_itself else None,
            "receiving": receiving if cls.samples_itself else None,
            "protocol": cls.only_protocol or described.get("protocol"),
            "ports": list(cls.data_ports(port)),
            "is_bulk": cls.is_bulk,
            "has_control_connections": cls.has_control_connections,
        }

    @property
    def advances_time(self) -> bool:
        """Whether it waits by itself, so that virtual time passes even where the network takes none."""
        return False

    @model_validator(mode="after")
    def _two_hosts(self) -> WorkloadBase:
        if self.sender == self.receiver:
            raise conflict("is the same host as `from`", "a workload runs between two different hosts", "to")
        if self.timeout == 0:
            raise invalid("leaves no time to run", 'for example timeout = "1 h"', "timeout")
        return self

    def _check_goal(self, duration: Duration | None, size: Size | None) -> None:
        """Exactly one of the two, and something to do before the timeout."""
        if duration is None and size is None:
            hint = 'for example duration = "10 s" or size = "1 GiB"'
            raise invalid("has neither a duration nor a size", hint, kind=Mistake.MISSING)
        if duration is not None and size is not None:
            raise conflict(
                "stands beside a duration, and only one can end the workload", "remove one of the two", "size"
            )
        if duration == 0 or size == 0:
            raise invalid("would transfer nothing", "use more than zero", "size" if duration is None else "duration")
        if duration is not None and duration >= self.timeout:
            hint = f'set a timeout that is longer, like timeout = "{Duration(2 * duration)}"'
            raise conflict(f"is not less than the timeout of {self.timeout}", hint, "duration")
