# SPDX-License-Identifier: MIT
"""The content of a figure of a results folder: the runs, the metric, and which swept key lies along the axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from mptcplab.errors import InputError
from mptcplab.figure.axis import are_numbers
from mptcplab.figure.bars import NOT_AVAILABLE, draw_bars
from mptcplab.figure.choice import FigureChoice, Kind, check_of_results, check_options, values_hint
from mptcplab.figure.distribution import DistributionCurve, DistributionFigure, draw_distribution
from mptcplab.figure.drawing import FigureSpec, level_note, size_of_bars, size_of_plot
from mptcplab.figure.lines import Figure, check_scales, draw_lines
from mptcplab.figure.over_time import draw_over_time
from mptcplab.figure.sweep import (
    PATH,
    Overview,
    axes_of,
    check_columns,
    check_curves,
    choose_axis,
    curve_keys,
    drop_path_choices,
    is_by_path,
    label_of,
    later_outage_note,
    memory_note,
    overview,
    paths_of,
    points_of,
    rows_by_path,
    select_workloads,
    series_keys,
    sweep_figure,
    together_notes,
)
from mptcplab.figure.time_chart import PANELS, OverTime, RunColumn, side_by_side
from mptcplab.figure.timelines import timelines
from mptcplab.figure.words import Words, event_marks, words
from mptcplab.metrics.column import Metric
from mptcplab.metrics.measure import items_of
from mptcplab.metrics.named import metric_named, needs_of, swept_key, unit_of
from mptcplab.metrics.registry import METRICS, headline_metric
from mptcplab.metrics.rows import ResultRow
from mptcplab.metrics.values import changed_keys_note, choose_unit, point_text, short_names, swept_values
from mptcplab.results import RecordedRun, Results

# The metric that a figure draws, by its name or by what the workloads are about.


def metric_of_rows(rows: Sequence[ResultRow], name: str | None, every: Sequence[ResultRow]) -> Metric:
    """Return the metric with a name as JSON or tables have it; without one, that which the workloads are about.

    ``rows`` are drawn, ``every`` has all rows.
    :raises InputError: if the metric does not exist or the rows lack it.
    """
    there = [metric for metric in METRICS if any(_has_metric(row, metric) for row in rows)]
    if name is None:
        return headline_metric(there)
    wanted = metric_named(name, there)
    if wanted.name in there:
        return wanted
    if any(wanted.name in row.never for row in rows):
        raise InputError(
            f"no run has a value of {wanted.name}: {wanted.display.never} within any run",
            hint=f"these results have {', '.join(there)}",
        )
    having = dict.fromkeys(row.workload for row in every if _has_metric(row, wanted.name) or wanted.name in row.never)
    lacking = dict.fromkeys(row.workload for row in rows)
    if not having:
        hint = f"{needs_of(wanted)}these results have {', '.join(there)}"
        raise InputError(f"no run has the metric {wanted.name}", hint=hint)
    if having.keys() & lacking.keys():
        message = f"no run of these points has the metric {wanted.name}"
        raise InputError(message, hint=f"others have it; these have {', '.join(there)}")
    raise InputError(
        f"no run of {', '.join(lacking)} has the metric {wanted.name}, which has no meaning for such a workload",
        hint=f"{', '.join(having)} has it; {', '.join(lacking)} has {', '.join(there)}",
    )


def _has_metric(row: ResultRow, metric: str) -> bool:
    return metric in row.metrics or (METRICS[metric].by_path and bool(row.share_values))


# What a figure of a results folder shows: the runs, the metric, and which swept key lies along the axis.
#
# Whatever the user leaves open follows from the results: a figure over time for a single point, lines over an axis of
# numbers, bars otherwise; and the metric that the workload is about.

_MAX_VALUES = 1500
#: The legend's word for workloads, which are not a swept key.
_WORKLOAD = "workload"


def build_figure(results: Results, choice: FigureChoice) -> FigureSpec:
    """Return the figure of ``results`` that ``choice`` describes.

    :raises InputError: if there is nothing of this kind in the results, or too much for one figure.
    """
    check_of_results(choice)
    by_path = is_by_path(choice.metric)
    texts = words(results, choice.labels, paths_of(results.rows) if by_path else ())
    wanted = _chosen_values(choice, list(texts.keys))
    runs = _runs_at_points(results.recorded, drop_path_choices(wanted))
    recorded = _select_workloads(_rows_at(results, runs), choice)
    if by_path:
        recorded = rows_by_path(recorded, wanted.get(PATH, ()))
    # Words for values are not numbers.
    kind = choice.kind or _choose_kind(recorded, choice)
    check_options(choice, kind)
    if kind == "time":
        made = _draw_timelines(results, runs, recorded, choice, texts)
    elif kind == "cdf":
        made = _distribution(results, runs, recorded, choice, texts)
    else:
        made = _draw_sweep(results, recorded, choice, kind, texts, wanted)
    lines = (results.incomplete, texts.describe_choice(wanted), made.note, changed_keys_note(results.changes))
    return replace(made, note="\n".join(filter(None, lines)), paper=choice.paper, has_note=choice.note)


def _chosen_values(choice: FigureChoice, keys: Sequence[str]) -> dict[str, list[str]]:
    """Return the chosen values by swept key. :raises InputError: for a key that is not swept."""
    values: dict[str, list[str]] = {}
    for name, value in choice.points:
        values.setdefault(swept_key(name, keys), []).append(value)
    return values


def _runs_at_points(runs: Sequence[RecordedRun], wanted: Mapping[str, Sequence[str]]) -> list[RecordedRun]:
    """Return the runs at the chosen points: of several values of a key, any."""
    names = short_names(list(dict.fromkeys(key for run in runs for key in run.settings)))
    for key, chosen in wanted.items():
        short = names.get(key, key)
        values = list(dict.fromkeys(run.settings[key] for run in runs if key in run.settings))
        for value in chosen:
            if value not in values:
                raise InputError(f"no point has {key} = {value}", hint=values_hint(short, value, values))
    kept = [run for run in runs if all(run.settings.get(key) in values for key, values in wanted.items())]
    if not kept:
        raise InputError("no point has all of these values", hint="leave out a --points")
    return kept


def _rows_at(results: Results, runs: Sequence[RecordedRun]) -> list[ResultRow]:
    """Return the rows of the points of ``runs``, whose metrics may follow from runs of other points, too."""
    points = {run.result.settings for run in runs}
    return [row for row in results.rows if tuple(row.settings.items()) in points]


def _select_workloads(rows: Sequence[ResultRow], choice: FigureChoice) -> list[ResultRow]:
    names = list(dict.fromkeys(row.workload for row in rows))
    for name in choice.workloads:
        if name not in names:
            raise InputError(f"there is no workload '{name}'", hint=f"use one of {', '.join(names)}")
    return [row for row in rows if row.workload in (choice.workloads or names)]


def _chosen_workload(choice: FigureChoice) -> str | None:
    """Return the workload that the user names. :raises InputError: if these are several."""
    if len(choice.workloads) > 1:
        hint = f"name one of {', '.join(choice.workloads)}, or a --metric with --kind bars"
        raise InputError("this figure shows one workload", hint=hint)
    return next(iter(choice.workloads), None)


def _choose_kind(rows: Sequence[ResultRow], choice: FigureChoice) -> Kind:
    axes = axes_of(rows)
    if not axes and choice.metric is None and not choice.by:
        return "time"
    along = swept_key(choice.x, list(swept_values(rows))) if choice.x is not None else choose_axis(points_of(rows))
    return "lines" if along in axes and are_numbers(along, axes[along]) else "bars"


def _draw_sweep(
    results: Results,
    rows: Sequence[ResultRow],
    choice: FigureChoice,
    kind: Kind,
    texts: Words,
    wanted: Mapping[str, Sequence[str]],
) -> FigureSpec:
    metric = metric_of_rows(rows, choice.metric, results.rows)
    # A point that lacks the metric keeps its place.
    with_metric = select_workloads(rows, [row for row in rows if metric.name in row.known])
    keys = list(swept_values(with_metric))
    along = swept_key(choice.x, keys) if choice.x is not None else choose_axis(points_of(with_metric))
    by = [swept_key(name, keys) for name in choice.by] or None
    if choice.x is not None and by is not None and along in by:
        raise InputError(f"{along} is both --x and --by", hint="remove it from one of them")
    is_open = choice.kind is None and choice.x is None and by is None
    part = (
        overview(with_metric, along, metric) if is_open else Overview(with_metric, series_keys(with_metric, along, by))
    )
    # All values of the results determine the unit, so that it is the same as in their table.
    unit = unit_of(metric, results.rows)
    shown = [replace(texts.row(row), workload=texts.workload(row.workload)) for row in part.rows]
    figure = sweep_figure(_title(results, choice), shown, texts.metric(metric), along, part.keys, texts.keys, unit)
    check_curves(len(figure.series), with_metric, part.keys)
    is_below = choice.level is not None and choice.level < figure.lowest
    figure = replace(figure, level=choice.level, signed=figure.signed or is_below)
    if kind == "lines":
        figure = _to_scale(results, figure, along, choice, texts)
    draw = draw_lines if kind == "lines" else draw_bars
    named = [key for key in part.keys if key != PATH]
    lacking = _missing_bar_notes(results, figure, drop_path_choices(wanted), texts, _PointPlaces(along, named))
    together = together_notes(points_of(with_metric), along, part.keys, texts.keys)
    notes = (figure.note, *level_note(choice), *together, part.note)
    return FigureSpec(
        kind,
        size_of_plot() if kind == "lines" else size_of_bars(figure),
        lambda drawing: draw(figure, drawing, drawing.subplots()),
        f"{metric.noun} by {short_names(keys)[along]}" if along else metric.noun,
        "\n".join(
            filter(None, [*_workload_notes(results, with_metric, texts), *notes, *(lacking if kind == "bars" else ())])
        ),
    )


def _to_scale(results: Results, figure: Figure, along: str, choice: FigureChoice, texts: Words) -> Figure:
    """Return ``figure`` with the values that its words stand for, on the scales that the user chooses.

    :raises InputError: if the values have no such scale.
    """
    named = {texts.value(run.settings[along]): run.settings[along] for run in results.recorded if along in run.settings}
    values = tuple(named.get(position, position) for position in figure.positions)
    y_scale = choice.y_scale or "linear"
    scaled = replace(figure, values=values, x_scale=choice.x_scale, y_scale=y_scale, y_range=choice.y_range)
    check_scales(scaled)
    return scaled


def _workload_notes(results: Results, rows: Sequence[ResultRow], texts: Words) -> Iterator[str]:
    """Yield which workloads are drawn, if that is not all."""
    shown = dict.fromkeys(row.workload for row in rows)
    if len(shown) < len({measured.workload for run in results.recorded for measured in run.result.measured}):
        yield f"workload{'s' if len(shown) > 1 else ''} {', '.join(map(texts.workload, shown))}"


@dataclass(frozen=True)
class _PointPlaces:
    """Where points are in a figure: by the key along its axis, and by those whose values name its series."""

    along: str
    keys: Sequence[str]

    def has_point(self, settings: Mapping[str, str], position: str, series: str, texts: Words) -> bool:
        """Return whether the point with these settings would be there; a series may also be named by its workload."""
        name = ", ".join(texts.value(settings.get(key, "")) for key in self.keys)
        value = texts.value(settings.get(self.along, ""))
        return value == position and (not name or f"{series}, ".startswith(f"{name}, "))


def _missing_bar_notes(
    results: Results, figure: Figure, wanted: Mapping[str, Sequence[str]], texts: Words, places: _PointPlaces
) -> Iterator[str]:
    """Yield why bars are missing, if some are that have no words of their own."""
    missing = [
        (position, series.name)
        for series in figure.series
        for at, position in enumerate(figure.positions)
        if series.measured[at] is None and not series.word(at)
    ]
    unavailable = [
        (settings, texts.reason(reason, settings))
        for settings, reason in results.stored.unavailable
        if all(settings.get(key) in some for key, some in wanted.items())
    ]
    reasons: dict[str, None] = {}
    others = []
    for position, series in missing:
        of_bar = [reason for settings, reason in unavailable if places.has_point(settings, position, series, texts)]
        reasons.update(dict.fromkeys(of_bar))
        if not of_bar:
            others.append(", ".join(part for part in (series if len(figure.series) > 1 else "", position) if part))
    if reasons:
        yield f"{NOT_AVAILABLE}: no value, since {'; '.join(reasons)}"
    if others:
        yield f"{NOT_AVAILABLE}: no value" + (f" of {'; '.join(others)}" if reasons else "")


def _title(results: Results, choice: FigureChoice) -> str:
    return results.title if choice.title is None else choice.title


def _draw_timelines(
    results: Results,
    runs: Sequence[RecordedRun],
    rows: Sequence[ResultRow],
    choice: FigureChoice,
    texts: Words,
) -> FigureSpec:
    workload = _chosen_workload(choice) or rows[0].workload
    # Points may have different workloads, where the number of copies is swept.
    with_it = [run for run in runs if any(measured.workload == workload for measured in run.result.measured)]
    chosen = _select_seed(with_it, choice.seed)
    check_columns([run.settings for run in chosen], list(texts.keys))
    chosen = [texts.run(run) for run in chosen]
    varied = [key for key in texts.keys if len({run.settings.get(key) for run in chosen}) > 1]
    columns = side_by_side([_column(run, workload, {key: texts.keys[key] for key in varied}) for run in chosen])
    seed = chosen[0].result.seed
    every = OverTime(_title(results, choice), columns)
    unknown = [panel for panel in choice.panels if panel not in PANELS]
    if unknown:
        raise InputError(f"there is no panel '{unknown[0]}'", hint=f"use some of {', '.join(every.shown or PANELS)}")
    figure = replace(every, panels=choice.panels or tuple(PANELS))
    if every.shown and not figure.shown:
        raise InputError(
            f"the workload {workload} has no samples for {' and '.join(choice.panels)}",
            hint=f"use some of {', '.join(every.shown)}, or another --workload",
        )
    if not figure.shown:
        raise InputError(
            f"the workload {workload} has no samples to draw", hint="use --kind bars, or another --workload or --panels"
        )
    name = texts.workload(workload)
    note = "\n".join([*figure.key, f"workload {name}, seed {seed}; {rows[0].measured_on}", *memory_note(rows)])
    return FigureSpec(
        "time", figure.size, partial(draw_over_time, figure), f"workload {name} over time, seed {seed}", note
    )


def _select_seed(runs: Sequence[RecordedRun], seed: int | None) -> list[RecordedRun]:
    """Return one run of each point, with the seed, or with the first that it has."""
    recorded_runs: dict[object, RecordedRun] = {}
    for run in runs:
        if seed in (None, run.result.seed):
            recorded_runs.setdefault(run.result.settings, run)
    if not recorded_runs:
        seeds = ", ".join(str(count) for count in sorted({run.result.seed for run in runs}))
        raise InputError(f"no run has the seed {seed}", hint=f"use one of {seeds}")
    return list(recorded_runs.values())


def _column(run: RecordedRun, workload: str, names: Mapping[str, str]) -> RunColumn:
    of_run = timelines(run.recording, max_values=_MAX_VALUES)
    curves = next(timeline for timeline in of_run if timeline.workload == workload)
    events = tuple(event_marks(run.recording))
    settings = {key: value for key, value in run.settings.items() if key in names}
    return RunColumn(point_text(settings, names) or f"seed {run.result.seed}", curves, events)


def _distribution(
    results: Results,
    runs: Sequence[RecordedRun],
    rows: Sequence[ResultRow],
    choice: FigureChoice,
    texts: Words,
) -> FigureSpec:
    by = [swept_key(name, list(swept_values(rows))) for name in choice.by] or None
    keys = curve_keys(rows, by)
    drawn, varied = rows, list(keys)
    runs, rows = [texts.run(run) for run in runs], [texts.row(row) for row in rows]
    samples: Mapping[str, Sequence[float]]
    others: list[str] = []
    if choice.metric is not None:
        metric = metric_of_rows(rows, choice.metric, results.rows)
        unit = unit_of(metric, results.rows)
        label = label_of(texts.metric(metric), unit)
        several = len({row.workload for row in rows}) > 1
        keys += [_WORKLOAD] if several else []
        samples = {
            _name({**row.settings, _WORKLOAD: texts.workload(row.workload)}, keys): row.samples.get(metric.name, ())
            for row in rows
        }
        others = [*later_outage_note(rows, metric), *memory_note(rows)]
        noun, note, shows = "runs", "one value per run", f"distribution of {metric.noun} over runs"
    else:
        workload = _chosen_workload(choice) or _with_items(runs[0], rows)
        drawn = [row for row in drawn if row.workload == workload]
        samples, (noun, time, base) = _items(runs, workload, keys)
        unit = choose_unit(base, (value for values in samples.values() for value in values))
        label = f"{texts.time(time)}, {unit.name}"
        note, shows = (
            f"{noun} of workload {texts.workload(workload)}, of all seeds",
            f"distribution of the {time}",
        )
    curves = tuple(
        DistributionCurve(name, tuple(value * unit.factor for value in values))
        for name, values in samples.items()
        if values
    )
    if not curves:
        raise InputError("there are no values to draw", hint="name a metric with --metric")
    check_curves(len(curves), drawn, varied)
    legend = ", ".join(name for name in ({**texts.keys, _WORKLOAD: _WORKLOAD}[key] for key in keys) if name)
    figure = DistributionFigure(_title(results, choice), label, curves, noun, legend, choice.x_scale)
    figure.check_scale()
    note = "\n".join([f"{note}; {rows[0].measured_on}", *figure.key, *others])
    return FigureSpec("cdf", size_of_plot(), lambda drawing: draw_distribution(figure, drawing.subplots()), shows, note)


def _name(settings: Mapping[str, str], keys: Sequence[str]) -> str:
    """Return the values of ``keys``, which the legend's title names."""
    return ", ".join(settings[key] for key in keys if settings.get(key))


def _with_items(run: RecordedRun, rows: Sequence[ResultRow]) -> str:
    """Return the first workload that delivers objects, requests or messages; the first of all if none does."""
    there = items_of(run.recording)
    return next((row.workload for row in rows if row.workload in there), rows[0].workload)


def _items(
    runs: Sequence[RecordedRun], workload: str, keys: Sequence[str]
) -> tuple[dict[str, list[float]], tuple[str, str, str]]:
    """Return the times of each point's items; and the noun of the items, of the time, and its unit.

    :raises InputError: without any.
    """
    values: dict[str, list[float]] = {}
    kind = None
    for run in runs:
        items = items_of(run.recording).get(workload)
        if items is not None:
            kind = items.noun, items.time, items.unit
            values.setdefault(_name(run.settings, keys), []).extend(item.took for item in items.items)
    if kind is None:
        raise InputError(
            f"the workload {workload} does not deliver objects, requests or messages one by one",
            hint="name another with --workload, or a metric with --metric, whose values of all runs are drawn",
        )
    return values, kind
