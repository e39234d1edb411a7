# SPDX-License-Identifier: MIT
"""Parts of ``study.toml``: kinds of values, references to other parts, quotes, and tables that are measured again."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from mptcplab.metrics.registry import METRICS
from mptcplab.report.table import spread_text
from mptcplab.stats import Interval

# Parts of ``study.toml`` that refer to other parts: cells of another table, reasons, evidence, parameters.

#: Scenario keys. A single one is written as text.
Keys = Annotated[tuple[str, ...], BeforeValidator(lambda said: (said,) if isinstance(said, str) else said)]


class StudyPart(BaseModel):
    """A table of ``study.toml``: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class CellMap(StudyPart):
    """Cells of another table of the study, one for each cell of this one.

    ``rows`` and ``columns`` map names of this table to names of the other one. If a mapping is given, only what it
    names is mapped; if it is left out, the names are the same in both tables.
    """

    table: str
    rows: dict[str, str] = {}
    columns: dict[str, str] = {}

    def map_cell(self, row: str, column: str) -> tuple[str, str] | None:
        """Return row and column in the other table; None if the cell is not mapped."""
        there = self.rows.get(row) if self.rows else row
        across = self.columns.get(column) if self.columns else column
        return None if there is None or across is None else (there, across)


class Cells(StudyPart):
    """Cells of a table. Left out, ``rows`` are all rows, and ``columns`` all columns."""

    table: str
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def covers(self, table: str, row: str, column: str) -> bool:
        """Return whether the cell is one of these."""
        alike = (not self.rows or row in self.rows) and (not self.columns or column in self.columns)
        return table == self.table and alike

    def __str__(self) -> str:
        of = [", ".join(names) for names in (self.columns, self.rows) if names]
        return f"Table {self.table}" + (f" ({'; '.join(of)})" if of else "")


class ReasonRuns(Cells):
    """Cells of a table of evidence, and the scenario keys by which its runs have the setting of a reason."""

    key: Keys = Field(min_length=1)


class NamedReason(StudyPart):
    """A mechanism that the reasons of several tables name, and the runs in which it is changed.

    All of these runs have the same ``value``: a mechanism with another setting for every table that it should explain
    explains none. :mod:`mptcplab.study.parameters` compares it with the scenarios.
    """

    name: str
    value: str = Field(description="as a scenario writes it")
    runs: tuple[ReasonRuns, ...] = Field(min_length=1)

    def covers(self, table: str, column: str) -> bool:
        """Return whether runs of the reason are in a column of a table."""
        return any(runs.table == table and (not runs.columns or column in runs.columns) for runs in self.runs)


class Reason(StudyPart):
    """The entry of a study's data for a difference: a mechanism, or what was tried in vain; and the runs, in words.

    ``reason`` names a mechanism. ``open`` stands in its place where none is known, and says what was tried and what
    that did not show: the difference is unexplained, and declared. ``name`` is the name of a :class:`NamedReason`,
    whose setting the runs have. ``shown_by`` names the runs in which the mechanism is changed. ``chosen_by`` has the
    published cells by which the setting of these runs was chosen: runs that were made to land there cannot show a
    reason for them. All texts quote measured values instead of repeating them.
    """

    name: str = ""
    reason: str = ""
    open: str = ""
    evidence: str = ""
    shown_by: StudyPart | None = None
    chosen_by: tuple[Cells, ...] = ()

    @model_validator(mode="after")
    def _is_one(self) -> Reason:
        if bool(self.reason) == bool(self.open):
            raise ValueError("a difference has either a `reason` or an `open`, which says what was tried")
        if self.open and self.shown_by is not None:
            raise ValueError("`open` names no mechanism that shown_by could show")
        if self.chosen_by and self.shown_by is None:
            raise ValueError("chosen_by is about the runs of shown_by, which is missing")
        return self

    @property
    def is_open(self) -> bool:
        """True if it names no mechanism, only what was tried."""
        return bool(self.open)

    def is_chosen_by(self, table: str, row: str, column: str) -> bool:
        """Return whether the setting of the evidence was chosen by this published cell."""
        return any(cells.covers(table, row, column) for cells in self.chosen_by)

    @property
    def text(self) -> str:
        """All that it says."""
        return f"{self.reason or self.open} {self.evidence}".strip()


class CellReason(Reason):
    """The reason why cells differ from the published ones, or what was tried.

    ``rows`` and ``columns`` say which cells; left out, all. ``shown_by`` names the runs in which the mechanism is
    changed. They decide whether the reason is shown or only supposed (:mod:`mptcplab.study.judgement`).
    """

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    shown_by: CellMap | None = None

    def covers(self, row: str, column: str) -> bool:
        """Return whether this explains the cell."""
        return (not self.rows or row in self.rows) and (not self.columns or column in self.columns)


def is_explained(because: Reason | None) -> bool:
    """Return whether a mechanism is named for a difference, not only what was tried."""
    return because is not None and not because.is_open


class ClaimEvidence(StudyPart):
    """The runs in which the mechanism behind a failed claim is changed: the claim is judged again with their cells.

    ``of``, ``to`` and ``rows`` are the claim's unless given. ``of`` is a column of that table; what ``to`` names
    and it does not have is of the claim's own table.
    """

    table: str
    of: str | None = None
    to: tuple[str, ...] | None = None
    rows: tuple[str, ...] | None = None


class ClaimReason(Reason):
    """The reason why a claim does not hold, or what was tried."""

    shown_by: ClaimEvidence | None = None


#: How a parameter's value came about. ``stated``: the study says it. ``before``: chosen before anything was measured
#: with it. ``after``: chosen when results were known, without making a column come out. ``fitted``: chosen so that
#: published cells come out.
Origin = Literal["stated", "before", "after", "fitted"]


class ParameterChoice(StudyPart):
    """A value of a parameter: what a scenario sets, and how the value came about."""

    value: str = Field(description="as a scenario writes it; `default` if scenarios leave it to the kernel")
    origin: Origin
    departs_from: str = Field(default="", description="the value that the study states, if the scenarios have another")
    why: str = Field(default="", description="why this value; required unless the study states it")
    fitted_to: tuple[Cells, ...] = Field(default=(), description="published cells that it was fitted to")

    @model_validator(mode="after")
    def _is_whole(self) -> ParameterChoice:
        if bool(self.fitted_to) != (self.origin == "fitted"):
            raise ValueError("fitted_to names the cells of a fitted value, and only of one")
        if self.departs_from and self.origin == "stated":
            raise ValueError("a stated value departs from nothing")
        if self.origin != "stated" and not self.why:
            raise ValueError(f"the value {self.value} is ours, and needs a `why`")
        return self


class OtherChoice(ParameterChoice):
    """A value that some tables have instead of the parameter's own."""

    tables: tuple[str, ...] = Field(min_length=1)


class Parameter(ParameterChoice):
    """A free parameter of the test bed: what the study says of it and where, and what the scenarios set.

    ``key`` is the scenario key, or several that all have this value. Keys may have wildcards;
    :mod:`mptcplab.study.parameters` compares them with the resolved scenarios. Without ``key`` the parameter is
    something that no scenario key expresses. ``tables`` are the tables that it is about, default all of the study's
    own.
    """

    name: str
    says: str = Field(description="what the study says of it, in our words; `nothing` if it does not")
    place: str = Field(description="where the study says it, or would: section, table, page")
    key: Keys = ()
    tables: tuple[str, ...] = ()
    other: tuple[OtherChoice, ...] = ()

    @property
    def choices(self) -> Iterator[ParameterChoice]:
        """The parameter's own value and the others."""
        yield self
        yield from self.other

    def is_about(self, table: str, *, is_of_source: bool) -> bool:
        """Return whether the table has this parameter. ``is_of_source``: the table is one of the study's own."""
        named = {*self.tables, *(name for choice in self.other for name in choice.tables)}
        return table in named or (is_of_source and not self.tables)

    def choice(self, table: str) -> ParameterChoice:
        """Return the value that the table is said to have."""
        return next((other_choice for other_choice in self.other if table in other_choice.tables), self)


# The kinds of values in a study's tables: their names, units and formats.

#: ``share:LINK`` is the share of the payload that went over a link.
SHARE = "share"
#: Jain's index of one run, over a metric of its workloads.
JAIN = {"jain": "goodput_mbps", "jain_sent": "sent_mbps"}
#: ``min:METRIC`` is the smallest value that the workloads of one run have, and so on.
OVER: Mapping[str, Callable[[Sequence[float]], float]] = {"min": min, "max": max, "mean": fmean, "sum": math.fsum}


@dataclass(frozen=True)
class ValueKind:
    """Values that one figure can show: the name of the vertical axis, its unit, and the lowest value at its origin.

    ``digits`` is the number of decimals if the usual number would hide relevant differences.
    """

    axis: str
    unit: str
    lowest: float = 0.0
    digits: int | None = None


#: Kinds by the name of a value up to its colon. Jain's index of two cannot be less than 0.5.
KINDS: dict[str, ValueKind] = {
    "jain": ValueKind("Jain's index", "", lowest=0.5, digits=3),
    "jain_sent": ValueKind("Jain's index at the senders", "", lowest=0.5, digits=3),
    "ratio": ValueKind("ratio", ""),
    SHARE: ValueKind("share of the payload", "%"),
    **{
        name: ValueKind(metric.display.axis or metric.noun, metric.unit, metric.display.lowest, metric.display.digits)
        for name, metric in METRICS.items()
    },
}


def kind_name(value: str) -> str:
    """Return the name of ``value`` in :data:`KINDS`: all shares are of one kind, and the smallest value of a metric is
    of the metric's kind.
    """
    over = over_of(value)
    return value.partition(":")[0] if over is None else over[1]


def kind_of(value: str) -> ValueKind:
    """Return the kind of a value that :func:`check_value` has accepted."""
    return KINDS[kind_name(value)]


def link_of(value: str) -> str | None:
    """Return the link of ``share:LINK``; None for any other value."""
    kind, _, link = value.partition(":")
    return link if kind == SHARE else None


def over_of(value: str) -> tuple[str, str] | None:
    """Return the name in :data:`OVER` and the metric of ``min:METRIC`` and its like; None for any other value."""
    over, _, metric = value.partition(":")
    return (over, metric) if over in OVER and metric in METRICS else None


def check_value(value: str) -> str:
    """Return ``value``. :raises ValueError: if it is unknown, with the closest match."""
    if over_of(value) is not None:
        return value
    kind, colon, link = value.partition(":")
    if kind in OVER:
        raise ValueError(f"'{value}' needs a metric: {kind}:METRIC, as in {kind}:goodput_mbps")
    if kind == SHARE and not link:
        raise ValueError("a share needs a link: share:LINK")
    if kind not in KINDS or (colon and kind != SHARE):
        near = difflib.get_close_matches(value, KINDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"values: {', '.join(KINDS)}"
        raise ValueError(f"there is no value '{value}' ({hint})")
    return value


# Quotes of measured values in a study's texts, so that no text becomes outdated.
#
# ``{TABLE: COLUMN @ ROW}`` quotes one cell, ``{TABLE: COLUMN @ ROW, ROW}`` several, and ``{TABLE: COLUMN / COLUMN @
# ROW}`` one divided by another of its row. Texts have no other braces.

_BRACES = re.compile(r"\{([^{}]*)\}|[{}]")
_QUOTE = re.compile(r"([^:]+):([^:/@]+)(?:/([^:/@]+))?@([^:@]+)")


@dataclass(frozen=True)
class Quote:
    """Cells of one column of a table of the same study; with ``to``, each divided by another cell of its row."""

    table: str
    of: str
    to: str | None
    rows: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The quoted columns, one or two."""
        return (self.of,) if self.to is None else (self.of, self.to)

    def __str__(self) -> str:
        return f"{{{self.table}: {' / '.join(self.columns)} @ {', '.join(self.rows)}}}"


def quotes_of(text: str) -> list[Quote]:
    """Return all quotes in ``text``, in order. :raises ValueError: if braces are not a valid quote."""
    return [_read(match) for match in _BRACES.finditer(text)]


def replace_quotes(text: str, replacement: Callable[[Quote], str]) -> str:
    """Return the text with every quote replaced. :raises ValueError: as for :func:`quotes_of`."""
    return _BRACES.sub(lambda match: replacement(_read(match)), text)


def _read(match: re.Match[str]) -> Quote:
    inner = _QUOTE.fullmatch(" ".join((match[1] or "").split()))
    if inner is not None:
        table, of, to, row = ((part or "").strip() for part in inner.groups())
        rows = tuple(part.strip() for part in row.split(","))
        if table and of and bool(to) == bool(inner[3]) and all(rows):
            return Quote(table, of, to or None, rows)
    raise ValueError(f"{match[0]!r} is not of the form {{TABLE: COLUMN @ ROW}} or {{TABLE: COLUMN / COLUMN @ ROW}}")


def quoted_text(values: Sequence[Interval], unit: str = "") -> str:
    """Return ``46.5 ± 1.1 and 20.2 ± 8.0 Mbit/s``: means with three digits, half widths to the same digit."""
    *first, last = map(_number_text, values)
    before = f"{', '.join(first)} and " if first else ""
    return f"{before}{last} {unit}".rstrip()


def _number_text(value: Interval) -> str:
    if not math.isfinite(value.mean):
        return "∞"
    exponent = int(f"{value.mean:.2e}".partition("e")[2])
    digits = max(0, 2 - exponent)
    return f"{value.mean:.{digits}f}{spread_text(value.half_width, digits)}"


# Tables that measure the published values of another table once more, in another test bed.
#
# ``study.toml`` names only what is different: ``again`` is the other table, and all that is left out is as there. Its
# claims are judged once more, too, with the reasons of ``claim_reasons``, by the text of the claim. A table with
# columns or rows that ``published`` names itself has claims of its own.

_INHERITED = ("place", "along", "along_label", "across_label", "columns", "value", "unit", "tolerance", "why_tolerance")
_ROWS = ("published", "rows")
#: At the end of the title of such a table.
_SUFFIX = ", through the gateways"


def expand_remeasured_tables(study: Any) -> Any:
    """Return the data of a study with all keys of tables that say ``again``. What is damaged is left to the checks."""
    tables = study.get("tables") if isinstance(study, dict) else None
    if not isinstance(tables, dict):
        return study
    beds = {table["again"]: name for name, table in tables.items() if isinstance(table, dict) and table.get("again")}
    whole, claims = dict(tables), list(study.get("claims", ()))
    for first, name in beds.items():
        if first not in tables:
            raise ValueError(f"table {name} measures table {first} again, which the study does not have")
        entry = dict(tables[name])
        reasons = entry.pop("claim_reasons", {})
        if not any(key in entry for key in _ROWS):
            claims += _claims(study.get("claims", ()), first, name, reasons)
        elif reasons:
            raise ValueError(f"table {name} has claims of its own, which have their reasons")
        whole[name] = _table(tables[first], entry, beds)
    return study | {"tables": whole, "claims": claims}


def _table(first: dict[str, Any], changes: dict[str, Any], beds: dict[str, str]) -> dict[str, Any]:
    rows = () if any(key in changes for key in _ROWS) else _ROWS
    entry = {key: first[key] for key in (*_INHERITED, *rows, "kind") if key in first} | changes
    entry.setdefault("title", f"{first['title']}{_SUFFIX}")
    if rows and "same_as" in first:
        entry["same_as"] = [item | {"table": beds[item["table"]]} for item in first["same_as"]]
    return entry


def _claims(claims: Any, first: str, name: str, reasons: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the claims about ``first`` as claims about ``name``."""
    of_table = [claim for claim in claims if claim["table"] == first]
    unknown = set(reasons) - {claim["text"] for claim in of_table}
    if unknown:
        raise ValueError(f"table {name} has a reason for a claim that table {first} does not have: {min(unknown)}")
    entries = []
    for claim in of_table:
        kept = {key: value for key, value in claim.items() if key != "because"}
        because = {"because": reasons[claim["text"]]} if claim["text"] in reasons else {}
        entries.append(kept | {"table": name} | because)
    return entries
