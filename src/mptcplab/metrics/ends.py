# SPDX-License-Identifier: MIT
"""Sender and receiver of a workload's payload, and the programs that report their own sockets."""

from __future__ import annotations

from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import Ends as Ends
from mptcplab.workload.recorded import read_workloads


def ends_of(recording: Recording) -> list[Ends]:
    """Return the ends of a run's workloads, in the order of the scenario."""
    return [workload.ends for workload in read_workloads(recording)]
