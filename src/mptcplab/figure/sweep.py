# SPDX-License-Identifier: MIT
"""Rows of a sweep as a figure: one swept key lies along the axis, each combination of the others is a line."""

from __future__ import annotations

import shlex
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mptcplab.errors import InputError
from mptcplab.figure.axis import NAMES, are_numbers
from mptcplab.figure.lines import Figure, FigureSeries
from mptcplab.metrics.catalog.paths import SHARE
from mptcplab.metrics.column import Metric
from mptcplab.metrics.named import named_metrics, unit_of
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import INTERRUPTION, OUTAGE, ResultRow, later_outages
from mptcplab.metrics.values import Unit, determines, short_names, swept_values
from mptcplab.metrics.warnings import SHORT_OF_MEMORY
from mptcplab.stats import Interval, mean_interval

# Shares of paths in figures: each path of a workload is a row of its own, as if the path were a swept key.

#: The key whose values are paths.
PATH = "path"


def is_by_path(metric: str | None) -> bool:
    """Return whether the metric with this name has a value for each path."""
    return metric is not None and SHARE.name in named_metrics(metric)


def paths_of(rows: Sequence[ResultRow]) -> list[str]:
    """Return the paths of all rows."""
    return list(dict.fromkeys(path for row in rows for path in row.share_values))


def rows_by_path(rows: Sequence[ResultRow], chosen: Sequence[str] = ()) -> list[ResultRow]:
    """Return a row with the share of each path, in percent; ``chosen`` are the paths to keep, all if there are none.

    A path of the workload that a point does not use has a share of 0 there. A row whose shares are not known is kept.
    :raises InputError: if no row has one of the chosen paths.
    """
    there = paths_of(rows)
    for path in chosen:
        if path not in there:
            raise InputError(f"no point has {PATH} = {path}", hint=f"use one of {', '.join(there)}")
    of: dict[str, list[str]] = {}
    for row in rows:
        known = of.setdefault(row.workload, [])
        known += [path for path in row.share_values if path not in known and path in (chosen or there)]
    return [
        result_row
        for row in rows
        for result_row in (_rows_by_path(row, of[row.workload]) if row.share_values else [row])
    ]


def _rows_by_path(row: ResultRow, paths: Sequence[str]) -> list[ResultRow]:
    nothing = (0.0,) * len(row.share_seeds)
    return [_with_share(row, path, row.share_values.get(path, nothing)) for path in sorted(paths)]


def _with_share(row: ResultRow, path: str, fractions: Sequence[float]) -> ResultRow:
    values = tuple(100 * fraction for fraction in fractions)
    return replace(
        row,
        settings={**row.settings, PATH: path},
        metrics={**row.metrics, SHARE.name: mean_interval(values)},
        samples={**row.samples, SHARE.name: values},
        metric_seeds={**row.metric_seeds, SHARE.name: row.share_seeds},
    )


def drop_path_choices(wanted: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the chosen values of keys that are really swept."""
    return {key: values for key, values in wanted.items() if key != PATH}


# The lines of a figure over a sweep: which key lies along the axis, and which others distinguish the lines.
#
# Keys may change together, as in ``[[sweep.zip]]``. In a figure over one of them, the value of another may follow from
# the axis and the remaining keys. It does not distinguish lines then: each line would be a single point. What changes
# together is found in the points themselves, as results do not say how their scenario wrote the sweep.

#: More curves in one plot cannot be told apart; an overview of more shows this number.
MAX_CURVES, _FEW_CURVES = 12, 6
#: Points of a line that need not be straight.
_BENDS = 3
#: More points side by side, over time, cannot be told apart either.
_MAX_COLUMNS = 4

Point = Mapping[str, str]


def axes_of(rows: Sequence[ResultRow]) -> dict[str, list[str]]:
    """Return the swept keys with more than one value, and their values."""
    return {key: values for key, values in swept_values(rows).items() if len(values) > 1}


def points_of(rows: Iterable[ResultRow]) -> list[Point]:
    """Return the settings of ``rows``, each once."""
    return list({tuple(row.settings.items()): row.settings for row in rows}.values())


def line_keys(points: Sequence[Point], along: str) -> list[str]:
    """Return the keys whose values distinguish the lines over the key ``along``, without keys that follow from others.

    Of several that could be left out, it is the key that leaves the fewest lines, or the last of these.
    """
    kept = [key for key in _varied_keys(points) if key != along]
    while True:
        others = {key: [other for other in kept if other != key] for key in reversed(kept)}
        idle = {key: left for key, left in others.items() if determines(points, [along, *left], key)}
        if not idle:
            return kept
        kept = min(idle.values(), key=lambda left: len(_counts(points, left)))


def points_per_line(points: Sequence[Point], along: str) -> int:
    """Return how many points a line over the key ``along`` typically has: the median."""
    return statistics.median_high(_counts(points, line_keys(points, along)).values())


def choose_axis(points: Sequence[Point]) -> str:
    """Return the key that lies along the axis by default: the key whose lines have most points; "" if none varies.

    Numbers come first if they make a line that bends. Paths are beside each other, so that one sees the parts of each
    whole.
    """
    axes = _varied_keys(points)
    lengths = {key: points_per_line(points, key) for key in axes}
    worth = {
        key: (
            key != PATH,
            are_numbers(key, values) and lengths[key] >= _BENDS,
            lengths[key],
            -len(values),
            are_numbers(key, values),
            key != "transport.protocol",
        )
        for key, values in axes.items()
    }
    return max(worth, key=worth.__getitem__, default="")


def leading_keys(points: Sequence[Point]) -> dict[str, list[str]]:
    """Return the keys that are axes, each with the keys whose values follow from its value alone.

    Of keys with as many values that change together, numbers are the axis, or else the first.
    """
    values = _varied_keys(points)
    keys: dict[str, list[str]] = {}
    for key in sorted(
        values, key=lambda candidate: (-len(values[candidate]), not are_numbers(candidate, values[candidate]))
    ):
        leading = next((candidate for candidate in keys if determines(points, [candidate], key)), None)
        if leading is None:
            keys[key] = []
        else:
            keys[leading].append(key)
    return {key: keys[key] for key in values if key in keys}


def together_notes(points: Sequence[Point], along: str, keys: Sequence[str], names: Mapping[str, str]) -> Iterator[str]:
    """Yield which keys change together with the axis and with ``keys``, which distinguish the lines."""
    for key in _varied_keys(points):
        if key != along and key not in keys and determines(points, [along, *keys], key):
            others = [along, *keys]
            for companion in reversed(others[:]):
                left = [other for other in others if other != companion]
                others = left if determines(points, left, key) else others
            yield f"{names[key]} changes with {' and '.join(names[companion] for companion in others)}"


@dataclass(frozen=True)
class Overview:
    """The rows of a figure, the keys that distinguish its lines, and which lines are left out; "" for none."""

    rows: Sequence[ResultRow]
    keys: Sequence[str]
    note: str = ""


def overview(rows: Sequence[ResultRow], along: str, metric: Metric) -> Overview:
    """Return as many workloads as have room; of a single workload with too many lines the lines that differ most."""
    keys = line_keys(points_of(rows), along)
    lines: dict[str, dict[tuple[str, ...], None]] = {}
    for row in rows:
        # A row that lacks the metric has a place on the axis, but no line.
        if metric.name in row.known:
            lines.setdefault(row.workload, {})[_values(row.settings, keys)] = None
    every, kept = sum(map(len, lines.values())), list(lines)
    while len(kept) > 1 and sum(len(lines[workload]) for workload in kept) > MAX_CURVES:
        kept.pop()
    shown = {workload: list(lines[workload]) for workload in kept}
    hints = (
        [f"--workload {shlex.quote(next(line for line in lines if line not in kept))}"]
        if len(kept) < len(lines)
        else []
    )
    of = f", of workload{'s' if len(kept) > 1 else ''} {', '.join(kept)}" if hints else ""
    if len(kept) == 1 and len(shown[kept[0]]) > MAX_CURVES:
        hints.append(_example_line_options(rows, keys))
        shown[kept[0]] = spread(shown[kept[0]], _FEW_CURVES)
    alike = [
        row
        for row in rows
        if row.workload in shown
        and (metric.name not in row.known or _values(row.settings, keys) in shown[row.workload])
    ]
    count = sum(map(len, shown.values()))
    note = (
        f"shown: {count} of {every} lines{of}; for others: mptcplab figure with {' or '.join(hints)}" if hints else ""
    )
    return Overview(alike, keys, note)


def spread(lines: Sequence[tuple[str, ...]], count: int) -> list[tuple[str, ...]]:
    """Return ``count`` of the lines, in their order: one after the other that whose values were chosen least often."""
    used: Counter[tuple[int, str]] = Counter()
    chosen: list[tuple[str, ...]] = []
    left = list(lines)
    while left and len(chosen) < count:
        best = min(left, key=lambda line: sum(used[part] for part in enumerate(line)))
        left.remove(best)
        chosen.append(best)
        used.update(enumerate(best))
    return [line for line in lines if line in chosen]


def curve_keys(rows: Sequence[ResultRow], by: Sequence[str] | None) -> list[str]:
    """Return the keys whose values name the curves, one for each point of ``rows``: all that vary, or the keys in
    ``by``.

    :raises InputError: for one in ``by`` that does not vary, and if these do not distinguish the points.
    """
    axes, points = axes_of(rows), points_of(rows)
    if by is None:
        return list(axes)
    names = short_names(list(swept_values(rows)))
    for key in by:
        if key not in axes:
            raise InputError(f"--by {names[key]} changes nothing: all curves have the same", hint="remove it")
    left = ", ".join(names[key] for key in axes if key not in by and not determines(points, by, key))
    if left:
        hint = f"add {left} to --by, or choose one value with --points"
        raise InputError(f"a curve is of one point, and points also differ in {left}", hint=hint)
    return list(by)


def check_curves(count: int, rows: Sequence[ResultRow], keys: Sequence[str]) -> None:
    """Refuse more curves than readers can distinguish; ``keys`` distinguish the curves of a workload in ``rows``.

    :raises InputError: if there are too many.
    """
    if count <= MAX_CURVES:
        return
    workloads = list(dict.fromkeys(row.workload for row in rows))
    words = [f"--workload {shlex.quote(workloads[0])}"] if len(workloads) > 1 else []
    example = " ".join(filter(None, [*words, _example_line_options(rows, keys)]))
    raise InputError(f"{count} curves cannot be told apart", hint=f"choose fewer, such as with {example}")


def check_columns(points: Sequence[Point], keys: Sequence[str]) -> None:
    """Refuse more points than fit side by side. :raises InputError: if there are too many."""
    if len(points) > _MAX_COLUMNS:
        names = short_names(keys)
        varied = ", ".join(names[key] for key in keys if len({point.get(key) for point in points}) > 1)
        raise InputError(
            f"{len(points)} points do not fit side by side: they differ in {varied}",
            hint=f"choose up to {_MAX_COLUMNS}, such as with {_example_options(points, _MAX_COLUMNS, names)}",
        )


def _example_line_options(rows: Sequence[ResultRow], keys: Sequence[str]) -> str:
    lines = {_values(row.settings, keys): row.settings for row in rows}.values()
    points = [{key: line[key] for key in keys if key in line} for line in lines]
    return _example_options(points, MAX_CURVES, short_names(list(swept_values(rows))))


def _example_options(points: Sequence[Point], most: int, names: Mapping[str, str]) -> str:
    """Return an example of the options that choose at most this number of the ``points``: ``--points
    protocol=mptcp``.
    """
    left, words = list(points), []
    while len(left) > most:
        parts = [
            (key, value, [point for point in left if point.get(key) == value])
            for key, values in _varied_keys(left).items()
            for value in values
        ]
        if not parts:
            break
        # As many as there is room for, else as few as one value leaves.
        key, value, left = max(parts, key=lambda part: len(part[2]) if len(part[2]) <= most else -len(part[2]))
        words.append(f"--points {shlex.quote(f'{names[key]}={value}')}")
    return " ".join(words)


def _varied_keys(points: Iterable[Point]) -> dict[str, list[str]]:
    """Return the keys with more than one value, and their values."""
    keys: dict[str, dict[str, None]] = {}
    for point in points:
        for key, value in point.items():
            keys.setdefault(key, {})[value] = None
    return {key: list(values) for key, values in keys.items() if len(values) > 1}


def _counts(points: Iterable[Point], keys: Sequence[str]) -> Counter[tuple[str, ...]]:
    """Return the number of points by the values of ``keys``."""
    return Counter(_values(point, keys) for point in points)


def _values(point: Point, keys: Collection[str]) -> tuple[str, ...]:
    return tuple(point.get(key, "") for key in keys)


# Rows of a sweep as a figure: one swept key lies along the axis, and each combination of the others is a series.

#: Points that a note names.
_NAMED = 4


def label_of(metric: Metric, unit: Unit) -> str:
    """Return the label of an axis with a metric."""
    return ", ".join(part for part in (metric.display.axis or metric.noun, unit.name) if part)


def series_keys(rows: Sequence[ResultRow], along: str, by: Sequence[str] | None) -> Sequence[str]:
    """Return the keys whose values name the series."""
    return line_keys(points_of(rows), along) if by is None else by


def sweep_figure(
    title: str,
    rows: Sequence[ResultRow],
    metric: Metric,
    along: str,
    by: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    unit: Unit | None = None,
) -> Figure:
    """Return the figure of ``metric`` over the key ``along``, with a series for each combination of the keys ``by``.

    Without ``by`` these are all other swept keys, except keys that follow from them. ``labels`` are names of keys in
    place of the short ones, and ``unit`` is the unit of the values if the default does not suit. Rows without the
    metric have no value, but their place on the axis; workloads without it are left out.
    :raises InputError: if two rows have the same place.
    """
    with_metric = [row for row in rows if metric.name in row.known]
    beside = select_workloads(rows, with_metric)
    axes = axes_of(beside)
    keys = series_keys(beside, along, by)
    several = len({row.workload for row in with_metric}) > 1
    series: dict[str, dict[str, ResultRow]] = {}
    for row in with_metric:
        parts = [row.settings.get(key, "") for key in keys] + ([row.workload] if several else [])
        places = series.setdefault(", ".join(parts) or metric.noun, {})
        if places.setdefault(row.settings.get(along, ""), row) is not row:
            raise _same_place_error(axes, along, keys)
    positions = tuple(swept_values(beside)[along]) if along else ("",)
    names = {**short_names(list(swept_values(beside))), **(labels or {})}
    unit = unit or unit_of(metric, with_metric)
    return Figure(
        title,
        names[along] if along else "",
        label_of(metric, unit),
        positions,
        tuple(
            FigureSeries(
                name,
                tuple(_value(line, at, metric, unit) for at in positions),
                words=tuple(_word(line.get(at), metric) for at in positions),
            )
            for name, line in series.items()
        ),
        "\n".join(
            [
                spread_note(with_metric),
                *_missing_value_note(series, metric),
                *later_outage_note(with_metric, metric),
                *memory_note(with_metric),
            ]
        ),
        lowest=metric.display.lowest * unit.factor,
        highest=metric.highest * unit.factor,
        named=along in NAMES,
        legend=", ".join(names[key] for key in keys if names[key]),
        signed=metric.signed,
    )


def select_workloads(rows: Sequence[ResultRow], of: Sequence[ResultRow]) -> list[ResultRow]:
    """Return the ``rows`` whose workloads are among the workloads of the rows ``of``."""
    workloads = {row.workload for row in of}
    return [row for row in rows if row.workload in workloads]


def _value(line: Mapping[str, ResultRow], at: str, metric: Metric, unit: Unit) -> Interval | None:
    interval = line[at].metrics.get(metric.name) if at in line else None
    return interval.scale(unit.factor) if interval is not None else None


def _word(row: ResultRow | None, metric: Metric) -> str:
    """Return how many of a row's runs have the metric, as its table does; empty if all or for lack of runs."""
    if row is None:
        return ""
    interval = row.metrics.get(metric.name)
    if interval is None:
        return metric.display.never
    return "" if interval.n == row.n or metric.in_every_row else f"({interval.n} of {row.n})"


def _missing_value_note(series: Mapping[str, Mapping[str, ResultRow]], metric: Metric) -> Iterator[str]:
    """Yield which points have no value, and which means are not of all runs: a figure of lines has no other sign."""
    names: dict[str, list[str]] = {}
    for name, line in series.items():
        for at, row in line.items():
            word = _word(row, metric)
            if word:
                text = ", ".join(part for part in (name if len(series) > 1 else "", at) if part)
                names.setdefault(word, []).append(text)
    for word, points_text in names.items():
        points = f" ({'; '.join(filter(None, points_text))})" if any(points_text) else ""
        if word == metric.display.never:
            yield f"{word}: not within the run{points}"
        else:
            lacking = f"; in the others {metric.display.never} within the run" if _has_never(series, metric) else ""
            yield f"{word}: the mean of the runs that have a value{lacking}{points}"


def later_outage_note(rows: Sequence[ResultRow], metric: Metric) -> Iterator[str]:
    """Yield what to draw instead where outages are not what the failure interrupts, as the note of the table says."""
    if metric.name == OUTAGE and any(map(later_outages, rows)):
        other = METRICS[INTERRUPTION].noun
        yield f"some outages begin long after the failure; --metric {other} is what begins with it"


def memory_note(rows: Sequence[ResultRow]) -> Iterator[str]:
    """Yield which rows are results of the lab's memory, so that nobody reads them as the network's."""
    short = [row for row in rows if any(warning.startswith(SHORT_OF_MEMORY) for warning in row.warnings)]
    if short:
        some = "; ".join(dict.fromkeys(", ".join(row.settings.values()) or row.workload for row in short[:_NAMED]))
        more = f"; and {len(short) - _NAMED} more" if len(short) > _NAMED else ""
        yield f"short of the lab's memory in some runs, see the table: {some}{more}"


def _has_never(series: Mapping[str, Mapping[str, ResultRow]], metric: Metric) -> bool:
    return any(metric.name in row.never for line in series.values() for row in line.values())


def _same_place_error(axes: Mapping[str, Sequence[str]], along: str, by: Sequence[str]) -> InputError:
    names = short_names(list(axes))
    left = ", ".join(names[key] for key in axes if key != along and key not in by)
    return InputError(
        f"several points have the same place in the figure: they differ in {left}",
        hint=f"add {left} to --by, or choose one value with --points",
    )


def spread_note(rows: Sequence[ResultRow]) -> str:
    """Return what the whiskers mean, and which kernel the rows come from."""
    counts = sorted({row.n for row in rows})
    n = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    spread = f"means; whiskers: 95 % confidence interval (Student's t), n = {n}"
    return f"{spread if counts[-1] > 1 else 'one run per point'}; {rows[0].measured_on}"
