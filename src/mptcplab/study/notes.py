# SPDX-License-Identifier: MIT
"""A study in words: values, columns and reasons, and the notes below a judged table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mptcplab.report.result_table import IDENTICAL_NOTE
from mptcplab.report.table import interval_text, number
from mptcplab.stats import Interval
from mptcplab.study.cloud import CloudValue
from mptcplab.study.judgement import (
    DEPENDS,
    FAILS_PARTLY,
    FAILS_SHOWN,
    FITTED,
    IN_BEDS,
    OPEN,
    SHOWS,
    SHOWS_NOTHING,
    SHOWS_PART,
    SUPPOSED,
    UNCERTAIN_INSIDE,
    UNCERTAIN_OUTSIDE,
    UNEXPLAINED,
    ClaimVerdict,
)
from mptcplab.study.measurement import TableSource, Value, outside_note
from mptcplab.study.parameters import parameters_of
from mptcplab.study.parts import Parameter, ParameterChoice, Reason, is_explained, kind_of, quotes_of
from mptcplab.study.schema import PublishedTable, PublishedValue
from mptcplab.study.verdict import JudgedCell, JudgedTable

# Values, columns and reasons of a study as text, for its tables, notes and sheets.

#: The text of a cell without a value.
NONE = "-"
#: The mark of each reason, ``[1]``, by its text.
Marks = Mapping[str, str]
ORIGINS = {
    "stated": "stated by the study",
    "before": "chosen before measuring",
    "after": "chosen after measuring",
    "fitted": "fitted",
}


def reasons_of(judged: JudgedTable) -> Marks:
    """Return the marks of the reasons that are needed, and of what was tried."""
    reasons: list[Reason] = [cell.because for cell in judged.cells if cell.because is not None]
    reasons += [claim.why for claim in judged.claims if claim.why is not None]
    # Equal texts are one reason, whichever cells and claims it is about.
    return {text: f"[{count}]" for count, text in enumerate(dict.fromkeys(reason.text for reason in reasons), start=1)}


def mark_of(because: Reason | None, marks: Marks) -> str:
    """Return the mark of a reason after a verdict."""
    return f" {marks[because.text]}" if because is not None else ""


def verdict_text(cell: JudgedCell) -> str:
    """Return the verdict with its qualification."""
    if cell.verdict == FITTED and cell.measured is not None:
        return (
            f"{cell.verdict}, outside" if cell.outside else f"{cell.verdict}{', mean outside' * cell.is_mean_outside}"
        )
    is_single = cell.measured is not None and cell.measured.half_width is None
    if cell.verdict in (UNCERTAIN_INSIDE, UNCERTAIN_OUTSIDE) and is_single:
        return f"{cell.verdict} (one run)"
    if cell.verdict == DEPENDS and cell.over_beds is not None:
        return f"{cell.verdict}: {', '.join(cell.over_beds.moved_by)}"
    return cell.verdict


def claim_verdict_text(claim: ClaimVerdict) -> str:
    """Return the class of a claim; for a claim about something fitted also what its values say."""
    return f"{claim.counted_as}, {claim.verdict}" if claim.counted_as == FITTED else claim.counted_as


def over_beds_text(value: CloudValue) -> str:
    """Return in how many test beds a value agrees, and what moves it."""
    moved = f", moved by {', '.join(value.moved_by)}" if value.moved_by else ""
    return f"agrees in {sum(value.within)} of {len(value.within)} beds{moved}"


def with_unit(text: str, table: PublishedTable, column: str) -> str:
    """Return ``text`` with its unit if that is not the one in the table's title."""
    unit = table.unit_of(column)
    return text if unit in ("", table.unit) else f"{text} {unit}"


def runs_text(n: int, missing: int) -> str:
    """Return ``3``, or ``2 of 3`` if the others lack the value."""
    return f"{n} of {n + missing}" if missing else str(n)


def printed_text(value: PublishedValue) -> str:
    """Return the digits that the study's data has, for a reader who looks for them in the source."""
    mean = f"{value.mean:.12g}"
    return mean if value.half_width is None else f"{mean} ± {value.half_width:.12g}"


def published_text(value: PublishedValue) -> str:
    """Return ``16.70 ± 0.30``, or only the value if the study prints no interval."""
    return number(value.mean) if value.half_width is None else f"{number(value.mean)} ± {number(value.half_width)}"


def value_text(kind: str, interval: Interval) -> str:
    """Return mean and half width with the digits that this kind of value needs."""
    return interval_text(interval, kind_of(kind).digits)


def cell_text(kind: str, value: Value) -> str:
    """Return a value, with the number of runs that have it if some lack it."""
    runs = f" ({runs_text(value.interval.n, value.missing)})" if value.missing else ""
    return f"{value_text(kind, value.interval)}{runs}"


def column_text(name: str, table: PublishedTable) -> str:
    """Return the title of ``column`` or ``column@row``."""
    column, at, row = name.partition("@")
    return f"{table.columns[column].title}{f' at {row}' if at else ''}"


def evidence_text(cell: JudgedCell, judged: JudgedTable) -> str:
    """Return the values of a cell's evidence; empty if the study names none."""
    evidence = cell.evidence
    if evidence is None or cell.measured is None:
        return ""
    study, table = judged.selected.study, judged.selected.table
    other = study.tables[evidence.table]
    where = f"Table {evidence.table}, {other.columns[evidence.column].title} at {evidence.row}"
    if evidence.value is None or evidence.moved is None:
        return f"{where}: not measured here (mptcplab reproduce {judged.selected.folder.name}/{evidence.table})"
    kind = table.value_of(cell.column)
    numbers = (
        f"measured {value_text(kind, cell.measured)}, there {value_text(kind, evidence.value)}, "
        f"published {published_text(cell.published)}"
    )
    return f"{where}: {numbers}, {100 * evidence.moved:.0f} % of the difference: {evidence.proof}"


def tolerance_text(table: PublishedTable) -> str:
    """Return ``Tolerance 5 %: REASON``."""
    return f"Tolerance {table.tolerance:g} %: {' '.join(table.why_tolerance.split())}"


def origin_text(choice: ParameterChoice) -> str:
    """Return the origin of a parameter's value, with the cells that it was fitted to."""
    to = f" to {' and '.join(map(str, choice.fitted_to))}" if choice.fitted_to else ""
    return f"{ORIGINS[choice.origin]}{to}"


def parameter_text(parameter: Parameter, table: str) -> str:
    """Return ``NAME: VALUE, fitted to Table 4.6 (tcp)``, with the value that a table has."""
    choice = parameter.choice(table)
    return f"{parameter.name}: {choice.value}, {origin_text(choice)}"


# The notes below a judged table: reasons with class and evidence, claims, parameters, and conditions.


def notes_of(judged: JudgedTable, marks: Marks) -> Iterator[str]:
    """Yield all notes in order."""
    yield from reason_notes(judged, marks)
    yield from _over_beds(judged)
    yield from _warnings(judged)
    yield from (_claim(claim, judged, marks) for claim in judged.claims)
    yield from _footer(judged, marks)


def _sockets(judged: JudgedTable) -> Iterator[str]:
    """Yield congestion controls and schedulers seen on the sockets, by column, if the table has no column for them."""
    table = judged.selected.table
    sockets: dict[str, dict[str, None]] = {}
    for (_, name), value in judged.measured.items():
        if value.sockets and not table.published:
            sockets.setdefault(name, {})[value.sockets] = None
    if sockets:
        parts = [
            f"{table.columns[name].title}: {' / '.join(sockets[name])}" for name in table.columns if name in sockets
        ]
        yield f"On the senders' sockets: {'; '.join(parts)}."


def reason_notes(judged: JudgedTable, marks: Marks) -> Iterator[str]:
    """Yield the reasons with their class, each followed by the values of its evidence."""
    cells = [cell for cell in judged.cells if cell.because is not None]
    for reason, mark in marks.items():
        explained = [cell for cell in cells if cell.because is not None and cell.because.text == reason]
        claims = [claim for claim in judged.claims if claim.why is not None and claim.why.text == reason]
        yield f"{mark} {_reason_class(explained, claims)}{judged.fill_quotes(reason)}"
        values = [f"{_place(cell, judged)}: {text}" for cell in explained if (text := evidence_text(cell, judged))]
        if values:
            yield f"Evidence for {mark}. {'; '.join(values)}."
        yield from (f"Evidence for {mark}. {text}." for claim in claims if (text := claim_evidence_text(claim, judged)))


def _over_beds(judged: JudgedTable) -> Iterator[str]:
    """Yield a note about the values that differ without a shown reason and were measured over possible test beds."""
    parts = [
        f"{_place(cell, judged)}: {over_beds_text(cell.over_beds)}"
        for cell in judged.cells
        if cell.over_beds is not None and cell.verdict in (IN_BEDS, DEPENDS, SUPPOSED, UNEXPLAINED)
    ]
    if parts:
        yield f"Over test beds that the study could have had. {'; '.join(parts)}."


def _reason_class(cells: Sequence[JudgedCell], claims: Sequence[ClaimVerdict]) -> str:
    """Return ``Shown: `` if runs show all of the reason for all its cells and claims, ``Supposed: `` if none does.

    ``Unexplained: `` is for texts about what was tried.
    """
    if not all(
        is_explained(reason) for reason in (*(cell.because for cell in cells), *(claim.why for claim in claims))
    ):
        return "Unexplained: "
    proofs = [SHOWS_NOTHING if cell.evidence is None else cell.evidence.proof for cell in cells]
    proofs += [_proof_of(verdict) for verdict in claims]
    if all(proof == SHOWS for proof in proofs):
        return "Shown: "
    return "Shown in part: " if any(proof in (SHOWS, SHOWS_PART) for proof in proofs) else "Supposed: "


def _proof_of(verdict: ClaimVerdict) -> str:
    return {FAILS_SHOWN: SHOWS, FAILS_PARTLY: SHOWS_PART}.get(verdict.counted_as, SHOWS_NOTHING)


def _place(cell: JudgedCell, judged: JudgedTable) -> str:
    return f"{judged.selected.table.columns[cell.column].title} at {cell.row}"


def claim_evidence_text(claim_verdict: ClaimVerdict, judged: JudgedTable) -> str:
    """Return the verdict of a claim with the cells of its evidence; empty if the study names none."""
    shown = claim_verdict.why.shown_by if claim_verdict.why is not None else None
    if claim_verdict.evidence is None or shown is None:
        return ""
    table = judged.selected.study.tables[shown.table]
    # A claim may compare with columns of its own table, which the evidence table lacks.
    table = table.model_copy(update={"columns": {**judged.selected.table.columns, **table.columns}})
    where = f'Claim "{claim_verdict.claim.text}" judged with Table {shown.table}'
    if claim_verdict.evidence.verdict == OPEN:
        return f"{where}: not measured here (mptcplab reproduce {judged.selected.folder.name}/{shown.table})"
    verdict = f"{claim_verdict.evidence.verdict}, {_values(claim_verdict.evidence, table)}"
    return f"{where} ({describe_comparison(claim_verdict.evidence, table)}): {verdict}: {_proof_of(claim_verdict)}"


def _warnings(judged: JudgedTable) -> list[str]:
    entries = dict.fromkeys(w for value in judged.measured.values() for w in value.warnings)
    return [f"Warning: {warning}." for warning in entries]


def _claim(verdict: ClaimVerdict, judged: JudgedTable, marks: Marks) -> str:
    text = f'Claim "{verdict.claim.text}": {claim_verdict_text(verdict)}{mark_of(verdict.why, marks)}'
    if verdict.verdict == OPEN:
        return text
    fitted_text = f"; a parameter was fitted to {' and '.join(verdict.fitted)}" if verdict.fitted else ""
    return f"{text} ({claim_text(verdict, judged.selected.table)}{fitted_text})"


def claim_text(verdict: ClaimVerdict, table: PublishedTable) -> str:
    """Return the comparison of a claim, and its values."""
    return f"{describe_comparison(verdict, table)}: {_values(verdict, table)}"


def describe_comparison(verdict: ClaimVerdict, table: PublishedTable) -> str:
    """Return the comparison of a claim: the quantity and its bounds."""
    claim = verdict.claim
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


def _values(verdict: ClaimVerdict, table: PublishedTable) -> str:
    column = verdict.claim.of.partition("@")[0]
    kind = "ratio" if verdict.claim.to else table.value_of(column)
    unit = "" if verdict.claim.to else with_unit("", table, column)
    parts = []
    for quantity in verdict.quantities:
        to = f" / {column_text(quantity.to, table)}" if quantity.to else ""
        parts.append(f"{quantity.row}{to} {cell_text(kind, quantity.value)}{unit}")
    return "; ".join(parts)


def _footer(judged: JudgedTable, marks: Marks) -> Iterator[str]:
    table = judged.selected.table
    yield from _omitted_row_notes(judged)
    several = any(value.interval.half_width is not None for value in judged.measured.values())
    spread = "mean ± half width of the 95 % confidence interval (Student's t)" if several else "one run each"
    if table.place:
        yield f"In the source: {table.place}."
    if table.published:
        yield tolerance_text(table)
    yield f"Measured: {spread}{_where_measured(table)}."
    if any(value.interval.is_identical for value in judged.measured.values()):
        yield IDENTICAL_NOTE
    yield from _undefined_ratio_notes(judged)
    yield from _shapes(judged)
    yield from _repeated_value_notes(judged)
    yield from _unstated_parameters(judged)
    if judged.full is not None:
        yield outside_note(judged.selected, judged.measured, judged.full)
    yield from _sockets(judged)
    if judged.changes:
        yield f"Changed for this measurement: {', '.join(judged.changes)}."
    if table.note:
        yield judged.fill_quotes(table.note)
    yield from _quoted_table_notes(judged, (*marks, table.note))


def _where_measured(table: PublishedTable) -> str:
    """Return at which end the payload of a table's rates is counted; empty for a table without rates."""
    names = {table.value_of(name).rpartition(":")[2] for name in table.columns}
    ends = {"receiver": {"goodput_mbps", "jain"}, "sender": {"sent_mbps", "jain_sent"}}
    counted = [f"payload at the {end}" for end, metrics in ends.items() if names & metrics]
    return f"; {' and '.join(counted)}" if counted else ""


def _undefined_ratio_notes(judged: JudgedTable) -> Iterator[str]:
    """Yield the ratios without a value although both of their parts were measured: these are 0."""
    table, measured = judged.selected.table, judged.measured
    cells = [
        f"{column.title} at {row}"
        for name, column in table.columns.items()
        for row in table.all_rows
        if column.ratio and (row, name) not in measured and all((row, part) in measured for part in column.ratio)
    ]
    if cells:
        yield f"No value, since both parts of the ratio are 0: {', '.join(cells)}."


def _shapes(judged: JudgedTable) -> Iterator[str]:
    """Yield a note with the shapes of all columns that have one."""
    columns = judged.selected.table.columns
    shapes = [f"{columns[shape.column].title}: {shape.text}" for shape in judged.shapes]
    if shapes:
        yield f"Shape of columns, beside the verdicts. {'; '.join(shapes)}."


def _repeated_value_notes(judged: JudgedTable) -> Iterator[str]:
    """Yield the published values that another table prints first."""
    places: dict[str, list[str]] = {}
    for cell in judged.cells:
        if cell.first is not None:
            places.setdefault(cell.first[0], []).append(_place(cell, judged))
    for table, cells in places.items():
        yield f"The source also prints these values in Table {table}, where they are counted: {', '.join(cells)}."


def _unstated_parameters(judged: JudgedTable) -> Iterator[str]:
    """Yield the parameters that the study does not state."""
    number = judged.selected.number
    chosen = [parameter for parameter in parameters_of(judged.selected) if parameter.choice(number).origin != "stated"]
    if chosen:
        yield (
            "Parameters that the study does not state. "
            f"{'; '.join(parameter_text(parameter, number) for parameter in chosen)}."
        )


def _omitted_row_notes(judged: JudgedTable) -> Iterator[str]:
    """Yield the published rows of which nothing was measured."""
    rows = dict.fromkeys(cell.row for cell in judged.cells if not cell.row_is_there)
    if rows:
        yield f"Published, and not measured here: {', '.join(rows)}."


def _quoted_table_notes(judged: JudgedTable, texts: Sequence[str]) -> Iterator[str]:
    """Yield the conditions under which the other tables that the texts quote were measured."""
    study, current = judged.selected.folder.name, judged.selected.number
    alike: dict[str, list[str]] = {}
    for table in dict.fromkeys(quote.table for text in texts for quote in quotes_of(text)):
        source = judged.sources.get(f"{study}/{table}")
        if source is not None and table != current:
            alike.setdefault(_conditions(source), []).append(table)
    for conditions, tables in alike.items():
        yield f"Quoted from this folder: table{'s' if len(tables) > 1 else ''} {' and '.join(tables)}, {conditions}."


def _conditions(source: TableSource) -> str:
    runs = sorted({value.interval.n for value in source.measured.values()})
    changed = f"; changed: {', '.join(source.changes)}" if source.changes else ""
    return f"n = {' or '.join(map(str, runs))}{changed}"
