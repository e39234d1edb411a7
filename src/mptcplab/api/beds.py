# SPDX-License-Identifier: MIT
"""The tables of a study on every test bed that it could have had, and the cloud of their values."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import mptcplab
from mptcplab.api.experiments import combine_lacks, find_missing_by_user
from mptcplab.api.reproduction import REPRODUCE_FOLDER
from mptcplab.api.sources import Changes, override_texts
from mptcplab.campaign.failures import check_failures, install_command
from mptcplab.campaign.lab import CompletedRun, cpu_seconds, missing_runs
from mptcplab.campaign.rounds import Rounds
from mptcplab.campaign.sweep import Report, RunOptions, Warn, execute, ignore
from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.files import report_write_errors
from mptcplab.metrics.rows import RunResult, kernel_builds
from mptcplab.metrics.stored import WRONG
from mptcplab.report.table import Table, write_json, write_table
from mptcplab.scenario.load import Experiment, Run, SweepPoint
from mptcplab.study.beds import BedSpace, SampledBed, draw, is_drawn, read_beds
from mptcplab.study.cloud import judge_cloud, values_by_bed
from mptcplab.study.cloud_page import claims_table, cloud_table, save_cloud
from mptcplab.study.library import SelectedTable, TableJob, digest, file_stem, select, table_job, table_names
from mptcplab.study.measurement import index_results
from mptcplab.study.stored_cloud import StoredCloud, StoredCloudTable, keep_current

#: Keys of an experiment that test beds decide themselves.
_OF_BEDS = ("seed", "repeats")


@dataclass(frozen=True)
class _BedJob:
    """One table on one test bed."""

    bed: SampledBed
    work: TableJob


@dataclass(frozen=True)
class BedPlan:
    """The tables of one study on all its test beds. ``overrides`` come from the command line."""

    tables: tuple[SelectedTable, ...]
    space: BedSpace
    beds: tuple[SampledBed, ...]
    jobs: tuple[_BedJob, ...]
    overrides: tuple[str, ...]
    is_quick: bool

    @property
    def study(self) -> str:
        """The name of the study."""
        return self.tables[0].folder.name

    @property
    def runs(self) -> list[Run]:
        """The runs of all tables on all test beds."""
        return [run for job in self.jobs for run in job.work.runs]

    @property
    def runs_of_tables(self) -> dict[str, list[Run]]:
        """The runs of each table on all test beds, by its name."""
        runs: dict[str, list[Run]] = {}
        for job in self.jobs:
            runs.setdefault(job.work.selected.name, []).extend(job.work.runs)
        return runs

    def runs_to_make(self, folder: Path) -> list[Run]:
        """Return the runs that are not recorded; all if this machine lacks what identifies them, such as a kernel."""
        try:
            return missing_runs(self.runs, folder)
        except MissingError:
            return self.runs

    def file(self, name: str) -> str:
        """Return the name of a file of this number of test beds and this form, without its last suffix."""
        return file_stem(f"{name}-{len(self.beds)}", quick=self.is_quick)


class _BedRounds(Rounds):
    """The runs of all tables on all test beds in one sweep: each point once, with the seed of its test bed."""

    def __init__(self, jobs: Sequence[_BedJob]) -> None:
        self._experiments: dict[int, Experiment] = {
            id(point): job.work.experiment for job in jobs for point in job.work.points
        }
        super().__init__(jobs[0].work.experiment, [point for job in jobs for point in job.work.points])

    def runs_of(self, point: SweepPoint, first: int, end: int) -> list[Run]:
        """Return the repeats of one point, whose seed its test bed decides."""
        return self._experiments[id(point)].runs_of(point, first, end)


@dataclass(frozen=True)
class BedReport:
    """The tables of a study on its test beds, in ``document``, and as tables of values and claims.

    ``problem`` is why runs failed, or why a table has no value; None without any. ``folder`` has the files.
    """

    plan: BedPlan
    folder: Path
    document: dict[str, Any]
    values: Table
    claims: Table
    figures: tuple[Path, ...]
    problem: LabError | None


class BedReproduction:
    """The measurement of the tables of studies on test beds. ``reports`` has the studies that are measured so far.

    See :func:`reproduce_beds` for the arguments. The constructor runs nothing.

    :raises InputError: if a study has no test beds to draw from, if ``count`` is less than 1, or if an option
        contradicts test beds.
    """

    def __init__(
        self, wanted: str | None, count: int, *, quick: bool, set: Changes, out: str | Path, options: RunOptions
    ) -> None:
        self.out, self.options = Path(out), options
        self.plans = plan_studies(wanted, count, override_texts(set), options, quick=quick)
        self.reports: list[BedReport] = []
        self._lacks: Mapping[str, MissingError] = {}

    def folder(self, plan: BedPlan) -> Path:
        """Return the results folder of a study."""
        return self.out / plan.study

    def cost(self, plan: BedPlan) -> BedCost:
        """Return what the measurement of a study takes."""
        return BedCost(plan, tuple(plan.runs_to_make(self.folder(plan))))

    def prepare(self) -> Mapping[str, MissingError]:
        """Find the studies that this machine cannot measure, and return an error for each, by the study's name.

        :raises MissingError: if no study can be measured.
        """
        lacks = {plan.study: find_bed_lacks(plan, self.options) for plan in self.plans}
        errors = [error for error in lacks.values() if error is not None]
        if len(errors) == len(self.plans):
            raise errors[0]
        self._lacks = {
            study: MissingError(f"study '{study}' cannot be measured: {error.message}", hint=error.hint)
            for study, error in lacks.items()
            if error is not None
        }
        return self._lacks

    def measure(self, callbacks: BedCallbacks) -> Iterator[BedReport]:
        """Measure one study after the other, and yield each as soon as its files are written. Call ``prepare`` before.

        :raises LabError: if files cannot be written. :raises KeyboardInterrupt: if a signal interrupts the runs.
        """
        for plan in self.plans:
            if plan.study in self._lacks:
                continue
            callbacks.begin(plan)
            folder = self.folder(plan)
            report = measure_beds(plan, folder, self.options, progress=callbacks.progress, warn=callbacks.warn)
            self.reports.append(report)
            yield report

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of ``mptcplab reproduce --beds --json``."""
        return {"studies": [report.document for report in self.reports]}

    @property
    def is_good(self) -> bool:
        """True if no run failed, and every table has a value."""
        return all(report.problem is None for report in self.reports)


@dataclass(frozen=True)
class BedCost:
    """The cost of measuring a study on its test beds: ``left`` are the runs that are not recorded."""

    plan: BedPlan
    left: tuple[Run, ...]

    @property
    def recorded(self) -> int:
        """The number of runs that are recorded."""
        return len(self.plan.runs) - len(self.left)

    @property
    def cpu_seconds(self) -> float:
        """Roughly the time of one CPU for the runs that are left, in seconds."""
        return cpu_seconds(self.left)

    def to_json(self) -> dict[str, Any]:
        """Return the entry of ``mptcplab reproduce --beds --list --json``."""
        entry = {"study": self.plan.study, "beds": len(self.plan.beds), "runs": len(self.plan.runs)}
        return entry | {"recorded": self.recorded, "cpu_seconds": round(self.cpu_seconds)}


@dataclass(frozen=True)
class BedCallbacks:
    """Functions of the caller that receive the plan of each study before it, the progress of its runs, and warnings."""

    begin: Callable[[BedPlan], None] = ignore
    progress: Report = ignore
    warn: Warn = ignore


def reproduce_beds(
    wanted: str | None,
    count: int,
    *,
    quick: bool = False,
    set: Changes = (),
    out: str | Path = REPRODUCE_FOLDER,
    jobs: int | None = None,
    engine: str = DEFAULT_ENGINE,
    cluster: str | None = None,
    fresh: bool = False,
    progress: Report = ignore,
    warn: Warn = ignore,
) -> list[BedReport]:
    """Measure the tables of each study on the first ``count`` test beds that it could have had, one run for each cell.

    The arguments are as for :func:`mptcplab.api.reproduce`. A study that this machine cannot measure is left out,
    with a warning.

    :raises InputError: if a study has no test beds to draw from, if ``count`` is less than 1, or if an option
        contradicts test beds.
    :raises MissingError: if this machine lacks something that every study needs.
    :raises LabError: if files cannot be written.
    :raises KeyboardInterrupt: if a signal interrupts the runs.
    """
    options = RunOptions(jobs, fresh, cluster, engine)
    reproduction = BedReproduction(wanted, count, quick=quick, set=set, out=out, options=options)
    for error in reproduction.prepare().values():
        warn(error.message)
    return list(reproduction.measure(BedCallbacks(progress=progress, warn=warn)))


def plan_studies(
    wanted: str | None, count: int, overrides: tuple[str, ...], options: RunOptions, *, quick: bool
) -> list[BedPlan]:
    """Return the plan of each study that ``wanted`` names.

    :raises InputError: if a study has no test beds to draw from, if ``count`` is less than 1, or if an option
        contradicts test beds.
    """
    tables = select(wanted)
    if options.engine != DEFAULT_ENGINE:
        message = f"--beds and --engine {options.engine} contradict each other: beds settle the lab kernel of a study"
        raise InputError(message, hint="leave out --engine")
    studies = [list(group) for _, group in groupby(tables, key=lambda selected: selected.folder)]
    return [plan_beds(group, count, overrides, quick=quick) for group in studies]


def plan_beds(tables: Sequence[SelectedTable], count: int, overrides: tuple[str, ...], *, quick: bool) -> BedPlan:
    """Return the test beds of a study, and its tables on each of them.

    :raises InputError: if the study has no test beds to draw from, if ``count`` is less than 1, or if an override
        contradicts them.
    """
    if count < 1:
        raise InputError(f"{count} test beds cannot be drawn", hint="give at least 1 as count")
    drawn = tuple(selected for selected in tables if is_drawn(selected.study, selected.number))
    if not drawn:
        names = ", ".join(selected.name for selected in tables)
        raise InputError(
            f"--beds is for values and claims of the source; {names} has none", hint="choose another table"
        )
    space = read_beds(drawn[0].folder, drawn[0].study)
    for text in overrides:
        _check_override(text, space, drawn)
    beds = tuple(draw(space, count))
    jobs = tuple(_job(bed, selected, space, overrides, quick=quick) for bed in beds for selected in drawn)
    return BedPlan(drawn, space, beds, jobs, overrides, quick)


def find_bed_lacks(plan: BedPlan, options: RunOptions) -> MissingError | None:
    """Return what this machine lacks for a study, with the command that gets it; None if it lacks nothing."""
    lacking = find_missing_by_user(plan.runs_of_tables, options)
    if not lacking:
        return None
    names = table_names([selected for selected in plan.tables if selected.name in lacking])
    return combine_lacks(lacking, install_command(names, plan.overrides, beds=len(plan.beds)))


def _check_override(text: str, space: BedSpace, tables: Sequence[SelectedTable]) -> None:
    """:raises InputError: if ``--set`` changes a key that test beds decide."""
    key = text.partition("=")[0].strip()
    decided = {known for selected in tables for known in space.keys(selected.number)}
    if key in _OF_BEDS or any(fnmatch.fnmatchcase(key, known) or fnmatch.fnmatchcase(known, key) for known in decided):
        raise InputError(f"--set {key}: beds decide this key", hint="leave it out, or leave out --beds")


def _job(
    bed: SampledBed, selected: SelectedTable, space: BedSpace, overrides: Sequence[str], *, quick: bool
) -> _BedJob:
    """Return a table on a test bed. In the short form, what that shortens stays short."""
    shortened = selected.table.quick.change if quick else {}
    settings = [text for text in space.overrides(bed, selected.number) if text.partition("=")[0] not in shortened]
    return _BedJob(bed, table_job(selected, [*settings, *overrides], quick=quick, repeats=1, seed=bed.number))


def measure_beds(
    plan: BedPlan, folder: Path, options: RunOptions, *, progress: Report = ignore, warn: Warn = ignore
) -> BedReport:
    """Execute all runs of a study, and write and return the cloud of its values. The caller has found no lacks.

    :raises LabError: if files cannot be written. :raises KeyboardInterrupt: if a signal interrupts the runs.
    """
    done = execute(_BedRounds(plan.jobs), folder, options, progress=progress, warn=warn)
    works = {id(point): job.work for job in plan.jobs for point in job.work.points}
    failure = None
    try:
        check_failures(
            done,
            lambda run: works[id(run.point)].repeat_command(run),
            folder,
            name=f"{file_stem('failed-beds', quick=plan.is_quick)}.sh",
        )
    except LabError as error:
        failure = error
    by_point = {id(completed.run.point): completed for completed in done}
    tables = {selected.number: _measure_table(plan, selected, by_point) for selected in plan.tables}
    measured = {number: table for number, table in tables.items() if table.values}
    if failure is None and len(measured) < len(tables):
        number = next(number for number in tables if number not in measured)
        text = f"no run of table {number} has the table's metric"
        failure = LabError(text, hint=f"see the recordings in {folder / 'runs'}")
    cloud = StoredCloud(plan.study, plan.is_quick, tuple(plan.overrides), plan.space.digest, tuple(plan.beds), measured)
    return _write(plan, cloud, folder, failure)


def _measure_table(plan: BedPlan, selected: SelectedTable, by_point: Mapping[int, CompletedRun]) -> StoredCloudTable:
    """Return the values of one table on all test beds."""
    jobs = [job for job in plan.jobs if job.work.selected is selected]
    results = [list(_results(job, by_point)) for job in jobs]
    failed = Counter[int]()
    for position, job in enumerate(jobs):
        failed[position] += sum(by_point[id(point)].result is None for point in job.work.points)
    kernels = kernel_builds(result for of_bed in results for result in of_bed)
    values = values_by_bed(selected, [index_results(selected, of_bed) for of_bed in results])
    return StoredCloudTable(digest(selected), values, +failed, mptcplab.__version__, kernels)


def _results(job: _BedJob, by_point: Mapping[int, CompletedRun]) -> Iterator[RunResult]:
    for point in job.work.points:
        result = by_point[id(point)].result
        if result is not None:
            yield result


def _read_earlier_tables(plan: BedPlan, cloud: StoredCloud, file: Path) -> dict[str, StoredCloudTable]:
    """Return the tables that an earlier command has measured on the same test beds, if they are still current."""
    try:
        before = StoredCloud.read(file)
    except (OSError, *WRONG):
        return {}
    is_same = replace(before, space=cloud.space, tables=cloud.tables) == cloud
    return keep_current(before, select(plan.study), plan.space) if is_same else {}


def _write(plan: BedPlan, measured: StoredCloud, folder: Path, problem: LabError | None) -> BedReport:
    """Write the cloud as tables, data and a picture. Tables measured before stay in it."""
    name, tables = plan.file("beds"), select(plan.study)
    earlier = _read_earlier_tables(plan, measured, folder / f"{name}.json")
    stored = replace(measured, tables={**earlier, **measured.tables})
    cloud, document = judge_cloud(stored, tables, plan.space), stored.to_json()
    values, claims = cloud_table(cloud, tables), claims_table(cloud)
    with report_write_errors(folder):
        write_json(document, folder / f"{name}.json")
        if values.rows:
            write_table(values, folder, name)
        if claims.rows:
            write_table(claims, folder, plan.file("beds-claims"))
        figures = save_cloud(cloud, tables, folder, name)
    return BedReport(plan, folder, document, values, claims, tuple(figures), problem)
