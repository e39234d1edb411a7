# SPDX-License-Identifier: MIT
"""``mptcplab reproduce STUDY --beds N``: the tables of a study on every test bed that it could have had."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import click

import mptcplab
from mptcplab.campaign.lab import CompletedRun
from mptcplab.campaign.missing import find_missing
from mptcplab.campaign.recorded import cpu_seconds, unrecorded
from mptcplab.campaign.rounds import Rounds
from mptcplab.cli.common import console, print_table, writing
from mptcplab.cli.jobs import TableJob, table_job, table_names
from mptcplab.cli.lacking import combine_lacks
from mptcplab.cli.running import RunOptions, check_failures, install_command, repeat_command
from mptcplab.cli.sweep import execute
from mptcplab.errors import Exit, InputError, LabError, MissingError
from mptcplab.kernel import find_kernel
from mptcplab.plan.forecast import duration_text
from mptcplab.report.files import write_json, write_table
from mptcplab.scenario.load import Experiment, Point, Run
from mptcplab.study.beds import Bed, BedSpace, draw, is_drawn, read_beds
from mptcplab.study.cloud import cloud_entry, read_cloud
from mptcplab.study.cloud_page import claims_table, cloud_table, save_cloud
from mptcplab.study.forms import digest, file_stem
from mptcplab.study.load import SelectedTable, select
from mptcplab.study.measured import index_results


@dataclass(frozen=True)
class BedJob:
    """One table on one bed."""

    bed: Bed
    work: TableJob


class _BedRounds(Rounds):
    """The runs of all tables on all beds in one sweep: each point once, with the seed of its bed."""

    def __init__(self, jobs: Sequence[BedJob]) -> None:
        self._experiments: dict[int, Experiment] = {
            id(point): job.work.experiment for job in jobs for point in job.work.points
        }
        super().__init__(jobs[0].work.experiment, [point for job in jobs for point in job.work.points])

    def runs_of(self, point: Point, first: int, end: int) -> list[Run]:
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

    :raises InputError: if a study has no test beds to draw from.
    """
    studies = [list(group) for _, group in groupby(tables, key=lambda one: one.folder)]
    plans = [(own, *plan_beds(own, count, overrides, quick=quick)) for own in studies]
    if not only_list:
        _check_machine([job for *_, jobs in plans for job in jobs], count, overrides, running)
    documents, status = [], Exit.DONE
    for own, space, beds, jobs in plans:
        folder = out / own[0].folder.name
        runs = [run for job in jobs for run in job.work.runs]
        if not as_json:
            _announce(own, beds, runs, folder)
        if only_list:
            continue
        document, problem = _measure(own, space, beds, jobs, folder, running, quick=quick)
        documents.append(document)
        if problem is not None:
            if len(studies) == 1 and not document["tables"]:
                raise problem
            console(stderr=True).print(f"{own[0].folder.name}: {problem.message}", markup=False, soft_wrap=True)
            status = Exit.FAILED
        _show(document, folder, quick=quick, quiet=as_json)
    if as_json:
        click.echo(json.dumps({"studies": documents}))
    return status


def _check_machine(jobs: Sequence[BedJob], count: int, overrides: tuple[str, ...], running: RunOptions) -> None:
    """Refuse tables of which a bed has something that this machine lacks. :raises MissingError: naming all of it."""
    lacking = {name: find_missing(runs, engine=running.engine) for name, runs in runs_of_tables(jobs).items()}
    lacking = {name: errors for name, errors in lacking.items() if errors}
    if lacking:
        tables = list({job.work.selected.name: job.work.selected for job in jobs}.values())
        names = table_names([selected for selected in tables if selected.name in lacking])
        raise combine_lacks(lacking, install_command(names, overrides, engine=running.engine, beds=count))


def runs_of_tables(jobs: Iterable[BedJob]) -> dict[str, list[Run]]:
    """Return the runs of each table on all beds, by its name."""
    runs: dict[str, list[Run]] = {}
    for job in jobs:
        runs.setdefault(job.work.selected.name, []).extend(job.work.runs)
    return runs


def plan_beds(
    tables: Sequence[SelectedTable], count: int, overrides: tuple[str, ...], *, quick: bool
) -> tuple[BedSpace, list[Bed], list[BedJob]]:
    """Return the beds of a study, and its tables on each of them.

    :raises InputError: if the study has no test beds to draw from.
    """
    own = [one for one in tables if is_drawn(one.study, one.number)]
    if not own:
        names = ", ".join(one.name for one in tables)
        raise InputError(f"--beds is for tables of the study itself, which {names} is not", hint="leave the table out")
    space = read_beds(own[0].folder, own[0].study)
    beds = draw(space, count)
    jobs = [
        BedJob(
            bed,
            table_job(one, [*space.overrides(bed, one.number), *overrides], quick=quick, repeats=1, seed=bed.number),
        )
        for bed in beds
        for one in own
    ]
    return space, beds, jobs


def _announce(tables: Sequence[SelectedTable], beds: Sequence[Bed], runs: Sequence[Run], folder: Path) -> None:
    try:
        left = unrecorded(runs, folder)
    except MissingError:
        left = list(runs)
    done = f", {len(runs) - len(left)} recorded" if len(left) < len(runs) else ""
    cost = f"about {duration_text(cpu_seconds(left))} of one CPU" if left else "all recorded"
    text = f"{tables[0].folder.name}: {len(beds)} test beds, {len(runs)} runs{done}, {cost}"
    console(stderr=True).print(text, markup=False, soft_wrap=True)


def _measure(
    tables: Sequence[SelectedTable],
    space: BedSpace,
    beds: Sequence[Bed],
    jobs: Sequence[BedJob],
    folder: Path,
    running: RunOptions,
    *,
    quick: bool,
) -> tuple[dict[str, Any], LabError | None]:
    """Execute all runs, and return the document of the cloud and why runs failed.

    The caller has found that this machine has what they need.
    """
    done = execute(_BedRounds(jobs), folder, running)
    changes = {id(point): job.work for job in jobs for point in job.work.points}
    problem = None
    try:
        check_failures(done, lambda run: _repeat(changes[id(run.point)], run), folder, name="failed-beds.sh")
    except LabError as error:
        problem = error
    by_point: dict[int, list[CompletedRun]] = {}
    for one in done:
        by_point.setdefault(id(one.run.point), []).append(one)
    entries = {}
    for selected in tables:
        own = [job for job in jobs if job.work.selected is selected]
        measured = [index_results(selected, list(_results(job, by_point))) for job in own]
        if any(measured):
            about = {"form": digest(selected), "kernels": _kernels(job.work for job in own)}
            entries[selected.number] = about | cloud_entry(selected, measured)
    document = {
        "study": tables[0].folder.name,
        "mptcplab": mptcplab.__version__,
        "quick": quick,
        "axes": {axis.name: list(axis.tables) for axis in space.axes},
        "beds": [{"bed": one.number, "coordinates": list(one.coordinates), "values": one.values} for one in beds],
        "tables": entries,
    }
    return document, problem


def _kernels(works: Iterable[TableJob]) -> dict[str, str]:
    """Return release and key of the kernels that tables ran on."""
    versions = dict.fromkeys(point.scenario.kernel for work in works for point in work.points)
    return {kernel.release: kernel.key for kernel in map(find_kernel, versions)}


def _repeat(work: TableJob, run: Run) -> str:
    return repeat_command(work.selected.scenario, work.changes, None, run)


def _results(job: BedJob, by_point: dict[int, list[CompletedRun]]) -> Iterator[Any]:
    for point in job.work.points:
        yield from (one.result for one in by_point.get(id(point), ()) if one.result is not None)


def _tables_before(document: dict[str, Any], file: Path) -> dict[str, Any]:
    """Return the tables that ``file`` has of the same beds, since an earlier command has measured them."""
    try:
        before: dict[str, Any] = json.loads(file.read_text())
        same = all(before[key] == document[key] for key in ("study", "quick", "axes", "beds"))
        return dict(before["tables"]) if same else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def _show(document: dict[str, Any], folder: Path, *, quick: bool, quiet: bool) -> None:
    """Write the cloud as tables, data and a picture, and print the tables. Tables measured before stay in it."""
    name, tables = file_stem("beds", quick=quick), select(document["study"])
    document["tables"] = _tables_before(document, folder / f"{name}.json") | document["tables"]
    cloud = read_cloud(document, tables)
    values, claims = cloud_table(cloud, tables), claims_table(cloud)
    with writing(folder):
        write_json(document, folder / f"{name}.json")
        if values.rows:
            write_table(values, folder, name)
        if claims.rows:
            write_table(claims, folder, file_stem("beds-claims", quick=quick))
        files = save_cloud(cloud, tables, folder, name)
    if quiet:
        return
    for table in (values, claims):
        if table.rows:
            print_table(table)
            console().print()
    written = ", ".join(file.name for file in files) or f"{name}.json"
    console().print(f"In {shlex.quote(str(folder))}: {written}", markup=False, soft_wrap=True)
