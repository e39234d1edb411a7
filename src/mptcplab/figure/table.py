# SPDX-License-Identifier: MIT
"""Tables that others made, as points of a figure: own quantities, expected values, measurements of other programs.

A table has a line per run, whose values are reduced to means here, or a line per point with a mean and its interval, as
the files and frames of results have them. Its other columns are the settings of the points.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from mptcplab.errors import InputError, reason
from mptcplab.figure.choice import Choice
from mptcplab.metrics.metric import Metric
from mptcplab.metrics.named import find_key, named_metrics
from mptcplab.metrics.registry import BASIC, METRICS, about
from mptcplab.stats import Interval, mean_interval

#: What names of columns end with that have the half width or the number of values, or both ends of the interval.
_HALF, _N, _LOW, _HIGH = "_ci95_half_width", "_n", "_low", "_high"
_PARTS = (_HALF, _N, _LOW, _HIGH)
#: In tables with a line per point and metric: the columns with its name, and with the mean.
_NAME, _MEAN, _UNIT = "metric", "mean", "unit"
#: In tables of one quantity: the columns with the half width and the number of values.
_ONLY_HALF, _ONLY_N = "ci95_half_width", "n"
#: Columns of frames and files of results that are no settings.
_NO_SETTINGS = ("run", "runs", "seed")
#: Columns of the lab's own tables with what was found in the runs. Settings have the full names of swept keys there.
_FOUND = ("mptcp", "congestion_control", "scheduler", "warnings", "hz")
_SHARE = "share "
#: Names that others give to the half width, or to something like it.
_LIKE_HALF = ("ci", "ci95", "ci_95", "half_width", "halfwidth", "stderr", "sem")


@dataclass(frozen=True)
class TablePoint:
    """The lines with the same settings: their values, the interval of the mean, and what models expect."""

    settings: Mapping[str, str]
    values: tuple[float, ...]
    interval: Interval | None
    expected: tuple[float | None, ...]


@dataclass(frozen=True)
class Table:
    """The points of a table, whose values are in the column ``value``; ``keys`` are the columns with settings.

    ``value`` is the name of a metric if that is in a column of its own. A table with lines per point has ``means``.
    """

    value: str
    keys: tuple[str, ...]
    points: tuple[TablePoint, ...]
    means: bool


def read_table(file: Path) -> pl.DataFrame:
    """Return a CSV file with all cells as text. :raises InputError: if it cannot be read as such."""
    if not file.is_file():
        raise InputError(f"there is no table {file}", hint="name a .csv file, or a results folder")
    try:
        frame = pl.read_csv(file, infer_schema=False, comment_prefix="#")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {reason(error)}") from error
    except pl.exceptions.NoDataError as error:
        raise InputError(f"{file} is empty", hint="a table begins with a line with the names of its columns") from error
    except pl.exceptions.PolarsError as error:
        hint = "its first line has the names of the columns, and every line has as many cells, separated by commas"
        raise InputError(f"{file} is no table of comma-separated values", hint=hint) from error
    if frame.width == 1 and any(separator in frame.columns[0] for separator in ";\t"):
        raise InputError(f"the cells of {file} are not separated by commas", hint="write it with commas")
    if frame.is_empty():
        raise InputError(f"{file} has no lines below the names of its columns")
    return frame


def table_of(frame: pl.DataFrame, choice: Choice) -> Table:
    """Return the points of a table whose values, settings and expected values ``choice`` names.

    :raises InputError: if there are no such columns, or their cells are not what they should be.
    """
    if frame.is_empty():
        raise InputError("the table has no lines")
    metric = choice.metric
    if {_NAME, _MEAN} <= set(frame.columns):
        frame, metric = _of_metric(frame, choice.metric), _MEAN
    value = _column(frame, metric) if metric is not None else _usual_column(frame, choice)
    models = [_column(frame, name) for name in choice.expected]
    keys = _keys(frame, choice, {value, *models})
    half = _half_widths(frame, value)
    found: dict[tuple[str, ...], list[int]] = {}
    for number, line in enumerate(zip(*(_texts(frame[key]) for key in keys), strict=True) if keys else _alone(frame)):
        found.setdefault(line, []).append(number)
    values, expected = _numbers(frame, value), [_numbers(frame, name) for name in models]
    points = [
        _point(dict(zip(keys, settings, strict=True)), lines, values, half, expected)
        for settings, lines in found.items()
    ]
    return Table(str(choice.metric or value), tuple(keys), tuple(points), half is not None)


def _alone(frame: pl.DataFrame) -> Iterator[tuple[str, ...]]:
    return (() for _ in range(frame.height))


def _of_metric(frame: pl.DataFrame, name: str | None) -> pl.DataFrame:
    """Return the lines of one metric of a table with a line per point and metric."""
    there = list(dict.fromkeys(_texts(frame[_NAME])))
    if name is None and len(there) > 1:
        raise InputError("the table has several metrics", hint=f"name one with --metric: {', '.join(there)}")
    if name is not None and name not in there:
        raise InputError(f"the table has no metric '{name}'", hint=f"use one of {', '.join(there)}")
    return frame.filter(pl.col(_NAME) == (name or there[0]))


def _column(frame: pl.DataFrame, name: str) -> str:
    if name in frame.columns:
        return name
    metrics = [metric for metric in named_metrics(name) if metric in frame.columns]
    if metrics:
        return metrics[0]
    near = difflib.get_close_matches(name, frame.columns, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"its columns are {', '.join(frame.columns)}"
    raise InputError(f"the table has no column '{name}'", hint=hint)


def _usual_column(frame: pl.DataFrame, choice: Choice) -> str:
    """Return the only column that can have the values; of our metrics the one that workloads are about."""
    if _is_of_results(frame):
        return about(frame.columns).name
    named = {*choice.expected, *choice.by, choice.x, *_NO_SETTINGS}
    if _ONLY_HALF in frame.columns:
        named |= {_ONLY_HALF, _ONLY_N}
    others = [name for name in frame.columns if name not in named and not name.endswith(_PARTS)]
    found = [name for name in others if all(_number(text) is not None for text in _texts(frame[name]) if text)]
    if len(found) == 1:
        return found[0]
    which = ", ".join(found or frame.columns)
    raise InputError("the table does not say which column is drawn", hint=f"name one with --metric: {which}")


def _keys(frame: pl.DataFrame, choice: Choice, used: Collection[str]) -> list[str]:
    """Return the columns with settings: those that the user names, and others that vary and are no results."""
    results = {*used, *_NO_SETTINGS, *(f"{name}{part}" for name in used for part in _PARTS)}
    if _is_of_results(frame):
        results |= {name for name in frame.columns if name.startswith(_SHARE) or _is_metric(name)} | {*_FOUND}
    if _ONLY_HALF in frame.columns:
        results |= {_ONLY_HALF, _ONLY_N}
    if _MEAN in used:
        results |= {_NAME, _UNIT, *_FOUND}
    settings = [name for name in frame.columns if name not in results]
    named = set()
    for name in (*([choice.x] if choice.x else []), *choice.by, *(key for key, _ in choice.points)):
        # A short name is that of a setting, even if what was found has the same.
        key = find_key(name, settings) or find_key(name, frame.columns)
        named |= {key} if key is not None else set()
    _check_intervals(frame, settings, named)
    return [name for name in frame.columns if name in named or (name not in results and frame[name].n_unique() > 1)]


def metric_of_column(name: str) -> Metric | None:
    """Return the metric with the name of a column. Shares have columns of their own, one for each path."""
    found = METRICS.get(name)
    return found if found is not None and not found.by_path else None


def _check_intervals(frame: pl.DataFrame, settings: Sequence[str], named: Collection[str]) -> None:
    """Refuse a table whose intervals would not be drawn. :raises InputError: for a column that seems to have them."""
    for name in settings:
        if name.casefold() in _LIKE_HALF and name not in named and _ONLY_HALF not in frame.columns:
            raise InputError(
                f"the column '{name}' is no setting, and its name is not that of intervals",
                hint=f"call the half width of the 95 % interval '{_ONLY_HALF}', or leave the column out",
            )


def _is_of_results(frame: pl.DataFrame) -> bool:
    """Return whether a table has all metrics of results: in others, a column called ``flows`` is a setting."""
    return BASIC[0] in frame.columns


def _is_metric(name: str) -> bool:
    return any(metric_of_column(name.removesuffix(part)) is not None for part in ("", *_PARTS))


def _half_widths(frame: pl.DataFrame, value: str) -> list[tuple[float | None, int]] | None:
    """Return the half width of each line's interval, and its number of values; None in a table with a line per run."""
    half, count = f"{value}{_HALF}", f"{value}{_N}"
    if half not in frame.columns:
        half, count = _ONLY_HALF, _ONLY_N
    low, high = f"{value}{_LOW}", f"{value}{_HIGH}"
    if half in frame.columns:
        widths = _numbers(frame, half)
    elif {low, high} <= set(frame.columns):
        ends = zip(_numbers(frame, low), _numbers(frame, high), strict=True)
        widths = [None if math.nan in (one, other) else (other - one) / 2 for one, other in _known(ends)]
    else:
        return None
    counts = _numbers(frame, count) if count in frame.columns else [None] * frame.height
    return [(width, int(number or 0)) for width, number in zip(widths, counts, strict=True)]


def _known(ends: Iterator[tuple[float | None, float | None]]) -> Iterator[tuple[float, float]]:
    return ((math.nan if one is None else one, math.nan if other is None else other) for one, other in ends)


def _point(
    settings: Mapping[str, str],
    lines: Sequence[int],
    values: Sequence[float | None],
    half: Sequence[tuple[float | None, int]] | None,
    expected: Sequence[Sequence[float | None]],
) -> TablePoint:
    own = tuple(value for line in lines if (value := values[line]) is not None)
    at = ", ".join(f"{key} = {value}" for key, value in settings.items())
    if half is not None and len(own) > 1:
        raise InputError(f"two lines of the table are of the same point: {at}", hint="remove one of them")
    models = []
    for column in expected:
        different = list(dict.fromkeys(value for line in lines if (value := column[line]) is not None))
        if len(different) > 1:
            raise InputError(
                f"the expected values of one point differ: {different[0]:g} and {different[1]:g}, of {at}",
                hint="all lines with the same settings have one expected value",
            )
        models.append(different[0] if different else None)
    interval = mean_interval(own) if own else None
    if own and half is not None:
        width, count = half[lines[0]]
        interval = Interval(own[0], width, count)
    return TablePoint(settings, own, interval, tuple(models))


def _texts(column: pl.Series) -> list[str]:
    return ["" if value is None else f"{value:g}" if isinstance(value, float) else str(value) for value in column]


def _numbers(frame: pl.DataFrame, name: str) -> list[float | None]:
    """Return the cells of a column; None for empty ones. :raises InputError: for a cell that is no finite number."""
    if frame[name].dtype.is_numeric():
        cells = frame[name].cast(pl.Float64).to_list()
        return [None if cell is None or not math.isfinite(cell) else cell for cell in cells]
    found = []
    for number, text in enumerate(_texts(frame[name]), start=1):
        value = _number(text)
        if text.strip() and value is None:
            comma = _number(text.replace(",", ".")) is not None
            hint = "write a point for the decimal comma" if comma else "leave a cell empty that has no value"
            raise InputError(f"'{text}' in column '{name}', line {number} of the table, is no number", hint=hint)
        found.append(value)
    return found


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
