# SPDX-License-Identifier: MIT
"""A file through a pipe and a connection, like the usual test of a bulk transfer: ``time nc HOST PORT < file``.

The file is a pseudo-random stream, generated on the fly and not stored; the generator on one side and the reader on
the other write its checksum. ``socat`` transfers it: OpenBSD's ``nc`` polls without sleeping when its standard input
has ended while its socket is full, which never ends in virtual time (docs/decisions/0004-socat-for-transfers.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import model_validator

from mptcplab.errors import LabError
from mptcplab.fields import Protocol
from mptcplab.steps import Call, Program, shell
from mptcplab.units import Size
from mptcplab.workload import cost
from mptcplab.workload.context import FLOW, WorkloadContext, client, server, with_algorithms
from mptcplab.workload.failures import WorkloadWithFailures, errno_at_end, sampled_bytes
from mptcplab.workload.outputs import (
    NO_FAILURES,
    NS,
    Failure,
    Failures,
    Reading,
    compute_goodput,
    quote_output,
    read_checksums,
)
from mptcplab.workload.recorded import client_program, read_programs, read_span_ns, read_workload, server_program

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording

_BLOCK = ("-b", "65536")
#: The reader wakes up for blocks of this size, not for packets: the same bytes at a fraction of the cost. The size
#: must stay below the first receive window (64 KiB), or sender and reader wait for each other.
_WAKE_BYTES = 32768
#: The time that one side waits for the other to close after its own data has ended: in effect without limit.
_PATIENCE = ("-t", "1000000")
#: The exit status of ``socat`` with any error.
_FAILED = 1
#: An error of ``socat`` at its connection, as ``2025/01/01 00:00:17 socat[26] E connect(5, AF=2 ..., 16): No route to
#: host``. Its other end are pipes, of which one ends without an error if its connection does.
_ERROR = re.compile(r" socat\[\d+\] E (connect|read|write|send|recv)\(.*\): (.*)$", re.MULTILINE)
_CONNECT = "connect"


class Transfer(WorkloadWithFailures):
    """A file through ``socat``, timed as by ``time nc``, with a comparison of checksums."""

    is_bulk = True
    example: ClassVar[Mapping[str, Any]] = {"size": "1 kB"}

    kind: Literal["transfer"]
    size: Size

    @model_validator(mode="after")
    def _goal(self) -> Transfer:
        self._check_goal(None, self.size)
        return self

    def programs(self, name: str, context: WorkloadContext) -> Iterator[Program]:
        """Yield a listener with a checksum, and ``generate | send``, which ends when the listener has read all data."""
        is_v6 = ":" in context.address
        yield server(name, self, self._listen(context, is_v6=is_v6))
        generate = Call((FLOW, "pattern", "--bytes", str(int(self.size)), "--seed", str(context.seed)))
        target = f"TCP6:[{context.address}]:{context.port}" if is_v6 else f"TCP4:{context.address}:{context.port}"
        send = self._with_algorithms(Call(("socat", *_BLOCK, *_PATIENCE, "STDIO", target)), context.client_protocol)
        yield client(name, self, shell(f"{generate} | {send}", generate, send))

    def _listen(self, context: WorkloadContext, *, is_v6: bool) -> Call:
        """Return the listener; ``fork`` keeps the listening socket, without which further subflows are refused."""
        listen = f"TCP{6 if is_v6 else 4}-LISTEN:{context.port},fork,rcvlowat={_WAKE_BYTES}"
        command = self._with_algorithms(Call(("socat", *_BLOCK, "-u", listen)), context.server_protocol)
        return shell(f"exec {command} EXEC:'{FLOW} sum'", command, FLOW)

    def _with_algorithms(self, call: Call, protocol: Protocol) -> Call:
        """Return ``call`` with its algorithms, since ``socat`` supports neither MPTCP nor schedulers."""
        return with_algorithms(call, protocol, self.congestion_control, self.scheduler)

    def cpu_seconds(self, capacity_bps: float) -> float:
        """See the base class."""
        return cost.bulk_cpu_seconds(self.size, 1, None, capacity_bps)

    @property
    def accepted_statuses(self) -> tuple[int, ...]:
        """See the base class. Whether the error is the connection's is in its text, which :meth:`read` checks."""
        return (_FAILED,) if self.failures == "report" else ()

    def failed_connections(self, recording: Recording, name: str) -> Failures:
        """See the base class."""
        error = _ERROR.search(recording.output(client_program(name), "err")) if _has_failed(recording, name) else None
        if error is None:
            return NO_FAILURES
        start_ns, end_ns = read_span_ns(recording, client_program(name))
        call, message = error.groups()
        reason = quote_output(f"{call}: {message}")
        # The program begins with a SYN. When it was answered is not known.
        after_s = (end_ns - start_ns) / NS if call == _CONNECT else None
        failure = Failure(reason, end_ns / NS, after_s, was_established=call != _CONNECT, errno=errno_at_end(reason))
        return Failures(1, (failure,))

    def read(self, recording: Recording, name: str) -> Reading:
        """Return the goodput from the start of the client's program to its end."""
        start_ns, end_ns = read_span_ns(recording, client_program(name))
        elapsed = (end_ns - start_ns) / NS
        if _has_failed(recording, name):
            return Reading(compute_goodput(self._read_part(recording, name), elapsed, name), elapsed)
        sums = {side: read_checksums(recording, f"{name}.{side}")[0] for side in ("client", "server")}
        if sums["client"] != sums["server"]:
            hint = f"see out/{name}.client.err and out/{name}.server.err"
            raise LabError(f"{name}: the received data differs from the data sent", hint=hint)
        return Reading(compute_goodput(sums["server"].bytes, elapsed, name), elapsed)

    def _read_part(self, recording: Recording, name: str) -> int:
        """Return the bytes that arrived until the connection failed. :raises LabError: if it did not fail.

        The reader reports them if its side noticed the failure. Otherwise the samples of its sockets tell.
        """
        if not self.failed_connections(recording, name).failed:
            said = recording.output(client_program(name), "err").strip().splitlines()
            message = f": {quote_output(said[0])}" if said else ""
            raise LabError(f"{name}: socat failed{message}", hint=f"see out/{name}.client.err")
        if '"stream"' in recording.output(server_program(name), "err"):
            return read_checksums(recording, server_program(name))[0].bytes
        ends = read_workload(recording, name).ends
        return sampled_bytes(recording, ends.receiver, ends.ports)


def _has_failed(recording: Recording, name: str) -> bool:
    """Return whether the client ended with the status of a failure, which only a run that goes on records."""
    return any(
        program.name == client_program(name) and program.status == _FAILED for program in read_programs(recording)
    )
