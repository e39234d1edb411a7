# SPDX-License-Identifier: MIT
"""Find and read studies, distinguish the two forms of their tables, and select the points to measure."""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from mptcplab.campaign.failures import repeat_command
from mptcplab.errors import InputError, LabError
from mptcplab.metrics.stored import WRONG
from mptcplab.scenario.extends import read
from mptcplab.scenario.load import Experiment, Run, SweepPoint, load
from mptcplab.study.schema import WORKLOAD, PublishedColumn, PublishedTable, Study
from mptcplab.study.stored import MeasuredTable

# Find studies and read them.

_STUDIES = Path(__file__).resolve().parents[1] / "studies"


@dataclass(frozen=True)
class SelectedTable:
    """One table of one study."""

    study: Study
    folder: Path
    number: str
    table: PublishedTable

    @property
    def name(self) -> str:
        """As the command line takes it: ``subramani2018/4.1``."""
        return f"{self.folder.name}/{self.number}"

    @property
    def heading(self) -> str:
        """As a heading names it: ``Table 4.1``."""
        return f"{self.table.kind} {self.number}"

    @property
    def scenario(self) -> Path:
        """The scenario that measures the table."""
        return self.folder / self.table.scenario


def study_names() -> list[str]:
    """Return the names of all studies."""
    return sorted(path.parent.name for path in _STUDIES.glob("*/study.toml"))


def select(wanted: str | None) -> list[SelectedTable]:
    """Return tables by ``STUDY`` or ``STUDY/TABLE``; all for None. :raises InputError: if there is no such."""
    names = study_names()
    if wanted is None:
        return [selected_table for name in names for selected_table in _tables(name)]
    name, _, number = wanted.partition("/")
    if name not in names:
        raise InputError(f"there is no study '{name}'", hint=_suggest(name, names))
    tables = _tables(name)
    if not number:
        return tables
    selected_tables = [selected_table for selected_table in tables if selected_table.number == number]
    if not selected_tables:
        numbers = [selected_table.number for selected_table in tables]
        raise InputError(f"study {name} has no table '{number}' here", hint=f"there is {', '.join(numbers)}")
    return selected_tables


def _suggest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else f"studies: {', '.join(names)}"


def _tables(name: str) -> list[SelectedTable]:
    folder = _STUDIES / name
    try:
        study = _parse_study(name, (folder / "study.toml").read_text())
    except (ValidationError, tomllib.TOMLDecodeError, OSError) as error:
        where = folder / "study.toml"
        said = " ".join(str(error).split())
        raise LabError(f"the data of study '{name}' is damaged", hint=f"see {where} ({said})") from error
    return [SelectedTable(study, folder, number, table) for number, table in study.tables.items()]


@cache
def _parse_study(name: str, text: str) -> Study:
    """Return the study that a ``study.toml`` describes; many tables are selected one after the other."""
    return Study.model_validate({"name": name, **tomllib.loads(text)})


# The short and the full form of a table: what each leaves in the results folder of its study.
#
# ``table-NAME.json`` is of the full form, ``table-NAME.quick.json`` of the short one, and so with all other files, so
# that neither replaces the other. The document says which form it is, and wins over its name.

_QUICK = ".quick"
_DIGEST = 16
#: Of a scenario, what does not decide what a table means. Runs more or less of a point make another interval of the
#: same mean.
_NOT_MEANT = {"title", "question", "repeats"}

#: The tables of a results folder by their name (``STUDY/TABLE``) and whether it is the short form.
Documents = Mapping[tuple[str, bool], MeasuredTable]


def file_stem(name: str, *, quick: bool) -> str:
    """Return the name of a form's files up to the last suffix; ``name`` as in ``table-4.1-jain``."""
    return f"{name}{_QUICK if quick else ''}"


def short_changes(table: PublishedTable) -> list[str]:
    """Return the changes of the short form in the scenario, as ``--set`` takes them."""
    return [f"{key}={value}" for key, value in table.quick.change.items()]


def read_documents(folder: Path) -> dict[tuple[str, bool], MeasuredTable]:
    """Return the tables that ``mptcplab reproduce`` wrote to the folder of a study, without damaged ones."""
    documents: dict[tuple[str, bool], MeasuredTable] = {}
    # Of two about the same form, the file whose name says so: older versions wrote both forms under one name.
    for file in sorted(folder.glob("table-*.json"), key=lambda file: (_QUICK in file.name, file.name)):
        try:
            measured = MeasuredTable.from_json(json.loads(file.read_text()))
        except (OSError, *WRONG):
            continue
        documents[measured.name, measured.is_quick] = measured
    return documents


def _reduction(column: PublishedColumn) -> tuple[object, ...]:
    """Return what becomes of the values of runs, unless that is their mean."""
    return () if (column.of_runs, column.times) == ("mean", 1) else (column.of_runs, column.times)


def digest(selected: SelectedTable) -> str:
    """Of all that decides what the full form of a table measures: its scenario, and what its cells are.

    :raises InputError: when the scenario cannot be read.
    """
    scenario = {key: value for key, value in read(selected.scenario).tables.items() if key not in _NOT_MEANT}
    table = selected.table
    cells = {
        name: [column.where, column.ratio, table.value_of(name), *_reduction(column)]
        for name, column in table.columns.items()
    }
    text = json.dumps([scenario, table.along, cells], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]


# The tables to measure, each with the points of its scenario that it needs.


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
