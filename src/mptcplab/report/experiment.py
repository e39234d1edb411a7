# SPDX-License-Identifier: MIT
"""The result of one experiment as a document and as figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import mptcplab
from mptcplab.metrics.rows import ResultRow
from mptcplab.report.figure import Figure, Series
from mptcplab.report.table import short_names
from mptcplab.scenario.load import Experiment

_MOST_LINES = 6


def experiment_document(experiment: Experiment, rows: Sequence[ResultRow]) -> dict[str, Any]:
    """Everything that the table says, in full precision."""
    return {
        "title": experiment.title,
        "question": experiment.question,
        "file": str(experiment.file),
        "changed": list(experiment.changes),
        "mptcplab": mptcplab.__version__,
        "rows": [row.to_json() for row in rows],
    }


def experiment_figures(experiment: Experiment, rows: Sequence[ResultRow]) -> Iterator[tuple[str, Figure]]:
    """Names and figures: goodput over the sweep's longest axis, one line per combination of the others."""
    axes = _axes(rows)
    if not axes:
        return
    along = max(axes, key=lambda key: (len(axes[key]), key != "transport.protocol"))
    lines: dict[tuple[str, ...], dict[str, ResultRow]] = {}
    for row in rows:
        others = tuple(value for key, value in row.settings.items() if key != along and len(axes[key]) > 1)
        name = (*others, row.workload) if len({r.workload for r in rows}) > 1 else others
        lines.setdefault(name, {})[row.settings[along]] = row
    positions = tuple(axes[along])
    series = tuple(
        Series(
            ", ".join(name) or "goodput",
            tuple(line[at].goodput_mbps if at in line else None for at in positions),
        )
        for name, line in list(lines.items())[:_MOST_LINES]
    )
    left_out = f" Shown: {_MOST_LINES} of {len(lines)} lines." if len(lines) > _MOST_LINES else ""
    note = _note(rows) + left_out
    x_label = short_names(list(axes))[along]
    yield "figure", Figure(experiment.title, x_label, "goodput, Mbit/s", positions, series, note)


def _axes(rows: Sequence[ResultRow]) -> dict[str, list[str]]:
    axes: dict[str, dict[str, None]] = {}
    for row in rows:
        for key, value in row.settings.items():
            axes.setdefault(key, {})[value] = None
    return {key: list(values) for key, values in axes.items()}


def _note(rows: Sequence[ResultRow]) -> str:
    counts = sorted({row.goodput_mbps.n for row in rows})
    n = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    bars = f"bars: 95 % confidence interval (Student's t), n = {n}" if counts[-1] > 1 else "one run each"
    return f"{bars}; kernel {rows[0].kernel}, virtual time"
