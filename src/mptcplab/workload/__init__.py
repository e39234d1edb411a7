# SPDX-License-Identifier: MIT
"""Workloads: one module per kind, each turning its description into the programs of a plan."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.plan.model import Program
from mptcplab.scenario.traffic import Requests, Stream, Udp, Voip, Web
from mptcplab.scenario.workloads import Flow, Ftp, Http, Iperf3, Transfer, WorkloadBase
from mptcplab.workload import answers, flow, ftp, http, iperf3, paced, transfer
from mptcplab.workload.context import Context


def programs(name: str, workload: WorkloadBase, context: Context) -> Iterator[Program]:
    """The programs of one workload: servers first."""
    if isinstance(workload, Flow):
        yield from flow.programs(name, workload, context)
    elif isinstance(workload, Iperf3):
        yield from iperf3.programs(name, workload, context)
    elif isinstance(workload, Transfer):
        yield from transfer.programs(name, workload, context)
    elif isinstance(workload, Http):
        yield from http.programs(name, workload, context)
    elif isinstance(workload, Ftp):
        yield from ftp.programs(name, workload, context)
    elif isinstance(workload, Stream | Voip | Udp):
        yield from paced.programs(name, workload, context)
    elif isinstance(workload, Requests | Web):
        yield from answers.programs(name, workload, context)


def samples_itself(workload: WorkloadBase) -> bool:
    """Whether the workload's programs report their own sockets, so that nobody else has to look at them."""
    return isinstance(workload, Flow | Stream | Voip | Udp | Requests | Web)
