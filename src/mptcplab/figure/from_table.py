# SPDX-License-Identifier: MIT
"""Figures of a user's table, with the options and the looks of figures of results."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mptcplab.errors import InputError
from mptcplab.figure.axis import NAMES, are_numbers
from mptcplab.figure.bars import draw_bars
from mptcplab.figure.choice import FigureChoice, Kind, check_of_table, check_options, values_hint
from mptcplab.figure.distribution import DistributionCurve, DistributionFigure, draw_distribution
from mptcplab.figure.drawing import FigureSpec, level_note, size_of_bars, size_of_plot
from mptcplab.figure.lines import Figure, FigureSeries, check_scales, draw_lines
from mptcplab.figure.sweep import MAX_CURVES, label_of, line_keys, together_notes
from mptcplab.figure.table import PointTable, TablePoint, metric_of_column, named_column, number, table_of
from mptcplab.lazy import pl
from mptcplab.metrics.named import find_key
from mptcplab.metrics.values import Unit, short_names

#: A swept key of a scenario, which figures call by its short name; any other name may contain a point.
_SWEPT = re.compile(r"[\w*-]+(\.[\w*-]+)+")
#: What stands for an empty cell of a setting.
_EMPTY = "(empty)"


@dataclass(frozen=True)
class _ColumnWords:
    """The words for columns, by their full names, of which the user has ``labelled`` some, and for values."""

    columns: Mapping[str, str]
    values: Mapping[str, str]
    labelled: frozenset[str]

    def column(self, name: str) -> str:
        """Return the words for a column in a legend."""
        words = self.columns.get(name, name)
        return f" {words}" if words.startswith("_") else words

    def value(self, value: str) -> str:
        return self.values.get(value, value)


def build_table_figure(frame: pl.DataFrame, choice: FigureChoice) -> FigureSpec:
    """Return the figure of a table: one line per run or per point, columns of settings, and one with values.

    ``choice.metric`` is the column with the values, by default the only one of numbers, and ``choice.expected`` are
    columns with what models expect.
    :raises InputError: if the table has no such columns or cells, or too much for one figure.
    """
    check_of_table(choice)
    every = table_of(frame, choice)
    table, only = _select_points(every, choice)
    words = _words(every, choice)
    along, by = _axes(table, choice)
    kind = choice.kind or _choose_kind(table.points, along)
    check_options(choice, kind)
    if not any(point.values or any(value is not None for value in point.expected) for point in table.points):
        raise InputError(f"there are no values of '{table.columns.shown}' to draw", hint="name another with --metric")
    made = (
        _distribution(table, choice, by, words)
        if kind == "cdf"
        else _draw_series(table, choice, kind, along, by, words)
    )
    without = f"without regard to {', '.join(choice.ignored)}" if choice.ignored else ""
    note = "\n".join(filter(None, [_restriction_note(only, words), without, made.note]))
    return replace(made, note=note, paper=choice.paper, has_note=choice.note)


def _select_points(table: PointTable, choice: FigureChoice) -> tuple[PointTable, dict[str, list[str]]]:
    """Return the table with the chosen points, and these by key. :raises InputError: if there are none."""
    wanted: dict[str, list[str]] = {}
    for name, value in choice.points:
        key = named_column(name, table.columns.keys)
        there = list(dict.fromkeys(point.settings[key] for point in table.points))
        if value not in there:
            raise InputError(f"no line of the table has {key} = {value}", hint=values_hint(key, value, there))
        wanted.setdefault(key, []).append(value)
    kept = [
        table_point
        for table_point in table.points
        if all(table_point.settings[key] in some for key, some in wanted.items())
    ]
    if not kept:
        raise InputError("no line of the table has all of these values", hint="leave out a --points")
    return replace(table, points=tuple(kept)), wanted


def _words(table: PointTable, choice: FigureChoice) -> _ColumnWords:
    """Return the user's words. :raises InputError: for words about nothing in the table, and for two equal ones."""
    values = {key: dict.fromkeys(point.settings[key] for point in table.points) for key in table.columns.keys}
    every = dict.fromkeys(value for present in values.values() for value in present)
    drawn = [word for word in (table.columns.shown, *table.columns.models) if word not in table.columns.keys]
    columns, of_values = {}, {}
    for name, text in choice.labels:
        key = find_key(name, [*table.columns.keys, *drawn])
        if key is not None:
            columns[key] = text
        elif name in every:
            of_values[name] = text
        else:
            there = ", ".join([*table.columns.keys, *drawn, *every])
            raise InputError(f"'{name}' is not a column or value of the table", hint=f"use one of {there}")
    for key, present in values.items():
        if len({of_values.get(value, value) for value in present}) < len(present):
            raise InputError(f"two values of {key} have the same words", hint="give each --label words of its own")
    swept = [key for key in table.columns.keys if _SWEPT.fullmatch(key)]
    names = {key: key for key in (*table.columns.keys, *drawn)}
    return _ColumnWords({**names, **short_names(swept), **columns}, of_values, frozenset(columns))


def _axes(table: PointTable, choice: FigureChoice) -> tuple[str, list[str]]:
    """Return the key along the axis, by default the first that varies, and those whose values name the lines.

    :raises InputError: if two points have the same place.
    """
    settings, keys = [point.settings for point in table.points], table.columns.keys
    varied = [key for key in keys if len({setting[key] for setting in settings}) > 1]
    along = named_column(choice.x, keys) if choice.x is not None else next(iter([*varied, *keys]), "")
    by = [named_column(name, keys) for name in choice.by] if choice.by else line_keys(settings, along)
    if choice.kind == "cdf":
        return along, by if choice.by else varied
    if along in by:
        raise InputError(f"{along} is both --x and --by", hint="remove it from one of them")
    places: dict[tuple[str, ...], Mapping[str, str]] = {}
    for setting in settings:
        other = places.setdefault(tuple(setting[key] for key in (along, *by) if key), setting)
        differ = [key for key in keys if setting[key] != other[key]]
        if differ:
            names = ", ".join(differ)
            raise InputError(
                f"lines of the table have one place in the figure: they differ in {names}",
                hint=f"add {names} to --by, choose one value with --points, or add --ignore if that is not a setting",
            )
    return along, by


def _choose_kind(points: Sequence[TablePoint], along: str) -> Kind:
    values = list(dict.fromkeys(point.settings[along] for point in points)) if along else []
    return "lines" if values and are_numbers(along, values) else "bars"


def _draw_series(
    table: PointTable, choice: FigureChoice, kind: Kind, along: str, by: Sequence[str], words: _ColumnWords
) -> FigureSpec:
    figure = _figure(table, choice, along, by, words)
    _check_count(len(figure.series), table, by)
    check_scales(figure)
    is_lines = kind == "lines"
    draw = draw_lines if is_lines else draw_bars
    together = together_notes(_settings(table, along, by), along, by, words.columns)
    notes = (*_spread_note(table), *level_note(choice), *together)
    shown = _noun(table, words)
    return FigureSpec(
        kind,
        size_of_plot() if is_lines else size_of_bars(figure),
        lambda drawing: draw(figure, drawing, drawing.subplots()),
        f"{shown} by {words.columns[along]}" if along else shown,
        "\n".join(notes),
    )


def _settings(table: PointTable, along: str, by: Sequence[str]) -> list[Mapping[str, str]]:
    """Return the settings of all points, without other columns of numbers: these are results that are not drawn."""
    every = [point.settings for point in table.points]
    kept = [
        key
        for key in table.columns.keys
        if key in (along, *by) or not are_numbers(key, [texts[key] or "0" for texts in every])
    ]
    return [{key: settings[key] for key in kept} for settings in every]


def _figure(table: PointTable, choice: FigureChoice, along: str, by: Sequence[str], words: _ColumnWords) -> Figure:
    """Return the contents of a figure with a series for each combination of the keys ``by``."""
    positions = tuple(dict.fromkeys(point.settings.get(along, "") for point in table.points))
    lines: dict[tuple[str, ...], dict[str, TablePoint]] = {}
    for point in table.points:
        name = tuple(point.settings[key] for key in by)
        lines.setdefault(name, {})[point.settings.get(along, "")] = point
    metric = metric_of_column(table.columns.shown)
    return Figure(
        choice.title or "",
        words.columns.get(along, ""),
        _label(table, words),
        tuple(words.value(at) or _EMPTY for at in positions) if along else positions,
        tuple(
            _series(_name(line, words) or _noun(table, words), points, positions, len(choice.expected))
            for line, points in lines.items()
        ),
        lowest=metric.display.lowest if metric else 0.0,
        highest=metric.highest if metric else math.inf,
        named=along in NAMES,
        signed=metric.signed if metric else _reaches_below_zero(table, choice),
        legend=", ".join(words.columns[key] for key in by if words.columns[key]),
        values=positions,
        x_scale=choice.x_scale,
        y_scale=choice.y_scale or "linear",
        y_range=choice.y_range,
        models=tuple(map(words.column, table.columns.models)),
        level=choice.level,
        is_rounded=table.means,
    )


def _reaches_below_zero(table: PointTable, choice: FigureChoice) -> bool:
    """Return whether anything is below zero: who knows what else the quantity can be."""
    lows = [point.interval.low for point in table.points if point.interval is not None]
    expected = [value for point in table.points for value in point.expected if value is not None]
    return min([*lows, *expected, choice.level or 0.0]) < 0


def _series(name: str, line: Mapping[str, TablePoint], positions: Sequence[str], models: int) -> FigureSeries:
    there = [line.get(at) for at in positions]
    expected = (tuple(point.expected[model] if point else None for point in there) for model in range(models))
    # matplotlib leaves a name that begins so out of legends.
    shown = f" {name}" if name.startswith("_") else name
    return FigureSeries(shown, tuple(point.interval if point else None for point in there), expected=tuple(expected))


def _distribution(table: PointTable, choice: FigureChoice, by: Sequence[str], words: _ColumnWords) -> FigureSpec:
    """Draw the values of the lines. :raises InputError: for a table of means."""
    if table.means:
        raise InputError("the table has means, and a distribution is of single values", hint="use --kind lines or bars")
    curves: dict[tuple[str, ...], list[float]] = {}
    for point in table.points:
        curves.setdefault(tuple(point.settings[key] for key in by), []).extend(point.values)
    _check_count(len(curves), table, by)
    noun = _noun(table, words)
    samples = tuple(
        DistributionCurve(_name(name, words) or noun, tuple(values)) for name, values in curves.items() if values
    )
    if not samples:
        raise InputError(f"there are no values of '{noun}' to draw", hint="name another with --metric")
    legend = ", ".join(words.columns[key] for key in by if words.columns[key])
    figure = DistributionFigure(choice.title or "", _label(table, words), samples, "values", legend, choice.x_scale)
    figure.check_scale()
    return FigureSpec(
        "cdf",
        size_of_plot(),
        lambda drawing: draw_distribution(figure, drawing.subplots()),
        f"distribution of {noun}",
        "\n".join(figure.key),
    )


def _name(values: Sequence[str], words: _ColumnWords) -> str:
    return ", ".join(words.value(value) or _EMPTY for value in values)


def _noun(table: PointTable, words: _ColumnWords) -> str:
    """Return what a figure says it shows: the user's words, our words for the metric, or the column's name."""
    shown = table.columns.shown
    metric = metric_of_column(shown)
    return metric.noun if metric is not None and shown not in words.labelled else words.columns.get(shown, shown)


def _label(table: PointTable, words: _ColumnWords) -> str:
    """Return the label of the axis with the values."""
    shown = table.columns.shown
    metric = metric_of_column(shown)
    if metric is None or shown in words.labelled:
        return words.columns.get(shown, shown)
    return label_of(metric, Unit(metric.unit))


def _check_count(count: int, table: PointTable, by: Sequence[str]) -> None:
    """Refuse more curves than readers can distinguish. :raises InputError: if there are too many."""
    if count <= MAX_CURVES:
        return
    values = {key: {point.settings[key] for point in table.points} for key in by}
    measured = [
        key for key, present in values.items() if len(present) > MAX_CURVES and None not in map(number, present)
    ]
    hint = f"choose fewer with --points, such as --points '{by[0]}={table.points[0].settings[by[0]]}'"
    if measured:
        hint = f"if {', '.join(measured)} is measured, and no setting, add --ignore '{','.join(measured)}'"
    raise InputError(f"{count} curves are more than readers can distinguish", hint=hint)


def _restriction_note(wanted: Mapping[str, Sequence[str]], words: _ColumnWords) -> str:
    parts = (
        f"{words.columns[key]} {' or '.join(dict.fromkeys(map(words.value, values)))}" for key, values in wanted.items()
    )
    text = ", ".join(parts)
    return f"only {text}" if text else ""


def _spread_note(table: PointTable) -> Iterator[str]:
    """Yield what the whiskers mean; nothing if there are none."""
    there = [point.interval for point in table.points if point.interval is not None]
    if not any(interval.half_width is not None for interval in there):
        return
    counts = sorted({interval.n for interval in there if interval.n and interval.half_width is not None})
    n = f", n = {counts[0]}" + (f" to {counts[-1]}" if len(counts) > 1 else "") if counts else ""
    yield f"means; whiskers: 95 % confidence interval{n}"
