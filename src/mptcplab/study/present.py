# SPDX-License-Identifier: MIT
"""A judged table as table, figures and document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mptcplab.metrics.rows import METRICS
from mptcplab.report.figure import Figure, Mark, Series
from mptcplab.report.table import Table, interval_text, number
from mptcplab.stats import Interval
from mptcplab.study.claims import FAILS, OPEN, ClaimVerdict, judge_claims
from mptcplab.study.load import Selected
from mptcplab.study.measured import Measured
from mptcplab.study.quote import quotes_of
from mptcplab.study.schema import VALUE_NAMES, Because, Published, PublishedTable, ValueName
from mptcplab.study.source import Source, Sources, fill
from mptcplab.study.verdict import AGREES, DIFFERS, SAME_SHAPE, UNEXPLAINED, Cell, judge_cells

_STYLES = {AGREES: "green", SAME_SHAPE: "yellow", DIFFERS: "yellow", UNEXPLAINED: "bold red"}
#: Jain's index of two cannot be less than a half.
_LOWEST = {"jain": 0.5}
#: Reasons by their words, and what each is called by: ``[1]``.
Marks = Mapping[str, str]


@dataclass(frozen=True)
class Judged:
    """One table with all that is said of it. ``changes`` are keys that were changed for this measurement.

    ``sources`` are the tables that texts can quote, with this one.
    """

    selected: Selected
    measured: Measured
    cells: tuple[Cell, ...]
    claims: tuple[ClaimVerdict, ...]
    changes: tuple[str, ...] = ()
    sources: Sources = field(default_factory=dict)

    @property
    def title(self) -> str:
        """For headings."""
        return f"{self.selected.heading}: {self.selected.table.title}"

    def filled(self, text: str) -> str:
        """A text of the study with the measured values that it quotes."""
        return fill(text, self.selected, self.sources)


def judge(
    selected: Selected, measured: Measured, changes: Sequence[str] = (), others: Sources = MappingProxyType({})
) -> Judged:
    """Verdicts of every cell and every claim. ``others`` are tables measured beside this one, for texts to quote."""
    cells, claims = judge_cells(selected, measured), judge_claims(selected, measured)
    sources = {**others, selected.name: Source(measured, tuple(changes))}
    return Judged(selected, measured, tuple(cells), tuple(claims), tuple(changes), sources)


def study_table(judged: Judged) -> Table:
    """Published, measured, difference and verdict, one line per published value; without any, what was measured."""
    reasons = _marked(judged)
    table = _with_published(judged, reasons) if judged.selected.table.published else _measured_only(judged)
    notes = (*_reasons(judged, reasons), *_warnings(judged), *_claims(judged, reasons), *_footer(judged, reasons))
    title = f"{judged.selected.study.name}, {judged.title} ({judged.selected.table.unit})"
    return Table(title, table.columns, table.rows, table.numeric, notes, table.styles)


def _marked(judged: Judged) -> Marks:
    """Reasons that are needed, by the number that they are called by."""
    found = [cell.because for cell in judged.cells if cell.because is not None]
    found += [one.claim.because for one in judged.claims if one.verdict == FAILS and one.claim.because is not None]
    return {text: f"[{count}]" for count, text in enumerate(dict.fromkeys(map(_words, found)), start=1)}


def _words(because: Because) -> str:
    """All that a reason says. The same words are the same reason, whichever cells and claims they are about."""
    return f"{because.reason} {because.evidence}".strip()


def _mark(because: Because | None, marks: Marks) -> str:
    return f" {marks[_words(because)]}" if because is not None else ""


def _with_published(judged: Judged, marks: Marks) -> Table:
    described = judged.selected.table
    columns = (described.along_label, described.across_label, "published", "measured", "difference", "verdict")
    rows = tuple(
        (
            cell.row,
            described.columns[cell.column].title,
            _published_text(cell.published),
            interval_text(cell.measured),
            f"{cell.difference_percent:+.1f} %",
            f"{cell.verdict}{_mark(cell.because, marks)}",
            cell.mptcp,
            cell.sockets,
            str(cell.measured.n),
        )
        for cell in judged.cells
    )
    styles = tuple((line, 5, _STYLES[cell.verdict]) for line, cell in enumerate(judged.cells))
    numeric = frozenset({"published", "measured", "difference", "n"})
    return Table("", (*columns, "MPTCP in use", "on the sockets", "n"), rows, numeric, (), styles)


def _published_text(value: Published) -> str:
    return number(value.mean) if value.half_width is None else f"{number(value.mean)} ± {number(value.half_width)}"


def _measured_only(judged: Judged) -> Table:
    described = judged.selected.table
    names = list(described.columns)
    rows = []
    for row in described.all_rows:
        found = [judged.measured.get((row, name)) for name in names]
        if any(found):
            kinds = [described.value_of(name) for name in names]
            texts = [_value_text(kind, one.interval) if one else "" for kind, one in zip(kinds, found, strict=True)]
            rows.append((row, *texts, str(max(one.interval.n for one in found if one))))
    titles = [column.title for column in described.columns.values()]
    return Table("", (described.along_label, *titles, "n"), tuple(rows), frozenset({*titles, "n"}))


def _sockets(judged: Judged) -> Iterator[str]:
    """Congestion control and scheduler as seen on the sockets, by column, where no column of the table says it."""
    table = judged.selected.table
    found: dict[str, dict[str, None]] = {}
    for (_, name), value in judged.measured.items():
        if value.sockets and not table.published:
            found.setdefault(name, {})[value.sockets] = None
    if found:
        parts = [f"{table.columns[name].title}: {' / '.join(found[name])}" for name in table.columns if name in found]
        yield f"On the senders' sockets: {'; '.join(parts)}."


def _value_text(kind: ValueName, interval: Interval) -> str:
    if kind != "jain":
        return interval_text(interval)
    spread = "" if interval.half_width is None else f" ± {interval.half_width:.3f}"
    return f"{interval.mean:.3f}{spread}"


def _reasons(judged: Judged, marks: Marks) -> list[str]:
    return [f"{mark} {judged.filled(text)}" for text, mark in marks.items()]


def _warnings(judged: Judged) -> list[str]:
    found = dict.fromkeys(w for value in judged.measured.values() for w in value.warnings)
    return [f"Warning: {warning}." for warning in found]


def _claims(judged: Judged, reasons: Marks) -> list[str]:
    return [_claim(one, judged.selected.table, reasons) for one in judged.claims]


def _claim(one: ClaimVerdict, table: PublishedTable, marks: Marks) -> str:
    why = one.claim.because if one.verdict == FAILS else None
    said = f'Claim "{one.claim.text}": {one.verdict}{_mark(why, marks)}'
    return said if one.verdict == OPEN else f"{said} ({_asked(one, table)}: {_values(one, table)})"


def _asked(one: ClaimVerdict, table: PublishedTable) -> str:
    """What was compared with what."""
    claim = one.claim
    parts = [_column_text(name, table) for name in claim.to]
    to = (f" / each of {', '.join(parts)}" if claim.each else f" / {' + '.join(parts)}") if parts else ""
    bounds = (("at least", claim.least), ("at most", claim.most))
    wanted = [f"{word} {bound:g}" for word, bound in bounds if bound is not None]
    wanted += [claim.trend] if claim.trend else []
    return f"{_column_text(claim.of, table)}{to} {', '.join(wanted)}{' somewhere' if claim.some else ''}"


def _column_text(name: str, table: PublishedTable) -> str:
    column, at, row = name.partition("@")
    return f"{table.columns[column].title}{f' at {row}' if at else ''}"


def _values(one: ClaimVerdict, table: PublishedTable) -> str:
    kind = "ratio" if one.claim.to else table.value_of(one.claim.of.partition("@")[0])
    parts = []
    for quantity in one.quantities:
        to = f" / {_column_text(quantity.to, table)}" if quantity.to else ""
        parts.append(f"{quantity.row}{to} {_value_text(kind, quantity.interval)}")
    return "; ".join(parts)


def _footer(judged: Judged, marks: Marks) -> Iterator[str]:
    table = judged.selected.table
    several = any(value.interval.half_width is not None for value in judged.measured.values())
    spread = "mean ± half width of the 95 % confidence interval (Student's t)" if several else "one run each"
    tolerance = f"Tolerance {table.tolerance:g} %. " if table.published else ""
    yield f"{tolerance}Measured: {spread}; payload at the receiver."
    yield from _sockets(judged)
    if judged.changes:
        yield f"Changed for this measurement: {', '.join(judged.changes)}."
    if table.note:
        yield judged.filled(table.note)
    yield from _quoted(judged, (*marks, table.note))


def _quoted(judged: Judged, texts: Sequence[str]) -> Iterator[str]:
    """How the other tables were measured that the printed texts quote."""
    study, own = judged.selected.folder.name, judged.selected.number
    alike: dict[str, list[str]] = {}
    for table in dict.fromkeys(quote.table for text in texts for quote in quotes_of(text)):
        source = judged.sources.get(f"{study}/{table}")
        if source is not None and table != own:
            alike.setdefault(_how(source), []).append(table)
    for how, tables in alike.items():
        yield f"Quoted from this folder: table{'s' if len(tables) > 1 else ''} {' and '.join(tables)}, {how}."


def _how(source: Source) -> str:
    runs = sorted({value.interval.n for value in source.measured.values()})
    changed = f"; changed: {', '.join(source.changes)}" if source.changes else ""
    return f"n = {' or '.join(map(str, runs))}{changed}"


def study_figures(judged: Judged) -> list[tuple[str, Figure]]:
    """Our lines, published points and marks; one figure per kind of value, named by what is added to the table's."""
    table = judged.selected.table
    kinds = list(dict.fromkeys(table.value_of(name) for name, column in table.columns.items() if column.drawn))
    return [("" if kind == kinds[0] else f"-{kind}", _figure(judged, kind)) for kind in kinds]


def _figure(judged: Judged, kind: ValueName) -> Figure:
    table, study = judged.selected.table, judged.selected.study
    positions = tuple(row for row in table.all_rows if any(place[0] == row for place in judged.measured))
    names = [name for name, column in table.columns.items() if column.drawn and table.value_of(name) == kind]
    n = max((value.interval.n for value in judged.measured.values()), default=0)
    unit = f", {table.unit}" if kind in METRICS else ""
    return Figure(
        f"{study.authors} {study.year}, {judged.title}",
        table.along_label,
        f"{VALUE_NAMES[kind]}{unit}",
        positions,
        tuple(_series(judged, name, positions) for name in names),
        f"measured: lab kernel in virtual time, n = {n}" + (", bars: 95 % interval" if n > 1 else ""),
        lowest=_LOWEST.get(kind, 0.0),
        marks=tuple(_claim_marks(judged, names, positions)),
    )


def _series(judged: Judged, name: str, positions: Sequence[str]) -> Series:
    table = judged.selected.table
    found = [judged.measured.get((row, name)) for row in positions]
    published = [table.published.get(row, {}).get(name) for row in positions]
    return Series(
        table.columns[name].title,
        tuple(value.interval if value else None for value in found),
        tuple(value.mean if value else None for value in published),
    )


def _claim_marks(judged: Judged, names: Sequence[str], positions: Sequence[str]) -> Iterator[Mark]:
    """What the study says, over the rows that it says it of, in the figure of the values that it is about."""
    for one in judged.claims:
        rows = [row for row in one.claim.rows or positions if row in positions]
        if one.claim.mark and rows and one.claim.of.partition("@")[0] in names:
            yield Mark(rows[0], rows[-1], one.claim.mark, one.verdict, one.verdict == FAILS)


def study_document(judged: Judged, *, quick: bool = False) -> dict[str, Any]:
    """The same as plain data."""
    selected = judged.selected
    return {
        "study": selected.folder.name,
        "table": selected.number,
        "title": selected.table.title,
        "unit": selected.table.unit,
        "tolerance_percent": selected.table.tolerance,
        "quick": quick,
        "changed": list(judged.changes),
        "note": judged.filled(selected.table.note),
        "measured": [
            {"row": row, "column": column, "sockets": value.sockets, **_interval(value.interval)}
            | {"by_seed": {str(seed): one for seed, one in value.by_seed.items()}}
            for (row, column), value in judged.measured.items()
        ],
        "cells": [_cell_document(cell, judged) for cell in judged.cells],
        "claims": [_claim_document(one, judged) for one in judged.claims],
    }


def _interval(value: Interval) -> dict[str, Any]:
    return {"mean": value.mean, "ci95_half_width": value.half_width, "n": value.n}


def _why(because: Because | None, judged: Judged) -> dict[str, str | None]:
    if because is None:
        return {"because": None, "evidence": None}
    return {"because": judged.filled(because.reason), "evidence": judged.filled(because.evidence)}


def _cell_document(cell: Cell, judged: Judged) -> dict[str, Any]:
    return {
        "row": cell.row,
        "column": cell.column,
        "published": cell.published.mean,
        "published_half_width": cell.published.half_width,
        "measured": _interval(cell.measured),
        "difference_percent": cell.difference_percent,
        "verdict": cell.verdict,
        **_why(cell.because, judged),
        "mptcp": cell.mptcp,
        "warnings": list(cell.warnings),
    }


def _claim_document(one: ClaimVerdict, judged: Judged) -> dict[str, Any]:
    return {
        "text": one.claim.text,
        "verdict": one.verdict,
        "asked": _asked(one, judged.selected.table),
        "quantities": [{"row": q.row, "to": q.to, **_interval(q.interval)} for q in one.quantities],
        **_why(one.claim.because if one.verdict == FAILS else None, judged),
    }
