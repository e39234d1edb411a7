# SPDX-License-Identifier: MIT
"""Time series of runs side by side: rates stacked by path, RTT, congestion window and queues, events as marks."""

from __future__ import annotations

import math
import string
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mptcplab.figure.canvas import COLOURS, grid, style_of
from mptcplab.figure.capacity import CAPACITY, draw_capacity, end_of_axis, mark_cut
from mptcplab.figure.delays import draw_delays, scale_delays, scale_round_trips
from mptcplab.figure.paper import points, title_letters
from mptcplab.figure.rates import stack, widen_intervals
from mptcplab.figure.time_notes import GOODPUT, notes
from mptcplab.figure.timelines import TimelineCurve, WorkloadTimeline, path_of
from mptcplab.lazy import np
from mptcplab.metrics.points import natural_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

#: Colour and dashes of a curve.
_Style = tuple[str, str | tuple[int, tuple[int, ...]]]
#: What a panel shows: its name, and the label of its vertical axis.
PANELS = {
    "rate": "received, Mbit/s",
    "delay": "delay, ms",
    "rtt": "RTT, ms",
    "cwnd": "cwnd, segments",
    "queue": "queue, kB",
    "rssi": "RSSI, dBm",
}
#: The panels whose values have no zero to begin at.
_WITHOUT_ZERO = ("rssi",)
#: The panels whose curves stand for links, not for paths.
_OF_LINKS = ("queue", "rssi")
#: The panel of messages, whose curves have no paths.
_OF_MESSAGES = "delay"
#: Inches: a column, the legend beside it, the first panel and the others, title and axis labels.
_COLUMN, _LEGEND, _FIRST, _OTHER, _FRAME = 4.4, 1.6, 2.3, 1.6, 0.9
#: A figure that is narrower than this part of its usual width has its legend below.
_NARROW = 0.85
#: Letters of an axis label that a low panel has room for.
_LONG_LABEL = 10
#: Marks that are closer than this part of the axis share one letter, and peaks one triangle.
_CLOSEST, _CLOSE_PEAKS = 0.03, 0.015
#: The axis of rates ends a little above what they are for this part of the time, if the highest exceeds it by so much.
#: The goodput, the mean of longer intervals, is never beyond it.
_USUAL, _PEAK, _ABOVE, _ROOM = 0.99, 1.5, 1.15, 1.05
#: The part of the axis beside the time that is shown.
_MARGIN = 0.01


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
        return tuple(panel for panel in self.panels if any(_curves(column.timeline, panel) for column in self.columns))

    @cached_property
    def span(self) -> tuple[float, float]:
        """The first and the last time that are shown, in s."""
        spans = [column.timeline.span for column in self.columns]
        return min(begin for begin, _ in spans), max(end for _, end in spans)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The paths of all columns, in the order of their colours."""
        panels = (panel for panel in PANELS if panel not in (*_OF_LINKS, _OF_MESSAGES))
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
        return [*_key(_letters(self.marked)), *notes(self)]

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
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        heights = (_FIRST if number == 0 else _OTHER for number, _ in enumerate(self.shown))
        return _COLUMN * len(self.columns) + _LEGEND, sum(heights) + _FRAME + 0.16 * len(self.key)


def side_by_side(columns: Sequence[RunColumn]) -> tuple[RunColumn, ...]:
    """Return the columns of one figure, whose rates are means of intervals of about the same length."""
    timelines = widen_intervals([column.timeline for column in columns])
    return tuple(replace(column, timeline=timeline) for column, timeline in zip(columns, timelines, strict=True))


def draw_over_time(figure: OverTime, drawing: MplFigure) -> None:
    """Draw ``figure`` onto an empty matplotlib figure."""
    shown = figure.shown
    panels = drawing.subplots(
        len(shown),
        len(figure.columns),
        sharex=True,
        sharey="row",
        squeeze=False,
        height_ratios=[_FIRST if number == 0 else _OTHER for number, _ in enumerate(shown)],
    )
    letters = _letters(figure.marked)
    narrow = drawing.get_size_inches()[0] < _NARROW * figure.size[0]
    for across, column in enumerate(figure.marked):
        for down, panel in enumerate(shown):
            axes = panels[down, across]
            if panel == _OF_MESSAGES:
                _draw_messages(axes, column.timeline)
            else:
                _draw_panel(axes, column.timeline, panel, _styles(figure, panel))
            for time, _ in column.events:
                axes.axvline(time, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
            if across == 0:
                axes.set_ylabel(_break_label(PANELS[panel]) if narrow else PANELS[panel])
        if len(figure.columns) > 1:
            panels[0, across].set_title(column.title, loc="left", fontsize=points(9.5), pad=16 if letters else 6)
        panels[-1, across].set_xlabel("time, s")
    # What follows needs the ranges of the axes.
    begin, end = figure.span
    panels[0, 0].set_xlim(begin - _MARGIN * (end - begin), end + _MARGIN * (end - begin))
    for across, column in enumerate(figure.marked):
        _mark_events(panels[0, across], column, letters)
    for down, panel in enumerate(shown):
        # A bound ends the automatic choice of the other.
        if panel == _OF_MESSAGES:
            scale_delays(
                panels[down, 0], [delay for run_column in figure.columns if (delay := run_column.timeline.delays)]
            )
        elif panel == "rtt":
            scale_round_trips(
                panels[down, 0], [sample for column in figure.columns for sample in _samples(column.timeline)]
            )
        elif panel not in _WITHOUT_ZERO:
            panels[down, 0].set_ylim(bottom=0, top=figure.highest_rate if panel == "rate" else None)
        if panel == "rate" and figure.highest_rate is not None:
            for across, column in enumerate(figure.columns):
                _mark_peaks(panels[down, across], column.timeline, figure.highest_rate)
                mark_cut(panels[down, across], column.timeline, figure.highest_rate)
    rows = {panel: list(panels[down]) for down, panel in enumerate(shown)}
    if narrow:
        _legend_below(drawing, rows)
    else:
        for panel, row in rows.items():
            _legend(row, panel)
    drawing.align_ylabels(panels[:, 0])
    title = "\n".join(textwrap.wrap(figure.title, title_letters(drawing.get_size_inches()[0])))
    drawing.suptitle(title, x=0.01, ha="left", fontsize=points(11), fontweight="bold")


def _break_label(label: str) -> str:
    """Return the label of a low axis: the unit of a long one has a line of its own."""
    return label.replace(", ", ",\n") if len(label) > _LONG_LABEL else label


def _curves(timeline: WorkloadTimeline, panel: str) -> Sequence[Any]:
    if panel == "rate":
        return tuple(name for name, rates in timeline.received.items() if any(rates))
    if panel == _OF_MESSAGES:
        return () if timeline.delays is None else (timeline.delays,)
    lines: dict[str, tuple[TimelineCurve, ...]] = {
        "rtt": timeline.rtt,
        "cwnd": timeline.cwnd,
        "queue": timeline.queues,
        "rssi": timeline.rssi,
    }
    return tuple(line for line in lines[panel] if line.values)


def _samples(timeline: WorkloadTimeline) -> list[float]:
    return [value for line in timeline.rtt for value in line.values if value]


def _draw_messages(axes: Axes, timeline: WorkloadTimeline) -> None:
    if timeline.delays is not None:
        draw_delays(axes, timeline.delays)
    axes.margins(x=0.01)
    grid(axes)


def _names(columns: Sequence[RunColumn], panel: str) -> list[str]:
    """Return the names of a panel's curves in all columns: a curve has the same colour in each."""
    curves = (curve for column in columns for curve in _curves(column.timeline, panel))
    entries = dict.fromkeys(curve if panel == "rate" else curve.name for curve in curves)
    names = sorted(entries, key=natural_order)
    return [name for name in names if _label(name, names) == name]


def _label(name: str, names: Collection[str]) -> str:
    """Return the name of a curve: the only subflow of a path in one column is the first of several in another."""
    return f"{name} #1" if f"{name} #1" in names else name


def _draw_panel(axes: Axes, timeline: WorkloadTimeline, panel: str, styles: Mapping[str, _Style]) -> None:
    if panel == "rate":
        there = [name for name in styles if name in timeline.received]
        if there and len(timeline.edges) > 1:
            axes.stackplot(
                timeline.edges,
                # A rate holds until the end of its interval.
                [_steps(timeline.received[name]) for name in there],
                labels=there,
                colors=[styles[name][0] for name in there],
                step="post",
                linewidth=0,
            )
            draw_capacity(axes, timeline)
            if timeline.goodput is not None:
                axes.plot(
                    timeline.goodput.times,
                    [math.nan if rate is None else rate for rate in timeline.goodput.values],
                    drawstyle="steps-post",
                    color="black",
                    linewidth=1.2,
                    label=GOODPUT,
                )
    else:
        for line in _curves(timeline, panel):
            label = _label(line.name, styles)
            colour, dashes = styles[label]
            axes.plot(line.times, line.values, color=colour, linestyle=dashes, linewidth=1.1, label=label)
    axes.margins(x=0.01)
    grid(axes)


def _steps(rates: Sequence[float]) -> tuple[float, ...]:
    """Return a value for each edge of the intervals: a rate holds until the end of its own."""
    return (*rates, rates[-1])


def _mark_peaks(axes: Axes, timeline: WorkloadTimeline, highest: float) -> None:
    """Draw a triangle at the upper end of the axis where rates are beyond it; one for several that are close."""
    rates, _ = stack(timeline)
    begin, end = axes.get_xlim()
    places: list[float] = []
    for place in np.array(timeline.edges[:-1])[rates > highest]:
        if not places or place - places[-1] > _CLOSE_PEAKS * (end - begin):
            places.append(float(place))
    axes.plot(
        places, [0.97] * len(places), "^", transform=axes.get_xaxis_transform(), color="0.25", markersize=3.5, zorder=4
    )


def _styles(figure: OverTime, panel: str) -> dict[str, _Style]:
    """Return colour and dashes of a panel's curves: a path has one colour in all panels, with its links.

    Subflows of a path differ in their dashes, and so do queues and radios of its links. A link of several paths has a
    colour of its own.
    """
    owners = {name: _owner(name, figure.paths, panel) for name in _names(figure.columns, panel)}
    colours = list(dict.fromkeys((*figure.paths, *owners.values())))
    seen: dict[str, int] = {}
    styles = {}
    for name, owner in owners.items():
        number = name.partition(" #")[2]
        seen[owner] = int(number) - 1 if number else seen.get(owner, -1) + 1
        styles[name] = style_of(colours.index(owner))[0], style_of(len(COLOURS) * seen[owner])[1]
    return styles


def _owner(name: str, paths: Sequence[str], panel: str) -> str:
    """Return the path of a curve; of a link, ``LINK forward`` or ``LINK at NODE``, the only path that it is part of."""
    if panel not in _OF_LINKS:
        return path_of(name)
    link = name.partition(" ")[0]
    having = [path for path in paths if link in path.split(">")]
    return having[0] if len(having) == 1 else link


def _entries(row: Sequence[Axes]) -> dict[str, Any]:
    """Return the handles of a row's legend by their names."""
    entries: dict[str, Any] = {}
    for axes in row:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    return entries


def _legend(row: Sequence[Axes], panel: str) -> None:
    """Put one legend for the whole row beside its last panel."""
    entries = _entries(row)
    names = sorted(
        entries, key=lambda name: (name == CAPACITY, name == GOODPUT, natural_order(name)), reverse=panel == "rate"
    )
    row[-1].legend(
        [entries[name] for name in names],
        names,
        frameon=False,
        fontsize=points(8.5),
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
    )


def _legend_below(drawing: MplFigure, rows: Mapping[str, Sequence[Axes]]) -> None:
    """Put one legend for all panels below them: a path has the same colour in each."""
    entry: dict[str, Any] = {}
    for row in rows.values():
        for name, handle in sorted(_entries(row).items(), key=lambda pair: natural_order(pair[0])):
            entry.setdefault(name, handle)
    for columns in range(min(4, len(entry)), 0, -1):
        legend = drawing.legend(
            list(entry.values()), list(entry), frameon=False, fontsize=points(8.5), loc="lower left", ncols=columns
        )
        if legend.get_window_extent().width < drawing.bbox.width:
            return
        if columns > 1:
            legend.remove()


def _letters(columns: Sequence[RunColumn]) -> dict[str, str]:
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


def _mark_events(axes: Axes, column: RunColumn, letters: dict[str, str]) -> None:
    """Write the letters of the events above the plot; events that are close share a place."""
    start, end = axes.get_xlim()
    groups: list[tuple[float, list[str]]] = []
    for time, text in column.events:
        if groups and time - groups[-1][0] < _CLOSEST * (end - start):
            groups[-1][1].append(letters[text])
        else:
            groups.append((time, [letters[text]]))
    for time, names in groups:
        axes.annotate(
            ",".join(dict.fromkeys(names)),
            (time, 1),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=points(8),
            color="0.3",
        )
