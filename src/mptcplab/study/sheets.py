# SPDX-License-Identifier: MIT
"""Sheets of every published value and claim of a table, and the lists that lead to them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mptcplab.report.html import Fact, FactSheet
from mptcplab.report.table import Cell, Table, number_columns
from mptcplab.results import RecordedRun
from mptcplab.study.judgement import AGREES, CLAIM_CLASSES, VALUE_CLASSES, ClaimVerdict, VerdictClass
from mptcplab.study.measurement import fits
from mptcplab.study.notes import (
    NONE,
    claim_evidence_text,
    claim_text,
    claim_verdict_text,
    evidence_text,
    origin_text,
    over_beds_text,
    printed_text,
    published_text,
    tolerance_text,
    value_text,
    verdict_text,
)
from mptcplab.study.parameters import parameters_of
from mptcplab.study.parts import Reason
from mptcplab.study.schema import WORKLOAD
from mptcplab.study.scoreboard import BESIDE, TABLE
from mptcplab.study.verdict import JudgedCell, JudgedTable

# Sheets of every published value and claim of a table: its place in the source, parameters, runs and evidence.
#
# The scoreboard links to a list of values by class, and that to the sheet, so two clicks are enough.

_NOT_IN_ANCHORS = re.compile(r"[^A-Za-z0-9]+")


def anchor_of_cell(table: str, row: str, column: str) -> str:
    """Return the anchor of a cell's sheet; ``table`` is the anchor of its section."""
    return f"{table}--{_anchor_text(column)}--{_anchor_text(row)}"


def anchor_of_claim(table: str, number: int) -> str:
    """Return the anchor of a claim's sheet."""
    return f"{table}--claim-{number}"


def _anchor_text(text: str) -> str:
    return _NOT_IN_ANCHORS.sub("-", text.replace(".", "_")).strip("-")


def sheets_of(
    judged: JudgedTable, runs: Sequence[RecordedRun], command: Sequence[str], *, anchor: str, sections: dict[str, str]
) -> list[FactSheet]:
    """Return the sheets of a table's values and then of its claims.

    ``command`` runs the table's scenario. ``sections`` has the anchors of other tables, by number.
    """
    writer = _Writer(judged, runs, command, anchor, sections)
    cells = [writer.cell_sheet(cell) for cell in judged.cells]
    return cells + [writer.claim_sheet(claim, number) for number, claim in enumerate(judged.claims, start=1)]


class _Writer:
    """Writes the sheets of one table."""

    def __init__(
        self,
        judged: JudgedTable,
        runs: Sequence[RecordedRun],
        command: Sequence[str],
        anchor: str,
        sections: dict[str, str],
    ) -> None:
        self._judged, self._runs, self._command = judged, runs, command
        self._anchor, self._sections = anchor, sections
        self._table = judged.selected.table

    def cell_sheet(self, cell: JudgedCell) -> FactSheet:
        """Return the sheet of a published value."""
        title = f"{self._judged.selected.name}: {self._table.columns[cell.column].title} at {cell.row}"
        unit = self._table.unit_of(cell.column)
        facts = [self._source(self._table.place, f"published {printed_text(cell.published)} {unit}".rstrip())]
        if cell.first is not None:
            table, row, column = cell.first
            there = anchor_of_cell(self._sections.get(table, ""), row, column) if table in self._sections else ""
            facts.append(Fact("Printed first in", f"Table {table}, {column} at {row}: counted there", link=there))
        facts.append(Fact("Verdict", self._verdict(cell)))
        facts.append(Fact("Tolerance", tolerance_text(self._table)))
        if cell.because is not None:
            shown_by = cell.evidence.table if cell.evidence else None
            facts += self._reason_facts(cell.because, evidence_text(cell, self._judged), shown_by)
        if cell.over_beds is not None:
            facts.append(Fact("Test beds", over_beds_text(cell.over_beds)))
        facts += self._common([cell.row], [cell.column])
        return FactSheet(anchor_of_cell(self._anchor, cell.row, cell.column), title, tuple(facts))

    def _verdict(self, cell: JudgedCell) -> str:
        if cell.measured is None or cell.difference_percent is None:
            return cell.verdict
        value = f"{value_text(self._table.value_of(cell.column), cell.measured)} {self._table.unit_of(cell.column)}"
        parts = [f"{verdict_text(cell)}: measured {value.rstrip()} ({cell.difference_percent:+.1f} %)"]
        if cell.at_half:
            parts.append(f"with half of the tolerance: {cell.at_half}")
        if cell.fitted:
            parts.append(f"fitted by: {', '.join(parameter.name for parameter in cell.fitted)}")
        parts += [f"its column: {shape.text}" for shape in self._judged.shapes if shape.column == cell.column]
        return "; ".join(parts)

    def claim_sheet(self, verdict: ClaimVerdict, number: int) -> FactSheet:
        """Return the sheet of a claim."""
        claim = verdict.claim
        values = f": {claim_text(verdict, self._table)}" if verdict.quantities else ""
        facts = [
            self._source(claim.place or self._table.place, f'claim "{claim.text}"'),
            Fact("Verdict", f"{claim_verdict_text(verdict)}{values}"),
            Fact("Bounds", " ".join(claim.why_bounds.split())),
        ]
        if verdict.fitted:
            facts.append(Fact("Fitted", f"a parameter was fitted to {' and '.join(verdict.fitted)}"))
        if verdict.why is not None:
            shown = verdict.why.shown_by
            facts += self._reason_facts(
                verdict.why, claim_evidence_text(verdict, self._judged), shown.table if shown else None
            )
        rows = [*(claim.rows or self._table.all_rows), *(name.partition("@")[2] for name in (claim.of, *claim.to))]
        columns = [name.partition("@")[0] for name in (claim.of, *claim.to)]
        facts += self._common(rows, columns)
        return FactSheet(
            anchor_of_claim(self._anchor, number), f"{self._judged.selected.name}: {claim.text}", tuple(facts)
        )

    def _source(self, place: str, item: str) -> Fact:
        study = self._judged.selected.study
        return Fact("Source", f"{study.authors} {study.year}, {study.title}, {study.where}: {place or 'ours'}; {item}")

    def _reason_facts(self, because: Reason, evidence: str, table: str | None) -> Iterator[Fact]:
        """Yield the reason and its evidence; for an open difference, only what was tried."""
        yield Fact("Tried" if because.is_open else "Reason", self._judged.fill_quotes(because.text))
        if because.is_open:
            return
        if evidence:
            yield Fact("Evidence", evidence, link=self._sections.get(table or "", ""))
        else:
            yield Fact("Evidence", "none: no run isolates the mechanism, so the reason is supposed")

    def _common(self, rows: Iterable[str], columns: Iterable[str]) -> Iterator[Fact]:
        yield Fact("Parameters", "", items=tuple(self._parameters()))
        texts = list(self._recording_lines(set(rows), list(dict.fromkeys(columns))))
        yield Fact("Runs", "" if texts else "none recorded here", items=tuple(texts))

    def _parameters(self) -> Iterator[str]:
        number = self._judged.selected.number
        for parameter in parameters_of(self._judged.selected):
            choice = parameter.choice(number)
            why = f" {choice.why}" if choice.why else ""
            yield (
                f"{parameter.name}: {choice.value} ({origin_text(choice)}). The study says: {parameter.says} "
                f"({parameter.place}).{why}"
            )

    def _recording_lines(self, rows: set[str], columns: Sequence[str]) -> Iterator[str]:
        """Yield a command for each point of the cells, and the recordings of its seeds."""
        parts = [part for name in columns for part in (self._table.columns[name].ratio or (name,))]
        points: dict[tuple[tuple[str, str], ...], list[RecordedRun]] = {}
        for run in self._runs:
            if run.settings.get(self._table.along) in rows and any(self._fits(part, run) for part in parts):
                points.setdefault(run.result.settings, []).append(run)
        for settings, runs in points.items():
            seeds = [run.result.seed for run in runs]
            words = [*self._command, "--seed", str(min(seeds)), "--repeats", str(len(seeds))]
            words += [word for key, value in settings for word in ("--set", f"{key}={value}")]
            yield f"{shlex.join(words)}: {', '.join(f'runs/{run.result.identity}' for run in runs)}"

    def _fits(self, name: str, run: RecordedRun) -> bool:
        column = self._table.columns[name]
        return fits(self._table, column, {**run.settings, WORKLOAD: column.where.get(WORKLOAD, "")})


# Lists of all published values and claims by class: counts on the scoreboard link to them, and lines to sheets.

_VALUE, _CLAIM = "value", "claim"
_NOT_IN_LIST_ANCHORS = re.compile(r"[^a-z0-9]+")
#: The group of values or claims that a column of the scoreboard counts, by its head.
_GROUPS = {
    **{value_class.head: (_VALUE, value_class.name) for value_class in VALUE_CLASSES},
    **{claim_class.head: (_CLAIM, claim_class.name) for claim_class in CLAIM_CLASSES},
    "at half": (_VALUE, AGREES),
}


@dataclass(frozen=True)
class Section:
    """A table on the page: its verdicts, and the anchor of its section."""

    judged: JudgedTable
    anchor: str

    @property
    def name(self) -> str:
        """``STUDY/TABLE``."""
        return self.judged.selected.name


def _anchor(kind: str, group: str, scope: str) -> str:
    return _NOT_IN_LIST_ANCHORS.sub("-", f"{kind} {group} {scope}".lower()).strip("-")


def values_tables(sections: Sequence[Section]) -> tuple[Table, ...]:
    """Return the list of values and the list of claims, if not empty."""
    tables = (_list(_VALUE, VALUE_CLASSES, sections), _list(_CLAIM, CLAIM_CLASSES, sections))
    return tuple(table for table in tables if table.rows)


@dataclass(frozen=True)
class _Line:
    """One value or claim. ``cells`` follow its class, ``sheet`` is the anchor of its sheet."""

    group: str
    section: Section
    cells: tuple[str, ...]
    sheet: str


def _list(kind: str, classes: Sequence[VerdictClass], sections: Sequence[Section]) -> Table:
    lines = [line for section in sections for line in (_values(section) if kind == _VALUE else _claims(section))]
    names = [item.name for item in classes]
    lines.sort(key=lambda line: names.index(line.group))
    emphases = {item.name: item.emphasis for item in classes}
    seen: set[str] = set()
    rows = []
    for line in lines:
        names = [_anchor(kind, line.group, scope) for scope in _scopes(line.section)]
        anchors = tuple(name for name in names if name not in seen)
        seen.update(names)
        group, item, *others = line.cells
        first = Cell(group, emphasis=emphases[line.group], link=line.sheet, anchors=anchors)
        rows.append((first, line.section.name, Cell(item, link=line.sheet), *others))
    title = "Every published value, each once for a test bed" if kind == _VALUE else "Every claim"
    columns = number_columns("published", "measured", "difference") if kind == _VALUE else ()
    return Table.build(title, ("class", "table", kind, *columns), rows)


def _scopes(section: Section) -> tuple[str, ...]:
    """Return the rows of a scoreboard that count the values of a section; empty for all studies."""
    study, selected = section.name.partition("/")[0], section.judged.selected
    is_counted = selected.study.counts(selected.number)
    return ("", study, section.name) if is_counted else (f"{study}: {BESIDE}", section.name)


def _values(section: Section) -> Iterator[_Line]:
    table = section.judged.selected.table
    for cell in section.judged.counted_once:
        kind, unit = table.value_of(cell.column), table.unit_of(cell.column)
        measured = f"{value_text(kind, cell.measured)} {unit}".rstrip() if cell.measured else NONE
        difference = NONE if cell.difference_percent is None else f"{cell.difference_percent:+.1f} %"
        title = f"{table.columns[cell.column].title} at {cell.row}"
        cells = (verdict_text(cell), title, f"{published_text(cell.published)} {unit}".rstrip(), measured, difference)
        yield _Line(cell.counted_as, section, cells, anchor_of_cell(section.anchor, cell.row, cell.column))


def _claims(section: Section) -> Iterator[_Line]:
    for number, claim in enumerate(section.judged.claims, start=1):
        cells = (claim_verdict_text(claim), claim.claim.text)
        yield _Line(claim.counted_as, section, cells, anchor_of_claim(section.anchor, number))


def with_links(board: Table, values: Sequence[Table], sections: Sequence[Section]) -> Table:
    """Return a scoreboard whose counts link to the lists, and whose tables link to their sections."""
    there = {name for table in values for row in table.rows for cell in row for name in cell.anchors}
    anchors = {section.name: section.anchor for section in sections}
    links: dict[tuple[int, int], str] = {}
    for line, row in enumerate(board.rows):
        name = row[0].removesuffix(": all")
        scope = "" if name == "all" else name
        if name in anchors:
            links[line, board.headings.index(TABLE)] = anchors[name]
        for at, text in enumerate(row):
            group = _GROUPS.get(board.headings[at])
            target = _anchor(*group, scope) if group and text else ""
            if target in there:
                links[line, at] = target
            elif text and board.headings[at] == "same shape" and name in anchors:
                links[line, at] = anchors[name]
    return board.with_links(links)
