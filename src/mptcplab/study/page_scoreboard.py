# SPDX-License-Identifier: MIT
"""The page about all studies of a results folder: the scoreboard, and below it a section per table."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mptcplab.metrics.rows import RunResult
from mptcplab.report.html_model import Drawing, ExperimentSection, ReportPage, ScoreboardView
from mptcplab.report.table import Table
from mptcplab.study.agreement import agreement_drawing
from mptcplab.study.chosen import parameters_table
from mptcplab.study.forms import file_stem, read_documents
from mptcplab.study.load import select, study_names
from mptcplab.study.page_study import StudyFolder, TableForm, anchor_of, points_in, sections_of, table_section
from mptcplab.study.page_values import Section, values_tables, with_links
from mptcplab.study.scoreboard import ScoreLine, line_without
from mptcplab.study.scoreboard_tables import summary, tables_table, totals_table

_TITLE = "Published studies, measured again"
_LEFT_OUT = (
    "This page has figures over time only for tables with events in the network. The page of a study has them for "
    "every table:"
)


def study_folders(folder: Path) -> list[Path]:
    """Return the folders of studies in ``folder``; none if ``mptcplab reproduce`` did not write to it."""
    return [folder / name for name in study_names() if read_documents(folder / name)]


def scoreboard_report(folder: Path, *, known: Mapping[str, RunResult] | None = None) -> ReportPage:
    """Return the page of everything that ``mptcplab reproduce`` measured into ``folder``."""
    whys = _read_reasons(folder)
    sections: list[ExperimentSection] = []
    lines: list[ScoreLine] = []
    table_forms: dict[str, list[list[TableForm]]] = {}
    places = study_folders(folder)
    named = {*(place.name for place in places), *(table.partition("/")[0] for table in whys)}
    for name in [study_name for study_name in study_names() if study_name in named]:
        tables = {forms[0].judged.selected.name: forms for forms in StudyFolder(folder / name, known).tables}
        for selected in select(name):
            forms = tables.get(selected.name)
            lines.append(forms[0].line if forms else line_without(selected, whys.get(selected.name, "")))
        table_forms[name] = list(tables.values())
        sections += _sections(table_forms[name])
    board = _build_view(lines, sections, places, [forms for tables in table_forms.values() for forms in tables])
    return ReportPage(_TITLE, tuple(sections), board, tuple(_pictures(table_forms)), tuple(_parameters(table_forms)))


def _sections(tables: Sequence[Sequence[TableForm]]) -> list[ExperimentSection]:
    """Return the sections, with time series only for tables with events: time series of all would dominate the page."""
    places = sections_of(tables, with_study=True)
    return [table_section(forms, places, in_study=False, over_time="events") for forms in tables]


def _pictures(pictures: Mapping[str, Sequence[Sequence[TableForm]]]) -> Iterator[Drawing]:
    """Yield the figure of all studies, and the figure of each study with published values."""
    points = {name: points_in(tables, sections_of(tables, with_study=True)) for name, tables in pictures.items()}
    with_points = {name: own_points for name, own_points in points.items() if own_points}
    if len(with_points) > 1:
        yield agreement_drawing(
            "All studies: published and measured", [point for own_points in points.values() for point in own_points]
        )
    for name, own_points in with_points.items():
        yield agreement_drawing(f"{name}: published and measured", own_points)


def _parameters(parameters: Mapping[str, Sequence[Sequence[TableForm]]]) -> Iterator[Table]:
    for name in parameters:
        tables = select(name)
        if tables[0].study.parameters:
            yield parameters_table(tables)


def _build_view(
    lines: Sequence[ScoreLine],
    sections: Sequence[ExperimentSection],
    places: Sequence[Path],
    tables: Sequence[Sequence[TableForm]],
) -> ScoreboardView:
    shown = [Section(forms[0].judged, anchor_of(forms[0].judged.selected, with_study=True)) for forms in tables]
    values = values_tables(shown)
    totals = with_links(totals_table(lines), values, shown)
    table = with_links(tables_table([_add_warning_count(line, sections) for line in lines]), values, shown)
    studies = {line.selected.folder.name: line.selected.study for line in lines}
    about = [
        (f"{name}: {study.authors} {study.year}, {study.title}. {study.where}.", " ".join(study.test_bed.split()))
        for name, study in studies.items()
    ]
    commands = tuple(shlex.join(["mptcplab", "report", str(place)]) for place in places)
    return ScoreboardView(totals, table, summary(lines), values, tuple(about), _LEFT_OUT, commands)


def _add_warning_count(line: ScoreLine, sections: Sequence[ExperimentSection]) -> ScoreLine:
    """Return the line with the number of warnings in the table's section as a remark."""
    anchor = anchor_of(line.selected, with_study=True)
    notices = [
        notice
        for section in sections
        if section.anchor == anchor
        for notice in section.notices
        if notice.level == "warning"
    ]
    count = [f"{len(notices)} warning{'s' if len(notices) > 1 else ''}"] if notices else []
    return replace(line, remark=", ".join([*([line.remark] if line.remark else []), *count]))


def _read_reasons(folder: Path) -> dict[str, str]:
    """Return the reasons why tables were not measured, from the scoreboard that the last command wrote."""
    reasons: dict[str, str] = {}
    for quick in (True, False):
        try:
            lines = json.loads((folder / f"{file_stem('scoreboard', quick=quick)}.json").read_text())["tables"]
            reasons |= {f"{line['study']}/{line['table']}": str(line["why"]) for line in lines if not line["form"]}
        except (OSError, ValueError, LookupError, TypeError):
            continue
    return reasons
