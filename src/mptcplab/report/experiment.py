# SPDX-License-Identifier: MIT
"""The result of one experiment as JSON data and as figures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import mptcplab
from mptcplab.figure.along import choose_axis, overview, points_of, together_notes
from mptcplab.figure.lines import Figure
from mptcplab.figure.sweep import sweep_figure
from mptcplab.metrics.metric import Metric
from mptcplab.metrics.points import changed_keys_note, short_names, swept_values
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow
from mptcplab.scenario.load import Experiment

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
        "unavailable": [
            {"settings": unavailable.settings, "reason": unavailable.reason} for unavailable in experiment.unavailable
        ],
    }


def experiment_figures(experiment: Experiment, rows: Sequence[ResultRow]) -> Iterator[tuple[str, Figure]]:
    """Yield names and figures over the sweep's longest axis, with a line per combination of the others, or for some.

    They show goodput of workloads that send as much as they can, and the headline metrics of others.
    """
    if not swept_values(rows):
        return
    along = choose_axis(points_of(rows)) or next(iter(swept_values(rows)))
    for name, metric in METRICS.items():
        own_rows = [row for row in rows if name in row.known]
        if any(name in row.metrics for row in own_rows) and (metric.display.headline or name == "goodput_mbps"):
            file = f"figure-{name}" if metric.display.headline else "figure"
            about = own_rows if metric.display.headline else _goodput_rows(own_rows)
            yield file, _with_changes(_figure(experiment.title, about, metric, along), experiment)


def _goodput_rows(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Return the rows of workloads that are about goodput: a call has one, but nobody asks for it. All if none is."""
    others = {name for name, metric in METRICS.items() if metric.display.headline and not metric.of_failures}
    result_rows = [row for row in rows if others.isdisjoint(row.metrics)]
    return result_rows or list(rows)


def _figure(title: str, rows: Sequence[ResultRow], metric: Metric, along: str) -> Figure:
    shown = overview(rows, along, metric)
    figure = sweep_figure(title, shown.rows, metric, along, shown.keys)
    together = together_notes(points_of(rows), along, shown.keys, short_names(list(swept_values(rows))))
    return replace(figure, note="\n".join(filter(None, [figure.note, *together, shown.note])))


def _with_changes(figure: Figure, experiment: Experiment) -> Figure:
    note = textwrap.fill(changed_keys_note(experiment.changes), _NOTE_WIDTH)
    return replace(figure, note=f"{figure.note}\n{note}") if note else figure
