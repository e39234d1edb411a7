# SPDX-License-Identifier: MIT
"""Bars with confidence intervals: a group for each value of one key, a bar in it for each combination of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mptcplab.figure.canvas import grid, name_positions, style_of
from mptcplab.figure.lines import CROSS, Figure, draw_level, draw_on_bars, name_models, whisker
from mptcplab.figure.paper import WIDTH, label_values, points, write_title
from mptcplab.metrics.values import Unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

#: The part of a group's place that its bars fill.
_FILLED = 0.8
#: Hatches of the bars after all colours were used.
_HATCHES = ("", "///", "...", "xxx")
#: The place of a bar that is missing; the figure's note says why.
NOT_AVAILABLE = "n/a"
#: Bars have room for level texts that have no more characters than this together; else they stand upright.
_LEVEL_CHARACTERS = 36
#: The size of these texts, their distance from the whisker in points, and the height of the plot, at least, in a figure
#: of this height in inches: they need room below its upper end.
_FONT_POINTS, _APART_POINTS, _PLOT_POINTS, _HEIGHT = 7.5, 3, 160, 4.0
#: The part of the figure's width that the plot has, at least, if its legend is not beside it.
_PLOT_PART = 0.75
#: The height of the plot as a part of the highest line's height.
_ABOVE = 1.05
#: The width of a character as a part of the font's size.
_CHARACTER = 0.64


@dataclass(frozen=True)
class _BarText:
    """The words above a bar: the place, the text, and the distance in points above the usual height."""

    place: float
    height: float
    words: str
    above: float = 0.0
    is_missing: bool = False


def draw_bars(figure: Figure, _: MplFigure, axes: Axes) -> None:
    """Draw ``figure`` with bars. A bar without an interval has no whisker.

    Each bar has its value above it, since a high bar leaves the others too small to be read from the axis. A
    missing bar has ``n/a``, or the words about it.
    """
    texts = [text for number in range(len(figure.series)) for text in _draw_series(axes, figure, number)]
    name_models(axes, figure, joined=False)
    draw_level(axes, figure)
    axes.tick_params(axis="x", length=0)
    # Where the last bars are missing, their words need the place all the same: text outside of the axes is not drawn.
    left, right = axes.get_xlim()
    axes.set_xlim(min(left, -_FILLED / 2), max(right, len(figure.positions) - 1 + _FILLED / 2))
    _scale_values(axes, figure)
    _write(axes, texts)
    write_title(axes, figure.title)
    axes.set_xlabel(figure.x_label)
    label_values(axes, figure.y_label)
    grid(axes)
    places = [float(at) for at in range(len(figure.positions))]
    with_legend = len(figure.series) > 1 or bool(figure.models)
    name_positions(axes, places, figure.positions, figure.legend, with_legend=with_legend)


def _draw_series(axes: Axes, figure: Figure, number: int) -> Iterator[_BarText]:
    """Draw the bars of a series and what models expect of them, and yield the words above them."""
    width, series = _FILLED / len(figure.series), figure.series[number]
    places = [at - _FILLED / 2 + width * (number + 0.5) for at in range(len(figure.positions))]
    known = [(place, value) for place, value in zip(places, series.measured, strict=True) if value is not None]
    errors = [whisker(figure, value) for _, value in known]
    axes.bar(
        [place for place, _ in known],
        [value.mean - figure.lowest for _, value in known],
        width=0.94 * width,
        bottom=figure.lowest,
        yerr=list(zip(*errors, strict=True)) if any(up > 0 for _, up in errors) else None,
        label=series.name,
        color=style_of(number)[0],
        hatch=_HATCHES[number // 6 % len(_HATCHES)],
        edgecolor="white",
        linewidth=0.0,
        error_kw={"capsize": 3, "elinewidth": 1.1, "ecolor": "0.15"},
    )
    draw_on_bars(axes, series, places, 0.94 * width)
    for at, (place, value) in enumerate(zip(places, series.measured, strict=True)):
        told = series.word(at)
        if value is None:
            yield _BarText(place, figure.lowest, told or NOT_AVAILABLE, is_missing=True)
            continue
        words = _number(value.mean, figure) + (f" {told}" if told else "")
        expected = [item for values in series.expected if (item := values[at]) is not None]
        signs = [item for values in series.expected[1:] if (item := values[at]) is not None]
        height = max([figure.lowest, min(value.high, figure.highest), *expected])
        yield _BarText(place, height, words, CROSS / 2 if height in signs else 0.0)


def _scale_values(axes: Axes, figure: Figure) -> None:
    """Let the axis begin where bars do, unless something is below, and end above what has no bar."""
    shown = [value for series in figure.series for value in series.measured if value is not None]
    lows = [value.low if figure.signed else value.mean for value in shown]
    if min([*lows, *figure.beside], default=0.0) >= figure.lowest:
        axes.set_ylim(bottom=figure.lowest)
    if figure.beside:
        bottom, top = axes.get_ylim()
        axes.set_ylim(top=max(top, bottom + _ABOVE * (max(figure.beside) - bottom)))


def _number(value: float, figure: Figure) -> str:
    """Return the value with three significant digits; no zeros are added to a value that was rounded elsewhere."""
    return f"{value:.3g}" if figure.is_rounded and 1e-3 <= abs(value) < 1e3 else Unit("").text(value) if value else "0"


def _write(axes: Axes, texts: Sequence[_BarText]) -> None:
    """Write the values above the bars, level or upright, with room for the highest."""
    drawing = axes.get_figure(root=True)
    assert drawing is not None, "axes of a figure"
    across, high = drawing.get_size_inches()
    size = points(_FONT_POINTS)
    longest = max(len(text.words) for text in texts)
    level = longest * len(texts) <= _LEVEL_CHARACTERS * min(1.0, across / WIDTH) * _FONT_POINTS / size
    if not level and _PLOT_PART * 72 * across * _FILLED / len(texts) < size:
        texts = [text for text in texts if text.is_missing]
    for text in texts:
        axes.annotate(
            text.words,
            (text.place, text.height),
            (0, _APART_POINTS + text.above),
            textcoords="offset points",
            ha="center",
            va="bottom",
            rotation=0 if level else 90,
            fontsize=size,
            color="0.25",
        )
    if not texts:
        return
    room = 2 * _APART_POINTS + size * (1 if level else _CHARACTER * longest)
    bottom, top = axes.get_ylim()
    highest = max(text.height for text in texts)
    plot = _PLOT_POINTS * min(1.0, high / _HEIGHT)
    axes.set_ylim(top=max(top, bottom + (highest - bottom) / (1 - min(0.6, room / plot))))
