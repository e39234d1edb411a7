# SPDX-License-Identifier: MIT
"""Who sends and who receives the payload of a workload, and which of its programs tell their own sockets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mptcplab.metrics.subflows import CONTROL_SHARE
from mptcplab.recording.record import Recording


@dataclass(frozen=True)
class Ends:
    """Who sends and who receives the payload of a workload.

    Programs are None when sockets are sampled from outside. ``protocol`` is what the workload itself asks for.
    ``is_bulk``: it sends as much as the network carries, so that with several paths all of them should be in use.
    """

    workload: str
    sender: str
    receiver: str
    sending: str | None
    receiving: str | None
    protocol: str | None
    ports: tuple[int, ...]
    is_bulk: bool
    has_control_connections: bool

    @property
    def least_share(self) -> float:
        """Of the largest connection's bytes, below which one is a control connection; see ``data_connections``."""
        return CONTROL_SHARE if self.has_control_connections else 0.0


def described(recording: Recording, workload: str) -> Mapping[str, Any]:
    """Return what the scenario said of a workload."""
    return next(one for one in recording.manifest["workloads"] if one["name"] == workload)


def ends_of_workload(described: Mapping[str, Any]) -> Ends:
    """Return the ends of one workload, as the manifest has it."""
    ends = dict(described["ends"])
    return Ends(workload=described["name"], ports=tuple(ends.pop("ports")), **ends)


def ends_of(recording: Recording) -> list[Ends]:
    """The workloads of a run, in the order of the scenario."""
    return [ends_of_workload(one) for one in recording.manifest["workloads"]]
