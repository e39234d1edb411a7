# SPDX-License-Identifier: MIT
"""The rates of a run over time: their sum, and means of longer intervals where these are easier to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mptcplab.figure.timelines import WorkloadTimeline, fewer_edges, round_values
from mptcplab.lazy import Numbers, np

#: Traffic with more pauses than this, half of the time, is requests and answers.
_PAUSES = 20


def widen_intervals(timelines: Sequence[WorkloadTimeline]) -> list[WorkloadTimeline]:
    """Return timelines that stand side by side, all with longer intervals if that is better for one of them."""
    return [*map(coarsen, timelines)] if any(map(is_better_coarse, timelines)) else list(timelines)


def is_better_coarse(timeline: WorkloadTimeline) -> bool:
    """Return whether rates of longer intervals are easier to read.

    Beside the goodput, which has longer intervals, rates of short ones look as if most of the data were lost; and of
    requests and answers with pauses between them, short intervals show nothing but needles.
    """
    if timeline.goodput is not None:
        return True
    rates, lengths = stack(timeline)
    idle = rates == 0
    return bool(lengths[idle].sum() > lengths.sum() / 2 and np.count_nonzero(np.diff(idle)) > _PAUSES)


def coarsen(timeline: WorkloadTimeline) -> WorkloadTimeline:
    """Return the timeline with rates of the intervals in which the goodput is shown."""
    if len(timeline.edges) < 3:
        return timeline
    edges = np.array(timeline.edges, dtype=np.float64)
    fewer = fewer_edges(edges)
    first = np.searchsorted(edges, fewer[:-1])
    lengths = np.diff(edges)
    received = {
        path: round_values(np.add.reduceat(np.array(rates) * lengths, first) / np.diff(fewer), 3)
        for path, rates in timeline.received.items()
    }
    return replace(timeline, edges=round_values(fewer, 5), received=received)


def stack(timeline: WorkloadTimeline) -> tuple[Numbers, Numbers]:
    """Return the sum of the rates of all paths in each interval, and the lengths of the intervals in s."""
    lengths = np.diff(np.array(timeline.edges, dtype=np.float64))
    return sum((np.array(rates) for rates in timeline.received.values()), np.zeros(len(lengths))), lengths
