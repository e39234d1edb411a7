# SPDX-License-Identifier: MIT
"""Workloads of a run that began while an earlier one was still running.

A `start` is fixed, but the end of a workload with a `size` is not: over a slow path it runs underneath those after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mptcplab.metrics.measure import WorkloadMeasurement
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import read_programs, read_workloads

#: Workloads that overlap by less than this do not change each other's results: the last data may be a queue's.
TOLERANCE_S = 0.1
#: For each workload the others with an earlier `start`, and for which part of its time they were still running.
Earlier = Mapping[str, Mapping[str, float]]


def earlier_workloads(recording: Recording, measured: Sequence[WorkloadMeasurement]) -> Earlier:
    """Return which workloads have an earlier `start` than another, and during which part of its time they were running.

    Workloads with the same `start` are meant to run together, and are not among them. A workload runs from the start of
    its client to its last data.
    """
    starts_ns = {program.name: program.start_ns for program in read_programs(recording)}
    begins = {
        measurement.workload: start_ns / 1e9
        for measurement in measured
        if (start_ns := starts_ns.get(f"{measurement.workload}.client")) is not None
    }
    ends = {
        measurement.workload: begins[measurement.workload] + measurement.duration_s
        for measurement in measured
        if measurement.workload in begins
    }
    starts = {workload.name: int(workload.start) for workload in read_workloads(recording) if workload.name in begins}
    values = {
        later: {
            earlier: _part(begins[later], ends[later], ends[earlier]) if begins[earlier] < begins[later] else 0.0
            for earlier in starts
            if starts[earlier] < starts[later]
        }
        for later in starts
    }
    return {later: some for later, some in values.items() if some}


def _part(begin_s: float, end_s: float, until_s: float) -> float:
    """Return the part of the time of a workload that is before ``until_s``; 0 if that is within the tolerance."""
    both = min(end_s, until_s) - begin_s
    return both / (end_s - begin_s) if both > TOLERANCE_S else 0.0
