# SPDX-License-Identifier: MIT
"""The columns of a user's table: the values, the settings, and the columns to ignore."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from mptcplab.errors import InputError
from mptcplab.figure.choice import FigureChoice
from mptcplab.figure.table_cells import has_numbers, texts
from mptcplab.lazy import pl
from mptcplab.metrics.metric import Metric
from mptcplab.metrics.named import find_key, named_metrics
from mptcplab.metrics.registry import BASIC, METRICS, headline_metric

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
        *_ignored_columns(frame, choice),
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


def _ignored_columns(frame: pl.DataFrame, choice: FigureChoice) -> list[str]:
    return [_column(frame, name) for name in choice.ignored]


def _is_of_results(frame: pl.DataFrame) -> bool:
    """Return whether a table has all metrics of results: in others, a column called ``flows`` is a setting."""
    return {*BASIC} <= {*frame.columns}


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
