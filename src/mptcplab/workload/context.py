# SPDX-License-Identifier: MIT
"""The context of a workload in its scenario, and functions that all kinds share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mptcplab.fields import Protocol
from mptcplab.steps import Call, Program
from mptcplab.units import Duration
from mptcplab.workload.recorded import client_program, server_program

if TYPE_CHECKING:
    from mptcplab.workload.base import WorkloadBase

#: The name of ``tools/flow`` in plans; engines replace it by its path.
FLOW = "mptcplab-flow"
#: The port of the first workload's server; each further one listens on the next.
FIRST_PORT = 5001


@dataclass(frozen=True)
class WorkloadContext:
    """The address and port to connect to, the protocol of each side, the sampling interval and the seed.

    ``proxy`` is address and port of the SOCKS5 proxy to use, if any; ``forwarded`` are address and port that the client
    connects to in place of the server's, if a gateway leads from there to the server.
    """

    address: str
    port: int
    client_protocol: Protocol
    server_protocol: Protocol
    interval_ns: int
    seed: int
    proxy: str | None = None
    forwarded: tuple[str, int] | None = None

    @property
    def destination(self) -> tuple[str, int]:
        """The address and port that the client connects to."""
        return self.forwarded or (self.address, self.port)

    @property
    def sampling(self) -> tuple[str, str]:
        """The options of ``flow`` for the sampling interval."""
        return ("--interval-ms", str(self.interval_ns // 10**6))


def wrap_with_mptcpize(call: Call, protocol: Protocol) -> Call:
    """Return ``call`` with MPTCP sockets in place of TCP ones, for programs that cannot open them themselves."""
    return call.run_by("mptcpize", "run") if protocol == "mptcp" else call


def with_algorithms(
    call: Call,
    protocol: Protocol,
    congestion_control: str | None,
    scheduler: str | None,
    *,
    library: tuple[str, ...] | None = None,
) -> Call:
    """Return ``call`` with these algorithms on all its sockets, opened as ``protocol``.

    ``library`` has further options of our socket library, which is loaded for MPTCP if this is not None.
    """
    options = [f"--congestion={congestion_control}"] if congestion_control is not None else []
    if scheduler is not None and protocol == "mptcp":
        options.append(f"--scheduler={scheduler}")
    needed = library is not None and protocol == "mptcp"
    options += (library or ()) if needed else ()
    return wrap_with_mptcpize(call.run_by(FLOW, "with", *options) if options or needed else call, protocol)


def socket_options(workload: WorkloadBase, protocol: str) -> Iterator[str]:
    """Yield the options of ``flow`` for its sockets."""
    if protocol == "mptcp":
        yield "--mptcp"
    yield from algorithms(workload, protocol)


def algorithms(workload: WorkloadBase, protocol: str) -> Iterator[str]:
    """Yield the options of ``flow`` for the congestion control and the scheduler of its sockets."""
    if workload.congestion_control is not None:
        yield from ("--congestion", workload.congestion_control)
    if workload.scheduler is not None and protocol == "mptcp":
        yield from ("--scheduler", workload.scheduler)


def microseconds(time: Duration) -> str:
    """Return a time as an argument of ``flow``."""
    return str(int(time) // 1000)


def server(name: str, workload: WorkloadBase, call: Call) -> Program:
    """Return the program that listens on the workload's receiver."""
    return Program(
        server_program(name),
        workload.receiver,
        "server",
        call.argv,
        starts=call.starts,
        accepted_statuses=workload.accepted_server_statuses,
    )


def client(name: str, workload: WorkloadBase, call: Call) -> Program:
    """Return the program that starts the workload on its sender."""
    start = int(workload.start)
    end = start + int(workload.timeout)
    accepted = workload.accepted_statuses
    return Program(client_program(name), workload.sender, "client", call.argv, start, end, call.starts, accepted)
