# SPDX-License-Identifier: MIT
"""The chart of runs over time: its panels, the curves in each with their colours, and the events.

It is built once from results. :mod:`mptcplab.figure.over_time` draws it with matplotlib, and the script of a page draws
what :meth:`OverTime.to_json` has.
"""

from __future__ import annotations

import math
import string
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from mptcplab.figure.delays import LIMIT, Delays
from mptcplab.figure.rates import CAPACITY, capacity_note, end_of_axis, shown_capacity, stack, widen_intervals
from mptcplab.figure.timelines import MAX_LINES, TimelineCurve, WorkloadTimeline, path_of
from mptcplab.lazy import np
from mptcplab.metrics.values import natural_order

# The lines of the note below a figure over time: explanations that its curves need.

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
        yield next((panel for panel in delays if panel.bad), delays[0]).note


@dataclass(frozen=True)
class Panel:
    """The quantity of a panel, its unit, and a ``short`` name where there is little room."""

    quantity: str
    unit: str
    short: str = ""

    @property
    def label(self) -> str:
        """The label of the vertical axis."""
        return f"{self.quantity}, {self.unit}"

    @property
    def short_label(self) -> str:
        """The label in a low panel."""
        return f"{self.short or self.quantity}, {self.unit}"


PANELS = {
    "rate": Panel("received", "Mbit/s"),
    "delay": Panel("delay", "ms"),
    "rtt": Panel("round-trip time", "ms", "RTT"),
    "cwnd": Panel("congestion window", "segments", "cwnd"),
    "queue": Panel("queue", "kB"),
    "rssi": Panel("RSSI", "dBm"),
}
#: The panels whose values have no zero to begin at.
WITHOUT_ZERO = ("rssi",)
#: The panel of messages, whose curves have no paths.
OF_MESSAGES = "delay"
#: The panels whose curves stand for links, not for paths.
_OF_LINKS = ("queue", "rssi")
#: Inches: a column, the legend beside it, the first panel and the others, title and axis labels.
_COLUMN, _LEGEND, _FIRST, _OTHER, _FRAME = 4.4, 1.6, 2.3, 1.6, 0.9
#: The axis of rates ends a little above what they are for this part of the time, if the highest exceeds it by so much.
#: The goodput, the mean of longer intervals, is never beyond it.
_USUAL, _PEAK, _ABOVE, _ROOM = 0.99, 1.5, 1.15, 1.05

#: What a curve is, and so how it looks: the rate of a path, stacked on others; the rate of what was in order for the
#: application; what the paths could carry; samples; of messages the median and the 95th percentile of the delay, how
#: late they may be, and when some were late or lost.
Role = Literal["area", "goodput", "capacity", "line", "median", "high", "limit", "late"]


@dataclass(frozen=True)
class ChartCurve:
    """One curve of a panel. ``times`` are in s, and None interrupts it.

    Lines join their values. A value of the others holds until the next time, and the last two values are equal. Late
    messages have marks at the upper end of the panel. ``colour`` numbers the paths of the chart, and ``dashes`` the
    curves of a path: areas and lines have both.
    """

    role: Role
    name: str
    times: tuple[float, ...]
    values: tuple[float | None, ...]
    colour: int = 0
    dashes: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return JSON data for the page's script."""
        looks = {"colour": self.colour, "dashes": self.dashes} if self.role in ("area", "line") else {}
        times = {} if self.role == "area" else {"t": self.times}
        return {"role": self.role, "name": self.name, **looks, **times, "v": self.values}


@dataclass(frozen=True)
class RunColumn:
    """One run in the figure: the title above it, its curves, and its events (s from time zero, and words)."""

    title: str
    timeline: WorkloadTimeline
    events: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class OverTime:
    """Runs side by side, over the time in which their workloads ran.

    ``panels`` are names in :data:`PANELS`; panels without data in any run are left out.
    """

    title: str
    columns: tuple[RunColumn, ...]
    panels: tuple[str, ...] = tuple(PANELS)

    @property
    def shown(self) -> tuple[str, ...]:
        """The panels with data."""
        return tuple(panel for panel in self.panels if any(_lines(column.timeline, panel) for column in self.columns))

    @cached_property
    def span(self) -> tuple[float, float]:
        """The first and the last time that are shown, in s."""
        spans = [column.timeline.span for column in self.columns]
        return min(begin for begin, _ in spans), max(end for _, end in spans)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The paths of all columns, in the order of their colours."""
        panels = (panel for panel in PANELS if panel not in (*_OF_LINKS, OF_MESSAGES))
        names = (path_of(name) for panel in panels for name in _names(self.columns, panel))
        return tuple(sorted(dict.fromkeys(names), key=natural_order))

    @cached_property
    def marked(self) -> tuple[RunColumn, ...]:
        """The columns with only the events in the time shown."""
        begin, end = self.span
        return tuple(
            replace(column, events=tuple(event for event in column.events if begin <= event[0] <= end))
            for column in self.columns
        )

    @property
    def key(self) -> list[str]:
        """Lines that say what the letters above the plots mean, and what else is not as it seems."""
        return [*_key(letters_of(self.marked)), *notes(self)]

    @cached_property
    def highest_rate(self) -> float | None:
        """Where the axis of rates ends, in Mbit/s; None if that follows from the rates."""
        return end_of_axis([column.timeline for column in self.columns], self._end_below_peaks)

    @property
    def _end_below_peaks(self) -> float | None:
        stacks = [stack(column.timeline) for column in self.columns]
        rates, lengths = (np.concatenate(some) for some in zip(*stacks, strict=True))
        if not rates.size:
            return None
        order = np.argsort(rates)
        shares = np.cumsum(lengths[order]) / lengths.sum()
        usual = float(rates[order][np.searchsorted(shares, _USUAL)])
        lines = [
            run_column.timeline.goodput.values for run_column in self.columns if run_column.timeline.goodput is not None
        ]
        goodput = max((rate or 0.0 for line in lines for rate in line), default=0.0)
        return max(_ABOVE * usual, _ROOM * goodput) if rates.max() > _PEAK * max(usual, goodput) > 0 else None

    @property
    def heights(self) -> list[float]:
        """The heights of the panels in inches."""
        return [_FIRST if number == 0 else _OTHER for number, _ in enumerate(self.shown)]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return _COLUMN * len(self.columns) + _LEGEND, sum(self.heights) + _FRAME + 0.16 * len(self.key)

    def curves(self, timeline: WorkloadTimeline, panel: str) -> list[ChartCurve]:
        """Return the curves of a panel in the column of a timeline."""
        if panel == OF_MESSAGES:
            return [] if timeline.delays is None else list(_delay_curves(timeline.delays))
        looks = self._looks(panel)
        if panel == "rate":
            areas = list(_areas(timeline, looks)) if len(timeline.edges) > 1 else []
            return [*areas, *_lines_above(timeline)] if areas else []
        names = {line: _label(line.name, looks) for line in _lines(timeline, panel)}
        return [ChartCurve("line", name, line.times, line.values, *looks[name]) for line, name in names.items()]

    def to_json(self) -> dict[str, Any]:
        """Return the panels of the first column, for the page's script: the areas of one have the same times."""
        timeline = self.columns[0].timeline
        panels: dict[str, Any] = {}
        for panel in self.shown:
            panels[panel] = {"curves": [curve.to_json() for curve in self.curves(timeline, panel)]}
            if panel == OF_MESSAGES and timeline.delays is not None and timeline.delays.logarithmic_range is not None:
                panels[panel]["log"] = timeline.delays.logarithmic_range
            if panel == "rate":
                end = end_of_axis([timeline], None)
                twice = {"twice": round(timeline.twice_percent, 1)} if timeline.twice_percent else {}
                panels[panel] |= {"t": timeline.edges} | twice | ({} if end is None else {"end": round(end, 3)})
        return {"name": timeline.workload, "span": self.span, "panels": panels}

    def _looks(self, panel: str) -> dict[str, tuple[int, int]]:
        """Return the numbers of colour and dashes of a panel's curves: a path has one colour in all panels.

        So have its links. Subflows of a path differ in their dashes, and so do queues and radios of its links. A link
        of several paths has a colour of its own.
        """
        owners = {name: _owner(name, self.paths, panel) for name in _names(self.columns, panel)}
        colours = list(dict.fromkeys((*self.paths, *owners.values())))
        seen: dict[str, int] = {}
        looks = {}
        for name, owner in owners.items():
            number = name.partition(" #")[2]
            seen[owner] = int(number) - 1 if number else seen.get(owner, -1) + 1
            looks[name] = colours.index(owner), seen[owner]
        return looks


def side_by_side(columns: Sequence[RunColumn]) -> tuple[RunColumn, ...]:
    """Return the columns of one figure, whose rates are means of intervals of about the same length."""
    timelines = widen_intervals([column.timeline for column in columns])
    return tuple(replace(column, timeline=timeline) for column, timeline in zip(columns, timelines, strict=True))


def _lines(timeline: WorkloadTimeline, panel: str) -> Sequence[Any]:
    if panel == "rate":
        return tuple(name for name, rates in timeline.received.items() if any(rates))
    if panel == OF_MESSAGES:
        return () if timeline.delays is None else (timeline.delays,)
    lines: dict[str, tuple[TimelineCurve, ...]] = {
        "rtt": timeline.rtt,
        "cwnd": timeline.cwnd,
        "queue": timeline.queues,
        "rssi": timeline.rssi,
    }
    return tuple(line for line in lines[panel] if line.values)


def _areas(timeline: WorkloadTimeline, looks: Mapping[str, tuple[int, int]]) -> Iterator[ChartCurve]:
    """Yield the rates of the paths, each until the end of its interval."""
    for name, look in looks.items():
        if name in timeline.received:
            rates = timeline.received[name]
            yield ChartCurve("area", name, timeline.edges, (*rates, rates[-1]), *look)


def _lines_above(timeline: WorkloadTimeline) -> Iterator[ChartCurve]:
    """Yield what the paths could carry, and the goodput, as far as these are known and differ from the rates."""
    capacity, goodput = shown_capacity(timeline), timeline.goodput
    if capacity is not None:
        times, values = (*capacity.times, timeline.edges[-1]), (*capacity.values, capacity.values[-1])
        yield ChartCurve("capacity", CAPACITY, times, values)
    if goodput is not None:
        yield ChartCurve("goodput", GOODPUT, goodput.times, goodput.values)


def _delay_curves(delays: Delays) -> Iterator[ChartCurve]:
    curves: tuple[tuple[Role, str, tuple[float, ...]], ...] = (
        ("high", "95th percentile", delays.high),
        ("median", "median", delays.median),
    )
    for role, name, values in curves:
        known = (None if math.isnan(value) else value for value in (*values, values[-1]))
        yield ChartCurve(role, name, delays.edges, tuple(known))
    yield ChartCurve("limit", LIMIT, (delays.edges[0], delays.edges[-1]), (delays.latest_ms, delays.latest_ms))
    if delays.bad:
        yield ChartCurve("late", "late or lost", delays.bad, (delays.spans[1],) * len(delays.bad))


def _names(columns: Sequence[RunColumn], panel: str) -> list[str]:
    """Return the names of a panel's curves in all columns: a curve has the same colour in each."""
    curves = (curve for column in columns for curve in _lines(column.timeline, panel))
    entries = dict.fromkeys(curve if panel == "rate" else curve.name for curve in curves)
    names = sorted(entries, key=natural_order)
    return [name for name in names if _label(name, names) == name]


def _label(name: str, names: Collection[str]) -> str:
    """Return the name of a curve: the only subflow of a path in one column is the first of several in another."""
    return f"{name} #1" if f"{name} #1" in names else name


def _owner(name: str, paths: Sequence[str], panel: str) -> str:
    """Return the path of a curve; of a link, ``LINK forward`` or ``LINK at NODE``, the only path that it is part of."""
    if panel not in _OF_LINKS:
        return path_of(name)
    link = name.partition(" ")[0]
    having = [path for path in paths if link in path.split(">")]
    return having[0] if len(having) == 1 else link


def letters_of(columns: Sequence[RunColumn]) -> dict[str, str]:
    """Return a letter for each different event, in the order in which readers meet them, column by column.

    Letters fit above a plot where words do not.
    """
    words = list(dict.fromkeys(text for column in columns for _, text in sorted(column.events)))
    names = [*string.ascii_lowercase, *(f"{name}{two}" for name in string.ascii_lowercase for two in "123456789")]
    return dict(zip(words, names, strict=False))


def _key(letters: dict[str, str]) -> list[str]:
    """Return the lines that say what the letters mean, about 110 characters each."""
    lines: list[str] = []
    for text, letter in letters.items():
        part = f"{letter}: {text}"
        if lines and len(lines[-1]) + len(part) < 110:
            lines[-1] += f"; {part}"
        else:
            lines.append(part)
    return lines
