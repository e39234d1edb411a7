# SPDX-License-Identifier: MIT
"""Who sends and who receives the payload of a workload, and which of its programs tell their own sockets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from mptcplab.metrics.subflows import CONTROL_SHARE
from mptcplab.recording.record import Recording
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.registry import KINDS


@dataclass(frozen=True)
class Ends:
    """Who sends and who receives the payload of a workload.

    Programs are None when sockets are sampled from outside. ``protocol`` is what the workload itself asks for.
    """

    workload: str
    sender: str
    receiver: str
    sending: str | None
    receiving: str | None
    kind: type[WorkloadBase]
    protocol: str | None = None

    @property
    def least_share(self) -> float:
        """Of the largest connection's bytes, below which one is a control connection; see ``data_connections``."""
        return CONTROL_SHARE if self.kind.has_control_connections else 0.0


def server_ports(recording: Recording, ends: Ends) -> Collection[int] | None:
    """Where the workload's data connections go to; None for recordings from before that was noted."""
    port = recording.manifest.get("ports", {}).get(ends.workload)
    return None if port is None else ends.kind.data_ports(port)


def ends_of_workload(name: str, described: Mapping[str, Any]) -> Ends:
    """The ends of one workload, as its scenario describes it."""
    kind = KINDS[described["kind"]]
    sides = [(described["from"], f"{name}.client"), (described["to"], f"{name}.server")]
    if kind.server_sends or described.get("direction") == "download":
        sides.reverse()
    (sender, sending), (receiver, receiving) = sides
    protocol = kind.only_protocol or described.get("protocol")
    if not kind.samples_itself:
        return Ends(name, sender, receiver, None, None, kind, protocol)
    return Ends(name, sender, receiver, sending, receiving, kind, protocol)


def ends_of(recording: Recording) -> list[Ends]:
    """The workloads of a run, in the order of the scenario."""
    workloads = recording.manifest["facts"]["scenario"]["workloads"]
    return [ends_of_workload(name, described) for name, described in workloads.items()]
