# SPDX-License-Identifier: MIT
"""What a workload needs to know of the scenario around it, and what all of them share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mptcplab.fields import Protocol
from mptcplab.steps import Call, Program
from mptcplab.units import Duration

if TYPE_CHECKING:
    from mptcplab.workload.base import WorkloadBase

#: The name by which plans call ``tools/flow``; engines replace it by its path.
FLOW = "mptcplab-flow"
#: The first workload's server listens here, every further one on the next.
FIRST_PORT = 5001


@dataclass(frozen=True)
class Context:
    """The address and port to connect to, what each side's programs open, and how often to report."""

    address: str
    port: int
    client_protocol: Protocol
    server_protocol: Protocol
    interval_ns: int
    seed: int

    @property
    def sampling(self) -> tuple[str, str]:
        """What ``flow`` takes for how often to report."""
        return ("--interval-ms", str(self.interval_ns // 10**6))


def mptcpized(call: Call, protocol: Protocol) -> Call:
    """``call`` with its TCP sockets opened as MPTCP ones, for programs that cannot do so themselves."""
    return call.run_by("mptcpize", "run") if protocol == "mptcp" else call


def with_algorithms(
    call: Call,
    protocol: Protocol,
    congestion_control: str | None,
    scheduler: str | None,
    *,
    library: tuple[str, ...] | None = None,
) -> Call:
    """``call`` with these on all its sockets, which are opened as ``protocol`` says.

    ``library``: further options of our own library around its sockets, which is there then even if nothing else is.
    """
    options = [f"--congestion={congestion_control}"] if congestion_control is not None else []
    if scheduler is not None and protocol == "mptcp":
        options.append(f"--scheduler={scheduler}")
    needed = library is not None and protocol == "mptcp"
    options += (library or ()) if needed else ()
    return mptcpized(call.run_by(FLOW, "with", *options) if options or needed else call, protocol)


def socket_options(workload: WorkloadBase, protocol: str) -> Iterator[str]:
    """What ``flow`` takes for its sockets."""
    if protocol == "mptcp":
        yield "--mptcp"
    yield from algorithms(workload, protocol)


def algorithms(workload: WorkloadBase, protocol: str) -> Iterator[str]:
    """What ``flow`` takes for the congestion control and the scheduler of its sockets."""
    if workload.congestion_control is not None:
        yield from ("--congestion", workload.congestion_control)
    if workload.scheduler is not None and protocol == "mptcp":
        yield from ("--scheduler", workload.scheduler)


def microseconds(time: Duration) -> str:
    """As ``flow`` takes times."""
    return str(int(time) // 1000)


def server(name: str, workload: WorkloadBase, call: Call) -> Program:
    """The program that waits on the workload's receiver."""
    return Program(f"{name}.server", workload.receiver, "server", call.argv, starts=call.starts)


def client(name: str, workload: WorkloadBase, call: Call) -> Program:
    """The program that starts the workload on its sender."""
    start = int(workload.start)
    end = start + int(workload.timeout)
    return Program(f"{name}.client", workload.sender, "client", call.argv, start, end, call.starts)
