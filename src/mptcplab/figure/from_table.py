# SPDX-License-Identifier: MIT
"""Figures of a table that somebody else made, with the options and the looks of those of results."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from mptcplab.errors import InputError
from mptcplab.figure.along import MAX_CURVES, line_keys, together_notes
from mptcplab.figure.axis import are_numbers
from mptcplab.figure.bars import draw_bars
from mptcplab.figure.choice import Choice, Kind, check_of_table, check_options
from mptcplab.figure.distribution import Distribution, Sample, draw_distribution
from mptcplab.figure.drawing import Drawn, level_note, size_of_bars, size_of_plot
from mptcplab.figure.lines import Figure, Series, check_scales, draw_lines
from mptcplab.figure.sweep import label_of
from mptcplab.figure.table import Table, TablePoint, metric_of_column, table_of
from mptcplab.metrics.named import find_key, swept_key
from mptcplab.metrics.points import short_names
from mptcplab.metrics.values import Unit

#: A swept key of a scenario, which figures call by its short name; any other name may contain a point.
_SWEPT = re.compile(r"[\w*-]+(\.[\w*-]+)+")


@dataclass(frozen=True)
class _Words:
    """The user's words: for columns, by their full names, and for values of settings."""

    columns: Mapping[str, str]
    values: Mapping[str, str]

    def value(self, value: str) -> str:
        return self.values.get(value, value)


def drawn_table(frame: pl.DataFrame, choice: Choice) -> Drawn:
    """Return the figure of a table: one line per run or per point, columns of settings, and one with values.

    ``choice.metric`` is the column with the values, by default the only one of numbers, and ``choice.expected`` are
    columns with what models expect.
    :raises InputError: if the table has no such columns or cells, or too much for one figure.
    """
    check_of_table(choice)
    table = table_of(frame, choice)
    kept, only = _kept(table, choice)
    found = _words(table, choice)
    along, by = _axes(table, kept, choice)
    kind = choice.kind or _usual_kind(kept, along)
    check_options(choice, kind)
    draw = _distribution if kind == "cdf" else _over_keys
    made = draw(replace(table, points=tuple(kept)), choice, along, by, found)
    note = "\n".join(filter(None, [_only_note(only, found), made.note]))
    return replace(made, kind=kind, note=note, paper=choice.paper, has_note=choice.note)


def _kept(table: Table, choice: Choice) -> tuple[list[TablePoint], dict[str, list[str]]]:
    """Return the points with the chosen values, and these by key. :raises InputError: if there are none."""
    wanted: dict[str, list[str]] = {}
    for name, value in choice.points:
        key = swept_key(name, table.keys)
        there = list(dict.fromkeys(point.settings[key] for point in table.points))
        if value not in there:
            raise InputError(f"no line of the table has {key} = {value}", hint=f"use one of {', '.join(there)}")
        wanted.setdefault(key, []).append(value)
    kept = [one for one in table.points if all(one.settings[key] in some for key, some in wanted.items())]
    if not kept:
        raise InputError("no line of the table has all of these values", hint="leave out a --points")
    return kept, wanted


def _words(table: Table, choice: Choice) -> _Words:
    """Return the user's words. :raises InputError: for those of nothing in the table."""
    values = dict.fromkeys(value for point in table.points for value in point.settings.values())
    columns, of_values = {}, {}
    for name, text in choice.labels:
        key = find_key(name, [*table.keys, *(one for one in (table.value, *choice.expected) if one not in table.keys)])
        if key is not None:
            columns[key] = text
        elif name in values:
            of_values[name] = text
        else:
            there = ", ".join([*table.keys, table.value, *choice.expected, *values])
            raise InputError(f"'{name}' is no column or value of the table", hint=f"use one of {there}")
    if len({of_values.get(value, value) for value in values}) < len(values):
        raise InputError("two values have the same words", hint="give each --label words of its own")
    swept = [key for key in table.keys if _SWEPT.fullmatch(key)]
    return _Words({**{key: key for key in table.keys}, **short_names(swept), **columns}, of_values)


def _axes(table: Table, points: Sequence[TablePoint], choice: Choice) -> tuple[str, list[str]]:
    """Return the key along the axis, by default the first, and those whose values name the lines.

    :raises InputError: if two points have the same place.
    """
    settings = [point.settings for point in points]
    along = swept_key(choice.x, table.keys) if choice.x is not None else next(iter(table.keys), "")
    by = [swept_key(name, table.keys) for name in choice.by] if choice.by else line_keys(settings, along)
    if choice.kind == "cdf":
        return along, by if choice.by else [key for key in table.keys if len({one[key] for one in settings}) > 1]
    if along in by:
        raise InputError(f"{along} is both --x and --by", hint="remove it from one of them")
    places: dict[tuple[str, ...], Mapping[str, str]] = {}
    for one in settings:
        other = places.setdefault(tuple(one[key] for key in (along, *by) if key), one)
        differ = ", ".join(key for key in table.keys if one[key] != other[key])
        if differ:
            hint = f"add {differ} to --by, choose one value with --points, or leave the column out of the table"
            raise InputError(
                f"lines of the table have the same place in the figure: they differ in {differ}", hint=hint
            )
    return along, by


def _usual_kind(points: Sequence[TablePoint], along: str) -> Kind:
    values = list(dict.fromkeys(point.settings[along] for point in points)) if along else []
    return "lines" if values and are_numbers(along, values) else "bars"


def _over_keys(table: Table, choice: Choice, along: str, by: Sequence[str], found: _Words) -> Drawn:
    figure = _figure(table, choice, along, by, found)
    _check_count(len(figure.series), table, by)
    check_scales(figure)
    is_lines = (choice.kind or _usual_kind(table.points, along)) == "lines"
    draw = draw_lines if is_lines else draw_bars
    together = together_notes(_settings(table, along, by), along, by, found.columns)
    notes = (*_spread_note(table), *level_note(choice.level), *together)
    shown = found.columns.get(table.value, table.value)
    return Drawn(
        "lines" if is_lines else "bars",
        size_of_plot() if is_lines else size_of_bars(figure),
        lambda drawing: draw(figure, drawing, drawing.subplots()),
        f"{shown} by {found.columns[along]}" if along else shown,
        "\n".join(notes),
    )


def _settings(table: Table, along: str, by: Sequence[str]) -> list[Mapping[str, str]]:
    """Return the settings of all points, without other columns of numbers: these are results that are not drawn."""
    every = [point.settings for point in table.points]
    kept = [
        key for key in table.keys if key in (along, *by) or not are_numbers(key, [one[key] or "0" for one in every])
    ]
    return [{key: settings[key] for key in kept} for settings in every]


def _figure(table: Table, choice: Choice, along: str, by: Sequence[str], found: _Words) -> Figure:
    """Return the contents of a figure with a series for each combination of the keys ``by``."""
    positions = list(dict.fromkeys(point.settings[along] if along else "" for point in table.points))
    lines: dict[str, dict[str, TablePoint]] = {}
    for point in table.points:
        lines.setdefault(_name(point, by, found), {})[point.settings[along] if along else ""] = point
    metric = metric_of_column(table.value)
    noun = metric.noun if metric else found.columns.get(table.value, table.value)
    means = [point.interval.mean for point in table.points if point.interval is not None]
    return Figure(
        choice.title or "",
        found.columns.get(along, ""),
        _label(table, found),
        tuple(map(found.value, positions)),
        tuple(_series(name or noun, line, positions, len(choice.expected)) for name, line in lines.items()),
        lowest=metric.lowest if metric else 0.0,
        highest=metric.highest if metric else math.inf,
        signed=min(means, default=0.0) < 0,
        legend=", ".join(found.columns[key] for key in by if found.columns[key]),
        values=tuple(positions),
        x_scale=choice.x_scale,
        y_scale=choice.y_scale or "linear",
        y_range=choice.y_range,
        models=tuple(found.columns.get(name, name) for name in choice.expected),
        level=choice.level,
        is_rounded=table.means,
    )


def _series(name: str, line: Mapping[str, TablePoint], positions: Sequence[str], models: int) -> Series:
    there = [line.get(at) for at in positions]
    expected = (tuple(point.expected[model] if point else None for point in there) for model in range(models))
    return Series(name, tuple(point.interval if point else None for point in there), expected=tuple(expected))


def _distribution(table: Table, choice: Choice, _: str, by: Sequence[str], found: _Words) -> Drawn:
    """Draw the values of the lines. :raises InputError: for a table of means."""
    if table.means:
        raise InputError("the table has means, and a distribution is of single values", hint="use --kind lines or bars")
    curves: dict[str, list[float]] = {}
    for point in table.points:
        curves.setdefault(_name(point, by, found), []).extend(point.values)
    _check_count(len(curves), table, by)
    samples = tuple(Sample(name or table.value, tuple(values)) for name, values in curves.items() if values)
    if not samples:
        raise InputError(f"the column '{table.value}' has no values to draw", hint="name another with --metric")
    legend = ", ".join(found.columns[key] for key in by if found.columns[key])
    figure = Distribution(choice.title or "", _label(table, found), samples, "values", legend, choice.x_scale)
    figure.check_scale()
    shown = f"distribution of {found.columns.get(table.value, table.value)}"
    return Drawn(
        "cdf",
        size_of_plot(),
        lambda drawing: draw_distribution(figure, drawing.subplots()),
        shown,
        "\n".join(figure.key),
    )


def _name(point: TablePoint, by: Sequence[str], found: _Words) -> str:
    return ", ".join(found.value(point.settings[key]) for key in by if point.settings[key])


def _label(table: Table, found: _Words) -> str:
    """Return the label of the axis with the values: the user's words, those of our metrics, or the column's name."""
    metric = metric_of_column(table.value)
    if table.value in found.columns or metric is None:
        return found.columns.get(table.value, table.value)
    return label_of(metric, Unit(metric.unit))


def _check_count(count: int, table: Table, by: Sequence[str]) -> None:
    if count > MAX_CURVES:
        hint = f"choose fewer with --points, such as --points '{by[0]}={table.points[0].settings[by[0]]}'"
        raise InputError(f"{count} curves are more than readers can distinguish", hint=hint)


def _only_note(wanted: Mapping[str, Sequence[str]], found: _Words) -> str:
    parts = (f"{found.columns[key]} {' or '.join(map(found.value, values))}" for key, values in wanted.items())
    text = ", ".join(parts)
    return f"only {text}" if text else ""


def _spread_note(table: Table) -> Iterator[str]:
    """Yield what the whiskers mean; nothing if there are none."""
    there = [point.interval for point in table.points if point.interval is not None]
    if not any(one.half_width is not None for one in there):
        return
    counts = sorted({one.n for one in there if one.n})
    n = f", n = {counts[0]}" + (f" to {counts[-1]}" if len(counts) > 1 else "") if counts else ""
    yield f"means; whiskers: 95 % confidence interval{n}"
