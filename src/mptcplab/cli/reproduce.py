# SPDX-License-Identifier: MIT
"""``mptcplab reproduce``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mptcplab.cli.common import Running, check_failures, console, print_table, running_options, writing
from mptcplab.cli.sweep import execute
from mptcplab.engine.rounds import Rounds
from mptcplab.errors import Exit
from mptcplab.metrics.rows import rows_of
from mptcplab.report.figure import save
from mptcplab.report.files import write_json, write_table
from mptcplab.scenario.load import Run, load
from mptcplab.study.load import Selected, select
from mptcplab.study.present import study_document, study_figure, study_table
from mptcplab.study.verdict import index_rows, is_good, judge_cells, judge_claims

_EPILOG = """\b
Examples:
  mptcplab reproduce                        everything that there is
  mptcplab reproduce subramani2018          one study
  mptcplab reproduce subramani2018/4.1 --quick

\b
Exit status 1 says that a value differs without an explanation, or that a claim does not hold.
"""


@click.command(epilog=_EPILOG)
@click.argument("wanted", metavar="[STUDY[/TABLE]]", required=False)
@click.option("--quick", is_flag=True, help="One run per point, and only the rows that a table names for this.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/reproduce"), show_default=True)
@running_options
def reproduce(
    wanted: str | None,
    quick: bool,
    out: Path,
    jobs: int | None,
    engine: str,  # noqa: ARG001  the choice of one is checked by click
    cluster: str | None,
    fresh: bool,
    as_json: bool,
) -> int:
    """Measure published tables again: published value, measured value, difference, verdict."""
    documents: list[dict[str, Any]] = []
    good = True
    for selected in select(wanted):
        document, is_fine = _one(selected, out, Running(jobs, fresh, cluster), quick=quick, quiet=as_json)
        documents.append(document)
        good = good and is_fine
    if as_json:
        click.echo(json.dumps({"tables": documents}))
    return Exit.DONE if good else Exit.FAILED


def _one(selected: Selected, out: Path, running: Running, *, quick: bool, quiet: bool) -> tuple[dict[str, Any], bool]:
    experiment = load(selected.scenario, repeats=1 if quick else None)
    rows_wanted = selected.table.quick if quick and selected.table.quick else tuple(selected.table.published)
    points = [point for point in experiment.points if point.settings[selected.table.along] in rows_wanted]
    folder = out / selected.folder.name
    done = execute(Rounds(experiment, points), folder, running)
    check_failures(done, _command(selected), folder)
    measured = index_rows(selected, rows_of(one.result for one in done if one.result))
    cells, claims = judge_cells(selected, measured), judge_claims(selected, measured)
    table, document = study_table(selected, cells, claims), study_document(selected, cells, claims)
    name = f"table-{selected.number}"
    with writing(folder):
        write_table(table, folder, name)
        write_json(document, folder / f"{name}.json")
        files = save(study_figure(selected, cells), folder, name)
    if not quiet:
        print_table(table)
        console().print(f"  Figure: {files[0]}, {files[1].name}\n", markup=False)
    return document, is_good(cells, claims)


def _command(selected: Selected) -> Callable[[Run], str]:
    def text(failed: Run) -> str:
        words = ["mptcplab", "run", str(selected.scenario), "--seed", str(failed.seed), "--repeats", "1"]
        for key, value in failed.point.settings.items():
            words += ["--set", f"{key}={value}"]
        return shlex.join(words)

    return text
