# SPDX-License-Identifier: MIT
"""All kinds of workloads, by their names."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mptcplab.scenario.traffic import Requests, Stream, Udp, Voip, Web
from mptcplab.scenario.workloads import Flow, Ftp, Http, Iperf3, Transfer, WorkloadBase

Workload = Annotated[
    Flow | Iperf3 | Transfer | Http | Ftp | Stream | Voip | Udp | Requests | Web, Field(discriminator="kind")
]

#: The model of each kind of workload.
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
