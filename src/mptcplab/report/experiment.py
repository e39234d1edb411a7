# SPDX-License-Identifier: MIT
"""The result of one experiment as tables, JSON data and figures, and the files that have them in its results folder."""

from __future__ import annotations

import contextlib
import json
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mptcplab
from mptcplab.figure.lines import Figure, save
from mptcplab.figure.sweep import choose_axis, overview, points_of, sweep_figure, together_notes
from mptcplab.files import write_text
from mptcplab.metrics.column import Metric
from mptcplab.metrics.paired import paired_rows
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow, fairness_rows, network_document, rows_of
from mptcplab.metrics.stored import WRONG, StoredResults
from mptcplab.metrics.values import changed_keys_note, short_names, swept_values
from mptcplab.recording.record import Recording
from mptcplab.report.network import network_tables, words_of
from mptcplab.report.notes import paired_notes
from mptcplab.report.result_table import long_csv, result_table, result_tables, wide_csv
from mptcplab.report.table import Table, write_json
from mptcplab.results import PARTIAL
from mptcplab.scenario.load import Experiment

if TYPE_CHECKING:
    from mptcplab.campaign.lab import CompletedRun
    from mptcplab.campaign.rounds import Rounds

#: Characters in a line of the note below a figure.
_NOTE_WIDTH = 100


def experiment_document(experiment: Experiment, rows: Sequence[ResultRow]) -> dict[str, Any]:
    """Return the rows of the table in full precision, as JSON data."""
    return {
        "title": experiment.title,
        "question": experiment.question,
        "file": str(experiment.file),
        "changed": list(experiment.changes),
        "mptcplab": mptcplab.__version__,
        "rows": [row.to_json() for row in rows],
        "unavailable": [
            {"settings": unavailable.settings, "reason": unavailable.reason} for unavailable in experiment.unavailable
        ],
    }


def experiment_figures(experiment: Experiment, rows: Sequence[ResultRow]) -> Iterator[tuple[str, Figure]]:
    """Yield names and figures over the sweep's longest axis, with a line per combination of the others, or for some.

    They show goodput of workloads that send as much as they can, and the headline metrics of others.
    """
    if not swept_values(rows):
        return
    along = choose_axis(points_of(rows)) or next(iter(swept_values(rows)))
    for name, metric in METRICS.items():
        with_metric = [row for row in rows if name in row.known]
        if any(name in row.metrics for row in with_metric) and (metric.display.headline or name == "goodput_mbps"):
            file = f"figure-{name}" if metric.display.headline else "figure"
            about = with_metric if metric.display.headline else _goodput_rows(with_metric)
            yield file, _with_changes(_figure(experiment.title, about, metric, along), experiment)


def _goodput_rows(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Return the rows of workloads that are about goodput: a call has one, but nobody asks for it. All if none is."""
    others = {name for name, metric in METRICS.items() if metric.display.headline and not metric.of_failures}
    result_rows = [row for row in rows if others.isdisjoint(row.metrics)]
    return result_rows or list(rows)


def _figure(title: str, rows: Sequence[ResultRow], metric: Metric, along: str) -> Figure:
    shown = overview(rows, along, metric)
    figure = sweep_figure(title, shown.rows, metric, along, shown.keys)
    together = together_notes(points_of(rows), along, shown.keys, short_names(list(swept_values(rows))))
    return replace(figure, note="\n".join(filter(None, [figure.note, *together, shown.note])))


def _with_changes(figure: Figure, experiment: Experiment) -> Figure:
    note = textwrap.fill(changed_keys_note(experiment.changes), _NOTE_WIDTH)
    return replace(figure, note=f"{figure.note}\n{note}") if note else figure


@dataclass(frozen=True)
class ExperimentResults:
    """The results of an experiment. ``completed`` has all runs of ``rounds``, also failed ones, in order."""

    experiment: Experiment
    folder: Path
    rounds: Rounds
    completed: tuple[CompletedRun, ...]
    rows: tuple[ResultRow, ...]

    @classmethod
    def of_runs(
        cls, experiment: Experiment, folder: Path, rounds: Rounds, completed: Sequence[CompletedRun]
    ) -> ExperimentResults:
        """Reduce the results of runs to rows: means and intervals over the seeds of a point."""
        rows = rows_of([run.result for run in completed if run.result])
        return cls(experiment, folder, rounds, tuple(completed), tuple(rows))

    def tables(self, *, every: bool = False) -> list[Table]:
        """Return the tables of results, one for each group of workloads; with ``every``, a table with all columns."""
        unavailable = _unavailable(self.experiment)
        experiment = self.experiment
        tables = result_tables(experiment.title, self.rows, experiment.changes, every=every, unavailable=unavailable)
        return [*tables[:-1], tables[-1].with_notes(*self._notes())]

    def link_tables(self) -> tuple[Table, ...]:
        """Return what every link, radio and gateway carried, lost and queued. The recordings are read for it."""
        pairs = [(run.result, Recording(run.folder)) for run in self.completed if run.result and run.folder]
        return network_tables([result for result, _ in pairs], words_of(pairs))

    def document(self) -> dict[str, Any]:
        """Return the content of results.json."""
        results = [run.result for run in self.completed if run.result]
        document = experiment_document(self.experiment, self.rows)
        document["paired"] = [paired.to_json() for paired in paired_rows(self.rows)]
        document["fairness"] = [fairness.to_json() for fairness in fairness_rows(results)]
        document |= network_document(results)
        document["failed"] = [
            {"settings": run.run.point.settings, "seed": run.run.seed, "error": run.error.message}
            for run in self.completed
            if run.error
        ]
        return document

    def _notes(self) -> list[str]:
        notes = paired_notes(self.rows, self.folder)
        until = self.experiment.until
        if until is not None:
            width = f"until the interval of {until.of} is at most ± {until.until}"
            notes.append(f"Runs per point: {until.min} to {until.max}, {width}.")
            if not any(until.metric in row.metrics for row in self.rows):
                notes.append(f"[!] Warning: no workload has {until.of}, so every point stopped after {until.min} runs.")
        if uncertain := self.rounds.count_uncertain():
            text = f"{uncertain} of {len(self.rounds.points)} points reached the maximum number of runs, less certain."
            notes.append(f"[!] Warning: {text}")
        if failed := sum(run.result is None for run in self.completed):
            notes.append(f"[!] Warning: incomplete, {failed} of {len(self.completed)} runs failed.")
        return notes


class ExperimentFiles:
    """The files of an experiment in its results folder, besides its recordings."""

    def __init__(self, experiment: Experiment, folder: Path, rounds: Rounds) -> None:
        self.experiment, self.folder, self.rounds = experiment, folder, rounds

    def write_partial(self, completed: Sequence[CompletedRun]) -> None:
        """Write the results so far. A failure to do so is ignored, since the recordings hold the results."""
        with contextlib.suppress(OSError):
            self._remove_older()
            self._write_partial(completed)

    def write(self, results: ExperimentResults, document: dict[str, Any]) -> list[Path]:
        """Write table, data and figures of the finished experiment, and return the files of the figures.

        If no run gave a result, only files of older results are removed. :raises OSError: if a file cannot be written.
        """
        for name in ("partial.md", PARTIAL):
            (self.folder / name).unlink(missing_ok=True)
        if not results.rows:
            self._remove_older()
            return []
        rows = results.rows
        write_text(self.folder / "table.md", "\n".join(table.to_markdown() for table in results.tables()))
        write_text(self.folder / "table.csv", wide_csv(rows, _unavailable(self.experiment)))
        write_text(self.folder / "metrics.csv", long_csv(rows))
        write_json(document, self.folder / "results.json")
        figures = [
            file
            for name, figure in experiment_figures(self.experiment, rows)
            for file in save(figure, self.folder, name)
        ]
        self._remove_figures(figures)
        return figures

    def lost_points_warning(self, rows: Sequence[ResultRow]) -> str:
        """Return a sentence if results.json has points that ``rows`` lack: probably --out was forgotten."""
        try:
            older = [row.settings for row in StoredResults.read(self.folder / "results.json").rows]
        except (OSError, *WRONG):
            return ""
        present = [row.settings for row in rows]
        lost = {json.dumps(settings) for settings in older if settings not in present}
        if not lost:
            return ""
        count = "1 point that is" if len(lost) == 1 else f"{len(lost)} points that are"
        return (
            f"These results replace others in {self.folder}, which had {count} not among them. The recordings stay: "
            "the command that made those makes them again, without a run. --out names another folder."
        )

    def _remove_older(self) -> None:
        """Remove older results: they are of other runs and could be mistaken for this sweep's."""
        for name in ("table.md", "table.csv", "metrics.csv", "results.json"):
            (self.folder / name).unlink(missing_ok=True)
        self._remove_figures()

    def _remove_figures(self, present: Collection[Path] = ()) -> None:
        """Remove the figures that were drawn of older results, and none that a user has put there."""
        names = ("figure", *(f"figure-{metric}" for metric in METRICS))
        for file in (self.folder / f"{name}{suffix}" for name in names for suffix in (".svg", ".png")):
            if file not in present:
                file.unlink(missing_ok=True)

    def _write_partial(self, completed: Sequence[CompletedRun]) -> None:
        results = [run.result for run in completed if run.result]
        if results:
            experiment = self.experiment
            planned = f"{'at most ' if experiment.until else ''}{self.rounds.max_runs} runs"
            title = f"{experiment.title} (incomplete: {len(results)} of {planned})"
            table = result_table(title, rows_of(results), unavailable=_unavailable(experiment))
            write_text(self.folder / "partial.md", table.to_markdown())
            # Without rows: recordings that are written after it belong to the experiment, too.
            document = {**experiment_document(experiment, []), "planned": planned, "seed": experiment.seed}
            del document["rows"]
            if experiment.until is None:
                document["repeats"] = experiment.repeats
            write_json(document, self.folder / PARTIAL)


def _unavailable(experiment: Experiment) -> list[tuple[dict[str, str], str]]:
    return [(unavailable.settings, unavailable.reason) for unavailable in experiment.unavailable]
