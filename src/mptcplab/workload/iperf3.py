# SPDX-License-Identifier: MIT
"""``iperf3``, with ``mptcpize`` on both sides for MPTCP sockets: many installed versions lack an option for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.errors import LabError
from mptcplab.fields import Boolean, Misnomers, Time, Whole, value_error
from mptcplab.steps import FAILURES_END_HINT, Call, Program
from mptcplab.units import Size
from mptcplab.workload import cost
from mptcplab.workload.base import REVERSE_ADVICE
from mptcplab.workload.context import WorkloadContext, client, server, with_algorithms
from mptcplab.workload.failures import WorkloadWithFailures, errno_at_end, sampled_bytes
from mptcplab.workload.outputs import NO_FAILURES, NS, Failure, Failures, Reading, compute_goodput, quote_output
from mptcplab.workload.recorded import client_program, read_span_ns, read_workload

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording

#: The exit status of ``iperf3`` with any error; older versions with a report in JSON have 0.
_FAILED = 1
#: A report without it, which may be long, has no error.
_ERROR_KEY = '"error"'
#: How the errors of ``iperf3`` begin that are about connections (iperf_error.c: their names there are in this order
#: IECONNECT, IESTREAMCONNECT, IECREATESTREAM, IESTREAMWRITE, IESTREAMREAD, IESENDMESSAGE, IERECVMESSAGE, IESENDPARAMS,
#: IESENDCOOKIE, IESENDRESULTS, IERECVRESULTS, IECTRLWRITE, IECTRLREAD, IECTRLCLOSE, IENOMSG).
_OF_CONNECTIONS = (
    "unable to connect to server",
    "unable to connect stream",
    "unable to create a new stream",
    "unable to write to stream socket",
    "unable to read from stream socket",
    "unable to send control message",
    "unable to receive control message",
    "unable to send parameters to server",
    "unable to send cookie to server",
    "unable to send results",
    "unable to receive results",
    "unable to write to the control socket",
    "unable to read from the control socket",
    "control socket has closed unexpectedly",
    "idle timeout for receiving data",
)


class Iperf3(WorkloadWithFailures):
    """A test by ``iperf3``; the recording keeps its JSON report."""

    advice: ClassVar[Mapping[str, str]] = {"direction": REVERSE_ADVICE}
    misnomers: ClassVar[Misnomers] = {
        "window": ("buffer", "socket_buffer", "sndbuf", "rcvbuf"),
    }

    is_bulk = True
    example: ClassVar[Mapping[str, Any]] = {"size": "1 kB"}

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
        packets = cost.bulk_cpu_seconds(
            self.size, self.connections, self.duration, capacity_bps, packet=cost.IPERF3_PACKET
        )
        return packets + cost.IPERF3_SECOND * self.expected_seconds(capacity_bps)

    @property
    def accepted_statuses(self) -> tuple[int, ...]:
        """See the base class. Whether the error is a connection's is in the report, which :meth:`read` checks."""
        return (_FAILED,) if self.failures == "report" else ()

    def failed_connections(self, recording: Recording, name: str) -> Failures:
        """See the base class. ``iperf3`` gives its whole test up at the first error: all its connections failed."""
        if self.failures == "end" or _ERROR_KEY not in recording.output(client_program(name)):
            return NO_FAILURES
        report = _read_report(recording, name)
        error = report.error
        if error is None:
            return NO_FAILURES
        start_ns, end_ns = read_span_ns(recording, client_program(name))
        # It begins with a SYN. When its connections were established is not in the report.
        after_s = None if report.was_established else (end_ns - start_ns) / NS
        failure = Failure(error, end_ns / NS, after_s, report.was_established, errno_at_end(error))
        return Failures(self.connections, (failure,) * self.connections)

    def read(self, recording: Recording, name: str) -> Reading:
        """Return the counts of iperf3's server, from the client's report. :raises LabError: if there are none."""
        report = _read_report(recording, name)
        if report.error is not None:
            return self._read_failed(recording, name, report, report.error)
        if report.received is None:
            raise _unreadable(name)
        return report.received

    def _read_failed(self, recording: Recording, name: str, report: _Report, error: str) -> Reading:
        """Return what arrived until a connection failed. :raises LabError: for another ``error``."""
        is_connection = error.startswith(_OF_CONNECTIONS)
        if self.failures == "end" or not is_connection:
            hint = FAILURES_END_HINT if is_connection else f"see out/{name}.client.out"
            raise LabError(f"{name}: iperf3: {error}", hint=hint)
        start_ns, end_ns = read_span_ns(recording, client_program(name))
        if not report.was_established:
            return Reading(0.0, (end_ns - start_ns) / NS)
        received = report.received_bytes
        if not self.reverse:  # The server's counts did not come back.
            ends = read_workload(recording, name).ends
            received = sampled_bytes(recording, ends.receiver, ends.ports)
        elapsed = self.duration.seconds if self.duration is not None else (end_ns - start_ns) / NS
        return Reading(compute_goodput(received, elapsed, name), elapsed)


@dataclass(frozen=True)
class _Report:
    """The client's report: its ``error``, whether its connections for data were established, and what arrived.

    ``received`` is None if the report lacks it.
    """

    error: str | None
    was_established: bool
    received: Reading | None
    received_bytes: int


def _read_report(recording: Recording, name: str) -> _Report:
    """Return the client's report. :raises LabError: if it is none."""
    try:
        report = json.loads(recording.output(client_program(name)))
        total = report.get("end", {}).get("sum_received", {})
        received = Reading(float(total["bits_per_second"]), float(total["seconds"])) if "seconds" in total else None
        connected = bool(report.get("start", {}).get("connected"))
        error = quote_output(str(report["error"])) if "error" in report else None
        return _Report(error, connected, received, int(total.get("bytes", 0)))
    except (ValueError, AttributeError, KeyError) as problem:
        raise _unreadable(name) from problem


def _unreadable(name: str) -> LabError:
    return LabError(f"{name}: the report of iperf3 cannot be read", hint=f"see out/{name}.client.out and .err")
