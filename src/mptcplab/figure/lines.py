# SPDX-License-Identifier: MIT
"""One figure per table: means with intervals as lines, published points and what models expect beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mptcplab.errors import InputError
from mptcplab.figure.axis import Axis, ChosenScale, axis_of, smallest_gap
from mptcplab.figure.canvas import (
    MARKERS,
    grid,
    label_plainly,
    label_powers_plainly,
    name_positions,
    save_drawing,
    style_of,
)
from mptcplab.figure.paper import label_values, points, write_title
from mptcplab.stats import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure
    from matplotlib.transforms import Transform


# What models expect, beside what was measured: a short line for the first model, crosses for others.
#
# A model is a curve of its own on an axis of numbers. Its sign in the legend has no colour, as all series have it.

_MARKERS = ("_", "x", "+")
_DASHES = (":", "-.", (0, (5, 1, 1, 1, 1, 1)))
#: Sizes in points: of a short line, of a cross, and of lines.
_LONG, CROSS, _WIDTH = 13, 6, 1.6
_LEVEL_COLOUR, _SIGN_COLOUR = "0.35", "0.15"


def draw_on_lines(
    axes: Axes, series: FigureSeries, places: Sequence[float], colour: str, transform: Transform, *, joined: bool
) -> None:
    """Draw the models of one series: curves if points are ``joined`` as on an axis of numbers, else marks."""
    for model, values in enumerate(series.expected):
        for stretch in _stretches(places, values) if joined else [_known_points(places, values)]:
            xs, ys = [x for x, _ in stretch], [y for _, y in stretch]
            if joined and len(stretch) > 1:
                axes.plot(xs, ys, linestyle=_DASHES[model], color=colour, linewidth=_WIDTH, transform=transform)
            else:
                _mark(axes, xs, ys, model, colour, transform)


def _known_points(places: Sequence[float], values: Sequence[float | None]) -> list[tuple[float, float]]:
    return [(x, y) for x, y in zip(places, values, strict=True) if y is not None]


def _stretches(places: Sequence[float], values: Sequence[float | None]) -> Iterator[list[tuple[float, float]]]:
    """Yield the values of a model between two places where it has none: no line crosses these."""
    ordered = sorted(zip(places, values, strict=True), key=lambda pair: pair[0])
    for is_known, pairs in groupby(ordered, key=lambda pair: pair[1] is not None):
        if is_known:
            yield [(x, y) for x, y in pairs if y is not None]


def draw_on_bars(axes: Axes, series: FigureSeries, places: Sequence[float], width: float) -> None:
    """Draw the models of one series of bars: the first one across the bar, visible on any colour."""
    for model, values in enumerate(series.expected):
        known = _known_points(places, values)
        xs, ys = [x for x, _ in known], [y for _, y in known]
        if model:
            _mark(axes, xs, ys, model, _SIGN_COLOUR, axes.transData)
            continue
        for colour, size in (("white", 2 * _WIDTH), (_SIGN_COLOUR, _WIDTH)):
            ends = [x - width / 2 for x in xs], [x + width / 2 for x in xs]
            # Below the whiskers, which may be shorter than this line is wide.
            axes.hlines(ys, *ends, color=colour, linewidth=size, zorder=1.5)


def draw_level(axes: Axes, figure: Figure) -> None:
    """Draw the level that the user asks for across the plot."""
    if figure.level is not None:
        axes.axhline(figure.level, color=_LEVEL_COLOUR, linewidth=0.9, linestyle="--", zorder=0.9)


def name_models(axes: Axes, figure: Figure, *, joined: bool) -> None:
    """Give each model its place in the legend, below the series: call it after they are drawn.

    Legends have containers, as series do, in the order in which they were made, and after all other lines.
    """
    for model, name in enumerate(figure.models):
        looks = {"linestyle": _DASHES[model], "linewidth": _WIDTH} if joined else _sign(model)
        axes.errorbar([], [], color="0.3", label=name, **looks)


def _sign(model: int) -> dict[str, Any]:
    """Return the looks of a model's mark: a short line for the first one, a cross for others."""
    size = CROSS if model else _LONG
    return {"linestyle": "", "marker": _MARKERS[model], "markersize": size, "markeredgewidth": _WIDTH}


def _mark(axes: Axes, xs: Sequence[float], ys: Sequence[float], model: int, colour: str, transform: Transform) -> None:
    axes.plot(xs, ys, color=colour, transform=transform, zorder=4, **_sign(model))


# One figure per table: our means with their intervals as lines, published points beside them.

#: The modules that determine what a figure looks like.
_SOURCES = ("lines.py", "axis.py", "canvas.py")
#: The height of a mark in points, and the axis length in shortest bars of a mark.
_MARK_POINTS = 17
_SHORTEST_BAR = 20
_POINTS_PER_INCH = 72
#: The usual distance of two series' points at the same position, and the size of a point. On an axis of numbers all
#: series together take at most this number of points, as a point that is far beside its value looks like another value.
_APART_POINTS, _POINT, _SPREAD_POINTS = 2.5, 4, 12.0
#: The part of a figure's width that is left for the plot at least: less in a column of a paper, beside a legend.
_WIDE_INCHES, _OF_WIDE, _OF_NARROW = 6.0, 0.65, 0.45
#: The usual size of a drawing in inches.
USUAL_SIZE = (6.4, 4.0)
#: On a logarithmic axis: the factor of the room below and above the values, the part of a mean down to which whiskers
#: are shown, and the factor between the ends from which only powers of ten have labels.
_LOG_ROOM, _LOG_BELOW, _FEW_TICKS_FROM = 1.2, 10, 2000
#: Between ends of a smaller factor, powers and their multiples are too few ticks for a logarithmic axis.
_MANY_TICKS_BELOW = 5
#: The room beside the outermost positions, as a part of the axis.
_MARGIN = 0.05


@dataclass(frozen=True)
class FigureSeries:
    """One line: a value for each position of the horizontal axis, and the published values, if any.

    ``words`` are about single values, empty where there is nothing to say: why one is missing, or how many of the runs
    have it. The figure's note explains them.
    """

    name: str
    measured: tuple[Interval | None, ...]
    published: tuple[float | None, ...] = ()
    words: tuple[str, ...] = ()
    expected: tuple[tuple[float | None, ...], ...] = ()
    """The values that each of the figure's models expects."""

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
    """The contents of a figure. ``positions`` are labels; lines stand at their values if these are numbers.

    The vertical axis begins at ``lowest``; with ``signed``, values may be below it. None can exceed ``highest``. With
    ``named``, positions are names even if they look like numbers, as versions do. ``legend`` says what the series
    differ in. ``values`` come from the scenario if positions are words for them, and the scales what the user says.
    Values that are ``is_rounded`` have no more digits than given.
    ``y_range`` has the ends of the vertical axis if the user chooses them.
    ``models`` are the names of what is expected beside the measured values, and ``level`` is marked across the plot.
    """

    title: str
    x_label: str
    y_label: str
    positions: tuple[str, ...]
    series: tuple[FigureSeries, ...]
    note: str = ""
    lowest: float = 0.0
    marks: tuple[Mark, ...] = ()
    named: bool = False
    legend: str = ""
    signed: bool = False
    highest: float = math.inf
    values: tuple[str, ...] = ()
    x_scale: ChosenScale | None = None
    y_scale: ChosenScale = "linear"
    models: tuple[str, ...] = ()
    level: float | None = None
    is_rounded: bool = False
    y_range: tuple[float, float] | None = None

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """The lowest and the highest value that the quantity can have; None without one."""
        return None if self.signed else self.lowest, self.highest if math.isfinite(self.highest) else None

    @property
    def beside(self) -> list[float]:
        """The values beside the measured ones: published and expected ones, and the level."""
        published = [value for series in self.series for value in series.published if value is not None]
        expected = [
            value for series in self.series for values in series.expected for value in values if value is not None
        ]
        return [*published, *expected, *([] if self.level is None else [self.level])]

    def axis(self, across: float) -> Axis:
        """Return the horizontal axis of a drawing of this width in inches.

        :raises InputError: if the values do not have the scale that the user chooses.
        """
        # Beside the points of one value, as much is left free on both sides as a point takes.
        room = (_APART_POINTS * (len(self.series) - 1) + 3 * _POINT) / _plot_points(across)
        scale = self.x_scale
        return axis_of("", self.x_label, self.positions, values=self.values, named=self.named, scale=scale, room=room)


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
    key = repr(figure).encode() + b"".join(Path(__file__).with_name(source).read_bytes() for source in _SOURCES)
    return save_drawing(folder, name, key, USUAL_SIZE, note, partial(draw_lines, figure))


def check_scales(figure: Figure) -> None:
    """Check the scales that the user chooses. :raises InputError: if there are values that have no place on them."""
    figure.axis(USUAL_SIZE[0])
    if figure.y_scale == "log":
        _positive(figure)
    if figure.y_range is not None:
        _check_inside(figure, figure.y_range)


def draw_lines(figure: Figure, drawing: MplFigure, axes: Axes) -> None:
    across = drawing.get_size_inches()[0]
    axis = figure.axis(across)
    places = axis.places
    numeric = axis.numbers is not None
    middle, apart = (len(figure.series) - 1) / 2, _series_distance(places, len(figure.series), across, numeric=numeric)
    for number, series in enumerate(figure.series):
        (colour, dashes), marker = style_of(number), MARKERS[number % len(MARKERS)]
        style = _SeriesStyle(colour, marker, dashes if numeric else "none", apart * (number - middle))
        _draw_measured(axes, places, figure, series, style)
        draw_on_lines(axes, series, places, colour, _shift_right(axes, style.right), joined=numeric)
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
    name_models(axes, figure, joined=numeric)
    draw_level(axes, figure)
    _leave_room(axes, places, (apart * middle + _POINT) / _plot_points(across))
    _scale_values(axes, figure)
    _draw_marks(drawing, axes, places, figure)
    write_title(axes, figure.title, pad=6 + _MARK_POINTS * len(figure.marks))
    axes.set_xlabel(axis.label)
    grid(axes)
    with_legend = len(figure.series) > 1 or bool(figure.models) or any(series.published for series in figure.series)
    name_positions(axes, places, figure.positions, figure.legend, with_legend=with_legend, some=numeric)


def _scale_values(axes: Axes, figure: Figure) -> None:
    """Set the ends of the vertical axis, and its scale."""
    if figure.y_scale == "linear":
        smallest = _smallest_value(figure)
        low, high = figure.y_range or (smallest, smallest + 1.1 * (_largest_value(figure) - smallest))
        axes.set_ylim(low, high)
        label_values(axes, figure.y_label)
        return
    low, high = _positive(figure)
    low, high = figure.y_range or (low / _LOG_ROOM, high * _LOG_ROOM)
    axes.set_yscale("log", nonpositive="clip")
    axes.set_ylim(low, high)
    if high < _MANY_TICKS_BELOW * low:
        label_plainly(axes.yaxis)
    else:
        label_powers_plainly(axes.yaxis, (1, 2, 5) if high < _FEW_TICKS_FROM * low else (1,))
    axes.yaxis.set_minor_formatter("")
    label_values(axes, f"{figure.y_label} (logarithmic)")


def _check_inside(figure: Figure, ends: tuple[float, float]) -> None:
    """Refuse an axis that hides a value. :raises InputError: for the first one beyond its ends."""
    low, high = ends
    if figure.y_scale == "log" and low <= 0:
        raise InputError(f"a logarithmic axis cannot begin at {low:g}", hint="use --y-scale linear")
    means = [value.mean for series in figure.series for value in series.measured if value is not None]
    for value in (*means, *figure.beside):
        if not low <= value <= high:
            hint = "choose a wider one: what a figure does not show, nobody sees"
            raise InputError(f"a value of {value:.4g} is outside of --y-range {low:g}:{high:g}", hint=hint)


def _positive(figure: Figure) -> tuple[float, float]:
    """Return the ends of a logarithmic axis. :raises InputError: if it has no place for a value."""
    measured = [value for series in figure.series for value in series.measured if value is not None]
    means = [value.mean for value in measured]
    means += figure.beside
    if means and min(means) <= 0:
        raise InputError(f"a logarithmic axis has no place for a value of {min(means):g}", hint="use --y-scale linear")
    # An interval that nearly reaches 0 would squash everything else.
    lows = (max(value.low, value.mean / _LOG_BELOW) for value in measured)
    return min([*means, *lows], default=0.1), _largest_value(figure)


def _plot_points(across: float) -> float:
    """Return the width in points that the plot of a drawing has at least; ``across`` is the drawing's in inches."""
    return _POINTS_PER_INCH * across * (_OF_WIDE if across >= _WIDE_INCHES else _OF_NARROW)


def _series_distance(places: Sequence[float], series: int, across: float, *, numeric: bool) -> float:
    """Return the distance of two series' points at a position: smaller where they would reach the next position."""
    gap = smallest_gap(places)
    if series < 2:
        return _APART_POINTS
    widest = min(_APART_POINTS, _SPREAD_POINTS / (series - 1)) if numeric else _APART_POINTS
    if gap in (0, math.inf):
        return widest
    pitch = gap / (max(places) - min(places)) * _plot_points(across)
    return min(widest, max(0.0, pitch - 2 * _POINT) / (series - 1))


def _leave_room(axes: Axes, places: Sequence[float], beside: float) -> None:
    """Let the axis begin and end beside the outermost positions, also if the first series has no value there.

    ``beside`` is the part of the plot that their points take to one side.
    """
    margin = max(_MARGIN, beside / (1 - 2 * beside))
    spare = margin * (max(places) - min(places)) or 1.0
    axes.set_xlim(min(places) - spare, max(places) + spare)


def _draw_marks(drawing: MplFigure, axes: Axes, places: Sequence[float], figure: Figure) -> None:
    """Draw a bar per mark above the plot, over its positions, with its text; a single position gets a short bar."""
    from matplotlib.transforms import ScaledTranslation

    shortest = (max(places) - min(places)) / _SHORTEST_BAR
    for level, mark in enumerate(reversed(figure.marks)):
        first, last = sorted(places[figure.positions.index(end)] for end in (mark.first, mark.last))
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


def _draw_measured(
    axes: Axes, places: Sequence[float], figure: Figure, series: FigureSeries, style: _SeriesStyle
) -> None:
    # A line joins neighbours on the axis, whatever the order of the sweep.
    ordered = sorted(zip(places, series.measured, strict=True), key=lambda pair: pair[0])
    known = [(x, value) for x, value in ordered if value is not None]
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
        transform=_shift_right(axes, style.right),
    )


def _shift_right(axes: Axes, right: float) -> Transform:
    """Return the transform of the data, shifted to the right by this number of points."""
    from matplotlib.transforms import ScaledTranslation

    figure = axes.get_figure()
    assert figure is not None, "axes of a figure"
    return axes.transData + ScaledTranslation(right / _POINTS_PER_INCH, 0, figure.dpi_scale_trans)


def _largest_value(figure: Figure) -> float:
    highs = [value.high for series in figure.series for value in series.measured if value is not None]
    return max([*(min(high, figure.highest) for high in highs), *figure.beside], default=1.0) or 1.0


def _smallest_value(figure: Figure) -> float:
    """Return where the vertical axis begins: at the lowest value, but only a signed one can be below the usual zero."""
    if not figure.signed:
        return figure.lowest
    lows = (interval.low for series in figure.series for interval in series.measured if interval)
    return min(figure.lowest, 1.1 * min([*lows, *figure.beside], default=0.0))
