# SPDX-License-Identifier: MIT
"""Time series of runs side by side: rates stacked by path, RTT, congestion window and queues, events as marks."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mptcplab.figure.canvas import COLOURS, grid, style_of
from mptcplab.figure.timelines import Line, Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

#: What a panel shows: its name, and the label of its vertical axis.
PANELS = {
    "rate": "goodput, Mbit/s",
    "rtt": "RTT, ms",
    "cwnd": "cwnd, segments",
    "queue": "queue, kB",
    "rssi": "RSSI, dBm",
}
#: The panels whose values have no zero to begin at.
_WITHOUT_ZERO = ("rssi",)
#: Inches: a column, the legend beside it, the first panel and the others, title and axis labels.
_COLUMN, _LEGEND, _FIRST, _OTHER, _FRAME = 4.4, 1.6, 2.3, 1.6, 0.9
#: Marks that are closer than this part of the axis share one letter.
_CLOSEST = 0.03


@dataclass(frozen=True)
class Column:
    """One run in the figure: the title above it, its curves, and its events (s from time zero, and words)."""

    title: str
    timeline: Timeline
    events: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class OverTime:
    """Runs side by side. ``panels`` are names in :data:`PANELS`; those that no run has data for are left out."""

    title: str
    columns: tuple[Column, ...]
    panels: tuple[str, ...] = tuple(PANELS)

    @property
    def shown(self) -> tuple[str, ...]:
        """The panels with data."""
        return tuple(panel for panel in self.panels if any(_curves(column.timeline, panel) for column in self.columns))

    @property
    def key(self) -> list[str]:
        """Lines that say what the letters above the plots mean."""
        return _key(_letters(self.columns))

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        heights = (_FIRST if number == 0 else _OTHER for number, _ in enumerate(self.shown))
        return _COLUMN * len(self.columns) + _LEGEND, sum(heights) + _FRAME + 0.16 * len(self.key)


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
    letters = _letters(figure.columns)
    for across, column in enumerate(figure.columns):
        for down, panel in enumerate(shown):
            axes = panels[down, across]
            _draw_panel(axes, column.timeline, panel, _names(figure.columns, panel))
            for time, _ in column.events:
                axes.axvline(time, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
            if across == 0:
                axes.set_ylabel(PANELS[panel])
        if len(figure.columns) > 1:
            panels[0, across].set_title(column.title, loc="left", fontsize=9.5, pad=16 if letters else 6)
        panels[-1, across].set_xlabel("time, s")
    # What follows needs the ranges of the axes, which all columns determine.
    for across, column in enumerate(figure.columns):
        _mark_events(panels[0, across], column, letters)
    for down, panel in enumerate(shown):
        # A bound ends the automatic choice of the other.
        if panel not in _WITHOUT_ZERO:
            panels[down, 0].set_ylim(bottom=0)
        _legend(panels[down, -1], [panels[down, across] for across in range(len(figure.columns))], panel)
    drawing.align_ylabels(panels[:, 0])
    drawing.suptitle(figure.title, x=0.01, ha="left", fontsize=11, fontweight="bold")


def _curves(timeline: Timeline, panel: str) -> Sequence[Any]:
    if panel == "rate":
        return tuple(name for name, rates in timeline.goodput.items() if any(rates))
    lines: dict[str, tuple[Line, ...]] = {
        "rtt": timeline.rtt,
        "cwnd": timeline.cwnd,
        "queue": timeline.queues,
        "rssi": timeline.rssi,
    }
    return tuple(line for line in lines[panel] if line.values)


def _names(columns: Sequence[Column], panel: str) -> list[str]:
    """Return the names of a panel's curves in all columns: a curve has the same colour in each."""
    curves = (curve for column in columns for curve in _curves(column.timeline, panel))
    names = sorted(dict.fromkeys(curve if panel == "rate" else curve.name for curve in curves))
    return [name for name in names if _label(name, names) == name]


def _label(name: str, names: Sequence[str]) -> str:
    """Return the name of a curve: the only subflow of a path in one column is the first of several in another."""
    return f"{name} #1" if f"{name} #1" in names else name


def _draw_panel(axes: Axes, timeline: Timeline, panel: str, names: Sequence[str]) -> None:
    if panel == "rate":
        there = [name for name in names if name in timeline.goodput]
        if there and len(timeline.edges) > 1:
            axes.stackplot(
                timeline.edges,
                # A rate holds until the end of its interval.
                [(*timeline.goodput[name], timeline.goodput[name][-1]) for name in there],
                labels=there,
                colors=[COLOURS[names.index(name) % len(COLOURS)] for name in there],
                step="post",
                linewidth=0,
            )
    else:
        for line in _curves(timeline, panel):
            label = _label(line.name, names)
            colour, dashes = _style(label, names)
            axes.plot(line.times, line.values, color=colour, linestyle=dashes, linewidth=1.1, label=label)
    axes.margins(x=0.01)
    grid(axes)


def _style(name: str, names: Sequence[str]) -> tuple[str, str | tuple[int, tuple[int, ...]]]:
    """Return colour and dashes of a subflow or a queue: subflows of a path, `PATH #N`, differ in their dashes."""
    path, _, number = name.partition(" #")
    paths = list(dict.fromkeys(other.partition(" #")[0] for other in names))
    dashes = style_of(len(COLOURS) * (int(number) - 1) if number else 0)[1]
    return style_of(paths.index(path))[0], dashes


def _legend(last: Axes, row: Sequence[Axes], panel: str) -> None:
    """Put one legend for the whole row beside its last panel."""
    found: dict[str, Any] = {}
    for axes in row:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    names = sorted(found, reverse=panel == "rate")  # as they are stacked
    last.legend(
        [found[name] for name in names],
        names,
        frameon=False,
        fontsize=8.5,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
    )


def _letters(columns: Sequence[Column]) -> dict[str, str]:
    """Return a letter for each different event, in the order in which readers meet them, column by column.

    Letters fit above a plot where words do not.
    """
    words = list(dict.fromkeys(text for column in columns for _, text in sorted(column.events)))
    names = [*string.ascii_lowercase, *(f"{one}{two}" for one in string.ascii_lowercase for two in "123456789")]
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


def _mark_events(axes: Axes, column: Column, letters: dict[str, str]) -> None:
    """Write the letters of the events above the plot; those of events that are close share a place."""
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
            fontsize=8,
            color="0.3",
        )
