# SPDX-License-Identifier: MIT
"""The commands of one run as a script, and the configuration of one node for a real machine. Nothing is executed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from mptcplab.errors import InputError
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.export import ExportedFile, export_formats, format_named
from mptcplab.plan.phases import phase_notes, phases_of
from mptcplab.plan.script import script
from mptcplab.scenario.document import name_hint
from mptcplab.scenario.load import Experiment
from mptcplab.scenario.points import select_point
from mptcplab.scenario.schema import Scenario


def plan_script(experiment: Experiment, point: str | Sequence[str] = ()) -> str:
    """Return the commands of the first run of a point, as a shell script for readers.

    ``point`` is a number as text, counted from 1, or texts ``KEY=VALUE`` of swept keys; by default the first point.

    :raises InputError: if no point is meant, or more than one.
    """
    chosen = select_point(experiment.points, [point] if isinstance(point, str) else point)
    settings = ", ".join(f"{key} = {value}" for key, value in chosen.settings.items())
    title = f"{experiment.title}{f' ({settings})' if settings else ''}, seed {experiment.seed}"
    notes = phase_notes(phases_of(chosen.scenario, experiment.seed))
    return script(compile_plan(chosen.scenario, seed=experiment.seed), title=title, notes=notes)


def export_node(
    scenario: Scenario,
    node: str,
    format: str = "sh",
    *,
    devices: Iterable[str] = (),
    password_file: str | Path | None = None,
) -> list[ExportedFile]:
    """Return the files that configure a real machine as ``node`` of a scenario: each with path, mode and text.

    ``format`` is ``sh``, ``networkd`` or ``uci``. ``devices`` are texts ``LINK=DEVICE`` with the machine's interfaces.
    ``password_file`` has the password of gateways. ``experiment.points[0].scenario`` is the scenario of a file.

    :raises InputError: if there is no such node, if the format cannot express it, or if a file cannot be read.
    :raises MissingError: if the package of the format is not installed.
    """
    names = export_formats()
    if format not in names:
        raise InputError(f"'{format}' is not a format", hint=f"use {', '.join(names)}")
    if node not in scenario.nodes:
        raise InputError(f"the scenario has no node '{node}'", hint=name_hint(node, scenario.nodes))
    password_path = Path(password_file) if password_file is not None else None
    return list(format_named(format).export(scenario, node, devices=devices, password_file=password_path))
