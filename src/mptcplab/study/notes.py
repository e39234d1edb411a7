# SPDX-License-Identifier: MIT
"""The notes below a judged table: reasons with class and evidence, claims, parameters, and conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mptcplab.report.result_table import IDENTICAL_NOTE
from mptcplab.study.claims import ClaimVerdict
from mptcplab.study.classes import DEPENDS, FAILS_PARTLY, FAILS_SHOWN, IN_BEDS, OPEN, SUPPOSED, UNEXPLAINED
from mptcplab.study.full import beside_note
from mptcplab.study.judged import JudgedTable
from mptcplab.study.parameters import parameters_of
from mptcplab.study.parts import is_explained
from mptcplab.study.quote import quotes_of
from mptcplab.study.schema import PublishedTable
from mptcplab.study.source import Source
from mptcplab.study.tolerance import SHOWS, SHOWS_NOTHING, SHOWS_PART
from mptcplab.study.verdict import Cell
from mptcplab.study.words import (
    Marks,
    cell_text,
    column_text,
    evidence_text,
    mark_of,
    over_beds_text,
    parameter_text,
    tolerance_text,
    with_unit,
)


def notes_of(judged: JudgedTable, marks: Marks) -> Iterator[str]:
    """Yield all notes in order."""
    yield from _reasons(judged, marks)
    yield from _over_beds(judged)
    yield from _warnings(judged)
    yield from (_claim(one, judged, marks) for one in judged.claims)
    yield from _footer(judged, marks)


def _sockets(judged: JudgedTable) -> Iterator[str]:
    """Yield congestion controls and schedulers seen on the sockets, by column, if the table has no column for them."""
    table = judged.selected.table
    found: dict[str, dict[str, None]] = {}
    for (_, name), value in judged.measured.items():
        if value.sockets and not table.published:
            found.setdefault(name, {})[value.sockets] = None
    if found:
        parts = [f"{table.columns[name].title}: {' / '.join(found[name])}" for name in table.columns if name in found]
        yield f"On the senders' sockets: {'; '.join(parts)}."


def _reasons(judged: JudgedTable, marks: Marks) -> Iterator[str]:
    """Yield the reasons with their class, each followed by the values of its evidence."""
    cells = [cell for cell in judged.cells if cell.because is not None]
    for reason, mark in marks.items():
        own = [cell for cell in cells if cell.because is not None and cell.because.text == reason]
        claims = [one for one in judged.claims if one.why is not None and one.why.text == reason]
        yield f"{mark} {_reason_class(own, claims)}{judged.filled(reason)}"
        values = [f"{_place(cell, judged)}: {text}" for cell in own if (text := evidence_text(cell, judged))]
        if values:
            yield f"Evidence for {mark}. {'; '.join(values)}."
        yield from (f"Evidence for {mark}. {text}." for one in claims if (text := claim_evidence_text(one, judged)))


def _over_beds(judged: JudgedTable) -> Iterator[str]:
    """Yield a note about the values that differ without a shown reason and were measured over possible test beds."""
    parts = [
        f"{_place(cell, judged)}: {over_beds_text(cell.over_beds)}"
        for cell in judged.cells
        if cell.over_beds is not None and cell.verdict in (IN_BEDS, DEPENDS, SUPPOSED, UNEXPLAINED)
    ]
    if parts:
        yield f"Over test beds that the study could have had. {'; '.join(parts)}."


def _reason_class(cells: Sequence[Cell], claims: Sequence[ClaimVerdict]) -> str:
    """Return ``Shown: `` if runs show all of the reason for all its cells and claims, ``Supposed: `` if none does.

    ``Unexplained: `` is for texts about what was tried.
    """
    if not all(is_explained(one) for one in (*(cell.because for cell in cells), *(claim.why for claim in claims))):
        return "Unexplained: "
    proofs = [SHOWS_NOTHING if cell.evidence is None else cell.evidence.proof for cell in cells]
    proofs += [_proof_of(one) for one in claims]
    if all(proof == SHOWS for proof in proofs):
        return "Shown: "
    return "Supposed: " if all(proof == SHOWS_NOTHING for proof in proofs) else "Shown in part: "


def _proof_of(one: ClaimVerdict) -> str:
    return {FAILS_SHOWN: SHOWS, FAILS_PARTLY: SHOWS_PART}.get(one.counted_as, SHOWS_NOTHING)


def _place(cell: Cell, judged: JudgedTable) -> str:
    return f"{judged.selected.table.columns[cell.column].title} at {cell.row}"


def claim_evidence_text(one: ClaimVerdict, judged: JudgedTable) -> str:
    """Return the verdict of a claim with the cells of its evidence; empty if the study names none."""
    shown = one.why.shown_by if one.why is not None else None
    if one.evidence is None or shown is None:
        return ""
    table = judged.selected.study.tables[shown.table]
    # A claim may compare with columns of its own table, which the evidence table lacks.
    table = table.model_copy(update={"columns": {**judged.selected.table.columns, **table.columns}})
    where = f'Claim "{one.claim.text}" judged with Table {shown.table}'
    if one.evidence.verdict == OPEN:
        return f"{where}: not measured here (mptcplab reproduce {judged.selected.folder.name}/{shown.table})"
    verdict = f"{one.evidence.verdict}, {_values(one.evidence, table)}"
    return f"{where} ({asked(one.evidence, table)}): {verdict}: {_proof_of(one)}"


def _warnings(judged: JudgedTable) -> list[str]:
    found = dict.fromkeys(w for value in judged.measured.values() for w in value.warnings)
    return [f"Warning: {warning}." for warning in found]


def _claim(one: ClaimVerdict, judged: JudgedTable, marks: Marks) -> str:
    text = f'Claim "{one.claim.text}": {one.counted_as}{mark_of(one.why, marks)}'
    if one.verdict == OPEN:
        return text
    fitted_text = f"; a parameter was fitted to {' and '.join(one.fitted)}" if one.fitted else ""
    return f"{text} ({claim_text(one, judged.selected.table)}{fitted_text})"


def claim_text(one: ClaimVerdict, table: PublishedTable) -> str:
    """Return the comparison of a claim, and its values."""
    return f"{asked(one, table)}: {_values(one, table)}"


def asked(one: ClaimVerdict, table: PublishedTable) -> str:
    """Return the comparison of a claim: the quantity and its bounds."""
    claim = one.claim
    parts = [column_text(name, table) for name in claim.to]
    to = f" / {_divisor(parts, each=claim.each)}" if parts else ""
    bounds = (("at least", claim.min), ("at most", claim.max))
    wanted = [f"{word} {bound:g}" for word, bound in bounds if bound is not None]
    wanted += [claim.trend] if claim.trend else []
    return f"{column_text(claim.of, table)}{to} {', '.join(wanted)}{' somewhere' if claim.some else ''}"


def _divisor(parts: list[str], *, each: bool) -> str:
    if each:
        return f"each of {', '.join(parts)}"
    return f"({' + '.join(parts)})" if len(parts) > 1 else parts[0]


def _values(one: ClaimVerdict, table: PublishedTable) -> str:
    column = one.claim.of.partition("@")[0]
    kind = "ratio" if one.claim.to else table.value_of(column)
    unit = "" if one.claim.to else with_unit("", table, column)
    parts = []
    for quantity in one.quantities:
        to = f" / {column_text(quantity.to, table)}" if quantity.to else ""
        parts.append(f"{quantity.row}{to} {cell_text(kind, quantity.value)}{unit}")
    return "; ".join(parts)


def _footer(judged: JudgedTable, marks: Marks) -> Iterator[str]:
    table = judged.selected.table
    yield from _rows_left_out(judged)
    several = any(value.interval.half_width is not None for value in judged.measured.values())
    spread = "mean ± half width of the 95 % confidence interval (Student's t)" if several else "one run each"
    if table.place:
        yield f"In the source: {table.place}."
    if table.published:
        yield tolerance_text(table)
    yield f"Measured: {spread}; payload at the receiver."
    if any(value.interval.is_identical for value in judged.measured.values()):
        yield IDENTICAL_NOTE
    yield from _shapes(judged)
    yield from _repeated(judged)
    yield from _ours(judged)
    if judged.full is not None:
        yield beside_note(judged.selected, judged.measured, judged.full)
    yield from _sockets(judged)
    if judged.changes:
        yield f"Changed for this measurement: {', '.join(judged.changes)}."
    if table.note:
        yield judged.filled(table.note)
    yield from _quoted(judged, (*marks, table.note))


def _shapes(judged: JudgedTable) -> Iterator[str]:
    """Yield a note with the shapes of all columns that have one."""
    columns = judged.selected.table.columns
    shapes = [f"{columns[one.column].title}: {one.text}" for one in judged.shapes]
    if shapes:
        yield f"Shape of columns, beside the verdicts. {'; '.join(shapes)}."


def _repeated(judged: JudgedTable) -> Iterator[str]:
    """Yield the published values that another table prints first."""
    places: dict[str, list[str]] = {}
    for cell in judged.cells:
        if cell.first is not None:
            places.setdefault(cell.first[0], []).append(_place(cell, judged))
    for table, cells in places.items():
        yield f"The source also prints these values in Table {table}, where they are counted: {', '.join(cells)}."


def _ours(judged: JudgedTable) -> Iterator[str]:
    """Yield the parameters that the study does not state."""
    number = judged.selected.number
    chosen = [one for one in parameters_of(judged.selected) if one.choice(number).origin != "stated"]
    if chosen:
        yield f"Parameters that the study does not state. {'; '.join(parameter_text(one, number) for one in chosen)}."


def _rows_left_out(judged: JudgedTable) -> Iterator[str]:
    """Yield the published rows of which nothing was measured."""
    rows = dict.fromkeys(cell.row for cell in judged.cells if not cell.row_is_there)
    if rows:
        yield f"Published, and not measured here: {', '.join(rows)}."


def _quoted(judged: JudgedTable, texts: Sequence[str]) -> Iterator[str]:
    """Yield the conditions under which the other tables that the texts quote were measured."""
    study, own = judged.selected.folder.name, judged.selected.number
    alike: dict[str, list[str]] = {}
    for table in dict.fromkeys(quote.table for text in texts for quote in quotes_of(text)):
        source = judged.sources.get(f"{study}/{table}")
        if source is not None and table != own:
            alike.setdefault(_conditions(source), []).append(table)
    for conditions, tables in alike.items():
        yield f"Quoted from this folder: table{'s' if len(tables) > 1 else ''} {' and '.join(tables)}, {conditions}."


def _conditions(source: Source) -> str:
    runs = sorted({value.interval.n for value in source.measured.values()})
    changed = f"; changed: {', '.join(source.changes)}" if source.changes else ""
    return f"n = {' or '.join(map(str, runs))}{changed}"
