# SPDX-License-Identifier: MIT
"""All kinds of workloads, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from mptcplab.recording.record import Recording
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.flow import Flow
from mptcplab.workload.ftp import Ftp
from mptcplab.workload.http import Http
from mptcplab.workload.iperf3 import Iperf3
from mptcplab.workload.outputs import Reading
from mptcplab.workload.requests import Requests
from mptcplab.workload.stream import Stream
from mptcplab.workload.transfer import Transfer
from mptcplab.workload.udp import Udp
from mptcplab.workload.voip import Voip
from mptcplab.workload.web import Web

Workload = Annotated[
    Flow | Iperf3 | Transfer | Http | Ftp | Stream | Voip | Udp | Requests | Web, Field(discriminator="kind")
]

#: The class of each kind of workload.
KINDS: dict[str, type[WorkloadBase]] = {
    "flow": Flow,
    "iperf3": Iperf3,
    "transfer": Transfer,
    "http": Http,
    "ftp": Ftp,
    "stream": Stream,
    "voip": Voip,
    "udp": Udp,
    "requests": Requests,
    "web": Web,
}


def read(recording: Recording, name: str, described: Mapping[str, Any]) -> Reading:
    """Return the reading of one workload. :raises LabError: when the output of its programs is broken."""
    return KINDS[described["kind"]].read(recording, name, described)
