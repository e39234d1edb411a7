# SPDX-License-Identifier: MIT
"""What models expect, beside what was measured: a short line for the first model, crosses for others.

A model is a curve of its own on an axis of numbers. Its sign in the legend has no colour, as all series have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Transform

    from mptcplab.figure.lines import Figure, FigureSeries

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
