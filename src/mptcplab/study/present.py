# SPDX-License-Identifier: MIT
"""A judged table as table and as figures; :mod:`mptcplab.study.document` has it as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from mptcplab.report.figure import NAMES, Figure, Mark, Series
from mptcplab.report.table import IDENTICAL_NOTE, Table, interval_text, number, spread_text
from mptcplab.stats import Interval
from mptcplab.study.claims import FAILS, OPEN, ClaimVerdict, judge_claims
from mptcplab.study.full import Full, beside_note, excludes
from mptcplab.study.load import Selected
from mptcplab.study.measured import Measured, Value
from mptcplab.study.quote import quotes_of
from mptcplab.study.schema import Because, Published, PublishedTable
from mptcplab.study.source import Source, Sources, fill
from mptcplab.study.values import kind_name, kind_of
from mptcplab.study.verdict import AGREES, DIFFERS, SAME_SHAPE, UNEXPLAINED, Cell, judge_cells

_STYLES = {AGREES: "green", SAME_SHAPE: "yellow", DIFFERS: "yellow", UNEXPLAINED: "bold red", OPEN: "yellow"}
#: In a cell that has no value.
_NONE = "-"
#: Of a short form: whether, or how many of the row's values, are not where the full form says.
_OUTSIDE = "outside the full form"
#: Reasons by their words, and what each is called by: ``[1]``.
Marks = Mapping[str, str]


@dataclass(frozen=True)
class Judged:
    """One table with all that is said of it. ``changes`` are keys that were changed for this measurement.

    ``sources`` are the tables that texts can quote, with this one. ``full`` is the full form that a short one is
    compared with; None when there is nothing to compare.
    """

    selected: Selected
    measured: Measured
    cells: tuple[Cell, ...]
    claims: tuple[ClaimVerdict, ...]
    changes: tuple[str, ...] = ()
    sources: Sources = field(default_factory=dict)
    full: Full | None = None

    @property
    def beside(self) -> Full | None:
        """The full form, if anything is known of it."""
        return self.full if self.full is not None and self.full.cells else None

    @property
    def title(self) -> str:
        """For headings."""
        return f"{self.selected.heading}: {self.selected.table.title}"

    def filled(self, text: str) -> str:
        """A text of the study with the measured values that it quotes."""
        return fill(text, self.selected, self.sources)


def judge(
    selected: Selected,
    measured: Measured,
    changes: Sequence[str] = (),
    others: Sources = MappingProxyType({}),
    full: Full | None = None,
) -> Judged:
    """Verdicts of every cell and every claim. ``others`` are tables measured beside this one, for texts to quote."""
    cells, claims = judge_cells(selected, measured), judge_claims(selected, measured)
    sources = {**others, selected.name: Source(measured, tuple(changes))}
    return Judged(selected, measured, tuple(cells), tuple(claims), tuple(changes), sources, full)


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
    """One line per published value of the rows that were measured, and per measured value beside them."""
    described = judged.selected.table
    columns = (described.along_label, described.across_label, "published", "measured", "difference", "verdict")
    cells = {(cell.row, cell.column): cell for cell in judged.cells if cell.row_is_there}
    places = [(row, name) for row in described.all_rows for name in described.columns]
    places = [place for place in places if place in cells or place in judged.measured]
    rows = tuple(
        (
            *(_line(judged, cells[place], marks) if place in cells else _unpublished(judged, *place)),
            *_beside(judged, place[0], [place[1]]),
        )
        for place in places
    )
    verdicts = [(line, cells[place].verdict) for line, place in enumerate(places) if place in cells]
    styles = [(line, 5, _STYLES[verdict]) for line, verdict in verdicts]
    styles += [(line, 3, "yellow") for line, place in enumerate(places) if _full_text(judged, *place)]
    numeric = frozenset({"published", "measured", "difference", "n"})
    last = ("MPTCP in use", "on the sockets", "n", *([_OUTSIDE] if judged.beside else []))
    return Table("", (*columns, *last), rows, numeric, (), tuple(styles))


def _line(judged: Judged, cell: Cell, marks: Marks) -> tuple[str, ...]:
    described = judged.selected.table
    return (
        cell.row,
        described.columns[cell.column].title,
        _with_unit(_published_text(cell.published), described, cell.column),
        _measured_text(judged, cell.row, cell.column) if cell.measured else _NONE,
        _NONE if cell.difference_percent is None else f"{cell.difference_percent:+.1f} %",
        f"{cell.verdict}{_mark(cell.because, marks)}",
        cell.mptcp,
        cell.sockets,
        _runs_text(cell.measured.n, cell.missing) if cell.measured else _NONE,
    )


def _unpublished(judged: Judged, row: str, column: str) -> tuple[str, ...]:
    value = judged.measured[row, column]
    title, runs = judged.selected.table.columns[column].title, _runs_text(value.interval.n, value.missing)
    text = _measured_text(judged, row, column)
    return (row, title, _NONE, text, _NONE, "", value.mptcp, value.sockets, runs)


def _measured_text(judged: Judged, row: str, column: str) -> str:
    table = judged.selected.table
    text = _value_text(table.value_of(column), judged.measured[row, column].interval)
    return f"{_with_unit(text, table, column)}{_full_text(judged, row, column)}"


def _full_text(judged: Judged, row: str, column: str) -> str:
    """Behind a value that is not where the full form says: `` (full: 16.70 ± 0.30)``."""
    value, full = judged.measured.get((row, column)), judged.beside.of(row, column) if judged.beside else None
    if value is None or full is None or not excludes(full, value.interval):
        return ""
    return f" (full: {_value_text(judged.selected.table.value_of(column), full)})"


def _beside(judged: Judged, row: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The last cell of a row that is compared with the full form."""
    if not judged.beside:
        return ()
    known = [name for name in columns if (row, name) in judged.measured and judged.beside.of(row, name)]
    found = [name for name in known if _full_text(judged, row, name)]
    if not known:
        return ("no full value",)
    return (f"{len(found)} of {len(known)}",) if len(columns) > 1 else ("yes" if found else "no",)


def _with_unit(text: str, table: PublishedTable, column: str) -> str:
    """With its unit where that is not the one in the table's title."""
    unit = table.unit_of(column)
    return text if unit in ("", table.unit) else f"{text} {unit}"


def _runs_text(n: int, missing: int) -> str:
    """``3``, or ``2 of 3`` when the others do not have such a value."""
    return f"{n} of {n + missing}" if missing else str(n)


def _published_text(value: Published) -> str:
    return number(value.mean) if value.half_width is None else f"{number(value.mean)} ± {number(value.half_width)}"


def _measured_only(judged: Judged) -> Table:
    described = judged.selected.table
    names = list(described.columns)
    rows: list[tuple[str, ...]] = []
    styles: list[tuple[int, int, str]] = []
    for row in described.all_rows:
        found = [judged.measured.get((row, name)) for name in names]
        there = [one for one in found if one is not None]
        if there:
            kinds = [described.value_of(name) for name in names]
            texts = [_cell_text(kind, one) if one else _NONE for kind, one in zip(kinds, found, strict=True)]
            marked = [f"{text}{_full_text(judged, row, name)}" for text, name in zip(texts, names, strict=True)]
            n = str(max(one.interval.n + one.missing for one in there))
            styles += [(len(rows), at, "yellow") for at, name in enumerate(names, 1) if _full_text(judged, row, name)]
            rows.append((row, *marked, n, *_beside(judged, row, names)))
    titles = [_heading(described, name) for name in names]
    columns = (described.along_label, *titles, "n", *([_OUTSIDE] if judged.beside else []))
    return Table("", columns, tuple(rows), frozenset({*titles, "n"}), (), tuple(styles))


def _heading(table: PublishedTable, column: str) -> str:
    """The column's title, with the unit where that is not the one in the table's title."""
    title, unit = table.columns[column].title, table.unit_of(column)
    return title if unit in ("", table.unit) else f"{title} ({unit})"


def _cell_text(kind: str, value: Value) -> str:
    runs = f" ({_runs_text(value.interval.n, value.missing)})" if value.missing else ""
    return f"{_value_text(kind, value.interval)}{runs}"


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


def _value_text(kind: str, interval: Interval) -> str:
    digits = kind_of(kind).digits
    if digits is None:
        return interval_text(interval)
    return f"{interval.mean:.{digits}f}{spread_text(interval.half_width, digits)}"


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
    return said if one.verdict == OPEN else f"{said} ({asked(one, table)}: {_values(one, table)})"


def asked(one: ClaimVerdict, table: PublishedTable) -> str:
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
    column = one.claim.of.partition("@")[0]
    kind = "ratio" if one.claim.to else table.value_of(column)
    unit = "" if one.claim.to else _with_unit("", table, column)
    parts = []
    for quantity in one.quantities:
        to = f" / {_column_text(quantity.to, table)}" if quantity.to else ""
        parts.append(f"{quantity.row}{to} {_cell_text(kind, quantity.value)}{unit}")
    return "; ".join(parts)


def _footer(judged: Judged, marks: Marks) -> Iterator[str]:
    table = judged.selected.table
    yield from _rows_left_out(judged)
    several = any(value.interval.half_width is not None for value in judged.measured.values())
    spread = "mean ± half width of the 95 % confidence interval (Student's t)" if several else "one run each"
    tolerance = f"Tolerance {table.tolerance:g} %. " if table.published else ""
    yield f"{tolerance}Measured: {spread}; payload at the receiver."
    if any(value.interval.is_identical for value in judged.measured.values()):
        yield IDENTICAL_NOTE
    if judged.full is not None:
        yield beside_note(judged.selected, judged.measured, judged.full)
    yield from _sockets(judged)
    if judged.changes:
        yield f"Changed for this measurement: {', '.join(judged.changes)}."
    if table.note:
        yield judged.filled(table.note)
    yield from _quoted(judged, (*marks, table.note))


def _rows_left_out(judged: Judged) -> Iterator[str]:
    """Published rows that this run has nothing of."""
    rows = dict.fromkeys(cell.row for cell in judged.cells if not cell.row_is_there)
    if rows:
        yield f"Published, and not measured here: {', '.join(rows)}."


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
    drawn = [name for name, column in table.columns.items() if column.drawn]
    kinds = list(dict.fromkeys(kind_name(table.value_of(name)) for name in drawn))
    return [("" if kind == kinds[0] else f"-{kind}", _figure(judged, kind)) for kind in kinds]


def _figure(judged: Judged, kind: str) -> Figure:
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
        f"measured: lab kernel in virtual time, n = {n}" + (", bars: 95 % interval" if n > 1 else ""),
        lowest=described.lowest,
        marks=tuple(_claim_marks(judged, names, positions)),
        named=table.along in NAMES,
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
