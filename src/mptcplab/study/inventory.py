# SPDX-License-Identifier: MIT
"""The inventory of a study's source, number by number (``source.toml``), and where each is in ``study.toml``.

It was made from the source alone. Every entry is ``stored`` in the study's data or ``left_out`` for a reason, so that
nothing is dropped without a word.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import model_validator

from mptcplab.fields import Number
from mptcplab.study.parts import StudyPart
from mptcplab.study.schema import Study

FILE = "source.toml"
#: The reason for what could be measured, and was not.
NOT_YET = "no measurement yet"


class InventoryEntry(StudyPart):
    """Something that the source says. ``place`` is where, ``note`` what is contradictory about it."""

    place: str
    left_out: str = ""
    note: str = ""


class SourceTable(InventoryEntry):
    """The numbers of a table or figure of the source; ``stored`` names the tables of ``study.toml`` that have them."""

    shows: str
    unit: str = ""
    columns: tuple[str, ...]
    rows: dict[str, tuple[Number | str, ...]]
    stored: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _has_a_cell_for_each_column(self) -> SourceTable:
        for name, cells in self.rows.items():
            if len(cells) != len(self.columns):
                raise ValueError(f"row '{name}' of {self.place} has {len(cells)} cells for {len(self.columns)} columns")
        return self

    @property
    def numbers(self) -> Iterator[float]:
        """The cells that are numbers."""
        return (float(cell) for cells in self.rows.values() for cell in cells if not isinstance(cell, str))


class Statement(InventoryEntry):
    """A setting, a result or a claim in words of ours; ``value`` is its number as printed.

    ``stored`` is the name of a parameter, the number of a table, or the text of a claim.
    """

    says: str
    value: str = ""
    unit: str = ""
    stored: str = ""


class MachinePart(StudyPart):
    """A property of the study's operating system: what its source states, what that implies, and what the lab runs."""

    what: str
    stated: str
    place: str
    implies: str
    ours: str


class Inventory(StudyPart):
    """All that a source says of its test bed and its results."""

    tables: tuple[SourceTable, ...]
    settings: tuple[Statement, ...] = ()
    results: tuple[Statement, ...] = ()
    claims: tuple[Statement, ...] = ()
    machine: tuple[MachinePart, ...] = ()

    @model_validator(mode="after")
    def _check_entries(self) -> Inventory:
        for entry in self.entries:
            if bool(entry.stored) == bool(entry.left_out):
                raise ValueError(f"{entry.place}: an entry is either stored or left out for a reason")
        return self

    @property
    def entries(self) -> tuple[SourceTable | Statement, ...]:
        """The entries of all kinds."""
        return (*self.tables, *self.settings, *self.results, *self.claims)

    def find_missing(self, study: Study) -> list[str]:
        """Return what is said to be stored in ``study`` and is not there, a sentence each."""
        known = {f"table {number}" for number in study.tables}
        known |= {f"parameter '{parameter.name}'" for parameter in study.parameters}
        known |= {f"claim '{claim.text}'" for claim in study.claims}
        named = [
            (source_table.place, f"table {number}") for source_table in self.tables for number in source_table.stored
        ]
        named += [(setting.place, f"parameter '{setting.stored}'") for setting in self.settings if setting.stored]
        named += [(statement.place, f"table {statement.stored}") for statement in self.results if statement.stored]
        named += [(statement.place, f"claim '{statement.stored}'") for statement in self.claims if statement.stored]
        texts = [f"{place}: the study has no {name}" for place, name in named if name not in known]
        return texts + list(self._missing_number_errors(study))

    def _missing_number_errors(self, study: Study) -> Iterator[str]:
        for group in {source_table.stored for source_table in self.tables if source_table.stored}:
            printed = Counter(
                number
                for source_table in self.tables
                if source_table.stored == group
                for number in source_table.numbers
            )
            stored = Counter(number for name in group for number in published_values(study, name))
            for number, count in (printed - stored).items():
                places = ", ".join(
                    dict.fromkeys(source_table.place for source_table in self.tables if source_table.stored == group)
                )
                yield f"{places}: {number:g} is printed {count} times more than tables {', '.join(group)} have it"


def published_values(study: Study, table: str) -> Iterator[float]:
    """Yield the published values of a table, as often as it has them."""
    rows = study.tables[table].published.values() if table in study.tables else ()
    return (float(cell.mean) for row in rows for cell in row.values())


def read(folder: Path) -> Inventory:
    """Return the inventory of the study in ``folder``. :raises ValueError: if it is not valid."""
    data: dict[str, Any] = tomllib.loads((folder / FILE).read_text())
    return Inventory.model_validate(data)
