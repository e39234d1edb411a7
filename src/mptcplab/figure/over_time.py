# SPDX-License-Identifier: MIT
"""Draw a chart of runs over time with matplotlib: the runs side by side, events as marks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mptcplab.figure.canvas import COLOURS, grid, style_of
from mptcplab.figure.delays import scale_delays, scale_round_trips
from mptcplab.figure.paper import points, title_letters
from mptcplab.figure.rates import CAPACITY, mark_cut, stack
from mptcplab.figure.time_chart import (
    GOODPUT,
    OF_MESSAGES,
    PANELS,
    WITHOUT_ZERO,
    ChartCurve,
    OverTime,
    Role,
    RunColumn,
    letters_of,
)
from mptcplab.figure.timelines import WorkloadTimeline
from mptcplab.lazy import np
from mptcplab.metrics.values import natural_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

#: Colour and dashes of a curve.
_Style = tuple[str, str | tuple[int, tuple[int, ...]]]
#: How curves look that are not of a path.
_LOOKS: dict[Role, dict[str, Any]] = {
    "capacity": {"color": "0.45", "linewidth": 0.9},
    "goodput": {"color": "black", "linewidth": 1.2},
    "high": {"color": "black", "linewidth": 0.9, "linestyle": ":"},
    "median": {"color": "black", "linewidth": 1.3},
}
_LATE_COLOUR = "#D55E00"
#: A figure that is narrower than this part of its usual width has its legend below.
_NARROW = 0.85
#: Letters of an axis label that a low panel has room for.
_LONG_LABEL = 10
#: Marks that are closer than this part of the axis share one letter, and peaks one triangle.
_CLOSEST, _CLOSE_PEAKS = 0.03, 0.015
#: The part of the axis beside the time that is shown.
_MARGIN = 0.01


def draw_over_time(figure: OverTime, drawing: MplFigure) -> None:
    """Draw ``figure`` onto an empty matplotlib figure."""
    shown = figure.shown
    panels = drawing.subplots(
        len(shown),
        len(figure.columns),
        sharex=True,
        sharey="row",
        squeeze=False,
        height_ratios=figure.heights,
    )
    letters = letters_of(figure.marked)
    narrow = drawing.get_size_inches()[0] < _NARROW * figure.size[0]
    for across, column in enumerate(figure.marked):
        for down, panel in enumerate(shown):
            axes = panels[down, across]
            _draw_panel(axes, figure.curves(column.timeline, panel))
            for time, _ in column.events:
                axes.axvline(time, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
            if across == 0:
                label = PANELS[panel].short_label
                axes.set_ylabel(_break_label(label) if narrow else label)
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
        if panel == OF_MESSAGES:
            scale_delays(
                panels[down, 0], [delay for run_column in figure.columns if (delay := run_column.timeline.delays)]
            )
        elif panel == "rtt":
            scale_round_trips(
                panels[down, 0], [sample for column in figure.columns for sample in _samples(column.timeline)]
            )
        elif panel not in WITHOUT_ZERO:
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


def _samples(timeline: WorkloadTimeline) -> list[float]:
    return [value for line in timeline.rtt for value in line.values if value]


def _draw_panel(axes: Axes, curves: Sequence[ChartCurve]) -> None:
    areas = [curve for curve in curves if curve.role == "area"]
    if areas:
        axes.stackplot(
            areas[0].times,
            [_values(area) for area in areas],
            labels=[area.name for area in areas],
            colors=[_colour_and_dashes(area)[0] for area in areas],
            step="post",
            linewidth=0,
        )
    for curve in curves:
        if curve.role in _LOOKS:
            axes.plot(curve.times, _values(curve), drawstyle="steps-post", label=curve.name, **_LOOKS[curve.role])
        elif curve.role == "line":
            colour, dashes = _colour_and_dashes(curve)
            axes.plot(curve.times, _values(curve), color=colour, linestyle=dashes, linewidth=1.1, label=curve.name)
        elif curve.role == "limit":
            limit, dashes = curve.values[0] or 0.0, (0, (6, 3))
            axes.axhline(limit, color="0.4", linestyle=dashes, linewidth=0.8, zorder=1, label=curve.name)
        elif curve.role == "late":
            _mark_late(axes, curve)
    axes.margins(x=0.01)
    grid(axes)


def _mark_late(axes: Axes, curve: ChartCurve) -> None:
    axes.plot(
        curve.times,
        [0.96] * len(curve.times),
        "|",
        transform=axes.get_xaxis_transform(),
        color=_LATE_COLOUR,
        markersize=5,
        label=curve.name,
        zorder=4,
    )


def _values(curve: ChartCurve) -> list[float]:
    """Return the values, NaN where the curve is interrupted."""
    return [math.nan if value is None else value for value in curve.values]


def _colour_and_dashes(curve: ChartCurve) -> _Style:
    return style_of(curve.colour % len(COLOURS) + len(COLOURS) * curve.dashes)


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
