# SPDX-License-Identifier: MIT
"""Sheets of every published value and claim of a table: its place in the source, parameters, runs and evidence.

The scoreboard links to a list of values by class, and that to the sheet, so two clicks are enough.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from mptcplab.report.html_model import Fact, FactSheet
from mptcplab.results import RecordedRun
from mptcplab.study.claims import ClaimVerdict
from mptcplab.study.judged import JudgedTable
from mptcplab.study.measured import fits
from mptcplab.study.notes import claim_evidence_text, claim_text
from mptcplab.study.parameters import parameters_of
from mptcplab.study.parts import Reason
from mptcplab.study.schema import WORKLOAD
from mptcplab.study.verdict import JudgedCell
from mptcplab.study.words import (
    evidence_text,
    origin_text,
    over_beds_text,
    published_text,
    tolerance_text,
    value_text,
    verdict_text,
)

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
        facts = [self._source(self._table.place, f"published {published_text(cell.published)} {unit}".rstrip())]
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
            Fact("Verdict", f"{verdict.counted_as}{values}"),
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
