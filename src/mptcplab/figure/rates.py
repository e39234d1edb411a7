# SPDX-License-Identifier: MIT
"""The rates of a run over time, and the line of what its paths could carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from mptcplab.figure.timelines import TimelineCurve, WorkloadTimeline, fewer_edges, round_values
from mptcplab.lazy import Numbers, np

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The rates of a run over time: their sum, and means of longer intervals where these are easier to read.

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


# The line of what the paths could carry, above the rates of what arrived, and where the axis ends because of it.

#: The name of the line.
CAPACITY = "capacity"
#: Values beyond this multiple of the highest rate are cut off; otherwise the axis ends a little above it.
_FAR, _ROOM = 2.5, 1.05
_COLOUR = "0.45"


def shown_capacity(timeline: WorkloadTimeline) -> TimelineCurve | None:
    """Return the line as it is drawn: the mean in each interval of the rates, where it has more steps than these."""
    line = timeline.capacity
    if line is None or len(line.times) < len(timeline.edges):
        return line
    edges = np.array(timeline.edges, dtype=np.float64)
    times = np.array([*line.times, max(line.times[-1], edges[-1])], dtype=np.float64)
    carried = np.concatenate(([0.0], np.cumsum(np.array(_values(line)) * np.diff(times))))
    means = np.diff(np.interp(edges, times, carried)) / np.diff(edges)
    return TimelineCurve(line.name, timeline.edges[:-1], round_values(means, 3))


def end_of_axis(timelines: Sequence[WorkloadTimeline], end: float | None) -> float | None:
    """Return where the axis of rates ends, with the line; None if that follows from what is drawn.

    ``end`` is where it ends without.
    """
    capacities = [value for timeline in timelines for value in _values(shown_capacity(timeline))]
    highest = max(_highest_received(timeline) for timeline in timelines) if end is None else end
    if not capacities or not highest:
        return end
    near = [value for value in capacities if value <= _FAR * highest]
    if end is None and len(near) == len(capacities):
        return None
    return max(_ROOM * max(near, default=0.0), _ROOM * highest if end is None else end)


def mark_cut(axes: Axes, timeline: WorkloadTimeline, end: float) -> None:
    """Draw a hollow triangle at the upper end of the axis for each time in which the line is beyond it."""
    line = shown_capacity(timeline)
    values = _values(line)
    if line is None or not any(value > end for value in values):
        return
    beyond = [False, *(value > end for value in values), False]
    times = [*line.times, timeline.edges[-1]]
    changes = [number for number, (before, now) in enumerate(pairwise(beyond)) if before != now]
    places = [(times[begin] + times[stop]) / 2 for begin, stop in zip(changes[::2], changes[1::2], strict=True)]
    axes.plot(
        places,
        [0.97] * len(places),
        "^",
        transform=axes.get_xaxis_transform(),
        color=_COLOUR,
        markerfacecolor="none",
        markersize=3.5,
        zorder=4,
    )


def capacity_note(timelines: Sequence[WorkloadTimeline], end: float | None) -> str | None:
    """Return what the line is, and what its triangles mean; None without a line."""
    lines = [curve for curve in map(shown_capacity, timelines) if curve is not None]
    if not lines:
        return None
    highest = max(value for line in lines for value in _values(line))
    cut = f"; △: beyond the axis, up to {highest:.0f} Mbit/s" if end is not None and highest > end else ""
    return f"{CAPACITY}: the payload that the paths could carry{cut}"


def _values(line: TimelineCurve | None) -> list[float]:
    return [] if line is None else [value or 0.0 for value in line.values]


def _highest_received(timeline: WorkloadTimeline) -> float:
    goodput = [] if timeline.goodput is None else _values(timeline.goodput)
    return max(float(stack(timeline)[0].max(initial=0.0)), *goodput, 0.0)
