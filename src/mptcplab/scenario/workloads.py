# SPDX-License-Identifier: MIT
"""What hosts transfer: one class for each kind of workload."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from mptcplab.scenario.types import Algorithm, LinkName, NodeName, Part, Time, Truth, Whole, fault, whole_units
from mptcplab.units import Duration, Size

_LARGEST_FILE = Size(100 * 10**9)


class WorkloadBase(Part):
    """What every workload has."""

    sender: NodeName = Field(alias="from", description="the host that opens the connection", examples=["client"])
    receiver: NodeName = Field(alias="to", description="the host that is connected to", examples=["server"])
    via: LinkName | None = Field(
        default=None, description="the receiver's link whose address is connected to", examples=["line1"]
    )
    start: Time = Field(default=Duration(0), description="after the lab is set up; random phases add to it")
    timeout: Time = Field(default=Duration(3600 * 10**9), description="the run fails if it takes longer")
    congestion_control: Algorithm | None = Field(
        default=None, description="of the workload's sockets, at both ends", examples=["cubic"]
    )
    scheduler: Algorithm | None = Field(
        default=None, description="of the workload's MPTCP sockets, at both ends", examples=["roundrobin"]
    )

    @property
    def keeps_time(self) -> bool:
        """Whether it waits by itself, so that virtual time passes even where the network takes none."""
        return False

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


class Download(WorkloadBase):
    """A file that ``curl`` fetches, its checksum compared at the far end."""

    size: Size = Field(description="of the file", examples=["10 MB"])
    files: Whole = Field(default=1, ge=1, le=1000, description="how often it is fetched", examples=[1])
    connections: Whole = Field(default=1, ge=1, le=20, description="at the same time, each of one file", examples=[1])

    @model_validator(mode="after")
    def _goal(self) -> Download:
        self._check_goal(None, self.size)
        if self.size > _LARGEST_FILE:
            raise fault("is too large a file", f"use at most {_LARGEST_FILE}", "size")
        if self.connections > self.files:
            hint = f"set files = {self.connections} or more: each connection fetches a file"
            raise fault(f"are more than the files, {self.files}", hint, "connections")
        return self


class Http(Download):
    """Downloads by HTTP: ``lighttpd`` and ``curl``. Every file has a connection of its own."""

    kind: Literal["http"]


class Ftp(Download):
    """Downloads by FTP in passive mode: ``vsftpd`` and ``curl``. Every file has a session of its own."""

    kind: Literal["ftp"]
    connections: Whole = Field(default=1, ge=1, le=10, description="at the same time, each of one file", examples=[1])
    listen: Literal["any", "address"] = Field(
        default="any", description="where data connections are waited for: vsftpd by itself waits at one address"
    )
