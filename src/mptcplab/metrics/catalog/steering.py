# SPDX-License-Identifier: MIT
"""The moves of terminals in runs with ``[steering]``, from the log of the daemon."""

from __future__ import annotations

import json

from mptcplab.metrics.column import Display
from mptcplab.metrics.fairness import common_span_s
from mptcplab.metrics.metric import Metric, Subject
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import read_programs, read_zero_ns

#: The output of the daemon, see mptcplab/plan/steering.py.
_LOG = "steering"
_NS = 1e9


def _switches(subject: Subject) -> float | None:
    return switches(subject.recording)


def switches(recording: Recording) -> float | None:
    """Return how many terminals the daemon moved while all workloads ran; None in a run without steering."""
    if not any(program.name == _LOG for program in read_programs(recording)):
        return None
    lines = [json.loads(line) for line in recording.output(_LOG).splitlines() if line.startswith("{")]
    times_s = [
        (this_line["t_ns"] - read_zero_ns(recording)) / _NS for this_line in lines if this_line["event"] == "switch"
    ]
    begin_s, end_s = common_span_s(recording) or (0.0, float("inf"))
    return float(sum(begin_s <= time_s <= end_s for time_s in times_s))


SWITCHES = Metric(
    name="switches",
    noun="switches",
    unit="",
    definition="terminals that the [steering](steering.md) daemon moved while all workloads ran",
    source="the daemon's log",
    section="steering",
    value=_switches,
    display=Display(digits=1),
)
