# SPDX-License-Identifier: MIT
"""``mptcplab reproduce STUDY --beds N``: the tables of a study on every test bed that it could have had."""

from __future__ import annotations

import fnmatch
import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import click

import mptcplab
from mptcplab.campaign.lab import CompletedRun
from mptcplab.campaign.missing import find_missing
from mptcplab.campaign.recorded import cpu_seconds, missing_runs
from mptcplab.campaign.rounds import Rounds
from mptcplab.cli.common import console, print_table, report_write_errors
from mptcplab.cli.jobs import TableJob, table_job, table_names
from mptcplab.cli.lacking import combine_lacks
from mptcplab.cli.main import report_error
from mptcplab.cli.running import RunOptions, check_failures, install_command
from mptcplab.cli.sweep import execute
from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.errors import Exit, InputError, LabError, MissingError
from mptcplab.kernel import find_kernel
from mptcplab.metrics.rows import RunResult
from mptcplab.plan.forecast import duration_text
from mptcplab.report.files import write_json, write_table
from mptcplab.scenario.load import Experiment, Run, SweepPoint
from mptcplab.study.beds import BedSpace, SampledBed, draw, is_drawn, read_beds
from mptcplab.study.cloud import cloud_entry, keep_current, read_cloud
from mptcplab.study.cloud_page import claims_table, cloud_table, save_cloud
from mptcplab.study.forms import digest, file_stem
from mptcplab.study.load import SelectedTable, select
from mptcplab.study.measured import index_results

#: Keys of an experiment that beds decide themselves.
_OF_BEDS = ("seed", "repeats")


@dataclass(frozen=True)
class _BedJob:
    """One table on one bed."""

    bed: SampledBed
    work: TableJob


@dataclass(frozen=True)
class BedPlan:
    """The tables of one study on all its beds. ``overrides`` come from the command line."""

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
        """The runs of all tables on all beds."""
        return [run for job in self.jobs for run in job.work.runs]

    @property
    def runs_of_tables(self) -> dict[str, list[Run]]:
        """The runs of each table on all beds, by its name."""
        runs: dict[str, list[Run]] = {}
        for job in self.jobs:
            runs.setdefault(job.work.selected.name, []).extend(job.work.runs)
        return runs

    def file(self, name: str) -> str:
        """Return the name of a file of this number of beds and this form, without its last suffix."""
        return file_stem(f"{name}-{len(self.beds)}", quick=self.is_quick)


class _BedRounds(Rounds):
    """The runs of all tables on all beds in one sweep: each point once, with the seed of its bed."""

    def __init__(self, jobs: Sequence[_BedJob]) -> None:
        self._experiments: dict[int, Experiment] = {
            id(point): job.work.experiment for job in jobs for point in job.work.points
        }
        super().__init__(jobs[0].work.experiment, [point for job in jobs for point in job.work.points])

    def runs_of(self, point: SweepPoint, first: int, end: int) -> list[Run]:
        """Return the repeats of one point, whose seed its bed decides."""
        return self._experiments[id(point)].runs_of(point, first, end)


def reproduce_beds(
    tables: Sequence[SelectedTable],
    count: int,
    overrides: tuple[str, ...],
    out: Path,
    running: RunOptions,
    *,
    quick: bool,
    only_list: bool,
    as_json: bool,
) -> int:
    """Measure the tables of each study on its first ``count`` beds, judge the cloud, and return the exit status.

    :raises InputError: if a study has no test beds to draw from, or if an option contradicts beds.
    :raises MissingError: if this machine lacks something that every study needs.
    """
    if running.engine != DEFAULT_ENGINE:
        message = f"--beds and --engine {running.engine} contradict each other: beds settle the lab kernel of a study"
        raise InputError(message, hint="leave out --engine")
    studies = [list(group) for _, group in groupby(tables, key=lambda selected: selected.folder)]
    plans = [plan_beds(group, count, overrides, quick=quick) for group in studies]
    if only_list:
        _list(plans, out, as_json=as_json)
        return Exit.DONE
    lacks = {plan.study: _find_lacks(plan, running) for plan in plans}
    problems = [error for error in lacks.values() if error is not None]
    for study, error in lacks.items():
        if error is not None and len(problems) < len(plans):
            report_error(MissingError(f"study '{study}' cannot be measured: {error.message}", hint=error.hint))
    if len(problems) == len(plans):
        raise problems[0]
    documents: list[dict[str, Any]] = []
    status = Exit.MISSING if problems else Exit.DONE
    for plan in plans:
        if lacks[plan.study] is not None:
            continue
        if not as_json:
            console(stderr=True).print(_cost_text(plan, out / plan.study), markup=False, soft_wrap=True)
        document, failure = _measure(plan, out / plan.study, running)
        documents.append(document)
        if failure is not None:
            report_error(LabError(f"{plan.study}: {failure.message}", hint=failure.hint))
            status = Exit.FAILED
        _show(plan, document, out / plan.study, quiet=as_json)
    if as_json:
        click.echo(json.dumps({"studies": documents}))
    return status


def plan_beds(tables: Sequence[SelectedTable], count: int, overrides: tuple[str, ...], *, quick: bool) -> BedPlan:
    """Return the beds of a study, and its tables on each of them.

    :raises InputError: if the study has no test beds to draw from, or if an override contradicts them.
    """
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


def _find_lacks(plan: BedPlan, running: RunOptions) -> MissingError | None:
    """Return what this machine lacks for a study, with the command that gets it; None if it lacks nothing."""
    on_cluster = running.cluster is not None
    missing = {
        name: find_missing(runs, engine=running.engine, on_cluster=on_cluster)
        for name, runs in plan.runs_of_tables.items()
    }
    lacking = {name: errors for name, errors in missing.items() if errors}
    if not lacking:
        return None
    names = table_names([selected for selected in plan.tables if selected.name in lacking])
    return combine_lacks(lacking, install_command(names, plan.overrides, beds=len(plan.beds)))


def _check_override(text: str, space: BedSpace, tables: Sequence[SelectedTable]) -> None:
    """:raises InputError: if ``--set`` changes a key that beds decide."""
    key = text.partition("=")[0].strip()
    decided = {known for selected in tables for known in space.keys(selected.number)}
    if key in _OF_BEDS or any(fnmatch.fnmatchcase(key, known) or fnmatch.fnmatchcase(known, key) for known in decided):
        raise InputError(f"--set {key}: beds decide this key", hint="leave it out, or leave out --beds")


def _job(
    bed: SampledBed, selected: SelectedTable, space: BedSpace, overrides: Sequence[str], *, quick: bool
) -> _BedJob:
    """Return a table on a bed. In the short form, what that shortens stays short."""
    shortened = selected.table.quick.change if quick else {}
    settings = [text for text in space.overrides(bed, selected.number) if text.partition("=")[0] not in shortened]
    return _BedJob(bed, table_job(selected, [*settings, *overrides], quick=quick, repeats=1, seed=bed.number))


def _runs_to_make(plan: BedPlan, folder: Path) -> list[Run]:
    """Return the runs that are not recorded; all if this machine lacks what identifies them, such as a kernel."""
    try:
        return missing_runs(plan.runs, folder)
    except MissingError:
        return plan.runs


def _cost_text(plan: BedPlan, folder: Path) -> str:
    runs, left = len(plan.runs), _runs_to_make(plan, folder)
    done = f", {runs - len(left)} recorded" if len(left) < runs else ""
    cost = f"about {duration_text(cpu_seconds(left))} of one CPU" if left else "all recorded"
    return f"{plan.study}: {len(plan.beds)} test beds, {runs} runs{done}, {cost}"


def _list(plans: Sequence[BedPlan], out: Path, *, as_json: bool) -> None:
    """Print the number of runs of each study and their cost."""
    if as_json:
        entries = []
        for plan in plans:
            left = _runs_to_make(plan, out / plan.study)
            entry = {"study": plan.study, "beds": len(plan.beds), "runs": len(plan.runs)}
            entries.append(entry | {"recorded": len(plan.runs) - len(left), "cpu_seconds": round(cpu_seconds(left))})
        click.echo(json.dumps({"studies": entries}))
        return
    for plan in plans:
        console().print(_cost_text(plan, out / plan.study), markup=False, soft_wrap=True)


def _measure(plan: BedPlan, folder: Path, running: RunOptions) -> tuple[dict[str, Any], LabError | None]:
    """Execute all runs, and return the document of the cloud and why runs failed."""
    done = execute(_BedRounds(plan.jobs), folder, running)
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
    entries = {selected.number: _entry(plan, selected, by_point) for selected in plan.tables}
    measured = {number: entry for number, entry in entries.items() if entry["values"]}
    if failure is None and len(measured) < len(entries):
        number = next(number for number in entries if number not in measured)
        text = f"no run of table {number} has the table's metric"
        failure = LabError(text, hint=f"see the recordings in {folder / 'runs'}")
    document = {
        "study": plan.study,
        "quick": plan.is_quick,
        "changed": list(plan.overrides),
        "space": plan.space.digest,
        "beds": [{"bed": bed.number, "coordinates": list(bed.coordinates), "values": bed.values} for bed in plan.beds],
        "tables": measured,
    }
    return document, failure


def _entry(plan: BedPlan, selected: SelectedTable, by_point: Mapping[int, CompletedRun]) -> dict[str, Any]:
    """Return the data of one table on all beds."""
    jobs = [job for job in plan.jobs if job.work.selected is selected]
    measured = [index_results(selected, list(_results(job, by_point))) for job in jobs]
    failed = Counter[int]()
    for position, job in enumerate(jobs):
        failed[position] += sum(by_point[id(point)].result is None for point in job.work.points)
    versions = dict.fromkeys(point.scenario.kernel for job in jobs for point in job.work.points)
    kernels = {kernel.release: kernel.key for kernel in map(find_kernel, versions)}
    about = {"form": digest(selected), "mptcplab": mptcplab.__version__, "kernels": kernels}
    return about | cloud_entry(selected, measured, +failed)


def _results(job: _BedJob, by_point: Mapping[int, CompletedRun]) -> Iterator[RunResult]:
    for point in job.work.points:
        result = by_point[id(point)].result
        if result is not None:
            yield result


def _read_earlier_tables(plan: BedPlan, document: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return the tables that an earlier command has measured on the same beds, as far as they are still current."""
    try:
        before: dict[str, Any] = json.loads(file.read_text())
        if any(before[key] != document[key] for key in ("study", "quick", "changed", "beds")):
            return {}
        return keep_current(before, select(plan.study), plan.space)
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def _show(plan: BedPlan, document: dict[str, Any], folder: Path, *, quiet: bool) -> None:
    """Write the cloud as tables, data and a picture, and print the tables. Tables measured before stay in it."""
    name, tables = plan.file("beds"), select(plan.study)
    document["tables"] = _read_earlier_tables(plan, document, folder / f"{name}.json") | document["tables"]
    cloud = read_cloud(document, tables, plan.space)
    values, claims = cloud_table(cloud, tables), claims_table(cloud)
    with report_write_errors(folder):
        write_json(document, folder / f"{name}.json")
        if values.rows:
            write_table(values, folder, name)
        if claims.rows:
            write_table(claims, folder, plan.file("beds-claims"))
        files = save_cloud(cloud, tables, folder, name)
    if quiet:
        return
    for table in (values, claims):
        if table.rows:
            print_table(table)
            console().print()
    written = ", ".join(file.name for file in files) or f"{name}.json"
    console().print(f"In {shlex.quote(str(folder))}: {written}", markup=False, soft_wrap=True)
