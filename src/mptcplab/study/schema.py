# SPDX-License-Identifier: MIT
"""What ``study.toml`` may say: published tables, the scenarios that measure them again, claims, explanations."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _as_percent(text: object) -> object:
    return float(text.removesuffix("%")) if isinstance(text, str) and text.endswith("%") else text


Percent = Annotated[float, BeforeValidator(_as_percent), Field(ge=0, le=100)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Because(_Part):
    """Why cells differ from the published ones: a mechanism, and how it was shown.

    ``rows`` and ``columns`` say which cells; left out, all. ``evidence`` names a run or a calculation that isolates
    the mechanism.
    """

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    reason: str
    evidence: str = ""

    def covers(self, row: str, column: str) -> bool:
        """Whether this explains the cell."""
        return (not self.rows or row in self.rows) and (not self.columns or column in self.columns)


class PublishedTable(_Part):
    """One published table. ``published`` has a row per position of ``along``, with a value per column or none."""

    title: str
    scenario: str = Field(description="file beside study.toml")
    along: str = Field(description="the swept key whose values are the rows")
    along_label: str
    across: str = Field(default="transport.protocol", description="the swept key whose values are the columns")
    columns: dict[str, str] = Field(description="value of `across`, and the column's title")
    value: Literal["goodput_mbps", "duration_s"] = "goodput_mbps"
    unit: str
    tolerance: Percent
    published: dict[str, dict[str, float]]
    quick: tuple[str, ...] = Field(default=(), description="rows that --quick is content with; default all")
    note: str = ""
    because: tuple[Because, ...] = ()


class Claim(_Part):
    """Something that a study says, as a ratio of cells in every named row: least <= of / sum(to) <= most.

    ``to`` are columns of the same row, or ``column@row`` for a fixed one.
    """

    text: str
    table: str
    of: str
    to: tuple[str, ...]
    rows: tuple[str, ...] = ()
    least: float
    most: float
    why_bounds: str = Field(description="why these bounds mean that the claim holds")


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
