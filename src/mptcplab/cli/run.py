# SPDX-License-Identifier: MIT
"""``mptcplab run``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mptcplab import api
from mptcplab.cli.common import console, print_table
from mptcplab.cli.options import split_commas
from mptcplab.errors import Exit

if TYPE_CHECKING:
    from mptcplab.report.requirements import RequirementVerdict


def run(
    file: Path | str,
    overrides: tuple[str, ...],
    seed: int | None,
    repeats: int | None,
    out: Path | None,
    jobs: int | None,
    engine: str,
    cluster: str | None,
    fresh: bool,
    as_json: bool,
    links: bool,
    columns: str | None,
    sort: str | None,
    trusted: bool,
    required: tuple[str, ...],
    junit: Path | None,
) -> int:
    """Execute the experiment in ``file``; write and print its results, and return the exit status.

    :raises LabError: if a run failed.
    """
    with api.open_source(
        file, overrides=overrides, seed=seed, repeats=repeats, engine=engine, executes=True, trusted=trusted
    ) as source:
        experiment, names = source.experiment, split_commas(columns)
        # Only now: a mistake in the scenario or in an option is reported without waiting for engines and figures.
        from mptcplab.cli.progress import ProgressPrinter
        from mptcplab.report.requirements import check_requirements, parse_requirement
        from mptcplab.report.result_table import check_columns

        requirements = [parse_requirement(text, experiment.points[0].scenario.workloads) for text in required]
        check_columns(names, sort, experiment.points[0].settings)
        with ProgressPrinter() as printer:
            outcome = api.run(
                experiment,
                out,
                jobs=jobs,
                engine=engine,
                cluster=cluster,
                fresh=fresh,
                allow_failures=True,
                progress=printer.show,
                warn=printer.warn,
            )
        if as_json and outcome.rows:
            click.echo(json.dumps(outcome.document))
        elif outcome.rows:
            _print_tables(outcome, names, sort, links=links)
        results = [run.result for run in outcome.runs if run.result is not None]
        verdicts = check_requirements(requirements, outcome.rows, results) if outcome.rows else []
        violated = [verdict for verdict in verdicts if verdict.fault]
        if junit is not None:
            _write_junit(junit, outcome, verdicts)
        for verdict in violated:
            click.echo(f"mptcplab: {verdict.sentence}", err=True)
        outcome.check()
        # On standard error: with --json, standard output has one document and nothing else.
        for line in source.compare([run.folder for run in outcome.runs if run.folder is not None]):
            console(stderr=True).print(line, markup=False, soft_wrap=True)
        return Exit.FAILED if violated else Exit.DONE


def _write_junit(file: Path, outcome: api.ExperimentOutcome, verdicts: Sequence[RequirementVerdict]) -> None:
    """Write the runs as JUnit XML, and the verdicts about requirements, if there are any."""
    from mptcplab.report.junit import experiment_suite, write_junit
    from mptcplab.report.requirements import requirements_suite

    title = outcome.experiment.title
    suites = [experiment_suite(title, outcome.runs, outcome.rows)]
    write_junit(file, "mptcplab", [*suites, *([requirements_suite(title, verdicts)] if verdicts else [])])


def _print_tables(outcome: api.ExperimentOutcome, columns: Sequence[str], sort: str | None, *, links: bool) -> None:
    """Print the tables of results, the network's if asked for, and which files the results folder has."""
    from mptcplab.report.choosing import choose, sorted_tables

    if columns:
        (every,) = outcome.results.tables(every=True)
        tables = [choose(every, columns, sort)]
    else:
        tables = sorted_tables(outcome.tables(), sort)
    for table in (*tables, *(outcome.results.link_tables() if links else ())):
        print_table(table)
    names = ", ".join(("table.md", "results.json", *(file.name for file in outcome.figures)))
    page = shlex.join(["mptcplab", "report", str(outcome.folder)])
    for line in (
        f"\nIn {outcome.folder}: {names}",
        "For other programs: table.csv (a line per point and workload), metrics.csv (a line per metric)",
        f"For an HTML page: {page}",
    ):
        console().print(line, markup=False, soft_wrap=True)
