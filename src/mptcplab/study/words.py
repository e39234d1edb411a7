# SPDX-License-Identifier: MIT
"""Values, columns and reasons of a study as text, for its tables, notes and sheets."""

from __future__ import annotations

from collections.abc import Mapping

from mptcplab.report.table import interval_text, number
from mptcplab.stats import Interval
from mptcplab.study.classes import DEPENDS, FITTED, UNCERTAIN_INSIDE, UNCERTAIN_OUTSIDE
from mptcplab.study.cloud import CloudValue
from mptcplab.study.judged import JudgedTable
from mptcplab.study.measured import Value
from mptcplab.study.parts import Parameter, ParameterChoice, Reason
from mptcplab.study.schema import PublishedTable, PublishedValue
from mptcplab.study.values import kind_of
from mptcplab.study.verdict import JudgedCell

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
    if cell.verdict == FITTED and cell.outside:
        return f"{cell.verdict}, outside"
    is_single = cell.measured is not None and cell.measured.half_width is None
    if cell.verdict in (UNCERTAIN_INSIDE, UNCERTAIN_OUTSIDE) and is_single:
        return f"{cell.verdict} (one run)"
    if cell.verdict == DEPENDS and cell.over_beds is not None:
        return f"{cell.verdict}: {', '.join(cell.over_beds.moved_by)}"
    return cell.verdict


def over_beds_text(value: CloudValue) -> str:
    """Return in how many beds a value agrees, and what moves it."""
    moved = f", moved by {', '.join(value.moved_by)}" if value.moved_by else ""
    return f"agrees in {sum(value.within)} of {len(value.within)} beds{moved}"


def with_unit(text: str, table: PublishedTable, column: str) -> str:
    """Return ``text`` with its unit if that is not the one in the table's title."""
    unit = table.unit_of(column)
    return text if unit in ("", table.unit) else f"{text} {unit}"


def runs_text(n: int, missing: int) -> str:
    """Return ``3``, or ``2 of 3`` if the others lack the value."""
    return f"{n} of {n + missing}" if missing else str(n)


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
    study, own_table = judged.selected.study, judged.selected.table
    other = study.tables[evidence.table]
    where = f"Table {evidence.table}, {other.columns[evidence.column].title} at {evidence.row}"
    if evidence.value is None or evidence.moved is None:
        return f"{where}: not measured here (mptcplab reproduce {judged.selected.folder.name}/{evidence.table})"
    kind = own_table.value_of(cell.column)
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
