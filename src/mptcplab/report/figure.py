# SPDX-License-Identifier: MIT
"""One figure per table: our means with their intervals as lines, published points beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.stats import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEADING_NUMBER = re.compile(r"([0-9.]+)\s*(\S*)")
#: Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = ("o", "s", "D", "^", "v", "P")


@dataclass(frozen=True)
class Series:
    """One line: a value for each position of the horizontal axis, and published values where there are some."""

    name: str
    measured: tuple[Interval | None, ...]
    published: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class Figure:
    """What is drawn. ``positions`` are labels; they are spaced by their numbers when all have one of the same unit."""

    title: str
    x_label: str
    y_label: str
    positions: tuple[str, ...]
    series: tuple[Series, ...]
    note: str = ""
    _size: tuple[float, float] = field(default=(6.4, 4.0))


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write NAME.svg and NAME.png; equal figures give equal bytes."""
    import matplotlib as mpl  # imported late: it costs more than all the rest of the command

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "mptcplab", "svg.fonttype": "none", "font.size": 10}):
        drawing, axes = plt.subplots(figsize=figure._size, layout="constrained")
        _draw(figure, axes)
        if figure.note:
            drawing.supxlabel(figure.note, fontsize=7.5, color="0.35", x=0.01, ha="left")
        files = [folder / f"{name}.svg", folder / f"{name}.png"]
        drawing.savefig(files[0], metadata={"Date": None})
        drawing.savefig(files[1], dpi=160, metadata={"Software": None})
        plt.close(drawing)
    return files


def _draw(figure: Figure, axes: Axes) -> None:
    places = _places(figure.positions)
    has_published = any(value is not None for series in figure.series for value in series.published)
    for number, series in enumerate(figure.series):
        colour, marker = COLOURS[number % len(COLOURS)], _MARKERS[number % len(_MARKERS)]
        _draw_measured(axes, places, series, colour, marker, " measured" if has_published else "")
        points = [(x, y) for x, y in zip(places, series.published, strict=False) if y is not None]
        if points:
            axes.scatter(
                [x for x, _ in points],
                [y for _, y in points],
                label=f"{series.name} published",
                marker=marker,
                s=64,
                facecolors="none",
                edgecolors=colour,
                linewidths=1.6,
                zorder=3,
            )
    axes.set_xticks(places, figure.positions)
    axes.set_ylim(0, 1.1 * _largest(figure))
    axes.set_title(figure.title, loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    axes.grid(axis="y", color="0.88", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _draw_measured(axes: Axes, places: Sequence[float], series: Series, colour: str, marker: str, suffix: str) -> None:
    points = [(x, value) for x, value in zip(places, series.measured, strict=True) if value is not None]
    if not points:
        return
    xs = [x for x, _ in points]
    means = [value.mean for _, value in points]
    errors = [value.half_width or 0.0 for _, value in points]
    axes.errorbar(
        xs,
        means,
        yerr=errors if any(errors) else None,
        color=colour,
        marker=marker,
        markersize=4,
        linewidth=1.4,
        capsize=3,
        label=f"{series.name}{suffix}",
    )


def _largest(figure: Figure) -> float:
    highs = [value.high for series in figure.series for value in series.measured if value is not None]
    published = [value for series in figure.series for value in series.published if value is not None]
    return max([*highs, *published], default=1.0) or 1.0


def _places(positions: Sequence[str]) -> list[float]:
    """Positions by number when they are evenly enough spread to be read, else one after the other."""
    matches = [_LEADING_NUMBER.match(position) for position in positions]
    units = {match[2] for match in matches if match}
    if len(positions) < 2 or None in matches or len(units) != 1:
        return [float(number) for number in range(len(positions))]
    numbers = [float(match[1]) for match in matches if match]
    gaps = [abs(right - left) for left, right in pairwise(numbers)]
    if min(gaps) * 14 < max(numbers) - min(numbers):  # labels would overlap
        return [float(number) for number in range(len(positions))]
    return numbers
