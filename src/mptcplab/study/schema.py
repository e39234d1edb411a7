# SPDX-License-Identifier: MIT
"""What ``study.toml`` may say: published tables and figures, the scenarios that measure them again, claims, reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from mptcplab.study.quote import Quote, quotes_of
from mptcplab.study.values import check_value, kind_name, kind_of


def _as_percent(text: object) -> object:
    return float(text.removesuffix("%")) if isinstance(text, str) and text.endswith("%") else text


Percent = Annotated[float, BeforeValidator(_as_percent), Field(ge=0, le=100)]
#: A name that :mod:`mptcplab.study.values` knows.
ValueName = Annotated[str, AfterValidator(check_value)]
#: In ``where`` of a column: not a swept key, but the name of a workload.
WORKLOAD = "workload"
#: In ``where`` of a column, a value: that of the row. Both lines have the delay that the row says, for example.
ROW = "@row"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Because(_Part):
    """Why cells differ from the published ones: a mechanism, and how it was shown.

    ``rows`` and ``columns`` say which cells; left out, all. ``evidence`` names a run or a calculation that isolates
    the mechanism. Both texts quote measured values (:mod:`mptcplab.study.quote`) instead of repeating them.
    """

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    reason: str
    evidence: str = ""

    def covers(self, row: str, column: str) -> bool:
        """Whether this explains the cell."""
        return (not self.rows or row in self.rows) and (not self.columns or column in self.columns)


class Column(_Part):
    """Which of the measured rows a column is about: swept keys and their values; ``workload`` names a workload, and the
    value ``@row`` is that of the row.

    With ``ratio``, it is one column divided by another one instead. ``value`` None is the table's
    (:mod:`mptcplab.study.values` says what there is). ``drawn`` says whether figures show it.
    """

    title: str
    where: dict[str, str] = {}
    ratio: tuple[str, str] | None = None
    value: ValueName | None = None
    drawn: bool = True


class Published(_Part):
    """A published value, and the half width of its 95 % confidence interval where the study gives one."""

    mean: float
    half_width: float | None = None


def _as_published(value: Any) -> Any:
    return {"mean": value} if isinstance(value, (int, float)) else value


PublishedValue = Annotated[Published, BeforeValidator(_as_published)]


class Quick(_Part):
    """What ``--quick`` is content with: rows (default all), runs per point, and changed keys of the scenario."""

    rows: tuple[str, ...] = ()
    repeats: int = 1
    change: dict[str, str] = {}


class PublishedTable(_Part):
    """One published table or figure, or a table of our own that isolates a mechanism.

    ``published`` has a row per position of ``along``, with a value per column or none. Of a figure without printed
    numbers there are only ``rows``. ``unit`` is that of the table's own ``value``; columns with another value have
    the unit of that. ``note`` may quote measured values, as reasons do.
    """

    title: str
    kind: Literal["Table", "Figures", "Experiment", "Question", "Evidence"] = "Table"
    scenario: str = Field(description="file beside study.toml")
    along: str = Field(description="the swept key whose values are the rows")
    along_label: str
    across: str = Field(default="transport.protocol", description="the swept key of columns that are only a title")
    across_label: str = "protocol"
    columns: dict[str, Column] = Field(description="value of `across` and the column's title, or a whole column")
    value: ValueName = "goodput_mbps"
    unit: str
    tolerance: Percent = 0
    published: dict[str, dict[str, PublishedValue]] = {}
    rows: tuple[str, ...] = ()
    quick: Quick = Quick()
    note: str = ""
    because: tuple[Because, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _whole_columns(cls, data: Any) -> Any:
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
    def _some_rows(self) -> PublishedTable:
        if bool(self.rows) == bool(self.published):
            raise ValueError("a table has either published values or rows")
        parts = {name for column in self.columns.values() if column.ratio for name in column.ratio}
        if any(name not in self.columns or self.columns[name].ratio for name in parts):
            raise ValueError("a ratio is that of two columns that are none")
        if self.unit != kind_of(self.value).unit:
            raise ValueError(f"the unit of {self.value} is '{kind_of(self.value).unit}', not '{self.unit}'")
        return self

    @property
    def all_rows(self) -> tuple[str, ...]:
        """Positions of ``along``, in the table's order."""
        return self.rows or tuple(self.published)

    def value_of(self, column: str) -> ValueName:
        """What the column's cells are."""
        described = self.columns[column]
        return "ratio" if described.ratio else described.value or self.value

    def unit_of(self, column: str) -> str:
        """The unit of the column's cells; empty for what has none."""
        return kind_of(self.value_of(column)).unit


class Claim(_Part):
    """Something that a study says of a quantity: ``of``, or ``of`` divided by the sum of ``to``.

    ``of`` and ``to`` are columns of the same row, or ``column@row`` for a fixed one. With ``each``, ``of`` is divided
    by every one of ``to`` instead of their sum, and all have to fit. The quantity lies between ``least`` and ``most``
    in every one of ``rows`` (default all; with ``some``, in at least one), and from the first of them to the last it
    has the ``trend``. ``mark`` is what figures say above the rows.
    """

    text: str
    table: str
    of: str
    to: tuple[str, ...] = ()
    each: bool = False
    rows: tuple[str, ...] = ()
    some: bool = False
    least: float | None = None
    most: float | None = None
    trend: Literal["rises", "falls"] | None = None
    why_bounds: str = Field(description="why these bounds mean that the claim holds")
    mark: str = ""
    because: Because | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Claim:
        if self.least is None and self.most is None and self.trend is None:
            raise ValueError("a claim has a bound or a trend")
        return self


class Study(_Part):
    """One published study."""

    name: str
    title: str
    authors: str
    year: int
    where: str
    test_bed: str
    tables: dict[str, PublishedTable]
    claims: tuple[Claim, ...] = ()

    @model_validator(mode="after")
    def _quotes_are_cells(self) -> Study:
        """What a text quotes can be measured."""
        for number in self.tables:
            for quote in self.quotes(number):
                self._check(quote)
        return self

    def quotes(self, number: str) -> Iterator[Quote]:
        """Of the texts that can stand below a table. :raises ValueError: for braces that are no quote."""
        table = self.tables[number]
        reasons = [*table.because, *(one.because for one in self.claims if one.table == number and one.because)]
        for text in (table.note, *(text for because in reasons for text in (because.reason, because.evidence))):
            yield from quotes_of(text)

    def _check(self, quote: Quote) -> None:
        table = self.tables.get(quote.table)
        if table is None:
            raise ValueError(f"{quote} quotes a table that the study does not have")
        for row in quote.rows:
            if row not in table.all_rows:
                raise ValueError(f"{quote}: table {quote.table} has no row '{row}'")
        for column in quote.columns:
            if column not in table.columns:
                raise ValueError(f"{quote}: table {quote.table} has no column '{column}'")
        if len({kind_name(table.value_of(column)) for column in quote.columns}) > 1:
            raise ValueError(f"{quote} divides values of different kinds")
