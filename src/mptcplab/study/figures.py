# SPDX-License-Identifier: MIT
"""The figures of a judged table: measured lines, published points and what the study claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mptcplab.figure.axis import NAMES
from mptcplab.figure.lines import Figure, FigureSeries, Mark
from mptcplab.study.classes import FAILS
from mptcplab.study.judged import JudgedTable
from mptcplab.study.values import kind_name, kind_of


def study_figures(judged: JudgedTable) -> list[tuple[str, Figure]]:
    """Our lines, published points and marks; one figure per kind of value, named by what is added to the table's."""
    table = judged.selected.table
    drawn = [name for name, column in table.columns.items() if column.drawn]
    kinds = list(dict.fromkeys(kind_name(table.value_of(name)) for name in drawn))
    return [("" if kind == kinds[0] else f"-{kind}", _figure(judged, kind)) for kind in kinds]


def _figure(judged: JudgedTable, kind: str) -> Figure:
    table, study, described = judged.selected.table, judged.selected.study, kind_of(kind)
    positions = tuple(row for row in table.all_rows if any(place[0] == row for place in judged.measured))
    names = [name for name, column in table.columns.items() if column.drawn and kind_name(table.value_of(name)) == kind]
    n = max((value.interval.n for value in judged.measured.values()), default=0)
    unit = f", {described.unit}" if described.unit else ""
    return Figure(
        f"{study.authors} {study.year}, {judged.title}",
        table.along_label,
        f"{described.axis}{unit}",
        positions,
        tuple(_series(judged, name, positions) for name in names),
        f"measured: lab kernel in virtual time, n = {n}" + (", whiskers: 95 % interval" if n > 1 else ""),
        lowest=described.lowest,
        marks=tuple(_claim_marks(judged, names, positions)),
        named=table.along in NAMES,
    )


def _series(judged: JudgedTable, name: str, positions: Sequence[str]) -> FigureSeries:
    table = judged.selected.table
    values = [judged.measured.get((row, name)) for row in positions]
    published = [table.published.get(row, {}).get(name) for row in positions]
    return FigureSeries(
        table.columns[name].title,
        tuple(value.interval if value else None for value in values),
        tuple(value.mean if value else None for value in published),
    )


def _claim_marks(judged: JudgedTable, names: Sequence[str], positions: Sequence[str]) -> Iterator[Mark]:
    """What the study says, over the rows that it says it of, in the figure of the values that it is about."""
    for claim in judged.claims:
        rows = [row for row in claim.claim.rows or positions if row in positions]
        if claim.claim.mark and rows and claim.claim.of.partition("@")[0] in names:
            yield Mark(rows[0], rows[-1], claim.claim.mark, claim.verdict, claim.verdict == FAILS)
