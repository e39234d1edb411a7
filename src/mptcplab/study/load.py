# SPDX-License-Identifier: MIT
"""Find studies and read them."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from mptcplab.errors import InputError, LabError
from mptcplab.study.schema import PublishedTable, Study

_STUDIES = Path(__file__).resolve().parents[1] / "studies"


@dataclass(frozen=True)
class SelectedTable:
    """One table of one study."""

    study: Study
    folder: Path
    number: str
    table: PublishedTable

    @property
    def name(self) -> str:
        """As the command line takes it: ``subramani2018/4.1``."""
        return f"{self.folder.name}/{self.number}"

    @property
    def heading(self) -> str:
        """As a heading names it: ``Table 4.1``."""
        return f"{self.table.kind} {self.number}"

    @property
    def scenario(self) -> Path:
        """The scenario that measures the table."""
        return self.folder / self.table.scenario


def study_names() -> list[str]:
    """All studies that we have."""
    return sorted(path.parent.name for path in _STUDIES.glob("*/study.toml"))


def select(wanted: str | None) -> list[SelectedTable]:
    """Tables by ``STUDY`` or ``STUDY/TABLE``; all for None. :raises InputError: when there is no such."""
    names = study_names()
    if wanted is None:
        return [selected_table for name in names for selected_table in _tables(name)]
    name, _, number = wanted.partition("/")
    if name not in names:
        raise InputError(f"there is no study '{name}'", hint=_suggest(name, names))
    tables = _tables(name)
    if not number:
        return tables
    selected_tables = [selected_table for selected_table in tables if selected_table.number == number]
    if not selected_tables:
        numbers = [selected_table.number for selected_table in tables]
        raise InputError(f"study {name} has no table '{number}' here", hint=f"there is {', '.join(numbers)}")
    return selected_tables


def _suggest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else f"studies: {', '.join(names)}"


def _tables(name: str) -> list[SelectedTable]:
    folder = _STUDIES / name
    try:
        study = Study.model_validate({"name": name, **tomllib.loads((folder / "study.toml").read_text())})
    except (ValidationError, tomllib.TOMLDecodeError, OSError) as error:
        where = folder / "study.toml"
        said = " ".join(str(error).split())
        raise LabError(f"the data of study '{name}' is damaged", hint=f"see {where} ({said})") from error
    return [SelectedTable(study, folder, number, table) for number, table in study.tables.items()]
