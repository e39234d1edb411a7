# SPDX-License-Identifier: MIT
"""``mptcplab plan``: the commands of one run, or the configuration of one node."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.api.sources import open_source
from mptcplab.cli.export import export
from mptcplab.cli.points import select_point
from mptcplab.errors import InputError
from mptcplab.export.registry import FORMATS
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.phases import phase_notes, phases_of
from mptcplab.plan.script import script
from mptcplab.scenario.load import Experiment


def plan(
    file: Path | str,
    overrides: tuple[str, ...],
    seed: int | None,
    wanted: tuple[str, ...],
    node: str | None,
    form: str | None,
    devices: tuple[str, ...],
    password_file: Path | None,
    out: Path | None,
) -> None:
    """Print the commands of one run; with ``node``, the configuration of that node for a real machine."""
    with open_source(file, overrides=overrides, seed=seed) as source:
        _plan(source.experiment, seed, wanted, node, form, devices, password_file, out)


def _plan(
    experiment: Experiment,
    seed: int | None,
    wanted: tuple[str, ...],
    node: str | None,
    form: str | None,
    devices: tuple[str, ...],
    password_file: Path | None,
    out: Path | None,
) -> None:
    chosen = select_point(experiment.points, wanted)
    if node is not None:
        if seed is not None:
            raise InputError("--seed has no effect with --node", hint="remove it: a seed changes links and workloads")
        export(chosen.scenario, node, form or next(iter(FORMATS)), devices, password_file, out)
        return
    given = {"--format": form, "--device": devices, "--password-file": password_file, "--out": out}
    for option, value in given.items():
        if value:
            raise InputError(f"{option} needs --node", hint="name a node of the scenario, like --node client")
    settings = ", ".join(f"{key} = {value}" for key, value in chosen.settings.items())
    title = f"{experiment.title}{f' ({settings})' if settings else ''}, seed {experiment.seed}"
    notes = phase_notes(phases_of(chosen.scenario, experiment.seed))
    click.echo(script(compile_plan(chosen.scenario, seed=experiment.seed), title=title, notes=notes), nl=False)
