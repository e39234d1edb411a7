# SPDX-License-Identifier: MIT
"""The result of one experiment as JSON data and as figures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import mptcplab
from mptcplab.figure.lines import Figure
from mptcplab.figure.sweep import longest, sweep_figure
from mptcplab.metrics.points import changed_note, swept_values
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow
from mptcplab.scenario.load import Experiment

_MAX_LINES = 6
#: Characters in a line of the note below a figure.
_NOTE_WIDTH = 100


def experiment_document(experiment: Experiment, rows: Sequence[ResultRow]) -> dict[str, Any]:
    """Return the rows of the table in full precision, as JSON data."""
    return {
        "title": experiment.title,
        "question": experiment.question,
        "file": str(experiment.file),
        "changed": list(experiment.changes),
        "mptcplab": mptcplab.__version__,
        "rows": [row.to_json() for row in rows],
        "unavailable": [{"settings": one.settings, "reason": one.reason} for one in experiment.unavailable],
    }


def experiment_figures(experiment: Experiment, rows: Sequence[ResultRow]) -> Iterator[tuple[str, Figure]]:
    """Yield names and figures over the sweep's longest axis, with a line per combination of the others.

    They show goodput, and the headline metrics of workloads that do not send as much as they can.
    """
    if not swept_values(rows):
        return
    along = longest(swept_values(rows))
    for name, metric in METRICS.items():
        own = [row for row in rows if name in row.metrics]
        if own and (metric.headline or name == "goodput_mbps"):
            file = f"figure-{name}" if metric.headline else "figure"
            yield file, _with_changes(_shortened(sweep_figure(experiment.title, own, metric, along)), experiment)


def _with_changes(figure: Figure, experiment: Experiment) -> Figure:
    note = textwrap.fill(changed_note(experiment.changes), _NOTE_WIDTH)
    return replace(figure, note=f"{figure.note}\n{note}") if note else figure


def _shortened(figure: Figure) -> Figure:
    count = len(figure.series)
    if count <= _MAX_LINES:
        return figure
    note = f"{figure.note} Shown: {_MAX_LINES} of {count} lines."
    return replace(figure, series=figure.series[:_MAX_LINES], note=note)
