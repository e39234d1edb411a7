# SPDX-License-Identifier: MIT
"""``iperf3``, with ``mptcpize`` on both sides for MPTCP sockets: many installed versions lack an option for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.errors import LabError
from mptcplab.fields import Boolean, Misnomers, Time, Whole, value_error
from mptcplab.steps import Call, Program
from mptcplab.units import Size
from mptcplab.workload import base
from mptcplab.workload.base import REVERSE_ADVICE, WorkloadBase
from mptcplab.workload.context import WorkloadContext, client, server, with_algorithms
from mptcplab.workload.outputs import Reading

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording


class Iperf3(WorkloadBase):
    """A test by ``iperf3``; the recording keeps its JSON report."""

    advice: ClassVar[Mapping[str, str]] = {"direction": REVERSE_ADVICE}
    misnomers: ClassVar[Misnomers] = {
        "window": ("buffer", "socket_buffer", "sndbuf", "rcvbuf"),
    }

    is_bulk = True
    smallest: ClassVar[Mapping[str, Any]] = {"size": "1 kB"}

    kind: Literal["iperf3"]
    duration: Time | None = Field(default=None, description="-t, whole seconds")
    size: Size | None = Field(default=None, description="-n")
    connections: Whole = Field(default=1, ge=1, le=128, description="-P", examples=[1])
    reverse: Boolean = False
    window: Size | None = Field(default=None, description="-w, socket buffers of both sides")

    @model_validator(mode="after")
    def _goal(self) -> Iperf3:
        self._check_goal(self.duration, self.size)
        if self.duration is not None and self.duration % 10**9:
            hint = 'use whole seconds, or kind = "flow"'
            raise value_error("is not a whole number of seconds, as iperf3 needs", hint, "duration")
        return self

    def programs(self, name: str, context: WorkloadContext) -> Iterator[Program]:
        """Yield a server for one test, and the client, whose JSON report has both sides."""
        waiting = Call(("iperf3", "-s", "-1", "-p", str(context.port)))
        yield server(name, self, with_algorithms(waiting, context.server_protocol, None, self.scheduler))
        calling = Call(("iperf3", "-c", context.address, "-p", str(context.port), "-J", *self._options(context)))
        yield client(name, self, with_algorithms(calling, context.client_protocol, None, self.scheduler))

    def _options(self, context: WorkloadContext) -> Iterator[str]:
        if self.duration is not None:
            yield from ("-t", str(int(self.duration) // 10**9))
        if self.size is not None:
            yield from ("-n", str(int(self.size)))
        yield from ("-i", f"{max(context.interval_ns / 1e9, 0.1):g}", "-P", str(self.connections))
        if self.reverse:
            yield "-R"
        if self.congestion_control is not None:
            yield from ("-C", self.congestion_control)  # the server adopts it, and the report has it
        if self.window is not None:
            yield from ("-w", str(int(self.window)))

    def cpu_seconds(self, capacity_bps: float) -> float:
        """See the base class."""
        packets = base.bulk(self.size, self.connections, self.duration, capacity_bps, packet=base.IPERF3_PACKET)
        return packets + base.IPERF3_SECOND * self.expected_seconds(capacity_bps)

    def read(self, recording: Recording, name: str) -> Reading:
        """Return the counts of iperf3's server, from the client's report."""
        try:
            report = json.loads(recording.output(f"{name}.client"))
            total = report["end"]["sum_received"]
            return Reading(float(total["bits_per_second"]), float(total["seconds"]))
        except (ValueError, KeyError) as error:
            raise LabError(f"{name}: the report of iperf3 cannot be read", hint=f"see out/{name}.client.out") from error
