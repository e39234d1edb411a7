# SPDX-License-Identifier: MIT
"""Rows of a sweep as a figure: one swept key lies along the axis, and each combination of the others is a series."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mptcplab.errors import InputError
from mptcplab.figure.along import axes_of, line_keys, points_of
from mptcplab.figure.axis import NAMES
from mptcplab.figure.lines import Figure, FigureSeries
from mptcplab.metrics.column_units import unit_of
from mptcplab.metrics.later_outage import INTERRUPTION, OUTAGE, later_outages
from mptcplab.metrics.machine import SHORT_OF_MEMORY
from mptcplab.metrics.metric import Metric
from mptcplab.metrics.points import short_names, swept_values
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow
from mptcplab.metrics.values import Unit
from mptcplab.stats import Interval

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
    own_rows = [row for row in rows if metric.name in row.known]
    beside = select_workloads(rows, own_rows)
    axes = axes_of(beside)
    keys = series_keys(beside, along, by)
    several = len({row.workload for row in own_rows}) > 1
    series: dict[str, dict[str, ResultRow]] = {}
    for row in own_rows:
        parts = [row.settings.get(key, "") for key in keys] + ([row.workload] if several else [])
        places = series.setdefault(", ".join(parts) or metric.noun, {})
        if places.setdefault(row.settings.get(along, ""), row) is not row:
            raise _same_place_error(axes, along, keys)
    positions = tuple(swept_values(beside)[along]) if along else ("",)
    names = {**short_names(list(swept_values(beside))), **(labels or {})}
    unit = unit or unit_of(metric, own_rows)
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
                spread_note(own_rows),
                *_missing_value_note(series, metric),
                *later_outage_note(own_rows, metric),
                *memory_note(own_rows),
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
    return "" if interval.n == row.n or metric.basic else f"({interval.n} of {row.n})"


def _missing_value_note(series: Mapping[str, Mapping[str, ResultRow]], metric: Metric) -> Iterator[str]:
    """Yield which points have no value, and which means are not of all runs: a figure of lines has no other sign."""
    names: dict[str, list[str]] = {}
    for name, line in series.items():
        for at, row in line.items():
            word = _word(row, metric)
            if word:
                text = ", ".join(part for part in (name if len(series) > 1 else "", at) if part)
                names.setdefault(word, []).append(text)
    for word, own_texts in names.items():
        points = f" ({'; '.join(filter(None, own_texts))})" if any(own_texts) else ""
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
