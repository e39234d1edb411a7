# SPDX-License-Identifier: MIT
"""The pages about one study's folder, and about all studies of a results folder."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from mptcplab.errors import LabError
from mptcplab.metrics.kept import cached_result
from mptcplab.metrics.rows import RunResult
from mptcplab.metrics.stored import StoredResults
from mptcplab.recording.record import Recording, is_complete
from mptcplab.report.html import Drawing, ExperimentSection, ReportCommand, ReportPage, ScoreboardView
from mptcplab.report.html_build import TimeFigures, build_section
from mptcplab.report.html_sweep import published_drawing
from mptcplab.report.result_table import result_table
from mptcplab.report.table import Table
from mptcplab.results import RecordedRun, Results, read_log
from mptcplab.study.chosen import parameters_table
from mptcplab.study.cloud import find_cloud, values_over_beds
from mptcplab.study.cloud_page import claims_table, cloud_drawings, cloud_table
from mptcplab.study.figures import AgreementPoint, agreement_drawing, points_of, study_figures
from mptcplab.study.library import SelectedTable, file_stem, read_documents, select, short_changes, study_names
from mptcplab.study.measurement import FullResult, full_form, index_results, read_sources
from mptcplab.study.output import VERDICT, places_of, study_table
from mptcplab.study.scoreboard import ScoreLine, line_of, line_without, summary, tables_table, totals_table
from mptcplab.study.sheets import Section, anchor_of_cell, sheets_of, values_tables, with_links
from mptcplab.study.stored import MeasuredTable
from mptcplab.study.verdict import JudgedTable, judge

# The page about one study's folder of ``mptcplab reproduce``: a section per published table that was measured.


@dataclass(frozen=True)
class TableForm:
    """One form of a table in a folder: its runs, and the current verdicts."""

    results: Results
    judged: JudgedTable
    measured: MeasuredTable

    @property
    def is_short(self) -> bool:
        """True for the form that ``--quick`` measures."""
        return self.measured.is_quick

    @property
    def line(self) -> ScoreLine:
        """The table's line on the scoreboard."""
        failed, runs = len(self.measured.failed), len(self.measured.runs or ())
        return line_of(self.judged, quick=self.is_short, failed=failed, runs=runs + failed)


class StudyFolder:
    """The contents of one study's folder. ``known`` has runs that were measured already, by identity."""

    def __init__(self, folder: Path, known: Mapping[str, RunResult] | None = None) -> None:
        self._folder = folder
        self._known: dict[str, RunResult | str] = dict(known or {})
        self._documents = read_documents(folder)

    @cached_property
    def tables(self) -> list[list[TableForm]]:
        """The forms of every table that was measured, the full one first, in the order of the study."""
        table_forms = []
        for selected in self._select_tables():
            forms = (self._documents.get((selected.name, quick)) for quick in (False, True))
            whole = [self._form(selected, form) for form in forms if form is not None and form.runs is not None]
            table_forms += [whole] if whole else []
        return table_forms

    def _select_tables(self) -> list[SelectedTable]:
        names = {name.partition("/")[0] for name, _ in self._documents} & set(study_names())
        return [selected for name in sorted(names) for selected in select(name)]

    def _form(self, selected: SelectedTable, measured: MeasuredTable) -> TableForm:
        results = self._runs(selected, measured)
        values = index_results(selected, [run.result for run in results.recorded])
        sources = read_sources(self._documents, quick=measured.is_quick)
        full = self._full_result(selected, measured)
        over_beds = {} if measured.is_quick or measured.changed else values_over_beds(selected, self._folder)
        return TableForm(results, judge(selected, values, measured.changed, sources, full, over_beds), measured)

    def _full_result(self, selected: SelectedTable, measured: MeasuredTable) -> FullResult | None:
        """Return the full form for comparison with a short one, unless more was changed than usual."""
        usual = measured.is_quick and list(measured.changed) == short_changes(selected.table)
        return full_form(selected, self._documents) if usual else None

    def _runs(self, selected: SelectedTable, measured: MeasuredTable) -> Results:
        """Return the recordings that the table names, as far as they exist and can be read."""
        runs, damaged, absent = [], [], 0
        for entry in measured.runs or ():
            place = self._folder / "runs" / entry.identity
            if not is_complete(place):
                absent += 1
                continue
            result = self._result(place)
            if isinstance(result, str):
                damaged.append(f"{place.name}: {result}")
            else:
                # Another table may have other names for the settings of the same run.
                named = replace(result, settings=tuple(entry.settings.items()))
                runs.append(RecordedRun(Recording(place), named))
        about = StoredResults(title=selected.table.title, failed=measured.failed)
        log = tuple(read_log(self._folder / "log.jsonl"))
        return Results(self._folder, tuple(runs), about, log, tuple(damaged), absent=absent + len(damaged))

    def _result(self, place: Path) -> RunResult | str:
        """Return the result of a recording, or its error. Tables may share runs."""
        if place.name not in self._known:
            try:
                self._known[place.name] = cached_result(Recording(place))
            except LabError as error:
                self._known[place.name] = error.message
        return self._known[place.name]


def study_report(folder: Path, *, known: Mapping[str, RunResult] | None = None) -> ReportPage | None:
    """Return the page of one study; None if the folder is not a study's."""
    tables = StudyFolder(folder, known).tables
    if not tables:
        return None
    sections = sections_of(tables)
    experiments = tuple(table_section(forms, sections) for forms in tables)
    study = tables[0][0].judged.selected.study
    points = points_in(tables, sections)
    title = f"{study.authors} {study.year}: published and measured"
    pictures: tuple[Drawing, ...] = (agreement_drawing(title, points),) if points else ()
    whole = select(study.name)
    parameters = (parameters_table(whole),) if study.parameters else ()
    beds: tuple[Table, ...] = ()
    cloud = find_cloud(whole, folder)
    if cloud is not None:
        pictures += tuple(cloud_drawings(cloud, whole, _anchors_of_cells(tables, sections)))
        beds = tuple(table for table in (cloud_table(cloud, whole), claims_table(cloud)) if table.rows)
    name = f"Study {folder.resolve().name}"
    return ReportPage(name, experiments, pictures=pictures, beds=beds, parameters=parameters)


def _anchors_of_cells(
    tables: Sequence[Sequence[TableForm]], sections: Mapping[str, str]
) -> dict[tuple[str, str, str], str]:
    """Return the anchors of all sheets of values on the page, by table, row and column."""
    return {
        (judged.selected.number, cell.row, cell.column): anchor_of_cell(
            sections[judged.selected.name], cell.row, cell.column
        )
        for judged in (forms[0].judged for forms in tables)
        for cell in judged.cells
    }


def sections_of(tables: Sequence[Sequence[TableForm]], *, with_study: bool = False) -> dict[str, str]:
    """Return the anchor of each table's section, by the table's name."""
    selected_tables = [forms[0].judged.selected for forms in tables]
    return {selected.name: anchor_of(selected, with_study=with_study) for selected in selected_tables}


def points_in(tables: Sequence[Sequence[TableForm]], sections: Mapping[str, str]) -> list[AgreementPoint]:
    """Return the published values of the tables' first forms, for a figure."""
    points = []
    for judged in (forms[0].judged for forms in tables):
        anchors = [anchor_of_cell(sections[judged.selected.name], cell.row, cell.column) for cell in judged.cells]
        points += points_of(judged, anchors)
    return points


def anchor_of(selected: SelectedTable, *, with_study: bool = False) -> str:
    """Return the anchor of a table's section."""
    name = selected.name if with_study else f"table-{selected.number}"
    return name.replace(".", "-").replace("/", "-")


def table_section(
    forms: Sequence[TableForm], sections: Mapping[str, str], *, in_study: bool = True, over_time: TimeFigures = "all"
) -> ExperimentSection:
    """Return the section of a table: its first form in full, and the table of the other form.

    ``in_study``: the page is about one study. ``sections`` has the anchors of tables.
    """
    first = forms[0]
    judged, selected, rows = first.judged, first.judged.selected, first.results.rows
    study = selected.study
    about = f"{study.authors} {study.year}, {study.title}. {study.where}. "
    question = f"{about}Can the published table be reproduced? {' '.join(study.test_bed.split())}" if in_study else ""
    anchor = sections[selected.name]
    command = ["mptcplab", "run", str(selected.scenario), *_set(judged.changes)]
    whole = build_section(
        first.results,
        anchor=anchor,
        title=judged.title if in_study else f"{selected.folder.name}, {judged.title}",
        question=question,
        tables=(
            _link_verdicts(_table(first), judged, anchor),
            *(_table(form) for form in forms[1:]),
            result_table("All measured values", rows),
        ),
        figures=tuple(published_drawing(figure) for _, figure in study_figures(judged)) if judged.measured else (),
        rows=rows,
        command=command,
        whole=tuple(ReportCommand(_form_name(form), _command(form)) for form in forms),
        over_time=over_time,
    )
    of_study = {name.partition("/")[2]: at for name, at in sections.items() if name.partition("/")[0] == study.name}
    sheets = sheets_of(judged, first.results.recorded, command, anchor=anchor, sections=of_study)
    return replace(whole, sheets=tuple(sheets))


def _link_verdicts(table: Table, judged: JudgedTable, anchor: str) -> Table:
    """Return the table with links from verdicts to sheets."""
    if VERDICT not in table.headings:
        return table
    at, cells = table.headings.index(VERDICT), {(cell.row, cell.column) for cell in judged.cells}
    lines = enumerate(places_of(judged))
    return table.with_links({(line, at): anchor_of_cell(anchor, *place) for line, place in lines if place in cells})


def _table(form: TableForm) -> Table:
    table = study_table(form.judged)
    return replace(table, title=f"{table.title}, short form") if form.is_short else table


def _form_name(form: TableForm) -> str:
    return "the short form of this table" if form.is_short else "this table"


def _command(form: TableForm) -> str:
    quick = ["--quick"] if form.is_short else []
    usual = short_changes(form.judged.selected.table) if form.is_short else []
    changes = [change for change in form.judged.changes if change not in usual]
    return shlex.join(["mptcplab", "reproduce", form.judged.selected.name, *quick, *_set(changes)])


def _set(changes: Sequence[str]) -> list[str]:
    return [word for change in changes for word in ("--set", change)]


# The page about all studies of a results folder: the scoreboard, and below it a section per table.

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
    with_points = {name: of_study for name, of_study in points.items() if of_study}
    if len(with_points) > 1:
        yield agreement_drawing(
            "All studies: published and measured", [point for of_study in points.values() for point in of_study]
        )
    for name, of_study in with_points.items():
        yield agreement_drawing(f"{name}: published and measured", of_study)


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
