# SPDX-License-Identifier: MIT
"""The files of an experiment in its results folder, besides its recordings, and what ``mptcplab run`` prints."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from mptcplab.cache import hold_lock
from mptcplab.campaign.lab import CompletedRun
from mptcplab.campaign.rounds import Rounds
from mptcplab.cli.common import console, print_table, report_write_errors
from mptcplab.cli.junit import junit_suite, write_junit
from mptcplab.cli.running import RunOptions, check_failures
from mptcplab.cli.sweep import execute
from mptcplab.figure.lines import save
from mptcplab.files import write_text
from mptcplab.metrics.network_rows import network_document
from mptcplab.metrics.paired import paired_rows
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow, fairness_rows, rows_of
from mptcplab.recording.record import Recording
from mptcplab.report.choosing import choose, sorted_tables
from mptcplab.report.experiment import experiment_document, experiment_figures
from mptcplab.report.files import write_json
from mptcplab.report.network import network_tables, words_of
from mptcplab.report.paired import paired_notes
from mptcplab.report.result_table import check_columns, result_table, result_tables
from mptcplab.report.table import Table
from mptcplab.report.tidy import long_csv, wide_csv
from mptcplab.results import PARTIAL
from mptcplab.scenario.load import Experiment, Run


def run_experiment(
    experiment: Experiment, folder: Path, running: RunOptions, shown: Shown, repeat: Callable[[Run], str], install: str
) -> list[CompletedRun]:
    """Execute an experiment; write and print its results, and return its runs.

    ``repeat`` returns the command that repeats one run. ``install`` is the command that gets what this machine lacks.
    :raises InputError: if a column that is to be printed does not exist. :raises LabError: if a run failed.
    """
    check_columns(shown.columns, shown.sort, experiment.points[0].settings)
    sweep = _Sweep(experiment, folder, shown)
    done = execute(sweep.rounds, folder, running, partial=sweep.write_partial, install=install)
    # The files of two commands that end at the same time must not be mixed.
    with report_write_errors(folder), hold_lock("results", folder / ".work"):
        sweep.write(done)
    if shown.junit is not None:
        write_junit(shown.junit, "mptcplab", [junit_suite(experiment.title, done)])
    check_failures(done, repeat, folder)
    return done


@dataclass(frozen=True)
class Shown:
    """The options that decide what the command prints at its end."""

    as_json: bool
    links: bool
    columns: Sequence[str]
    sort: str | None
    junit: Path | None = None


class _Sweep:
    """The files of one sweep in the results folder, besides its recordings."""

    def __init__(self, experiment: Experiment, folder: Path, shown: Shown) -> None:
        self.experiment, self.folder, self._shown = experiment, folder, shown
        self.rounds = Rounds(experiment)

    @property
    def _unavailable(self) -> list[tuple[dict[str, str], str]]:
        return [(unavailable.settings, unavailable.reason) for unavailable in self.experiment.unavailable]

    def write_partial(self, done: Sequence[CompletedRun]) -> None:
        """Write the results so far. A failure to do so is ignored, since the recordings hold the results."""
        with contextlib.suppress(OSError):
            self._remove_older()
            self._write_partial(done)

    def _remove_older(self) -> None:
        """Remove older results: they are of other runs and could be mistaken for this sweep's."""
        for name in ("table.md", "table.csv", "metrics.csv", "results.json"):
            (self.folder / name).unlink(missing_ok=True)
        self._remove_figures()

    def _remove_figures(self, present: Collection[Path] = ()) -> None:
        """Remove the figures that ``run`` has drawn of older results, and none that a user has put there."""
        names = ("figure", *(f"figure-{metric}" for metric in METRICS))
        for file in (self.folder / f"{name}{suffix}" for name in names for suffix in (".svg", ".png")):
            if file not in present:
                file.unlink(missing_ok=True)

    def _write_partial(self, done: Sequence[CompletedRun]) -> None:
        results = [run.result for run in done if run.result]
        if results:
            planned = f"{'at most ' if self.experiment.until else ''}{self.rounds.max_runs} runs"
            title = f"{self.experiment.title} (incomplete: {len(results)} of {planned})"
            table = result_table(title, rows_of(results), unavailable=self._unavailable)
            write_text(self.folder / "partial.md", table.to_markdown())
            # Without rows: recordings that are written after it belong to the experiment, too.
            document = {**experiment_document(self.experiment, []), "planned": planned, "seed": self.experiment.seed}
            del document["rows"]
            if self.experiment.until is None:
                document["repeats"] = self.experiment.repeats
            write_json(document, self.folder / PARTIAL)

    def write(self, done: Sequence[CompletedRun]) -> None:
        """Write the table, document and figures of the finished sweep, and print the table or the document."""
        for name in ("partial.md", PARTIAL):
            (self.folder / name).unlink(missing_ok=True)
        results = [run.result for run in done if run.result]
        if not results:
            self._remove_older()
            return
        rows = rows_of(results)
        tables = self._tables(rows, done)
        if replaced := _lost_points_note(self.folder / "results.json", rows):
            console(stderr=True).print(replaced, style="yellow", markup=False, soft_wrap=True)
        write_text(self.folder / "table.md", "\n".join(table.to_markdown() for table in tables))
        write_text(self.folder / "table.csv", wide_csv(rows, self._unavailable))
        write_text(self.folder / "metrics.csv", long_csv(rows))
        document = experiment_document(self.experiment, rows)
        document["paired"] = [paired.to_json() for paired in paired_rows(rows)]
        document["fairness"] = [fairness.to_json() for fairness in fairness_rows(results)]
        document |= network_document(results)
        document["failed"] = [_failure(run) for run in done if run.error]
        write_json(document, self.folder / "results.json")
        figures = [
            file
            for name, figure in experiment_figures(self.experiment, rows)
            for file in save(figure, self.folder, name)
        ]
        self._remove_figures(figures)
        if self._shown.as_json:
            click.echo(json.dumps(document))
            return
        if self._shown.columns:
            (every,) = self._tables(rows, done, every=True)
            tables = [choose(every, self._shown.columns, self._shown.sort)]
        else:
            tables = sorted_tables(tables, self._shown.sort)
        for item in tables:
            print_table(item)
        for item in self._network(done) if self._shown.links else ():
            print_table(item)
        self._name_files([file.name for file in figures])

    def _name_files(self, figures: Sequence[str]) -> None:
        """Print which files the results folder has."""
        names = ", ".join(("table.md", "results.json", *figures))
        page = shlex.join(["mptcplab", "report", str(self.folder)])
        for line in (
            f"\nIn {self.folder}: {names}",
            "For other programs: table.csv (a line per point and workload), metrics.csv (a line per metric)",
            f"For an HTML page: {page}",
        ):
            console().print(line, markup=False, soft_wrap=True)

    def _network(self, done: Sequence[CompletedRun]) -> tuple[Table, ...]:
        pairs = [(run.result, Recording(run.folder)) for run in done if run.result and run.folder]
        return network_tables([result for result, _ in pairs], words_of(pairs))

    def _tables(self, rows: Sequence[ResultRow], done: Sequence[CompletedRun], *, every: bool = False) -> list[Table]:
        title, changes = self.experiment.title, self.experiment.changes
        tables = result_tables(title, rows, changes, every=every, unavailable=self._unavailable)
        notes = paired_notes(rows, self.folder)
        until = self.experiment.until
        if until is not None:
            width = f"until the interval of {until.of} is at most ± {until.until}"
            notes.append(f"Runs per point: {until.min} to {until.max}, {width}.")
            if not any(until.metric in row.metrics for row in rows):
                notes.append(f"[!] Warning: no workload has {until.of}, so every point stopped after {until.min} runs.")
        if uncertain := self.rounds.count_uncertain():
            text = f"{uncertain} of {len(self.rounds.points)} points reached the maximum number of runs, less certain."
            notes.append(f"[!] Warning: {text}")
        if failed := sum(run.result is None for run in done):
            notes.append(f"[!] Warning: incomplete, {failed} of {len(done)} runs failed.")
        return [*tables[:-1], replace(tables[-1], notes=(*tables[-1].notes, *notes))]


def _lost_points_note(file: Path, rows: Sequence[ResultRow]) -> str:
    """Return a note if the results in ``file`` have points that ``rows`` lack: probably --out was forgotten."""
    try:
        older = [row["settings"] for row in json.loads(file.read_text())["rows"]]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    present = [row.settings for row in rows]
    lost = {json.dumps(settings) for settings in older if settings not in present}
    if not lost:
        return ""
    count = "1 point that is" if len(lost) == 1 else f"{len(lost)} points that are"
    return (
        f"These results replace others in {file.parent}, which had {count} not among them. The recordings stay: the "
        "command that made those makes them again, without a run. --out names another folder."
    )


def _failure(done: CompletedRun) -> dict[str, object]:
    assert done.error is not None
    return {"settings": done.run.point.settings, "seed": done.run.seed, "error": done.error.message}
