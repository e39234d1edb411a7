# SPDX-License-Identifier: MIT
"""Bulk transfers by ``tools/flow``, which samples its own sockets and prints JSON lines (``tools/flow/README``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.errors import LabError
from mptcplab.fields import Boolean, Microseconds, Misnomers, Protocol, Time, Whole
from mptcplab.steps import Call, Program
from mptcplab.units import Duration, Size
from mptcplab.workload import cost
from mptcplab.workload.base import REVERSE_ADVICE
from mptcplab.workload.context import FLOW, WorkloadContext, algorithms, client, microseconds, server
from mptcplab.workload.failures import FlowWorkload
from mptcplab.workload.outputs import (
    NS,
    ConnectionTermination,
    Reading,
    compute_completion_metrics,
    compute_goodput,
    read_starts,
    read_terminations,
    reading_of_failures,
)
from mptcplab.workload.recorded import client_program, server_program

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording


class Flow(FlowWorkload):
    """Bulk transfers by ``tools/flow``: exact samples of every subflow at a low cost."""

    samples_itself = True
    is_bulk = True
    can_be_forwarded = True
    connects_at_once = True
    example: ClassVar[Mapping[str, Any]] = {"size": "1 kB"}
    misnomers: ClassVar[Misnomers] = {"read_quantum": ("read_interval",), "checksum": ("check", "verify", "integrity")}
    advice: ClassVar[Mapping[str, str]] = {"direction": REVERSE_ADVICE}

    kind: Literal["flow"]
    duration: Time | None = Field(default=None, description="time to send for")
    size: Size | None = Field(default=None, description="amount of data to send on each connection")
    connections: Whole = Field(default=1, ge=1, le=1024, description="simultaneous connections", examples=[1])
    reverse: Boolean = False
    read_quantum: Microseconds = Field(
        default=Duration(0), description="the application reads at multiples of this time; 0: whenever data arrives"
    )
    checksum: Boolean = Field(default=False, description="compare checksums of the payload on both hosts")

    @model_validator(mode="after")
    def _goal(self) -> Flow:
        self._check_goal(self.duration, self.size)
        return self

    def programs(self, name: str, context: WorkloadContext) -> Iterator[Program]:
        """Yield a server that ends after its last connection, and the client that opens all of them at once."""
        # Not bound to an address: an MPTCP server must accept joins at its other addresses as well.
        waiting = (FLOW, "server", "--port", str(context.port), *self._common(context, context.server_protocol))
        yield server(name, self, Call(waiting))
        address, port = context.destination
        connect = ("--connect", address, "--port", str(port))
        common = self._common(context, context.client_protocol)
        calling = Call((FLOW, "client", *connect, *self._options(context.seed), *common))
        yield client(name, self, calling)

    def _common(self, context: WorkloadContext, protocol: Protocol) -> Iterator[str]:
        if protocol == "mptcp":
            yield "--mptcp"
        yield from ("--connections", str(self.connections))
        yield from context.sampling
        if self.read_quantum:
            yield from ("--quantum-us", microseconds(self.read_quantum))
        yield from algorithms(self, protocol)
        if self.checksum:
            yield "--checksum"

    def _options(self, seed: int) -> Iterator[str]:
        if self.duration is not None:
            yield from ("--seconds", self.duration.decimal_seconds)
        if self.size is not None:
            yield from ("--bytes", str(int(self.size)))
        if self.reverse:
            yield "--download"
        yield from ("--seed", str(seed))

    def cpu_seconds(self, capacity_bps: float) -> float:
        """See the base class."""
        packets_per_read = self.read_quantum.seconds * capacity_bps / 8 / cost.PAYLOAD
        packet = cost.QUIET_PACKET if packets_per_read >= cost.QUIET_FROM else cost.WAKEUP
        return cost.bulk_cpu_seconds(self.size, self.connections, self.duration, capacity_bps, packet=packet)

    def logged_bytes(self, seconds: float, samples: float, subflows: int) -> float:  # noqa: ARG002
        """See the base class."""
        return self.connections * cost.sample_log_bytes(samples, subflows)

    def read(self, recording: Recording, name: str) -> Reading:
        """Return the goodput from the first SYN to the last byte that the receiving application read."""
        client, server = client_program(name), server_program(name)
        receiver, sender = (client, server) if self.reverse else (server, client)
        terminations = {program: read_terminations(recording, program) for program in (client, server)}
        connect_ns = {end.conn: end.connect_ns for end in terminations[client] if end.connect_ns is not None}
        starts = read_starts(recording, client)
        began = {start.conn: start.t_ns - connect_ns[start.conn] for start in starts}
        if not began:
            return reading_of_failures(recording, name, self.failed_connections(recording, name))
        started = min(began.values())
        received = sum(end.bytes for end in terminations[receiver])
        finished = max((end.last_ns or started for end in terminations[receiver]), default=started)
        if self.checksum and not any(end.error for some in terminations.values() for end in some):
            _compare_checksums(terminations[client], terminations[server], name)
        elapsed = (self.last_ns(recording, name, started, finished) - started) / NS
        metrics = {**sent_rates(terminations[sender]), **self._completions(recording, terminations, began, name)}
        return Reading(compute_goodput(received, elapsed, name), elapsed, metrics)

    def _completions(
        self,
        recording: Recording,
        terminations: Mapping[str, Sequence[ConnectionTermination]],
        began: Mapping[int, int],
        name: str,
    ) -> dict[str, float]:
        """Return the completion times of several connections of a given size, from SYN to last byte."""
        if self.size is None or self.connections < 2:
            return {}
        client, server = client_program(name), server_program(name)
        if self.reverse:
            last = {end.conn: end.last_ns for end in terminations[client]}
        else:
            numbers = {start.conn: start.client_conn for start in read_starts(recording, server)}
            last = {number: end.last_ns for end in terminations[server] if (number := numbers[end.conn]) is not None}
        times = [(at - began[conn]) / NS for conn, at in last.items() if at and conn in began]
        return compute_completion_metrics(times)


def sent_rates(terminations: Sequence[ConnectionTermination]) -> dict[str, float]:
    """Return the rate at which programs wrote to their sockets, in Mbit/s, as iperf 2's client reports it.

    The bytes that the kernel took, over the time from the first established connection to the end of writing. Nothing
    if a connection ended before its sender had written all, or if writing took no time.
    """
    firsts = [end.first_ns for end in terminations if end.first_ns is not None]
    lasts = [end.last_ns for end in terminations if end.last_ns is not None]
    if not terminations or not len(firsts) == len(lasts) == len(terminations):
        return {}
    elapsed_s = (max(lasts) - min(firsts)) / NS
    return {"sent_mbps": 8 * sum(end.bytes for end in terminations) / elapsed_s / 1e6} if elapsed_s > 0 else {}


def _compare_checksums(
    sent: Sequence[ConnectionTermination], received: Sequence[ConnectionTermination], name: str
) -> None:
    if sorted(str(end.checksum) for end in sent) != sorted(str(end.checksum) for end in received):
        hint = "see whether a middlebox has `damage`; without one, report a bug of the kernel or of `flow`"
        raise LabError(f"{name}: the received payload is corrupt", hint=hint)
