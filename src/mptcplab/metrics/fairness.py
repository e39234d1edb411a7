# SPDX-License-Identifier: MIT
"""Fairness over time: Jain's index of the goodputs of concurrent workloads, window by window.

An index over the whole run is 1 even if two workloads take turns of a minute each. This one is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from mptcplab.lazy import Numbers, np
from mptcplab.metrics.delivery import Delivery, delivery
from mptcplab.metrics.ends import ends_of
from mptcplab.recording.record import Recording
from mptcplab.stats import jain_index
from mptcplab.workload.recorded import read_programs, read_workloads

WINDOW_S = 1.0


def jain_over_time(curves: Sequence[Delivery], begin_s: float, end_s: float, *, window_s: float = WINDOW_S) -> Numbers:
    """Return the index in each whole window from ``begin_s`` to ``end_s``, without windows in which no data arrived."""
    edges = begin_s + window_s * np.arange(int((end_s - begin_s) / window_s + 1e-9) + 1)
    received = np.array([np.diff(np.interp(edges, curve.times, curve.total, left=0.0)) for curve in curves])
    return np.array([jain_index(list(window)) for window in received.T if window.any()])


def common_span_s(recording: Recording) -> tuple[float, float] | None:
    """Return the time span in which all workloads of a run ran, in s; None if there is none, or one workload only."""
    clients = {f"{workload.name}.client" for workload in read_workloads(recording)}
    spans = [span for run in read_programs(recording) if run.name in clients and (span := run.span_ns) is not None]
    begin, end = max((start for start, _ in spans), default=0), min((end for _, end in spans), default=0)
    return (begin / 1e9, end / 1e9) if len(spans) > 1 and begin < end else None


def mean_jain_over_time(recording: Recording, begin_s: float, end_s: float) -> float | None:
    """Return the mean index over the windows of a span in which all workloads ran; None if it is unknown."""
    curves = [delivery(recording, ends) for ends in ends_of(recording)]
    known = [curve for curve in curves if curve is not None]
    if len(known) < 2 or len(known) < len(curves):
        return None
    values = jain_over_time(known, begin_s, end_s)
    return float(values.mean()) if len(values) else None
