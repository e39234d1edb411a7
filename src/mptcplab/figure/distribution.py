# SPDX-License-Identifier: MIT
"""Empirical distribution functions: which share of the values is at most so large, a curve for each point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mptcplab.figure.canvas import plain_powers, style_of, tidy
from mptcplab.figure.paper import titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A logarithmic axis is easier to read where the largest value exceeds the smallest by more than this factor.
_LOG_FROM = 20
#: The numbers of each power of ten that a logarithmic axis is labelled with.
_TICKS = (1, 2, 5)
#: The width of a curve in points, and how much wider it is for each later one that would hide it.
_WIDTH, _WIDER = 1.4, 1.6
#: Curves coincide if their quantiles differ by less than this part of their value.
_COINCIDE = 0.02
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Sample:
    """The values of one curve, and its name."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Distribution:
    """The contents of a figure of distributions: ``x_label`` names the values with their unit, ``noun`` what has them.

    ``legend`` says what the curves differ in.
    """

    title: str
    x_label: str
    samples: tuple[Sample, ...]
    noun: str = "values"
    legend: str = ""


def draw_distribution(figure: Distribution, axes: Axes) -> None:
    """Draw a step function for each sample: at a value, the share of values that do not exceed it."""
    for number, sample in enumerate(figure.samples):
        colour, dashes = style_of(number)
        hidden = sum(_coincide(sample, later) for later in figure.samples[number + 1 :])
        label = f"{sample.name} ({len(sample.values)})" if sample.name else f"{len(sample.values)} values"
        axes.ecdf(sample.values, label=label, color=colour, linestyle=dashes, linewidth=_WIDTH + _WIDER * hidden)
    every = [value for sample in figure.samples for value in sample.values]
    if min(every) > 0 and max(every) > _LOG_FROM * min(every):
        _logarithmic(axes)
    elif min(every) >= 0:
        axes.set_xlim(left=0)
    axes.set_ylim(0, 1.02)
    titled(axes, figure.title)
    axes.set_xlabel(figure.x_label + (" (logarithmic)" if axes.get_xscale() == "log" else ""))
    axes.set_ylabel(f"share of {figure.noun}")
    axes.grid(color="0.88", linewidth=0.8)
    tidy(axes, figure.legend)


def _coincide(one: Sample, other: Sample) -> bool:
    """Return whether the curve of ``other`` would hide that of ``one``."""
    import numpy as np  # late, as all of matplotlib

    first, second = (np.quantile(sample.values, _QUANTILES) for sample in (one, other))
    return bool(np.all(np.abs(first - second) <= _COINCIDE * np.abs(first)))


def _logarithmic(axes: Axes) -> None:
    """Give the axis of values a logarithmic scale, with plain numbers at 1, 2 and 5 of each power of ten."""
    from matplotlib.ticker import NullFormatter  # late, as all of matplotlib

    axes.set_xscale("log")
    plain_powers(axes.xaxis, _TICKS)
    axes.xaxis.set_minor_formatter(NullFormatter())
