# SPDX-License-Identifier: MIT
"""Sections for the folder of ``mptcplab reproduce``: one per published table that was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mptcplab.errors import InputError
from mptcplab.recording.record import Recording
from mptcplab.report.html_build import section
from mptcplab.report.html_model import Command, Experiment
from mptcplab.report.html_sweep import published_drawing
from mptcplab.report.table import result_table
from mptcplab.results import RecordedRun, Results
from mptcplab.scenario.load import load
from mptcplab.scenario.schema import Scenario
from mptcplab.study.load import Selected, select
from mptcplab.study.present import study_figure, study_table
from mptcplab.study.verdict import index_rows, judge_cells, judge_claims


def study_sections(results: Results) -> list[Experiment]:
    """The tables whose result is in the folder. Empty when it is not the folder of a study."""
    return [_section(results, selected, n) for selected, n in _measured_tables(results.folder)]


def _measured_tables(folder: Path) -> Iterator[tuple[Selected, int]]:
    """Published tables with a document in the folder, and how many seeds it is about."""
    for file in sorted(folder.glob("table-*.json")):
        try:
            document: dict[str, Any] = json.loads(file.read_text())
            (selected,) = select(f"{document['study']}/{document['table']}")
            seeds = max(cell["measured"]["n"] for cell in document["cells"])
        except (ValueError, LookupError, TypeError, InputError):
            continue
        yield selected, seeds


def _section(results: Results, selected: Selected, seeds: int) -> Experiment:
    chosen = _runs_of(results, selected, seeds)
    rows = chosen.rows
    measured = index_rows(selected, rows)
    cells, claims = judge_cells(selected, measured), judge_claims(selected, measured)
    study, table = selected.study, selected.table
    question = (
        f"{study.authors} {study.year}, {study.title}. {study.where}. "
        "Does the published table come out again? " + " ".join(study.test_bed.split())
    )
    return section(
        # What is known of the experiment stands in the study, not in a results.json.
        replace(chosen, document={"title": table.title}),
        anchor=f"table-{selected.number.replace('.', '-')}",
        title=f"Table {selected.number}: {table.title}",
        question=question,
        tables=(study_table(selected, cells, claims), result_table("All that was measured", rows)),
        figures=(published_drawing(study_figure(selected, cells)),) if cells else (),
        rows=rows,
        command=["mptcplab", "run", str(selected.scenario)],
        whole=(Command("this table", f"mptcplab reproduce {selected.name}"),),
    )


def _runs_of(results: Results, selected: Selected, seeds: int) -> Results:
    """The recordings of a table's points. Tables share a folder, so that a run is told by its whole scenario."""
    newest = {line.get("run"): number for number, line in enumerate(results.log)}
    found: dict[tuple[str, int], RecordedRun] = {}
    for run in sorted(results.recorded, key=lambda run: newest.get(run.result.identity, -1)):
        found[_text(_as_read_now(run.recording)), run.result.seed] = run
    chosen = []
    for wanted in load(selected.scenario).runs:
        there = found.get((_text(wanted.point.scenario), wanted.seed))
        if there is not None and wanted.repeat < seeds:
            # Another table may have named the settings of the same run otherwise.
            settings = tuple(wanted.point.settings.items())
            chosen.append(replace(there, result=replace(there.result, settings=settings)))
    return replace(results, recorded=tuple(chosen), others=0, older=0)


def _as_read_now(recording: Recording) -> Scenario | None:
    """The recorded scenario with the defaults of keys that came to the language since; None when it is another."""
    recorded = recording.manifest["facts"]["scenario"]
    try:
        return Scenario.model_validate_json(json.dumps({"title": "recorded", **recorded}))
    except ValidationError:
        return None


def _text(scenario: Scenario | None) -> str:
    """What a scenario does, in an order that does not depend on its file."""
    return (
        json.dumps(scenario.model_dump(mode="json", exclude={"title", "question"}), sort_keys=True) if scenario else ""
    )
