# SPDX-License-Identifier: MIT
"""Lists of all published values and claims by class: counts on the scoreboard link to them, and lines to sheets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mptcplab.report.table import Cell, Table, number_columns
from mptcplab.study.classes import AGREES, CLAIM_CLASSES, VALUE_CLASSES, Class
from mptcplab.study.judged import JudgedTable
from mptcplab.study.page_sheets import anchor_of_cell, anchor_of_claim
from mptcplab.study.scoreboard import BESIDE
from mptcplab.study.scoreboard_tables import TABLE
from mptcplab.study.words import NONE, published_text, value_text, verdict_text

_VALUE, _CLAIM = "value", "claim"
_NOT_IN_ANCHORS = re.compile(r"[^a-z0-9]+")
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
    return _NOT_IN_ANCHORS.sub("-", f"{kind} {group} {scope}".lower()).strip("-")


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


def _list(kind: str, classes: Sequence[Class], sections: Sequence[Section]) -> Table:
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
        cells = (claim.counted_as, claim.claim.text)
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
