# SPDX-License-Identifier: MIT
"""Tables that others made: CSV files, their columns and cells, and their points for a figure."""

from __future__ import annotations

import csv
import difflib
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import InputError, reason
from mptcplab.figure.choice import FigureChoice
from mptcplab.lazy import pl
from mptcplab.metrics.column import Metric
from mptcplab.metrics.named import find_key, named_metrics
from mptcplab.metrics.registry import IN_EVERY_ROW, METRICS, headline_metric
from mptcplab.scenario.trace import OTHER_MARKS
from mptcplab.stats import Interval, mean_interval

# The cells of a table's column, as text or as numbers.

#: Numbers beyond this overflow when they are added or drawn.
_LARGEST = 1e100
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")


def texts(column: pl.Series) -> list[str]:
    """Return all cells as text, empty for null; numbers have all of their digits."""
    return ["" if cell is None else f"{cell:.15g}" if isinstance(cell, float) else str(cell) for cell in column]


def number(text: str) -> float | None:
    """Return the number in a cell; None if it has none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < _LARGEST else None


def has_numbers(column: pl.Series) -> bool:
    """Return whether all cells that are not empty are numbers."""
    return all(number(text) is not None for text in texts(column) if text)


def numbers(frame: pl.DataFrame, name: str) -> list[float | None]:
    """Return the cells of a column; None for empty cells, and for numbers that are not finite.

    :raises InputError: for a text that is not a finite number.
    """
    if frame[name].dtype.is_numeric():
        cells = frame[name].cast(pl.Float64).to_list()
        return [None if cell is None or not math.isfinite(cell) else cell for cell in cells]
    values = []
    for text in texts(frame[name]):
        value = number(text)
        if text.strip() and value is None:
            raise InputError(f"'{text}' in the column '{name}' is not a number", hint=_hint(text))
        values.append(value)
    return values


def _hint(text: str) -> str:
    if _THOUSANDS.fullmatch(text):
        return "write it without marks for thousands"
    if number(text.replace(",", ".")) is not None:
        return "write a point for the decimal comma"
    return "leave a cell empty that has no value"


# The columns of a user's table: the values, the settings, and the columns to ignore.

#: What names of columns end with that have the half width or the number of values, or both ends of the interval.
HALF, COUNT, LOW, HIGH = "_ci95_half_width", "_n", "_low", "_high"
_PARTS = (HALF, COUNT, LOW, HIGH)
#: In tables of one quantity: the columns with the half width and the number of values.
ONLY_HALF, ONLY_COUNT = "ci95_half_width", "n"
#: In tables with a line per point and metric: the columns with its name, with the mean, and with the unit.
_NAME, MEAN, _UNIT = "metric", "mean", "unit"
#: Columns that name a run.
OF_RUNS = ("run", "seed")
#: Columns of the lab's own tables with what was found in the runs. Settings have the full names of swept keys there.
_FOUND = ("runs", "mptcp", "congestion_control", "scheduler", "warnings", "hz")
_SHARE = "share "
#: Names that others give to the half width, or to something like it.
_LIKE_HALF = ("ci", "ci95", "ci_95", "half_width", "halfwidth", "stderr", "sem")


@dataclass(frozen=True)
class Columns:
    """The columns of a figure. ``shown`` is the name of what the column ``value`` has; ``keys`` are the settings."""

    shown: str
    value: str
    models: tuple[str, ...]
    keys: tuple[str, ...]


def columns_of(frame: pl.DataFrame, choice: FigureChoice) -> tuple[pl.DataFrame, Columns]:
    """Return the lines of a table that ``choice`` is about, and which of its columns are what.

    :raises InputError: if a column is missing or has two meanings.
    """
    if {_NAME, MEAN} <= set(frame.columns):
        frame = _select_metric(frame, choice.metric)
        shown, value = frame[_NAME][0], MEAN
    else:
        value = _column(frame, choice.metric) if choice.metric is not None else _choose_column(frame, choice)
        shown = value
    models = tuple(_column(frame, name) for name in choice.expected)
    twice = [name for name in (value, *models) if (value, *models).count(name) > 1]
    if twice:
        raise InputError(f"the column '{twice[0]}' is drawn twice", hint="name each once, by --metric or --expected")
    keys = _keys(frame, choice, (value, *models))
    return frame, Columns(str(shown), value, models, tuple(keys))


def metric_of_column(name: str) -> Metric | None:
    """Return the metric with the name of a column. Shares have columns of their own, one for each path."""
    metric = METRICS.get(name)
    return metric if metric is not None and not metric.by_path else None


def named_column(name: str, keys: Sequence[str]) -> str:
    """Return the setting with this name, or with this end of a swept key. :raises InputError: if there is none."""
    key = find_key(name, keys)
    if key is None:
        hint = f"use one of {', '.join(keys)}" if keys else "no column of it varies, but for results"
        raise InputError(f"the table has no setting '{name}'", hint=hint)
    return key


def _select_metric(frame: pl.DataFrame, name: str | None) -> pl.DataFrame:
    """Return the lines of one metric of a table with a line per point and metric."""
    there = list(dict.fromkeys(texts(frame[_NAME])))
    if name is None and len(there) > 1:
        raise InputError("the table has several metrics", hint=f"name one with --metric: {', '.join(there)}")
    names = [text for text in (name or there[0], *named_metrics(name or "")) if text in there]
    if not names:
        raise InputError(f"the table has no metric '{name}'", hint=f"use one of {', '.join(there)}")
    return frame.filter(pl.col(_NAME) == names[0])


def _column(frame: pl.DataFrame, name: str) -> str:
    if name in frame.columns:
        return name
    metrics = [metric for metric in named_metrics(name) if metric in frame.columns]
    if metrics:
        return metrics[0]
    near = difflib.get_close_matches(name, frame.columns, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"its columns are {', '.join(frame.columns)}"
    raise InputError(f"the table has no column '{name}'", hint=hint)


def _choose_column(frame: pl.DataFrame, choice: FigureChoice) -> str:
    """Return the only column that can have the values; in results the metric that workloads are about."""
    if _is_of_results(frame):
        return headline_metric(frame.columns).name
    named = {*choice.expected, *choice.by, choice.x, *choice.ignored, *OF_RUNS}
    if ONLY_HALF in frame.columns:
        named |= {ONLY_HALF, ONLY_COUNT}
    others = [name for name in frame.columns if name not in named and not name.endswith(_PARTS)]
    names = [name for name in others if has_numbers(frame[name])]
    if len(names) == 1:
        return names[0]
    which = ", ".join(names or frame.columns)
    raise InputError("the table does not say which column is drawn", hint=f"name one with --metric: {which}")


def _keys(frame: pl.DataFrame, choice: FigureChoice, used: Sequence[str]) -> list[str]:
    """Return the columns with settings: columns that the user names, and others that vary and are not results."""
    results = {
        *used,
        *OF_RUNS,
        *(f"{name}{part}" for name in used for part in _PARTS),
        *(_column(frame, name) for name in choice.ignored),
    }
    if ONLY_HALF in frame.columns:
        results |= {ONLY_HALF, ONLY_COUNT}
    if _is_of_results(frame) or MEAN in used:
        results |= {name for name in frame.columns if name.startswith(_SHARE) or _is_metric(name)}
        results |= {_NAME, _UNIT, *_FOUND}
    settings = [name for name in frame.columns if name not in results]
    # A short name means the setting, even if a result has the same name.
    named = {find_key(name, settings) or find_key(name, frame.columns) for name in _names(choice)} - {None}
    for name in named & {*used}:
        raise InputError(f"the column '{name}' has the values, and is not a setting", hint="name another one")
    _check_intervals(frame, [name for name in settings if name not in named])
    return [name for name in frame.columns if name in named or (name in settings and frame[name].n_unique() > 1)]


def _names(choice: FigureChoice) -> Iterator[str]:
    """Yield the names of settings that the user has typed."""
    if choice.x is not None:
        yield choice.x
    yield from choice.by
    yield from (key for key, _ in choice.points)


def _is_of_results(frame: pl.DataFrame) -> bool:
    """Return whether a table has all metrics of results: in others, a column called ``flows`` is a setting."""
    return {*IN_EVERY_ROW} <= {*frame.columns}


def _is_metric(name: str) -> bool:
    return any(metric_of_column(name.removesuffix(part)) is not None for part in ("", *_PARTS))


def _check_intervals(frame: pl.DataFrame, settings: Collection[str]) -> None:
    """Refuse a table whose intervals would not be drawn. :raises InputError: for a column that seems to have them."""
    for name in settings:
        if name.casefold() in _LIKE_HALF and ONLY_HALF not in frame.columns:
            raise InputError(
                f"the column '{name}' is not a setting, and its name is not a name of intervals",
                hint=f"call the half width of the 95 % interval '{ONLY_HALF}', or --ignore {name}",
            )


# Tables that others made, as points of a figure: own quantities, expected values, measurements of other programs.
#
# A table has a line per run, whose values are reduced to means here, or a line per point with a mean and its interval,
# as the files and frames of results have them. Its other columns are the settings of the points.

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
        _point(dict(zip(columns.keys, settings, strict=True)), line_numbers, values, intervals, expected)
        for settings, line_numbers in lines.items()
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
    known = {line: value for line in lines if (value := values[line]) is not None}
    at = ", ".join(f"{key} = {value}" for key, value in settings.items())
    is_mean = intervals is not None and any(intervals.is_mean(line) for line in known)
    if is_mean and len(known) > 1:
        of = f": {at}" if at else ""
        raise InputError(
            f"two lines of the table are of the same point, and one of them is a mean{of}",
            hint="remove one, or let a column distinguish them; lines of runs have no half width and no n",
        )
    models = tuple(_expected_value(column, lines, at) for column in expected)
    interval = None
    if is_mean and intervals is not None:
        interval = intervals.interval(*next(iter(known.items())))
    elif known:
        interval = mean_interval(list(known.values()))
    return TablePoint(settings, tuple(known.values()), interval, models)


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


# CSV files with tables that others made.


def read_table(file: Path) -> pl.DataFrame:
    """Return a CSV file with all cells as text, null for empty ones; lines with ``#`` above the head are comments.

    :raises InputError: if it cannot be read as such.
    """
    lines = _lines(file)
    if not lines:
        raise InputError(f"{file} is empty", hint="a table begins with a line with the names of its columns")
    (_, head), *rows = lines
    _check_head(file, head)
    if not rows:
        raise InputError(
            f"{file} has no lines below the names of its columns", hint="write a line for each run, or for each point"
        )
    for number, row in rows:
        if len(row) != len(head):
            raise InputError(
                f"line {number} of {file} has {len(row)} cells, and its head {len(head)}",
                hint='separate cells by commas, and put a cell with commas in quotes: "10 ms, 0.1 %"',
            )
    return pl.DataFrame(
        [[text.strip() or None for text in row] for _, row in rows],
        schema=dict.fromkeys(head, pl.String),
        orient="row",
    )


def _lines(file: Path) -> list[tuple[int, list[str]]]:
    """Return the lines with something in them, each with its number in the file."""
    if not file.is_file():
        raise InputError(f"there is no table {file}", hint="name a .csv file, or a results folder")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {reason(error)}", hint="name another file") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not text in UTF-8", hint="save the table as CSV in UTF-8") from error
    above = next((at for at, line in enumerate(text.splitlines()) if not line.startswith("#")), 0)
    reader = csv.reader(text.splitlines(keepends=True)[above:])
    try:
        return [(above + reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"{file} is not a table of comma-separated values: {error}", hint="write it as CSV") from error


def _check_head(file: Path, head: list[str]) -> None:
    head[:] = [name.strip() for name in head]
    for mark, words in OTHER_MARKS.items():
        if len(head) == 1 and mark in head[0]:
            raise InputError(f"the cells of {file} are separated by {words}", hint="write it with commas")
    for name in head:
        if not name:
            raise InputError(f"a column of {file} has no name", hint="give every column a name in the first line")
        if head.count(name) > 1:
            raise InputError(f"two columns of {file} have the name '{name}'", hint="give each a name of its own")
