# SPDX-License-Identifier: MIT
"""Sender and receiver of a workload's payload, and the programs that report their own sockets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mptcplab.metrics.subflows import CONTROL_SHARE
from mptcplab.recording.record import Recording


@dataclass(frozen=True)
class Ends:
    """The sender and the receiver of a workload's payload.

    ``sending`` and ``receiving`` are the programs that report their own sockets, None if these are sampled from
    outside. ``protocol`` is what the workload itself requests. A workload that ``is_bulk`` sends as much as the
    network carries, so it should use all paths.
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
    def min_share(self) -> float:
        """The share of the largest connection's bytes below which one is a control connection: ``data_connections``."""
        return CONTROL_SHARE if self.has_control_connections else 0.0


def manifest_workload(recording: Recording, workload: str) -> Mapping[str, Any]:
    """Return the entry of a workload in the manifest."""
    return next(this_workload for this_workload in recording.manifest["workloads"] if this_workload["name"] == workload)


def ends_of_workload(described: Mapping[str, Any]) -> Ends:
    """Return the ends of one workload, from its entry in the manifest."""
    ends = dict(described["ends"])
    return Ends(workload=described["name"], ports=tuple(ends.pop("ports")), **ends)


def ends_of(recording: Recording) -> list[Ends]:
    """Return the ends of a run's workloads, in the order of the scenario."""
    return [ends_of_workload(workload) for workload in recording.manifest["workloads"]]
