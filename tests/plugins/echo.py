# SPDX-License-Identifier: MIT
"""A plugin with a kind of workload: a server echoes one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from mptcplab.fields import Whole
from mptcplab.recording.record import Recording
from mptcplab.steps import Call, Program, shell
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.context import WorkloadContext, client, server, wrap_with_mptcpize
from mptcplab.workload.outputs import NS, Reading, compute_goodput
from mptcplab.workload.recorded import read_span_ns


class Echo(WorkloadBase):
    """One line to a server and back."""

    example: ClassVar[Mapping[str, Any]] = {"letters": 10}

    kind: Literal["echo"]
    letters: Whole = Field(ge=1, le=1000, description="length of the line", examples=[80])

    def programs(self, name: str, context: WorkloadContext) -> Iterator[Program]:
        """See the base class."""
        serve = Call(("socat", f"TCP4-LISTEN:{context.port},fork", "EXEC:cat"), ("cat",))
        yield server(name, self, wrap_with_mptcpize(serve, context.server_protocol))
        ask = wrap_with_mptcpize(Call(("socat", "-t", "9", "STDIO", f"TCP4:{context.address}:{context.port}")), "mptcp")
        yield client(name, self, shell(f"echo {'x' * self.letters} | {ask}", ask))

    def cpu_seconds(self, capacity_bps: float) -> float:  # noqa: ARG002
        """See the base class."""
        return 0.1

    def read(self, recording: Recording, name: str) -> Reading:
        """See the base class."""
        received = recording.output(f"{name}.client").strip()
        assert len(received) == self.letters, received
        start_ns, end_ns = read_span_ns(recording, f"{name}.client")
        elapsed = (end_ns - start_ns) / NS
        return Reading(compute_goodput(len(received), elapsed, name), elapsed)
