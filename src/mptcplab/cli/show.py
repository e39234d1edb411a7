# SPDX-License-Identifier: MIT
"""``mptcplab show``: describes an experiment without running it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mptcplab import api
from mptcplab.api.scenario_text import endpoint_notes, first_point_text
from mptcplab.cli.common import console, print_table
from mptcplab.metrics.values import changed_keys_note, duration_text, memory_text, short_names, size_text
from mptcplab.report.table import Table


def show(file: Path | str, overrides: tuple[str, ...], seed: int | None, repeats: int | None, as_json: bool) -> None:
    """Print what the scenario in ``file`` means: its first point, its runs, and estimates of time and disk space."""
    with api.open_source(file, overrides=overrides, seed=seed, repeats=repeats) as source:
        _show(source.experiment, as_json=as_json)


def _show(experiment: api.Experiment, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(api.describe(experiment)))
        return
    out = console()
    out.print(experiment.title, style="bold", markup=False)
    if experiment.question:
        out.print(experiment.question, markup=False)
    if experiment.changes:
        out.print(f"{changed_keys_note(experiment.changes)}.", markup=False)
    click.echo(f"\n{first_point_text(experiment)}")
    for note in endpoint_notes(experiment.points[0].scenario):
        out.print(note, markup=False)
    print_table(_points(experiment))
    count, needed = len(experiment.runs), api.estimate(experiment)
    at_most = "at most " if experiment.until else ""
    text = f"{at_most}{count} run{'s' if count > 1 else ''}, about {duration_text(needed.seconds)} on an idle machine"
    text += f" with {needed.jobs} jobs, about {size_text(needed.bytes)} on disk"
    if not needed.has_usual_memory:
        bound = "up to " if len(experiment.points) > 1 else ""
        text += f", in labs of {bound}{memory_text(needed.lab_memory_bytes)} of memory"
    out.print(text, markup=False)


def _points(experiment: api.Experiment) -> Table:
    names = short_names(list(experiment.points[0].settings))
    last = experiment.seed + experiment.repeats - 1
    seeds = str(last) if last == experiment.seed else f"{experiment.seed} to {last}"
    rows = ((*point.settings.values(), seeds) for point in experiment.points)
    lacking = (
        (*unavailable.settings.values(), f"not available: {unavailable.reason}")
        for unavailable in experiment.unavailable
    )
    return Table.build("Runs", (*names.values(), "seeds"), (*rows, *lacking))
