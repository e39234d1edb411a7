# SPDX-License-Identifier: MIT
"""Empirical distribution functions: which share of the values is at most so large, a curve for each point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mptcplab.errors import InputError
from mptcplab.figure.axis import ChosenScale
from mptcplab.figure.canvas import label_powers_plainly, style_of, tidy
from mptcplab.figure.paper import write_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A logarithmic axis is easier to read where the largest value exceeds the smallest by more than this factor.
_LOG_FROM = 20
#: The numbers of each power of ten that a logarithmic axis is labelled with.
_TICKS = (1, 2, 5)
#: The width of a curve in points, and how much wider it is for each later curve that would hide it.
_WIDTH, _WIDER = 1.4, 1.6
#: Curves coincide if their quantiles differ by less than this part of their value.
_COINCIDE = 0.02
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class DistributionCurve:
    """The values of one curve, and its name."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class DistributionFigure:
    """The contents of a figure of distributions: ``x_label`` names the values with their unit, ``noun`` what has them.

    ``legend`` says what the curves differ in, and ``x_scale`` what the user chooses.
    """

    title: str
    x_label: str
    samples: tuple[DistributionCurve, ...]
    noun: str = "values"
    legend: str = ""
    x_scale: ChosenScale | None = None

    @property
    def hiding(self) -> tuple[int, ...]:
        """For each curve, the number of later curves that would hide it."""
        return tuple(
            sum(_coincide(sample, later) for later in self.samples[number + 1 :])
            for number, sample in enumerate(self.samples)
        )

    @property
    def key(self) -> list[str]:
        """Lines that say what is not as it seems."""
        return ["a wider curve is behind a narrower curve that nearly coincides with it"] if any(self.hiding) else []

    @property
    def is_logarithmic(self) -> bool:
        """True if the axis of values is."""
        if self.x_scale is not None:
            return self.x_scale == "log"
        smallest, largest = self.ends
        return smallest > 0 and largest > _LOG_FROM * smallest

    def check_scale(self) -> None:
        """Check the scale that the user chooses. :raises InputError: if it has no place for a value."""
        smallest = self.ends[0]
        if self.x_scale == "log" and smallest <= 0:
            raise InputError(
                f"a logarithmic axis has no place for a value of {smallest:g}", hint="use --x-scale linear"
            )

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        every = [value for sample in self.samples for value in sample.values]
        return min(every), max(every)


def draw_distribution(figure: DistributionFigure, axes: Axes) -> None:
    """Draw a step function for each sample: at a value, the share of values that do not exceed it."""
    from matplotlib.patches import Rectangle  # late, as all of matplotlib

    for number, (sample, hiding) in enumerate(zip(figure.samples, figure.hiding, strict=True)):
        colour, dashes = style_of(number)
        label = f"{sample.name} ({len(sample.values)})" if sample.name else f"{len(sample.values)} values"
        curve = axes.ecdf(
            sample.values, label=label, color=colour, linestyle=dashes, linewidth=_WIDTH + _WIDER * hiding
        )
        if hiding:
            # Half of its width would be above 1.
            curve.set_clip_path(Rectangle((0, 0), 1, 1, transform=axes.get_yaxis_transform()))
    if figure.is_logarithmic:
        _set_logarithmic(axes)
    elif figure.ends[0] >= 0:
        axes.set_xlim(left=0)
    axes.set_ylim(0, 1.02)
    write_title(axes, figure.title)
    axes.set_xlabel(figure.x_label + (" (logarithmic)" if axes.get_xscale() == "log" else ""))
    axes.set_ylabel(f"share of {figure.noun}")
    axes.grid(color="0.88", linewidth=0.8)
    tidy(axes, figure.legend)


def _coincide(curve: DistributionCurve, other: DistributionCurve) -> bool:
    """Return whether the curve of ``other`` would hide ``curve``."""
    import numpy as np  # late, as all of matplotlib

    first, second = (np.quantile(sample.values, _QUANTILES) for sample in (curve, other))
    return bool(np.all(np.abs(first - second) <= _COINCIDE * np.abs(first)))


def _set_logarithmic(axes: Axes) -> None:
    """Give the axis of values a logarithmic scale, with plain numbers at 1, 2 and 5 of each power of ten."""
    from matplotlib.ticker import NullFormatter  # late, as all of matplotlib

    axes.set_xscale("log")
    label_powers_plainly(axes.xaxis, _TICKS)
    axes.xaxis.set_minor_formatter(NullFormatter())
