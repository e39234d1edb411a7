# SPDX-License-Identifier: MIT
"""Each number of the five sources is in the data of its study, or in the list of what is left out with its reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mptcplab.study import inventory
from mptcplab.study.inventory import Inventory
from mptcplab.study.library import select, study_names

FOLDER = Path(inventory.__file__).parents[1] / "studies"


def _table(**changed: object) -> dict[str, object]:
    table = {"place": "Table 1", "shows": "goodput", "unit": "Mbit/s", "columns": ["5 s"], "rows": {"TCP": [93.4]}}
    return {"tables": [table | {"stored": ["4.1"]} | changed]}


@pytest.mark.parametrize("name", study_names())
def test_what_the_source_says_is_stored_or_left_out(name: str) -> None:
    listed = inventory.read(FOLDER / name)
    study = select(name)[0].study
    kinds = {"tables": listed.tables, "settings": listed.settings, "results": listed.results, "claims": listed.claims}
    for kind, entries in kinds.items():
        print(f"{name}: {len(entries)} {kind}, {sum(bool(entry.left_out) for entry in entries)} left out")
    cells = Counter(bool(table.left_out) for table in listed.tables for _ in table.numbers)
    print(f"{name}: {cells[False]} cells stored, {cells[True]} left out")
    assert listed.find_missing(study) == []


@pytest.mark.parametrize("name", study_names())
def test_every_published_value_is_printed_in_the_source(name: str) -> None:
    listed = inventory.read(FOLDER / name)
    study = select(name)[0].study
    printed = Counter(number for table in listed.tables for number in table.numbers)
    printed.update(_numbers(listed))
    numbers = {number for number, table in study.tables.items() if table.is_of_the_source and not table.again}
    stored = Counter(value for number in numbers for value in inventory.published_values(study, number))
    assert stored - printed == Counter(), "these are in study.toml and not in its source"


def _numbers(inventory: Inventory) -> list[float]:
    numbers = []
    for result in inventory.results:
        try:
            numbers.append(float(result.value))
        except ValueError:
            continue
    return numbers


def test_a_number_that_was_dropped_is_missed() -> None:
    study = select("subramani2018")[0].study
    assert Inventory.model_validate(_table()).find_missing(study) == []
    wrong = Inventory.model_validate(_table(rows={"TCP": [93.5]})).find_missing(study)
    assert wrong == ["Table 1: 93.5 is printed 1 times more than tables 4.1 have it"]
    assert (
        Inventory.model_validate(_table(stored=["9.9"])).find_missing(study)[0] == "Table 1: the study has no table 9.9"
    )


@pytest.mark.parametrize(
    "changed", [{"left_out": "too small to read"}, {"stored": []}, {"rows": {"TCP": [93.4, 93.5]}}]
)
def test_an_entry_is_whole(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"either stored or left out|2 cells for 1 columns"):
        Inventory.model_validate(_table(**changed))
