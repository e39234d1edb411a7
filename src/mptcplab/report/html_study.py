# SPDX-License-Identifier: MIT
"""Sections for the folder of ``mptcplab reproduce``: one per published table that was measured."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
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
from mptcplab.study.measured import index_results
from mptcplab.study.present import judge, study_figures, study_table
from mptcplab.study.source import read_sources


def study_sections(results: Results) -> list[Experiment]:
    """The tables whose result is in the folder, as the study orders them. None when it is not the folder of a study."""
    measured = sorted(_measured_tables(results.folder), key=lambda one: list(one[0].study.tables).index(one[0].number))
    return [_section(results, selected, document) for selected, document in measured]


def _measured_tables(folder: Path) -> Iterator[tuple[Selected, dict[str, Any]]]:
    """Published tables with a document in the folder."""
    for file in sorted(folder.glob("table-*.json")):
        try:
            document: dict[str, Any] = json.loads(file.read_text())
            (selected,) = select(f"{document['study']}/{document['table']}")
            seeds = max(value["n"] for value in document["measured"])
        except (ValueError, LookupError, TypeError, InputError):
            continue
        yield selected, document | {"seeds": seeds}


def _section(results: Results, selected: Selected, document: dict[str, Any]) -> Experiment:
    changes = [str(change) for change in document["changed"]]
    chosen = _runs_of(results, selected, document["seeds"], changes)
    rows = chosen.rows
    measured = index_results(selected, [run.result for run in chosen.recorded])
    judged = judge(selected, measured, changes, read_sources(results.folder))
    study, table = selected.study, selected.table
    question = (
        f"{study.authors} {study.year}, {study.title}. {study.where}. "
        "Does the published table come out again? " + " ".join(study.test_bed.split())
    )
    return section(
        # What is known of the experiment stands in the study, not in a results.json.
        replace(chosen, document={"title": table.title}),
        anchor=f"table-{selected.number.replace('.', '-')}",
        title=judged.title,
        question=question,
        tables=(study_table(judged), result_table("All that was measured", rows)),
        figures=tuple(published_drawing(figure) for _, figure in study_figures(judged)) if judged.measured else (),
        rows=rows,
        command=["mptcplab", "run", str(selected.scenario), *_set(changes)],
        whole=(Command("this table", shlex.join(["mptcplab", "reproduce", selected.name, *_quick(document)])),),
    )


def _set(changes: Iterable[str]) -> list[str]:
    return [word for change in changes for word in ("--set", change)]


def _quick(document: dict[str, Any]) -> list[str]:
    return ["--quick"] if document["quick"] else []


def _runs_of(results: Results, selected: Selected, seeds: int, changes: Sequence[str]) -> Results:
    """The recordings of a table's points. Tables share a folder, so that a run is told by its whole scenario."""
    newest = {line.get("run"): number for number, line in enumerate(results.log)}
    found: dict[tuple[str, int], RecordedRun] = {}
    for run in sorted(results.recorded, key=lambda run: newest.get(run.result.identity, -1)):
        found[_text(_as_read_now(run.recording)), run.result.seed] = run
    chosen = []
    for wanted in load(selected.scenario, overrides=changes, repeats=seeds).runs:
        there = found.get((_text(wanted.point.scenario), wanted.seed))
        if there is not None:
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
    """What a scenario does, in an order that does not depend on its file. A recording keeps its kernel elsewhere."""
    return (
        json.dumps(scenario.model_dump(mode="json", exclude={"title", "question", "kernel"}), sort_keys=True)
        if scenario
        else ""
    )
