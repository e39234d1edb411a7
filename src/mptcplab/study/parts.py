# SPDX-License-Identifier: MIT
"""Parts of ``study.toml`` that refer to other parts: cells of another table, reasons, evidence, parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


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

    key: tuple[str, ...] = Field(min_length=1)

    @field_validator("key", mode="before")
    @classmethod
    def _one_is_enough(cls, said: Any) -> Any:
        return (said,) if isinstance(said, str) else said


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
    reason for them. All texts quote measured values (:mod:`mptcplab.study.quote`) instead of repeating them.
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
    changed. They decide whether the reason is shown or only supposed (:mod:`mptcplab.study.evidence`).
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
    why: str = Field(default="", description="why this value; required unless the study states it")
    fitted_to: tuple[Cells, ...] = Field(default=(), description="published cells that it was fitted to")

    @model_validator(mode="after")
    def _is_whole(self) -> ParameterChoice:
        if bool(self.fitted_to) != (self.origin == "fitted"):
            raise ValueError("fitted_to names the cells of a fitted value, and only of one")
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
    key: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    other: tuple[OtherChoice, ...] = ()

    @field_validator("key", mode="before")
    @classmethod
    def _wrap_key(cls, said: Any) -> Any:
        return (said,) if isinstance(said, str) else said

    @property
    def choices(self) -> Iterator[ParameterChoice]:
        """The parameter's own value and the others."""
        yield self
        yield from self.other

    def is_about(self, table: str, *, own_flag: bool) -> bool:
        """Return whether the table has this parameter. ``own_flag``: the table is one of the study's own."""
        named = {*self.tables, *(name for choice in self.other for name in choice.tables)}
        return table in named or (own_flag and not self.tables)

    def choice(self, table: str) -> ParameterChoice:
        """Return the value that the table is said to have."""
        return next((other_choice for other_choice in self.other if table in other_choice.tables), self)
