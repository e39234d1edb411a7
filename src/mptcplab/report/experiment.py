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
from mptcplab.metrics.metric import Metric
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

    They show goodput of workloads that send as much as they can, and the headline metrics of others.
    """
    if not swept_values(rows):
        return
    along = longest(swept_values(rows))
    for name, metric in METRICS.items():
        own = [row for row in rows if name in row.known]
        if any(name in row.metrics for row in own) and (metric.headline or name == "goodput_mbps"):
            file = f"figure-{name}" if metric.headline else "figure"
            about = own if metric.headline else _about_goodput(own)
            yield file, _with_changes(_figure(experiment.title, about, metric, along), experiment)


def _about_goodput(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Return the rows of workloads that are about goodput: a call has one, but nobody asks for it. All if none is."""
    others = {name for name, metric in METRICS.items() if metric.headline and not metric.of_failures}
    found = [row for row in rows if others.isdisjoint(row.metrics)]
    return found or list(rows)


def _figure(title: str, rows: Sequence[ResultRow], metric: Metric, along: str) -> Figure:
    """Return the figure of as many workloads as have room, and of the first lines if those of one have not."""
    lines: dict[str, set[tuple[tuple[str, str], ...]]] = {}
    for row in rows:
        others = tuple((key, value) for key, value in row.settings.items() if key != along)
        lines.setdefault(row.workload, set()).add(others)
    every, kept = sum(map(len, lines.values())), list(lines)
    while len(kept) > 1 and sum(len(lines[workload]) for workload in kept) > _MAX_LINES:
        kept.pop()
    figure = sweep_figure(title, [row for row in rows if row.workload in kept], metric, along)
    shown = figure.series[:_MAX_LINES]
    if len(shown) == every:
        return figure
    of = f", of workload{'s' if len(kept) > 1 else ''} {', '.join(kept)}" if len(kept) < len(lines) else ""
    return replace(figure, series=shown, note=f"{figure.note}\nshown: {len(shown)} of {every} lines{of}")


def _with_changes(figure: Figure, experiment: Experiment) -> Figure:
    note = textwrap.fill(changed_note(experiment.changes), _NOTE_WIDTH)
    return replace(figure, note=f"{figure.note}\n{note}") if note else figure
