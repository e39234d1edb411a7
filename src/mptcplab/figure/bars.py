# SPDX-License-Identifier: MIT
"""Bars with confidence intervals: a group for each value of one key, a bar in it for each combination of others."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from mptcplab.figure.canvas import grid, style_of, tidy
from mptcplab.figure.lines import TITLE_WIDTH, Figure, label_positions
from mptcplab.stats import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

#: The part of a group's place that its bars fill.
_FILLED = 0.8
#: Hatches of the bars after all colours were used.
_HATCHES = ("", "///", "...", "xxx")
#: The place of a bar that is missing; the figure's note says why.
NOT_AVAILABLE = "n/a"


def draw_bars(figure: Figure, _: MplFigure, axes: Axes) -> None:
    """Draw ``figure`` with bars. A bar without an interval has no whisker.

    A bar of height zero has its value, and a missing one ``n/a``, since neither can be seen.
    """
    width = _FILLED / len(figure.series)
    for number, series in enumerate(figure.series):
        places = [at - _FILLED / 2 + width * (number + 0.5) for at in range(len(figure.positions))]
        known = [(place, value) for place, value in zip(places, series.measured, strict=True) if value is not None]
        errors = [_whisker(figure, value) for _, value in known]
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
        for place, value in zip(places, series.measured, strict=True):
            if value is None:
                _write_above(axes, place, figure.lowest, NOT_AVAILABLE, rotation=90)
            elif value.mean == figure.lowest == 0:
                _write_above(axes, place, value.high, "0")
    label_positions(axes, [float(at) for at in range(len(figure.positions))], figure.positions)
    axes.tick_params(axis="x", length=0)
    shown = [value for series in figure.series for value in series.measured if value is not None]
    if min((value.low if figure.signed else value.mean for value in shown), default=0.0) >= figure.lowest:
        axes.set_ylim(bottom=figure.lowest)
    axes.set_title("\n".join(textwrap.wrap(figure.title, TITLE_WIDTH)), loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    grid(axes)
    if len(figure.series) > 1:
        tidy(axes, figure.legend)


def _whisker(figure: Figure, value: Interval) -> tuple[float, float]:
    """Return how far the interval reaches down and up: not below what the quantity can be."""
    if value.half_width is None:
        return math.nan, math.nan
    if figure.signed or value.mean < figure.lowest:
        return value.half_width, value.half_width
    return min(value.half_width, value.mean - figure.lowest), value.half_width


def _write_above(axes: Axes, place: float, height: float, text: str, *, rotation: float = 0) -> None:
    axes.annotate(
        text,
        (place, height),
        (0, 3),
        textcoords="offset points",
        ha="center",
        va="bottom",
        rotation=rotation,
        fontsize=8,
        color="0.35",
    )
