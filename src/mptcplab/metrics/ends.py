# SPDX-License-Identifier: MIT
"""Who sends and who receives the payload of a workload, and which of its programs tell their own sockets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from mptcplab.metrics.subflows import CONTROL_SHARE
from mptcplab.recording.record import Recording
from mptcplab.workload.context import ftp_data_ports

#: Kinds whose programs are ``tools/flow``, which reports its own sockets.
OF_FLOW = frozenset({"flow", "stream", "voip", "udp", "requests", "web"})
#: Kinds that send as much as the network carries: with several paths, all of them should be in use.
BULK = frozenset({"flow", "iperf3", "transfer", "http", "ftp"})
#: Kinds whose connections all carry data, however little.
_WITHOUT_CONTROL = frozenset({"requests", "web"})
#: Kinds in which the server always sends what is measured.
_DOWNLOADS = frozenset({"http", "ftp", "requests", "web"})


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
    kind: str = "flow"
    protocol: str | None = None

    @property
    def least_share(self) -> float:
        """Of the largest connection's bytes, below which one is a control connection; see ``data_connections``."""
        return 0.0 if self.kind in _WITHOUT_CONTROL else CONTROL_SHARE


def server_ports(recording: Recording, ends: Ends) -> Collection[int] | None:
    """Where the workload's data connections go to; None for recordings from before that was noted."""
    port = recording.manifest.get("ports", {}).get(ends.workload)
    if port is None:
        return None
    return ftp_data_ports(port) if ends.kind == "ftp" else (port,)


def is_download(described: Mapping[str, Any]) -> bool:
    """Whether the host ``to`` sends."""
    return described["kind"] in _DOWNLOADS or described.get("direction") == "download"


def ends_of_workload(name: str, described: Mapping[str, Any]) -> Ends:
    """The ends of one workload, as its scenario describes it."""
    sides = [(described["from"], f"{name}.client"), (described["to"], f"{name}.server")]
    if is_download(described):
        sides.reverse()
    (sender, sending), (receiver, receiving) = sides
    kind = described["kind"]
    tells = kind in OF_FLOW
    protocol = "udp" if kind == "udp" else described.get("protocol")
    return Ends(name, sender, receiver, sending if tells else None, receiving if tells else None, kind, protocol)


def ends_of(recording: Recording) -> list[Ends]:
    """The workloads of a run, in the order of the scenario."""
    workloads = recording.manifest["facts"]["scenario"]["workloads"]
    return [ends_of_workload(name, described) for name, described in workloads.items()]
