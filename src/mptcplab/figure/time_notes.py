# SPDX-License-Identifier: MIT
"""The lines of the note below a figure over time: explanations that its curves need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mptcplab.figure.capacity import capacity_note
from mptcplab.figure.rates import stack
from mptcplab.figure.timelines import MAX_LINES

if TYPE_CHECKING:
    from mptcplab.figure.time_chart import OverTime

#: The name of the line that shows the goodput where the stacked rates are more.
GOODPUT = "goodput"


def notes(figure: OverTime) -> Iterator[str]:
    """Yield the lines."""
    yield from _copies(figure)
    yield from _capacity(figure)
    yield from _missing_subflows(figure)
    yield from _peaks(figure)
    yield from _messages(figure)


def _copies(figure: OverTime) -> Iterator[str]:
    """Yield that data arrived twice, if it did."""
    timelines = [column.timeline for column in figure.columns if column.timeline.goodput is not None]
    if timelines and "rate" in figure.shown:
        most = max(timeline.twice_percent for timeline in timelines)
        percent = f"{'up to ' if len(figure.columns) > 1 else ''}{most:.0f} %"
        line = "the black line" if any(column.timeline.capacity for column in figure.columns) else "the line"
        yield f"{percent} of the data arrived on two subflows and is stacked twice; {line} is the {GOODPUT}"


def _capacity(figure: OverTime) -> Iterator[str]:
    """Yield what the line above the rates is, if there is one."""
    note = capacity_note([column.timeline for column in figure.columns], figure.highest_rate)
    if note is not None and "rate" in figure.shown:
        yield note


def _missing_subflows(figure: OverTime) -> Iterator[str]:
    """Yield how many subflows are not drawn, if a panel has curves of subflows."""
    missing = max(column.timeline.left_out for column in figure.columns)
    if missing and {"rtt", "cwnd"} & set(figure.shown):
        up_to = "up to " if len(figure.columns) > 1 else ""
        yield f"RTT and window: {MAX_LINES} subflows are drawn; {up_to}{missing} more are left out"


def _peaks(figure: OverTime) -> Iterator[str]:
    """Yield what the triangles mean, if rates are beyond the axis."""
    if figure.highest_rate is not None and "rate" in figure.shown:
        highest = max(float(stack(column.timeline)[0].max(initial=0.0)) for column in figure.columns)
        if highest > figure.highest_rate:
            yield f"▲: beyond the axis for a moment, up to {highest:.0f} Mbit/s: after a loss, much is in order at once"


def _messages(figure: OverTime) -> Iterator[str]:
    """Yield what the panel of delays shows, in the words of a column with marks if there is one."""
    delays = [column.timeline.delays for column in figure.columns if column.timeline.delays is not None]
    if delays and "delay" in figure.shown:
        yield next((this_delays for this_delays in delays if this_delays.bad), delays[0]).note
