# SPDX-License-Identifier: MIT
"""One figure per table: our means with their intervals as lines, published points beside them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.figure.canvas import MARKERS, save_drawing, style_of
from mptcplab.figure.paper import points, titled
from mptcplab.figure.positions import name_positions
from mptcplab.stats import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure
    from matplotlib.transforms import Transform

#: Not the first parts of a version with three.
_LEADING_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?![\d.])\s*(\S*)")
#: Keys whose values are names, though versions look like numbers.
NAMES = frozenset({"kernel"})
#: The height of a mark in points, and the axis length in shortest bars of a mark.
_MARK_POINTS = 17
_SHORTEST_BAR = 20
_POINTS_PER_INCH = 72
#: The distance of two series' points at the same position.
_APART_POINTS = 2.5
#: The room beside the outermost positions, as a part of the axis.
_MARGIN = 0.04


@dataclass(frozen=True)
class Series:
    """One line: a value for each position of the horizontal axis, and the published values, if any.

    ``words`` are about single values, empty where there is nothing to say: why one is missing, or how many of the runs
    have it. The figure's note explains them.
    """

    name: str
    measured: tuple[Interval | None, ...]
    published: tuple[float | None, ...] = ()
    words: tuple[str, ...] = ()

    def word(self, at: int) -> str:
        """Return the words about the value at a position."""
        return self.words[at] if self.words else ""


@dataclass(frozen=True)
class Mark:
    """A claim about the positions from ``first`` to ``last``, and our verdict; red if it is ``wrong``."""

    first: str
    last: str
    text: str
    verdict: str
    wrong: bool


@dataclass(frozen=True)
class Figure:
    """The contents of a figure. ``positions`` are labels, spaced by their numbers if all have one with the same unit.

    The vertical axis begins at ``lowest``; with ``signed``, values may be below it. None can exceed ``highest``. With
    ``named``, positions are names even if they look like numbers, as versions do. ``legend`` says what the series
    differ in.
    """

    title: str
    x_label: str
    y_label: str
    positions: tuple[str, ...]
    series: tuple[Series, ...]
    note: str = ""
    lowest: float = 0.0
    marks: tuple[Mark, ...] = ()
    named: bool = False
    legend: str = ""
    signed: bool = False
    highest: float = math.inf


@dataclass(frozen=True)
class _SeriesStyle:
    """The style of one series: colour, marker, the line between points, and a shift to the right in points.

    Nothing lies between two categories, so that these have no line. The shift keeps intervals from hiding each other.
    """

    colour: str
    marker: str
    line: str | tuple[int, tuple[int, ...]]
    right: float = 0.0


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write NAME.svg and NAME.png. Equal figures give equal bytes and are not drawn again."""
    note = f"{figure.note}; above: claims of the study, and our verdicts" if figure.marks else figure.note
    key = repr(figure).encode() + Path(__file__).read_bytes()
    return save_drawing(folder, name, key, (6.4, 4.0), note, partial(draw_lines, figure))


def draw_lines(figure: Figure, drawing: MplFigure, axes: Axes) -> None:
    numbers = [] if figure.named else _numbers(figure.positions)
    places = _places(numbers, len(figure.positions))
    middle = (len(figure.series) - 1) / 2
    for number, series in enumerate(figure.series):
        (colour, dashes), marker = style_of(number), MARKERS[number % len(MARKERS)]
        style = _SeriesStyle(colour, marker, dashes if numbers else "none", _APART_POINTS * (number - middle))
        _draw_measured(axes, places, figure, series, style)
        published = [(x, y) for x, y in zip(places, series.published, strict=False) if y is not None]
        if published:
            axes.scatter(
                [x for x, _ in published],
                [y for _, y in published],
                label=f"{series.name} published",
                marker=marker,
                s=64,
                facecolors="none",
                edgecolors=colour,
                linewidths=1.6,
                zorder=3,
            )
    _leave_room(axes, places)
    smallest = _smallest(figure)
    axes.set_ylim(smallest, smallest + 1.1 * (_largest(figure) - smallest))
    _draw_marks(drawing, axes, places, figure)
    titled(axes, figure.title, pad=6 + _MARK_POINTS * len(figure.marks))
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    axes.grid(axis="y", color="0.88", linewidth=0.8)
    name_positions(axes, places, figure.positions, figure.legend)


def _leave_room(axes: Axes, places: Sequence[float]) -> None:
    """Leave a margin beside the outermost positions, also if the first series has no value there."""
    spare = _MARGIN * (max(places) - min(places))
    left, right = axes.get_xlim()
    axes.set_xlim(min(left, min(places) - spare), max(right, max(places) + spare))


def _draw_marks(drawing: MplFigure, axes: Axes, places: Sequence[float], figure: Figure) -> None:
    """Draw a bar per mark above the plot, over its positions, with its text; a single position gets a short bar."""
    from matplotlib.transforms import ScaledTranslation

    shortest = (max(places) - min(places)) / _SHORTEST_BAR
    for level, mark in enumerate(reversed(figure.marks)):
        first, last = (places[figure.positions.index(end)] for end in (mark.first, mark.last))
        spare = max(0.0, shortest - (last - first)) / 2
        up = ScaledTranslation(0, (6 + _MARK_POINTS * level) / _POINTS_PER_INCH, drawing.dpi_scale_trans)
        place, colour = axes.get_xaxis_transform() + up, "#B00020" if mark.wrong else "0.3"
        axes.plot([first - spare, last + spare], [1, 1], "|-", color=colour, transform=place, clip_on=False)
        text, middle = f"{mark.text}: {mark.verdict}", (first + last) / 2
        axes.text(middle, 1.012, text, ha="center", va="bottom", fontsize=points(7.5), color=colour, transform=place)


def whisker(figure: Figure, value: Interval) -> tuple[float, float]:
    """Return how far the interval reaches down and up: not beyond what the quantity can be. NaN without one."""
    if value.half_width is None:
        return math.nan, math.nan
    down, up = value.half_width, value.half_width
    if not figure.signed and value.mean >= figure.lowest:
        down = min(down, value.mean - figure.lowest)
    return down, min(up, max(0.0, figure.highest - value.mean))


def _draw_measured(axes: Axes, places: Sequence[float], figure: Figure, series: Series, style: _SeriesStyle) -> None:
    known = [(x, value) for x, value in zip(places, series.measured, strict=True) if value is not None]
    if not known:
        return
    xs = [x for x, _ in known]
    means = [value.mean for _, value in known]
    # matplotlib draws no bar for NaN; a bar of length zero would mean that the value is certain.
    errors = [whisker(figure, value) for _, value in known]
    has_published = any(value is not None for each in figure.series for value in each.published)
    axes.errorbar(
        xs,
        means,
        yerr=list(zip(*errors, strict=True)) if any(down > 0 or up > 0 for down, up in errors) else None,
        color=style.colour,
        marker=style.marker,
        markersize=4,
        linestyle=style.line,
        linewidth=1.4,
        capsize=3,
        label=f"{series.name} measured" if has_published else series.name,
        transform=_shifted(axes, style.right),
    )


def _shifted(axes: Axes, right: float) -> Transform:
    """Return the transform of the data, shifted to the right by so many points."""
    from matplotlib.transforms import ScaledTranslation

    figure = axes.get_figure()
    assert figure is not None, "axes of a figure"
    return axes.transData + ScaledTranslation(right / _POINTS_PER_INCH, 0, figure.dpi_scale_trans)


def _largest(figure: Figure) -> float:
    highs = [value.high for series in figure.series for value in series.measured if value is not None]
    published = [value for series in figure.series for value in series.published if value is not None]
    return max([*(min(high, figure.highest) for high in highs), *published], default=1.0) or 1.0


def _smallest(figure: Figure) -> float:
    """Return where the vertical axis begins: at the lowest value, but only a signed one can be below the usual zero."""
    if not figure.signed:
        return figure.lowest
    return min([figure.lowest, *(1.1 * one.low for series in figure.series for one in series.measured if one)])


def are_numbers(positions: Sequence[str]) -> bool:
    """Return whether all positions begin with a number and have the same unit."""
    return bool(_numbers(positions))


def _numbers(positions: Sequence[str]) -> list[float]:
    """Return the numbers at the beginning of positions, if all have one with the same unit; else none."""
    matches = [_LEADING_NUMBER.match(position) for position in positions]
    units = {match[2] for match in matches if match}
    return [] if None in matches or len(units) != 1 else [float(match[1]) for match in matches if match]


def _places(numbers: Sequence[float], count: int) -> list[float]:
    """Return places by number if these are spread evenly enough to be readable, else 0, 1, 2, ..."""
    gaps = [abs(right - left) for left, right in pairwise(numbers)]
    # Labels that are closer would overlap.
    is_even = bool(gaps) and min(gaps) * 14 >= max(numbers) - min(numbers)
    return list(numbers) if is_even else [float(number) for number in range(count)]
