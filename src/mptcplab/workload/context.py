# SPDX-License-Identifier: MIT
"""What a workload needs to know of the scenario around it, and what all of them share."""

from __future__ import annotations

from dataclasses import dataclass

from mptcplab.plan.model import Program
from mptcplab.scenario.schema import WorkloadBase
from mptcplab.scenario.types import Protocol

#: The name by which plans call ``tools/flow``; engines replace it by its path.
FLOW = "mptcplab-flow"


@dataclass(frozen=True)
class Context:
    """The address and port to connect to, what each side's programs open, and how often to report."""

    address: str
    port: int
    client_protocol: Protocol
    server_protocol: Protocol
    interval_ns: int
    seed: int


def mptcpized(argv: tuple[str, ...], protocol: Protocol) -> tuple[str, ...]:
    """``argv`` with its TCP sockets opened as MPTCP ones, for programs that cannot do so themselves."""
    return ("mptcpize", "run", *argv) if protocol == "mptcp" else argv


def server(name: str, workload: WorkloadBase, argv: tuple[str, ...]) -> Program:
    """The program that waits on the workload's receiver."""
    return Program(f"{name}.server", workload.receiver, "server", argv)


def client(name: str, workload: WorkloadBase, argv: tuple[str, ...]) -> Program:
    """The program that starts the workload on its sender."""
    start = int(workload.start)
    return Program(f"{name}.client", workload.sender, "client", argv, start, start + int(workload.timeout))
