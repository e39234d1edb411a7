# SPDX-License-Identifier: MIT
"""The tables to measure, each with the points of its scenario that it needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mptcplab.campaign.failures import repeat_command
from mptcplab.errors import InputError
from mptcplab.scenario.load import Experiment, Run, SweepPoint, load
from mptcplab.study.forms import file_stem, short_changes
from mptcplab.study.load import SelectedTable
from mptcplab.study.schema import WORKLOAD


@dataclass(frozen=True)
class TableJob:
    """One table and the points of its scenario to measure. ``overrides`` come from the command line."""

    selected: SelectedTable
    experiment: Experiment
    points: list[SweepPoint]
    overrides: tuple[str, ...]
    is_quick: bool

    @property
    def changes(self) -> tuple[str, ...]:
        """All differences from the scenario, as arguments of ``--set``."""
        return (*(short_changes(self.selected.table) if self.is_quick else ()), *self.overrides)

    @property
    def runs(self) -> list[Run]:
        """The runs of all points with all seeds."""
        return [run for point in self.points for run in self.experiment.runs_of(point, 0, self.experiment.repeats)]

    def file(self, name: str) -> str:
        """Return the name of a file of this table and form, without its last suffix."""
        return file_stem(f"{name}-{self.selected.number}", quick=self.is_quick)

    def repeat_command(self, failed: Run) -> str:
        """Return the command that repeats one run alone."""
        return repeat_command(self.selected.scenario, self.changes, None, failed)


def table_names(tables: Sequence[SelectedTable]) -> list[str]:
    """Return the names by which a command selects ``tables``: of several tables of a study, the study's."""
    counts = Counter(selected.folder for selected in tables)
    return list(
        dict.fromkeys(
            selected_table.folder.name if counts[selected_table.folder] > 1 else selected_table.name
            for selected_table in tables
        )
    )


def table_job(
    selected: SelectedTable,
    overrides: Sequence[str],
    *,
    quick: bool,
    repeats: int | None = None,
    seed: int | None = None,
) -> TableJob:
    """Return the job for a table with ``overrides`` of its scenario's keys.

    ``repeats`` and ``seed`` replace the values of the table's form and of its scenario.
    :raises InputError: if an override is wrong.
    """
    table = selected.table
    changes = [*(short_changes(table) if quick else []), *overrides]
    repeats = table.quick.repeats if quick and repeats is None else repeats
    experiment = load(selected.scenario, overrides=changes, repeats=repeats, seed=seed)
    if gone := _swept_keys(selected) - set(experiment.points[0].settings):
        hint = "its rows and columns are values of this key; to change it, use `mptcplab run` on the scenario"
        raise InputError(f"--set {min(gone)}: {selected.name} varies this key", hint=hint)
    rows = table.quick.rows if quick and table.quick.rows else table.all_rows
    points = [point for point in experiment.points if point.settings[table.along] in rows]
    return TableJob(selected, experiment, points, tuple(overrides), quick)


def _swept_keys(selected: SelectedTable) -> set[str]:
    """Return the keys whose values distinguish the rows and columns."""
    table = selected.table
    return {table.along, *(key for column in table.columns.values() for key in column.where)} - {WORKLOAD}
