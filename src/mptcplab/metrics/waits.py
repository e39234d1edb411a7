# SPDX-License-Identifier: MIT
"""When the requests of a workload were made and answered."""

from __future__ import annotations

from mptcplab.metrics.ends import Ends
from mptcplab.recording.record import Recording
from mptcplab.workload.outputs import NS, read_responses
from mptcplab.workload.recorded import read_zero_ns


def request_times(recording: Recording, ends: Ends) -> list[tuple[float, float]]:
    """Return when each answered request was made and when its answer was complete, in s from the plan's time zero.

    Empty for workloads without requests, or whose programs do not report them.
    """
    answers = read_responses(recording, ends.receiving) if ends.receiving is not None else []
    zero_ns = read_zero_ns(recording) if answers else 0
    return [((answer.asked_ns - zero_ns) / NS, (answer.t_ns - zero_ns) / NS) for answer in answers]
