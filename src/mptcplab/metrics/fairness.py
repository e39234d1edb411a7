# SPDX-License-Identifier: MIT
"""Fairness over time: Jain's index of what workloads that run side by side get, window by window.

An index over the whole run says 1 also when two take turns of a minute each. This one does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mptcplab.metrics.delivery import Delivery, delivery
from mptcplab.metrics.ends import ends_of
from mptcplab.recording.record import Recording
from mptcplab.stats import jain_index

Numbers = NDArray[np.float64]
WINDOW_S = 1.0


def jain_over_time(curves: Sequence[Delivery], begin_s: float, end_s: float, *, window_s: float = WINDOW_S) -> Numbers:
    """The index in each whole window from ``begin_s`` to ``end_s``; windows in which nobody got anything left out."""
    edges = begin_s + window_s * np.arange(int((end_s - begin_s) / window_s + 1e-9) + 1)
    got = np.array([np.diff(np.interp(edges, curve.times, curve.total, left=0.0)) for curve in curves])
    return np.array([jain_index(list(window)) for window in got.T if window.any()])


def mean_jain_over_time(recording: Recording) -> float | None:
    """The mean over the windows of the time in which all workloads of a run ran; None if there is none, or for one."""
    curves = [delivery(recording, ends) for ends in ends_of(recording)]
    known = [curve for curve in curves if curve is not None]
    if len(known) < 2 or len(known) < len(curves):
        return None
    clients = {f"{ends.workload}.client" for ends in ends_of(recording)}
    spans = [(run["start_ns"], run["end_ns"]) for run in recording.manifest["programs"] if run["name"] in clients]
    found = jain_over_time(known, max(start for start, _ in spans) / 1e9, min(end for _, end in spans) / 1e9)
    return float(found.mean()) if len(found) else None
