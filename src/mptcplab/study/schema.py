# SPDX-License-Identifier: MIT
"""The model of ``study.toml``: published tables and figures, the scenarios that measure them again, claims, reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from mptcplab.fields import Boolean, Number, Whole
from mptcplab.metrics.registry import METRICS
from mptcplab.study.parts import (
    CellMap,
    CellReason,
    Cells,
    ClaimReason,
    NamedReason,
    Parameter,
    Quote,
    Reason,
    StudyPart,
    check_value,
    expand_remeasured_tables,
    kind_name,
    kind_of,
    quotes_of,
)


def _as_percent(text: object) -> object:
    return float(text.removesuffix("%")) if isinstance(text, str) and text.endswith("%") else text


Percent = Annotated[Number, BeforeValidator(_as_percent), Field(ge=0, le=100)]
#: A name that :mod:`mptcplab.study.parts` knows.
ValueName = Annotated[str, AfterValidator(check_value)]
#: In ``where`` of a column: not a swept key, but the name of a workload.
WORKLOAD = "workload"
#: In ``where`` of a column, a value: the row's. Both lines have the delay that the row says, for example.
ROW = "@row"


class PublishedColumn(StudyPart):
    """The measured rows that a column is about: swept keys and their values; ``workload`` names a workload, and the
    value ``@row`` is the row's. For a value over several workloads (``min:goodput_mbps``), ``workload`` is a
    pattern that selects them, default all.

    With ``ratio``, it is one column divided by another one instead. ``value`` None is the table's
    (:mod:`mptcplab.study.parts` says what there is). ``drawn`` says whether figures show it. ``of_runs`` is what
    becomes of the values of several runs: their maximum and minimum have no interval. Measured values are multiplied by
    ``times``: 10 if a tenth of the study's file was transferred.
    """

    title: str
    where: dict[str, str] = Field(default_factory=dict)
    ratio: tuple[str, str] | None = None
    value: ValueName | None = None
    of_runs: Literal["mean", "max", "min"] = "mean"
    times: Number = Field(default=1, gt=0)
    drawn: Boolean = True


class PublishedValue(StudyPart):
    """A published value, and the half width of its 95 % confidence interval where the study gives one."""

    mean: Number
    half_width: Number | None = None


def _as_published(value: Any) -> Any:
    return {"mean": value} if isinstance(value, (int, float)) else value


PublishedCell = Annotated[PublishedValue, BeforeValidator(_as_published)]


class Quick(StudyPart):
    """The reduction by ``--quick``: rows (default all), runs per point, and changed keys of the scenario."""

    rows: tuple[str, ...] = ()
    repeats: Whole = 1
    change: dict[str, str] = Field(default_factory=dict)


class PublishedTable(StudyPart):
    """One published table or figure, or a table of our own that isolates a mechanism.

    ``published`` has a row per position of ``along``, with a value per column or none. Of a figure without printed
    numbers there are only ``rows``. ``unit`` is for the table's own ``value``; columns with another value have
    that value's unit. ``note`` may quote measured values, as reasons do.

    ``place`` is where the source has the table, ``tolerance`` what a measured value may differ by, in percent of the
    published one; it and ``why_tolerance`` are settled before anything is measured. ``same_as`` names published values
    that the source prints again: they count only where they stand first.

    ``again`` is the table whose published values and claims are measured once more, in another test bed; what is left
    out is as there (:mod:`mptcplab.study.parts`). These values and claims have verdicts, and a total of their own.
    """

    title: str
    kind: Literal["Table", "Figures", "Experiment", "Question", "Evidence"] = "Table"
    place: str = Field(default="", description="section, table or figure, and page of the source")
    scenario: str = Field(description="file beside study.toml")
    along: str = Field(description="the swept key whose values are the rows")
    along_label: str
    across: str = Field(default="transport.protocol", description="the swept key of columns that are only a title")
    across_label: str = "protocol"
    columns: dict[str, PublishedColumn] = Field(
        description="value of `across` and the column's title, or a whole column"
    )
    value: ValueName = "goodput_mbps"
    unit: str
    tolerance: Percent = 0
    why_tolerance: str = Field(default="", description="why that much, said before measuring")
    published: dict[str, dict[str, PublishedCell]] = Field(default_factory=dict)
    same_as: tuple[CellMap, ...] = ()
    again: str = ""
    rows: tuple[str, ...] = ()
    quick: Quick = Quick()
    note: str = ""
    because: tuple[CellReason, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _complete_columns(cls, data: Any) -> Any:
        """A column that is only a title is about the value of ``across`` that it is named after."""
        if not isinstance(data, dict) or not isinstance(data.get("columns"), dict):
            return data
        across = data.get("across", "transport.protocol")
        columns = {
            name: {"title": said, "where": {across: name}} if isinstance(said, str) else said
            for name, said in data["columns"].items()
        }
        return data | {"columns": columns}

    @model_validator(mode="after")
    def _check_rows(self) -> PublishedTable:
        if bool(self.rows) == bool(self.published):
            raise ValueError("a table has either published values or rows")
        if self.published and not (self.tolerance and self.why_tolerance):
            raise ValueError("published values need a tolerance above 0 and why_tolerance")
        if self.is_of_the_source and not self.place:
            raise ValueError(f"a table of kind {self.kind} needs the place in the source")
        parts = {name for column in self.columns.values() if column.ratio for name in column.ratio}
        if any(name not in self.columns or self.columns[name].ratio for name in parts):
            raise ValueError("a ratio needs two columns that are not ratios")
        for name, column in self.columns.items():
            if (column.of_runs != "mean" or column.times != 1) and self.value_of(name) not in METRICS:
                raise ValueError(f"of_runs and times are for metrics, which {self.value_of(name)} is not")
        if self.unit != kind_of(self.value).unit:
            raise ValueError(f"the unit of {self.value} is '{kind_of(self.value).unit}', not '{self.unit}'")
        return self

    @property
    def is_of_the_source(self) -> bool:
        """True if the study has this table; the others isolate a mechanism or answer a question of ours."""
        return self.kind in ("Table", "Figures", "Experiment")

    @property
    def all_rows(self) -> tuple[str, ...]:
        """Positions of ``along``, in the table's order."""
        return self.rows or tuple(self.published)

    def first_of(self, row: str, column: str) -> tuple[str, str, str] | None:
        """Return table, row and column of the published value that this one repeats; None if it stands first."""
        pairs = ((same.table, same.map_cell(row, column)) for same in self.same_as)
        return next(((table, *place) for table, place in pairs if place is not None), None)

    def value_of(self, column: str) -> ValueName:
        """Return the quantity in the column's cells."""
        published = self.columns[column]
        return "ratio" if published.ratio else published.value or self.value

    def unit_of(self, column: str) -> str:
        """The unit of the column's cells; empty for a quantity without a unit."""
        return kind_of(self.value_of(column)).unit


class Claim(StudyPart):
    """Something that a study says of a quantity: ``of``, or ``of`` divided by the sum of ``to``.

    ``of`` and ``to`` are columns of the same row, or ``column@row`` for a fixed one. With ``each``, ``of`` is divided
    by every one of ``to`` instead of their sum, and all have to fit. The quantity lies between ``min`` and ``max``
    in every one of ``rows`` (default all; with ``some``, in at least one), and from the first of them to the last it
    has the ``trend``. ``place`` is where the source says it, default the place of the table. ``mark`` is what figures
    say above the rows.
    """

    text: str
    table: str
    of: str
    to: tuple[str, ...] = ()
    each: Boolean = False
    rows: tuple[str, ...] = ()
    some: Boolean = False
    min: Number | None = None
    max: Number | None = None
    trend: Literal["rises", "falls"] | None = None
    why_bounds: str = Field(description="why these bounds mean that the claim holds")
    mark: str = ""
    place: str = ""
    because: ClaimReason | None = None

    @model_validator(mode="after")
    def _check_bound(self) -> Claim:
        if self.min is None and self.max is None and self.trend is None:
            raise ValueError("a claim has a bound or a trend")
        return self


class Study(StudyPart):
    """One published study.

    ``headline`` says which tables count where a published value is measured in two test beds: the first tables, or the
    tables that measure again. The others are evidence.
    """

    name: str
    title: str
    authors: str
    year: Whole
    where: str
    headline: Literal["first", "again"] = "first"
    test_bed: str
    tables: dict[str, PublishedTable]
    parameters: tuple[Parameter, ...] = ()
    reasons: tuple[NamedReason, ...] = ()
    claims: tuple[Claim, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _expand_remeasured(cls, data: Any) -> Any:
        return expand_remeasured_tables(data)

    @model_validator(mode="after")
    def _references_are_there(self) -> Study:
        """Check that everything that a part refers to is in the study, so that it can be measured."""
        for number, table in self.tables.items():
            for quote in self.quotes(number):
                self._check_quote(quote)
            for same in table.same_as:
                self._check_same(number, same)
            for because in table.because:
                if because.shown_by is not None:
                    self._check_map(f"table {number}, shown_by", table, because.shown_by)
        for claim in self.claims:
            self._check_claim(claim)
        for parameter in self.parameters:
            self._check_parameter(parameter)
        self._check_reasons()
        return self

    def counts(self, number: str) -> bool:
        """Return whether the values and claims of a table count, and not another test bed's."""
        if self.headline == "first":
            return not self.tables[number].again
        return all(table.again != number for table in self.tables.values())

    def texts(self, number: str) -> Iterator[str]:
        """Yield the texts that can stand below a table."""
        table = self.tables[number]
        reasons = [*table.because, *(claim.because for claim in self.claims if claim.table == number and claim.because)]
        yield table.note
        for because in reasons:
            yield because.text

    def quotes(self, number: str) -> Iterator[Quote]:
        """Yield what texts of a table quote. :raises ValueError: for braces that are not a quote."""
        for text in self.texts(number):
            yield from quotes_of(text)

    def sources(self, number: str) -> set[str]:
        """Return the tables whose measured values a table needs: the tables that its texts quote, and its evidence."""
        table = self.tables[number]
        shown = [because.shown_by for because in table.because]
        claims = [claim.because.shown_by for claim in self.claims if claim.table == number and claim.because]
        beside = {table.again} if table.again else set()
        return (
            {quote.table for quote in self.quotes(number)}
            | {cell_map.table for cell_map in (*shown, *claims) if cell_map}
            | beside
        )

    def fitted_parameters(self, number: str, row: str, column: str) -> tuple[Parameter, ...]:
        """Return the parameters fitted to a published cell, or to a cell that it repeats or measures again."""
        places = [(number, row, column)]
        # A table that measures the values of another one again has its sizes and rates, too.
        if self.tables[number].again:
            places.append((self.tables[number].again, row, column))
        if (first := self.tables[number].first_of(row, column)) is not None:
            places.append(first)
        return tuple(
            parameter
            for parameter in self.parameters
            if any(cells.covers(*at) for choice in parameter.choices for cells in choice.fitted_to for at in places)
        )

    def _check_quote(self, quote: Quote) -> None:
        if quote.table not in self.tables:
            raise ValueError(f"{quote} quotes a table that the study does not have")
        for row in quote.rows:
            for column in quote.columns:
                self._check_cell(f"{quote}", quote.table, row, column)
        table = self.tables[quote.table]
        if len({kind_name(table.value_of(column)) for column in quote.columns}) > 1:
            raise ValueError(f"{quote} divides values of different kinds")

    def _check_cell(self, where: str, number: str, row: str, column: str) -> None:
        table = self.tables.get(number)
        if table is None:
            raise ValueError(f"{where} names table {number}, which the study does not have")
        if row not in table.all_rows:
            raise ValueError(f"{where}: table {number} has no row '{row}'")
        if column not in table.columns:
            raise ValueError(f"{where}: table {number} has no column '{column}'")

    def _check_map(self, where: str, table: PublishedTable, cells: CellMap) -> None:
        for name in (*cells.rows, *cells.columns):
            if name not in table.all_rows and name not in table.columns:
                raise ValueError(f"{where}: the table has no '{name}'")
        other = self.tables.get(cells.table)
        if other is None:
            raise ValueError(f"{where} names table {cells.table}, which the study does not have")
        for row in cells.rows.values():
            self._check_cell(where, cells.table, row, next(iter(other.columns)))
        for column in cells.columns.values():
            self._check_cell(where, cells.table, other.all_rows[0], column)
        mapped = [place for row in table.all_rows for column in table.columns if (place := cells.map_cell(row, column))]
        if not any(row in other.all_rows and column in other.columns for row, column in mapped):
            raise ValueError(f"{where}: table {cells.table} has none of these rows and columns")

    def _check_same(self, number: str, same: CellMap) -> None:
        """Check that a cell that the source prints twice has the same value twice, and that one comes first."""
        where, table = f"table {number}, same_as", self.tables[number]
        self._check_map(where, table, same)
        if same.table == number:
            raise ValueError(f"{where} names its own table")
        other = self.tables[same.table]
        for row, columns in table.published.items():
            for column, value in columns.items():
                place = same.map_cell(row, column)
                if place is None:
                    continue
                if other.published.get(place[0], {}).get(place[1]) != value:
                    raise ValueError(f"{where}: {column} at {row} is not the published value of {place}")
                if other.first_of(*place) is not None:
                    raise ValueError(f"{where}: {place} of table {same.table} is itself the same as another cell")

    def _check_claim(self, claim: Claim) -> None:
        shown = claim.because.shown_by if claim.because else None
        if shown is None:
            return
        where = f"claim '{claim.text}', shown_by"
        other, table = self.tables.get(shown.table), self.tables.get(claim.table)
        if other is None:
            raise ValueError(f"{where} names table {shown.table}, which the study does not have")
        of, to = shown.of or claim.of, claim.to if shown.to is None else shown.to
        rows = claim.rows if shown.rows is None else shown.rows
        for number, column in ((shown.table, of), *((None, column) for column in to)):
            name, _, fixed = column.partition("@")
            # What it is divided by may be a column of the claim's own table.
            is_own = number is None and name not in other.columns and table is not None and name in table.columns
            for row in (fixed,) if fixed else rows or other.all_rows[:1]:
                self._check_cell(where, claim.table if is_own else shown.table, row, name)

    def _check_reasons(self) -> None:
        """Check that the entry in ``reasons`` names the runs that show a reason, and their one setting."""
        known = {reason.name: reason for reason in self.reasons}
        if len(known) < len(self.reasons):
            raise ValueError("two entries of [[reasons]] have the same name")
        for reason in self.reasons:
            for runs in reason.runs:
                self._check_cells(f"reason '{reason.name}'", runs)
        used = set()
        for where, because, shown in self._named_reasons():
            if because.name not in known:
                raise ValueError(f"{where} names the reason '{because.name}', which is not in [[reasons]]")
            used.add(because.name)
            for table, column in shown:
                if not known[because.name].covers(table, column):
                    cells = f"column {column} of table {table}, which is not among its runs in [[reasons]]"
                    raise ValueError(f"{where}: the reason '{because.name}' is shown by {cells}")
        for name in known:
            if name not in used:
                raise ValueError(f"no table and no claim names the reason '{name}' of [[reasons]]")

    def _named_reasons(self) -> Iterator[tuple[str, Reason, list[tuple[str, str]]]]:
        """Yield the entries that name a reason: where they stand, and the columns of the runs that should show it."""
        for number, table in self.tables.items():
            for because in table.because:
                if because.name:
                    yield f"table {number}", because, list(self._shown_columns(table, because.shown_by))
        for claim in self.claims:
            if claim.because is not None and claim.because.name:
                shown = claim.because.shown_by
                columns = [(shown.table, (shown.of or claim.of).partition("@")[0])] if shown is not None else []
                yield f"claim '{claim.text}'", claim.because, columns

    def _shown_columns(self, table: PublishedTable, shown: CellMap | None) -> Iterator[tuple[str, str]]:
        if shown is not None:
            for name in shown.columns.values() or table.columns:
                if name in self.tables[shown.table].columns:
                    yield shown.table, name

    def _check_cells(self, where: str, cells: Cells) -> None:
        table = self.tables.get(cells.table)
        if table is None:
            raise ValueError(f"{where} names table {cells.table}, which the study does not have")
        for row in cells.rows or table.all_rows[:1]:
            for column in cells.columns or tuple(table.columns)[:1]:
                self._check_cell(where, cells.table, row, column)

    def _check_parameter(self, parameter: Parameter) -> None:
        where = f"parameter '{parameter.name}'"
        named = [*parameter.tables, *(table for other in parameter.other for table in other.tables)]
        for number in named:
            if number not in self.tables:
                raise ValueError(f"{where} names table {number}, which the study does not have")
        for cells in (cells for choice in parameter.choices for cells in choice.fitted_to):
            self._check_cells(f"{where}, fitted to cells,", cells)
