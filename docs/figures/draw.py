# SPDX-License-Identifier: MIT
"""Figures of the pages: measured points with their intervals and expected values; curves over a quantity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mptcplab.figure.canvas import COLOURS
from mptcplab.stats import Interval

_MARKERS = ("o", "s", "D", "^", "v")
_CURVE_MARKERS = ("", "o", "s", "D", "^", "v", "P", "X")
#: A congestion control has the same colour and marker in all figures.
_NAMES = ("uncoupled Reno", "LIA", "OLIA", "BALIA", "TCP")


@dataclass(frozen=True)
class Point:
    """A measured value at a place of the horizontal axis, and the values that theory expects, or None."""

    place: str
    name: str
    measured: Interval
    fluid: float | None = None
    random: float | None = None


@dataclass(frozen=True)
class Chart:
    """The content of a figure. ``level`` is a horizontal line: the goal."""

    axis: str
    value: str
    points: tuple[Point, ...]
    level: float | None = None


def draw(chart: Chart, file: Path) -> None:
    """Write an SVG; equal charts give equal bytes."""
    plt.switch_backend("Agg")
    places = list(dict.fromkeys(point.place for point in chart.points))
    names = list(dict.fromkeys(point.name for point in chart.points))
    with rc_context({"svg.hashsalt": "mptcplab", "svg.fonttype": "none", "font.size": 10}):
        drawing, axes = plt.subplots(figsize=(max(5.0, 1.0 * len(places) + 2.6), 3.6), layout="constrained")
        if chart.level is not None:
            axes.axhline(chart.level, color="0.6", linewidth=1)
        for number, name in enumerate(names):
            of_name = [point for point in chart.points if point.name == name]
            aside = 0.7 * ((number + 0.5) / len(names) - 0.5)
            _draw_points(axes, [places.index(point.place) + aside for point in of_name], of_name, _NAMES.index(name))
        _finish(axes, chart, places, names)
        save(drawing, file)


@dataclass(frozen=True)
class Curve:
    """Measured values over a quantity. A curve named TCP is dashed."""

    name: str
    points: tuple[tuple[float, Interval], ...]


def draw_curves(curves: Sequence[Curve], axes_names: tuple[str, str], file: Path) -> None:
    """Write an SVG with a logarithmic horizontal axis; equal curves give equal bytes."""
    plt.switch_backend("Agg")
    with rc_context({"svg.hashsalt": "mptcplab", "svg.fonttype": "none", "font.size": 10}):
        drawing, axes = plt.subplots(figsize=(8.0, 4.0), layout="constrained")
        for curve, colour, marker in zip(curves, ("0.3", *COLOURS, "0.0"), _CURVE_MARKERS, strict=False):
            axes.errorbar(
                [place for place, _ in curve.points],
                [value.mean for _, value in curve.points],
                yerr=[value.half_width or 0.0 for _, value in curve.points],
                fmt=("--" if curve.name == "TCP" else "-") + marker,
                color=colour,
                markersize=5,
                capsize=2.5,
                linewidth=1.2,
                label=curve.name,
            )
        places = sorted({place for curve in curves for place, _ in curve.points})
        axes.set_xscale("log")
        axes.set_xticks(places, [f"{place:.0f}" for place in places])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set(xlabel=axes_names[0], ylabel=axes_names[1])
        axes.grid(axis="y", color="0.9", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
        save(drawing, file)


def save(drawing: Figure, file: Path) -> None:
    """Write an SVG; equal drawings give equal bytes."""
    drawing.savefig(file, metadata={"Date": None})
    plt.close(drawing)
    # matplotlib leaves blanks at the ends of lines, about which git complains.
    file.write_text("\n".join(line.rstrip() for line in file.read_text().splitlines()) + "\n")


def _draw_points(axes: Axes, at: Sequence[float], points: Sequence[Point], number: int) -> None:
    colour = COLOURS[number]
    axes.errorbar(
        at,
        [point.measured.mean for point in points],
        yerr=[point.measured.half_width or 0.0 for point in points],
        fmt=_MARKERS[number],
        color=colour,
        markersize=5,
        capsize=2.5,
    )
    for x, point in zip(at, points, strict=True):
        if point.fluid is not None:
            axes.plot([x - 0.09, x + 0.09], [point.fluid] * 2, "-", color=colour, linewidth=2.2, alpha=0.55)
        if point.random is not None:
            axes.plot([x], [point.random], "x", color="0.25", markersize=6, zorder=4)


def _finish(axes: Axes, chart: Chart, places: Sequence[str], names: Sequence[str]) -> None:
    axes.set_xticks(range(len(places)), [place.replace(" beside ", "\nbeside ") for place in places])
    axes.set_xlim(-0.6, len(places) - 0.4)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(chart.axis)
    axes.set_ylabel(chart.value)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    handles = [
        Line2D([], [], linestyle="", marker=_MARKERS[n], color=COLOURS[n], label=_NAMES[n])
        for n in map(_NAMES.index, names)
    ]
    if any(point.fluid is not None for point in chart.points):
        handles.append(Line2D([], [], color="0.4", linewidth=2.2, alpha=0.55, label="fluid model"))
    if any(point.random is not None for point in chart.points):
        handles.append(Line2D([], [], linestyle="", marker="x", color="0.25", label="equations,\nrandom losses"))
    axes.legend(handles=handles, frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
