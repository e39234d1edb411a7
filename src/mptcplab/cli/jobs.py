# SPDX-License-Identifier: MIT
"""What ``mptcplab reproduce`` is to measure: tables, each with the part of its scenario that is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mptcplab.cli.common import repeating
from mptcplab.errors import InputError
from mptcplab.scenario.load import Experiment, Point, Run, load
from mptcplab.study.forms import file_stem, short_changes
from mptcplab.study.load import SelectedTable
from mptcplab.study.schema import WORKLOAD


@dataclass(frozen=True)
class TableJob:
    """One table, and the points of its scenario that are to be measured. ``overrides`` are the command line's."""

    selected: SelectedTable
    experiment: Experiment
    points: list[Point]
    overrides: tuple[str, ...]
    is_quick: bool

    @property
    def changes(self) -> tuple[str, ...]:
        """All that differs from the scenario, as ``--set`` takes it."""
        return (*(short_changes(self.selected.table) if self.is_quick else ()), *self.overrides)

    @property
    def runs(self) -> list[Run]:
        """Of all points with all seeds."""
        return [run for point in self.points for run in self.experiment.runs_of(point, 0, self.experiment.repeats)]

    def file(self, name: str) -> str:
        """What a file of this table and form is called, before its last suffix."""
        return file_stem(f"{name}-{self.selected.number}", quick=self.is_quick)

    def repeating(self, failed: Run) -> str:
        """The command that repeats one run alone."""
        return repeating(self.selected.scenario, self.changes, failed)


def work_on(selected: SelectedTable, overrides: Sequence[str], *, quick: bool) -> TableJob:
    """The table with ``overrides`` of its scenario's keys. :raises InputError: when they are wrong."""
    table = selected.table
    changes = [*(short_changes(table) if quick else []), *overrides]
    experiment = load(selected.scenario, overrides=changes, repeats=table.quick.repeats if quick else None)
    if gone := _swept_keys(selected) - set(experiment.points[0].settings):
        hint = "its rows and columns are values of this key; to change it, use `mptcplab run` on the scenario"
        raise InputError(f"--set {min(gone)}: is what {selected.name} varies", hint=hint)
    rows = table.quick.rows if quick and table.quick.rows else table.all_rows
    points = [point for point in experiment.points if point.settings[table.along] in rows]
    return TableJob(selected, experiment, points, tuple(overrides), quick)


def _swept_keys(selected: SelectedTable) -> set[str]:
    """What rows and columns are told by."""
    table = selected.table
    return {table.along, *(key for column in table.columns.values() for key in column.where)} - {WORKLOAD}
