# SPDX-License-Identifier: MIT
"""``mptcplab reproduce``."""

from __future__ import annotations

import json
import shlex
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mptcplab.cli.common import Running, check_failures, console, print_table, running_options, writing
from mptcplab.cli.sweep import execute
from mptcplab.engine.rounds import Rounds
from mptcplab.errors import Exit, InputError
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.plan.forecast import duration_text
from mptcplab.report.figure import save
from mptcplab.report.files import write_json, write_table
from mptcplab.scenario.load import Experiment, Point, Run, load
from mptcplab.study.load import Selected, select
from mptcplab.study.measured import Measured, index_results
from mptcplab.study.present import Judged, judge, study_document, study_figures, study_table
from mptcplab.study.schema import WORKLOAD
from mptcplab.study.source import Source, Sources, in_measuring_order, needs, read_sources
from mptcplab.study.verdict import is_good

_EPILOG = """\b
Examples:
  mptcplab reproduce                        everything that there is
  mptcplab reproduce subramani2018          one study
  mptcplab reproduce nguyen2014/rtt --quick
  mptcplab reproduce --quick --list         what there is, how many runs, about how long

\b
Exit status 1 says that a value differs without an explanation, or that a claim does not hold without one.
"""


@dataclass(frozen=True)
class _Work:
    """One table, and the part of its scenario that is to be measured."""

    selected: Selected
    experiment: Experiment
    points: list[Point]
    changes: tuple[str, ...]
    is_quick: bool

    @property
    def runs(self) -> int:
        """Of all points with all seeds."""
        return len(self.points) * self.experiment.repeats

    @property
    def cpu_seconds(self) -> float:
        """Roughly, for all runs."""
        return self.experiment.repeats * sum(estimate_seconds(point.scenario) for point in self.points)


@click.command(epilog=_EPILOG)
@click.argument("wanted", metavar="[STUDY[/TABLE]]", required=False)
@click.option("--quick", is_flag=True, help="Fewer rows, fewer and shorter runs, as each table names for this.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key of every scenario.")
@click.option("--list", "only_list", is_flag=True, help="Say what there is and what it would take; run nothing.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/reproduce"), show_default=True)
@running_options
def reproduce(
    wanted: str | None,
    quick: bool,
    overrides: tuple[str, ...],
    only_list: bool,
    out: Path,
    jobs: int | None,
    engine: str,  # noqa: ARG001  the choice of one is checked by click
    cluster: str | None,
    fresh: bool,
    as_json: bool,
) -> int:
    """Measure published tables and figures again: published value, measured value, difference, verdict.

    Claims of a study, such as that one value is twice another one, are judged with their confidence intervals.
    """
    works = [_work(selected, overrides, quick=quick) for selected in select(wanted)]
    if only_list:
        _show_list(works, as_json=as_json)
        return Exit.DONE
    documents: list[dict[str, Any]] = []
    good = True
    for work, found in _measured(works, out, Running(jobs, fresh, cluster)):
        judged = _judged(work, found, out, quiet=as_json)
        documents.append(study_document(judged, quick=quick))
        good = good and is_good(judged.cells, judged.claims)
    if as_json:
        click.echo(json.dumps({"tables": documents}))
    return Exit.DONE if good else Exit.FAILED


def _work(selected: Selected, overrides: Sequence[str], *, quick: bool) -> _Work:
    table = selected.table
    changes = [f"{key}={value}" for key, value in table.quick.change.items()] if quick else []
    changes += overrides
    experiment = load(selected.scenario, overrides=changes, repeats=table.quick.repeats if quick else None)
    if gone := _swept_keys(selected) - set(experiment.points[0].settings):
        hint = "its rows and columns are values of this key; to change it, use `mptcplab run` on the scenario"
        raise InputError(f"--set {min(gone)}: is what {selected.name} varies", hint=hint)
    rows = table.quick.rows if quick and table.quick.rows else table.all_rows
    points = [point for point in experiment.points if point.settings[table.along] in rows]
    return _Work(selected, experiment, points, tuple(changes), quick)


def _swept_keys(selected: Selected) -> set[str]:
    """What rows and columns are told by."""
    table = selected.table
    return {table.along, *(key for column in table.columns.values() for key in column.where)} - {WORKLOAD}


def _show_list(works: Sequence[_Work], *, as_json: bool) -> None:
    if as_json:
        found = [
            {"table": work.selected.name, "title": work.selected.table.title, "runs": work.runs}
            | {"cpu_seconds": round(work.cpu_seconds)}
            for work in works
        ]
        click.echo(json.dumps({"tables": found}))
        return
    for work in works:
        cost = f"{work.runs} runs, about {duration_text(work.cpu_seconds)} of one CPU"
        console().print(f"{work.selected.name}: {work.selected.table.title} ({cost})", markup=False, soft_wrap=True)
    whole = duration_text(sum(work.cpu_seconds for work in works))
    console().print(f"All together: about {whole} of one CPU. Recorded runs are not made again.", markup=False)


def _measured(works: Sequence[_Work], out: Path, running: Running) -> Iterator[tuple[_Work, Sources]]:
    """Every work in its order, with all that was measured so far; what its texts quote was measured before it."""
    by_name = {work.selected.name: work for work in works}
    found: dict[str, Source] = {}
    waiting = deque(works)
    for selected in in_measuring_order([work.selected for work in works]):
        work = by_name[selected.name]
        found[selected.name] = Source(_measure(work, out / selected.folder.name, running), work.changes)
        while waiting and {waiting[0].selected.name, *needs(waiting[0].selected, by_name)} <= found.keys():
            yield waiting.popleft(), found


def _measure(work: _Work, folder: Path, running: Running) -> Measured:
    done = execute(Rounds(work.experiment, work.points), folder, running)
    check_failures(done, _command(work), folder)
    return index_results(work.selected, [one.result for one in done if one.result])


def _judged(work: _Work, found: Sources, out: Path, *, quiet: bool) -> Judged:
    """The table with its files written. Texts also quote tables that were measured into this folder before."""
    selected = work.selected
    folder = out / selected.folder.name
    measured = found[selected.name].measured
    judged = judge(selected, measured, work.changes, {**read_sources(folder), **found})
    table = study_table(judged)
    name = f"table-{selected.number}"
    with writing(folder):
        write_table(table, folder, name)
        write_json(study_document(judged, quick=work.is_quick), folder / f"{name}.json")
        files = [file for more, figure in study_figures(judged) for file in save(figure, folder, name + more)]
    if not quiet:
        print_table(table)
        console().print(f"  Figures: {files[0].parent}: {', '.join(file.name for file in files)}\n", markup=False)
    return judged


def _command(work: _Work) -> Callable[[Run], str]:
    def text(failed: Run) -> str:
        words = ["mptcplab", "run", str(work.selected.scenario), "--seed", str(failed.seed), "--repeats", "1"]
        for change in (*work.changes, *(f"{key}={value}" for key, value in failed.point.settings.items())):
            words += ["--set", change]
        return shlex.join(words)

    return text
