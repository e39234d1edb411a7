# SPDX-License-Identifier: MIT
"""``mptcplab run``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from mptcplab.cli.common import check_failures, console, execute, print_table, running_options
from mptcplab.metrics.rows import ResultRow, result_rows
from mptcplab.report.experiment import experiment_document, experiment_figures
from mptcplab.report.figure import save
from mptcplab.report.files import write_json, write_table
from mptcplab.report.table import result_table
from mptcplab.scenario.load import Experiment, Run, load

_EPILOG = """\b
Examples:
  mptcplab run examples/two-lines.toml
  mptcplab run two.toml --set links.line1.loss='1 %' --repeats 10
  mptcplab run two.toml --json | jq '.rows[].goodput_mbps.mean'
"""


@click.command(epilog=_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key of the scenario.")
@click.option("--seed", type=click.IntRange(min=0), help="First seed. Default: the scenario's.")
@click.option("--repeats", type=click.IntRange(min=1), help="Seeds per point. Default: the scenario's.")
@click.option("--out", type=click.Path(path_type=Path), help="Results folder. Default: results/NAME.")
@running_options
def run(
    file: Path,
    overrides: tuple[str, ...],
    seed: int | None,
    repeats: int | None,
    out: Path | None,
    jobs: int | None,
    engine: str,  # noqa: ARG001  the choice of one is checked by click
    fresh: bool,
    as_json: bool,
) -> None:
    """Run the experiment in FILE and show its table.

    Every point of its sweep runs with every seed. Recordings, table (Markdown, CSV), results.json and figure stay in
    the results folder; a run that is recorded there is not executed again.
    """
    experiment = load(file, overrides=overrides, seed=seed, repeats=repeats)
    folder = out or Path("results") / experiment.name
    done = execute(experiment.runs, folder, jobs=jobs, fresh=fresh)
    rows = result_rows(one.recording for one in done if one.recording)
    if rows:
        _write(experiment, rows, folder, as_json=as_json)
    check_failures(done, lambda failed: _command(file, overrides, failed))


def _write(experiment: Experiment, rows: list[ResultRow], folder: Path, *, as_json: bool) -> None:
    table = result_table(experiment.title, rows, experiment.changes)
    write_table(table, folder, "table")
    document = experiment_document(experiment, rows)
    write_json(document, folder / "results.json")
    figures = [file for name, figure in experiment_figures(experiment, rows) for file in save(figure, folder, name)]
    if as_json:
        click.echo(json.dumps(document))
        return
    print_table(table)
    names = ", ".join(file.name for file in (folder / "table.md", folder / "results.json", *figures))
    console().print(f"\nIn {folder}: {names}", markup=False)


def _command(file: Path, overrides: tuple[str, ...], failed: Run) -> str:
    """What repeats one run alone."""
    settings = [f"{key}={value}" for key, value in failed.point.settings.items()]
    words = ["mptcplab", "run", str(file), "--seed", str(failed.seed), "--repeats", "1"]
    for setting in (*overrides, *settings):
        words += ["--set", setting]
    return shlex.join(words)
