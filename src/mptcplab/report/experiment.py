# SPDX-License-Identifier: MIT
"""The result of one experiment as JSON data and as figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import mptcplab
from mptcplab.figure.lines import NAMES, Figure, Series
from mptcplab.metrics.points import short_names, swept_values
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow
from mptcplab.scenario.load import Experiment
from mptcplab.stats import Interval

_MAX_LINES = 6


def experiment_document(experiment: Experiment, rows: Sequence[ResultRow]) -> dict[str, Any]:
    """Return the rows of the table in full precision, as JSON data."""
    return {
        "title": experiment.title,
        "question": experiment.question,
        "file": str(experiment.file),
        "changed": list(experiment.changes),
        "mptcplab": mptcplab.__version__,
        "rows": [row.to_json() for row in rows],
    }


def experiment_figures(experiment: Experiment, rows: Sequence[ResultRow]) -> Iterator[tuple[str, Figure]]:
    """Yield names and figures over the sweep's longest axis, with a line per combination of the others.

    They show goodput, and the main metrics of workloads that do not send as much as they can.
    """
    yield from _figures(experiment, rows, "figure", "goodput, Mbit/s", lambda row: row.goodput_mbps)
    for name, metric in METRICS.items():
        own = [row for row in rows if name in row.metrics] if metric.is_main else []
        if own:
            yield from _figures(experiment, own, f"figure-{name}", metric.title, partial(_own, name))


def _own(name: str, row: ResultRow) -> Interval:
    return row.metrics[name]


def _figures(
    experiment: Experiment, rows: Sequence[ResultRow], name: str, y_label: str, value: Callable[[ResultRow], Interval]
) -> Iterator[tuple[str, Figure]]:
    axes = swept_values(rows)
    if not axes:
        return
    along = max(axes, key=lambda key: (len(axes[key]), key != "transport.protocol"))
    lines: dict[tuple[str, ...], dict[str, ResultRow]] = {}
    for row in rows:
        others = tuple(value for key, value in row.settings.items() if key != along and len(axes[key]) > 1)
        label = (*others, row.workload) if len({r.workload for r in rows}) > 1 else others
        lines.setdefault(label, {})[row.settings[along]] = row
    positions = tuple(axes[along])
    series = tuple(
        Series(
            ", ".join(label) or y_label.partition(",")[0],
            tuple(value(line[at]) if at in line else None for at in positions),
        )
        for label, line in list(lines.items())[:_MAX_LINES]
    )
    left_out = f" Shown: {_MAX_LINES} of {len(lines)} lines." if len(lines) > _MAX_LINES else ""
    note = _note(rows) + left_out
    x_label = short_names(list(axes))[along]
    yield name, Figure(experiment.title, x_label, y_label, positions, series, note, named=along in NAMES)


def _note(rows: Sequence[ResultRow]) -> str:
    counts = sorted({row.n for row in rows})
    n = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    bars = f"bars: 95 % confidence interval (Student's t), n = {n}" if counts[-1] > 1 else "one run per point"
    return f"{bars}; kernel {rows[0].kernel_name}; virtual time"
