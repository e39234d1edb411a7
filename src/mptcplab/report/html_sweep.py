# SPDX-License-Identifier: MIT
"""Sweep curves: every row by its position on the axes, for a figure whose horizontal axis the reader chooses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mptcplab.figure.axis import Axis, axis_of
from mptcplab.figure.lines import USUAL_SIZE, Figure
from mptcplab.figure.sweep import leading_keys, line_keys, points_of, points_per_line, together_notes
from mptcplab.metrics.column import Metric
from mptcplab.metrics.named import unit_of
from mptcplab.metrics.registry import IN_EVERY_ROW, METRICS, headline_metric, list_metric_names
from mptcplab.metrics.rows import ResultRow
from mptcplab.metrics.values import Unit, short_names, swept_values
from mptcplab.report.html import Drawing
from mptcplab.stats import Interval

_DIGITS = 6
_MAX_NAMED = 6


def axes_of(rows: Sequence[ResultRow]) -> tuple[Axis, ...]:
    """Return the axes of swept keys that have more than one value, in the order of the sweep."""
    labels = swept_values(rows)
    names = short_names(list(labels))
    return tuple(axis_of(key, names[key], values) for key, values in labels.items() if len(values) > 1)


def sweep_drawing(rows: Sequence[ResultRow], axes: Sequence[Axis]) -> Drawing:
    """Return the figure of all metrics along any axis, with a line per combination of the others.

    A key whose value follows from another key's is not an axis of its own.
    """
    workloads = list(dict.fromkeys(row.workload for row in rows))
    points, names = points_of(rows), short_names(list(swept_values(rows)))
    leading = leading_keys(points)
    axes = [axis for axis in axes if axis.key in leading]
    placed = [{axis.key: point[axis.key] for axis in axes} for point in points]
    along = _horizontal_axis(placed, axes)
    keys = [line_keys(placed, axis.key) for axis in axes]
    shown = _metrics(rows)
    units = {name: unit_of(METRICS[name], rows) for name in shown}
    measures = [(METRICS[name].noun, units[name].name) for name in shown]
    data = {
        "axes": [axis.to_json() for axis in axes],
        "along": along,
        # Of each horizontal axis: the others that tell its lines apart, and what changes together with it.
        "lines": [[at for at, axis in enumerate(axes) if axis.key in some] for some in keys],
        "together": [
            " ".join(f"{note}." for note in together_notes(points, axis.key, some, names))
            for axis, some in zip(axes, keys, strict=True)
        ],
        "workloads": workloads,
        "workload": _first_shown(rows, workloads, shown[0]),
        "about": [
            shown.index(_headline_metric(row for row in rows if row.workload == name).name) for name in workloads
        ],
        "measures": [
            {"name": METRICS[name].noun, "unit": unit.name, "limits": _limits(METRICS[name], unit)}
            for name, unit in units.items()
        ],
        "rows": [_row(row, axes, workloads, units) for row in rows],
    }
    choices = [("Horizontal axis", tuple(axis.name for axis in axes))] if len(axes) > 1 else []
    if len(workloads) > 1:
        choices.append(("Workload", (*workloads, "all")))
    choices.append(("Metric", tuple(", ".join(part for part in measure if part) for measure in measures)))
    caption = " ".join([spread_note(rows, axes), *missing_run_notes(rows, shown)])
    return Drawing("sweep", "Over the sweep", caption, data, ("sweep",), tuple(choices))


def _horizontal_axis(points: Sequence[Mapping[str, str]], axes: Sequence[Axis]) -> int:
    """Return the index of the axis that is horizontal first.

    A curve needs an axis of numbers, with several points. Among several of these, or none, the key whose lines have
    most points shows most.
    """
    counts = [points_per_line(points, axis.key) for axis in axes]
    worth = [
        (axis.numbers is not None and len(axis.labels) > 2 and count > 1, count, -len(axis.labels))
        for axis, count in zip(axes, counts, strict=True)
    ]
    return worth.index(max(worth))


def _metrics(rows: Sequence[ResultRow]) -> list[str]:
    """Return the metrics of a table; first the metric that the workloads are about, as in figures of the command."""
    shown = [*IN_EVERY_ROW, *list_metric_names(row.metrics for row in rows)]
    first = _headline_metric(rows)
    return list(dict.fromkeys([first.name, *shown])) if first.display.headline else shown


def _headline_metric(rows: Iterable[ResultRow]) -> Metric:
    return headline_metric(name for row in rows for name in row.metrics)


def _first_shown(rows: Sequence[ResultRow], workloads: Sequence[str], metric: str) -> int:
    """Return the index of the only workload that has the metric; the index after the last, for all, if several have."""
    having = [
        at for at, name in enumerate(workloads) if any(metric in row.metrics for row in rows if row.workload == name)
    ]
    return having[0] if len(having) == 1 else len(workloads)


def _limits(metric: Metric, unit: Unit) -> list[float | None]:
    """Return the lowest and the highest value that a metric can have; None without one."""
    low = None if metric.signed else metric.display.lowest * unit.factor
    return [low, metric.highest * unit.factor if math.isfinite(metric.highest) else None]


def _row(row: ResultRow, axes: Sequence[Axis], workloads: Sequence[str], units: Mapping[str, Unit]) -> list[Any]:
    place = [axis.labels.index(row.settings[axis.key]) for axis in axes]
    intervals = {name: row.metrics[name].scale(unit.factor) for name, unit in units.items() if name in row.metrics}
    values = [_pair(intervals.get(name)) for name in units]
    return [place, workloads.index(row.workload), values, row.n]


def _pair(interval: Interval | None) -> list[float | None]:
    """Return mean and half width of an interval; None without one, as for one run or several identical ones."""
    if interval is None:
        return [None, None]
    half = None if interval.is_identical else interval.half_width
    return [round(interval.mean, _DIGITS), round(half, _DIGITS) if half is not None else None]


def spread_note(rows: Sequence[ResultRow], axes: Sequence[Axis]) -> str:
    """Return the definition of the bars and bands; the reader chooses among ``axes``, and names have bars."""
    counts = sorted({row.n for row in rows})
    if counts == [1]:
        return "One run per point, so there are no intervals."
    n = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"
    with_points, with_bars = (any((axis.numbers is not None) is points for axis in axes) for points in (True, False))
    marks = " and ".join(name for name, there in (("points", with_points), ("bars", with_bars)) if there)
    spread = "whiskers and bands" if with_points else "whiskers"
    interval = f"{spread} are 95 % confidence intervals of the mean (Student's t, {n} seeds)"
    return f"{marks.capitalize()} are means; {interval}."


def missing_run_notes(rows: Sequence[ResultRow], shown: Sequence[str]) -> Iterator[str]:
    """Yield for each metric which rows lack runs, since the measured event did not occur in them."""
    for name in shown:
        lacking = [row for row in rows if name in row.never]
        if lacking:
            several = len({row.workload for row in rows}) > 1
            texts = (
                f"{', '.join([*row.settings.values(), *([row.workload] if several else [])])} "
                f"({len(row.never[name])} of {row.n} runs)"
                for row in lacking[:_MAX_NAMED]
            )
            more = f"; and {len(lacking) - _MAX_NAMED} more" if len(lacking) > _MAX_NAMED else ""
            metric = METRICS[name]
            noun = f"{metric.noun[:1].upper()}{metric.noun[1:]}"
            yield f"{noun}: {metric.display.never} within the run, so not in the means: {'; '.join(texts)}{more}."


def published_drawing(figure: Figure) -> Drawing:
    """Return the figure of published points beside measured lines."""
    data = {
        "axis": figure.axis(USUAL_SIZE[0]).to_json(),
        "y": figure.y_label,
        "limits": figure.limits,
        "series": [
            {
                "name": series.name,
                "measured": [_pair(value) for value in series.measured],
                "published": list(series.published),
            }
            for series in figure.series
        ],
    }
    has_published = any(value is not None for series in figure.series for value in series.published)
    parts = ["Hollow marks are published values."] if has_published else []
    parts.append(f"{figure.note[:1].upper()}{figure.note[1:]}.")
    for mark in figure.marks:
        rows = mark.first if mark.first == mark.last else f"{mark.first} to {mark.last}"
        parts.append(f"Claim of the study about {rows}: {mark.text} ({mark.verdict}).")
    title = "Published and measured" if has_published else figure.y_label[:1].upper() + figure.y_label[1:]
    return Drawing("lines", title, " ".join(parts), data, ("lines",))
