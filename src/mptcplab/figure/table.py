# SPDX-License-Identifier: MIT
"""Tables that others made, as points of a figure: own quantities, expected values, measurements of other programs.

A table has a line per run, whose values are reduced to means here, or a line per point with a mean and its interval, as
the files and frames of results have them. Its other columns are the settings of the points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mptcplab.errors import InputError
from mptcplab.figure.choice import FigureChoice
from mptcplab.figure.table_cells import has_numbers, numbers, texts
from mptcplab.figure.table_columns import (
    COUNT,
    HALF,
    HIGH,
    LOW,
    OF_RUNS,
    ONLY_COUNT,
    ONLY_HALF,
    Columns,
    columns_of,
)
from mptcplab.lazy import pl
from mptcplab.stats import Interval, mean_interval

#: An interval is around its mean if the distances of its ends differ by less than this part.
_ROUNDING = 0.02

_Numbers = Sequence[float | None]


@dataclass(frozen=True)
class TablePoint:
    """The lines with the same settings: their values, the interval of the mean, and what models expect."""

    settings: Mapping[str, str]
    values: tuple[float, ...]
    interval: Interval | None
    expected: tuple[float | None, ...]


@dataclass(frozen=True)
class PointTable:
    """The points of a table, and its ``columns``. A table with a line per point has ``means``."""

    columns: Columns
    points: tuple[TablePoint, ...]
    means: bool


@dataclass(frozen=True)
class _Intervals:
    """The half width and the number of values of each line's mean, None where they are not known."""

    half_widths: _Numbers
    counts: _Numbers

    def is_mean(self, line: int) -> bool:
        """Return whether a line is a mean of several runs; otherwise the lines of a point have a mean together."""
        return self.half_widths[line] is not None or (self.counts[line] or 0) > 1

    def interval(self, line: int, mean: float) -> Interval:
        return Interval(mean, self.half_widths[line], int(self.counts[line] or 0))


def table_of(frame: pl.DataFrame, choice: FigureChoice) -> PointTable:
    """Return the points of a table whose values, settings and expected values ``choice`` names.

    :raises InputError: if columns are missing or their cells are invalid.
    """
    if frame.is_empty():
        raise InputError("the table has no lines", hint="write a line for each run, or for each point")
    frame, columns = columns_of(frame, choice)
    lines: dict[tuple[str, ...], list[int]] = {}
    for at, settings in enumerate(_settings(frame, columns.keys)):
        lines.setdefault(settings, []).append(at)
    values, intervals = numbers(frame, columns.value), _intervals(frame, columns.value)
    expected = [numbers(frame, name) for name in columns.models]
    points = [
        _point(dict(zip(columns.keys, settings, strict=True)), own_numbers, values, intervals, expected)
        for settings, own_numbers in lines.items()
    ]
    if intervals is None:
        _check_runs(frame, columns, len(points))
    return PointTable(columns, tuple(points), intervals is not None)


def _settings(frame: pl.DataFrame, keys: Sequence[str]) -> list[tuple[str, ...]]:
    if not keys:
        return [()] * frame.height
    return list(zip(*(texts(frame[key]) for key in keys), strict=True))


def _check_runs(frame: pl.DataFrame, columns: Columns, points: int) -> None:
    """Refuse runs of which none have the same settings, because results are taken for settings.

    :raises InputError: if some have the same without columns of numbers that follow the seed or the run.
    """
    of_runs = [frame.columns.index(name) for name in OF_RUNS if name in frame.columns]
    if not of_runs or points < frame.height:
        return
    later = frame.columns[min(of_runs) :]
    others = [key for key in columns.keys if key in later and has_numbers(frame[key])]
    if others and len(set(_settings(frame, [key for key in columns.keys if key not in others]))) < frame.height:
        differ = f"{', '.join(others)} {'differs' if len(others) == 1 else 'differ'}"
        raise InputError(
            f"no two runs of the table have the same settings, since {differ}",
            hint=f"if that is measured, add --ignore '{','.join(others)}'",
        )


def _intervals(frame: pl.DataFrame, value: str) -> _Intervals | None:
    """Return the intervals of all lines; None in a table with a line per run.

    :raises InputError: for a half width below 0, and for ends that are not around the mean.
    """
    half, count = f"{value}{HALF}", f"{value}{COUNT}"
    if half not in frame.columns:
        half, count = ONLY_HALF, ONLY_COUNT
    if half in frame.columns:
        widths = numbers(frame, half)
        below = next((width for width in widths if width is not None and width < 0), None)
        if below is not None:
            raise InputError(f"the half width of an interval is {below:g}", hint="no half width is below 0")
    elif {f"{value}{LOW}", f"{value}{HIGH}"} <= set(frame.columns):
        parts = (numbers(frame, name) for name in (f"{value}{LOW}", value, f"{value}{HIGH}"))
        widths = [_half_width(*ends) for ends in zip(*parts, strict=True)]
        count = f"{value}{COUNT}"
    else:
        return None
    unknown: _Numbers = [None] * frame.height
    return _Intervals(widths, numbers(frame, count) if count in frame.columns else unknown)


def _half_width(low: float | None, mean: float | None, high: float | None) -> float | None:
    if low is None or mean is None or high is None:
        return None
    if low > high or abs(high + low - 2 * mean) > _ROUNDING * (high - low) + 1e-9 * abs(mean):
        raise InputError(
            f"the interval from {low:g} to {high:g} is not around its mean, {mean:g}",
            hint=f"draw the mean with '{ONLY_HALF}': a figure has intervals that are as wide on both sides",
        )
    return (high - low) / 2


def _point(
    settings: Mapping[str, str],
    lines: Sequence[int],
    values: _Numbers,
    intervals: _Intervals | None,
    expected: Sequence[_Numbers],
) -> TablePoint:
    own_values = {line: value for line in lines if (value := values[line]) is not None}
    at = ", ".join(f"{key} = {value}" for key, value in settings.items())
    is_mean = intervals is not None and any(intervals.is_mean(line) for line in own_values)
    if is_mean and len(own_values) > 1:
        of = f": {at}" if at else ""
        raise InputError(
            f"two lines of the table are of the same point, and one of them is a mean{of}",
            hint="remove one, or let a column distinguish them; lines of runs have no half width and no n",
        )
    models = tuple(_expected_value(column, lines, at) for column in expected)
    interval = None
    if is_mean and intervals is not None:
        interval = intervals.interval(*next(iter(own_values.items())))
    elif own_values:
        interval = mean_interval(list(own_values.values()))
    return TablePoint(settings, tuple(own_values.values()), interval, models)


def _expected_value(column: _Numbers, lines: Sequence[int], at: str) -> float | None:
    """Return what a model expects of a point. :raises InputError: if that differs from line to line."""
    different = list(dict.fromkeys(value for line in lines if (value := column[line]) is not None))
    if len(different) > 1:
        of = f", of {at}" if at else ""
        raise InputError(
            f"the expected values of one point differ: {different[0]:.10g} and {different[1]:.10g}{of}",
            hint="all lines with the same settings have one expected value",
        )
    return different[0] if different else None
