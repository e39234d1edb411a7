# SPDX-License-Identifier: MIT
"""The short form beside the full one, measured in the same folder or shipped with the study."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.unit.example_studies import SCENARIO, Labs, call, run_to_end, second_fails

from mptcplab.study import reference
from mptcplab.study.library import select, study_names
from mptcplab.study.measurement import REFERENCE, full_form
from mptcplab.study.stored import read_shipped

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("labs")
def test_the_short_form_beside_the_full_one(tmp_path: Path) -> None:
    """One seed has 45.1 Mbit/s, three have 45.2 ± 0.25; then we pretend that the full form had 1 Mbit/s less."""
    out = tmp_path / "r"
    result = run_to_end(out, "made/1", "--quick")
    assert "There are no values of the full form to compare with" in result.stdout
    assert "outside the full form" not in (out / "made" / "table-1.quick.csv").read_text()
    run_to_end(out, "made")
    full = out / "made" / "table-1.json"
    before = full.read_text()
    result = run_to_end(out, "made/1", "--quick")
    assert "0 of 2 values lie outside the full form's 95 % interval (measured in this folder)." in result.stdout
    document = json.loads(before)
    for value in document["measured"]:
        value["mean"] -= 1 if value["column"] == "tcp" else 0
    full.write_text(json.dumps(document))
    result = run_to_end(out, "made/1", "--quick")
    assert "1 of 2 values lie outside" in result.stdout
    assert "the short form has 1 instead of 3 seeds and is shorter (workloads.bulk.duration=1 s)" in " ".join(
        result.stdout.split()
    )
    rows = list(csv.DictReader((out / "made" / "table-1.quick.csv").read_text().splitlines()))
    assert [(row["protocol"], row["measured"], row["outside the full form"]) for row in rows] == [
        ("TCP", "45.10 (full: 44.20 ± 0.25)", "yes"),
        ("MPTCP", "60.10", "no"),
    ]
    assert "45.10 (full: 44.20 ± 0.25)" in (out / "made" / "table-1.quick.md").read_text()
    short = json.loads((out / "made" / "table-1.quick.json").read_text())
    assert [value["outside_full"] for value in short["measured"]] == [True, False]
    assert short["measured"][0]["full"]["n"] == 3
    assert json.loads(full.read_text()) == document, "the full form's files are not touched"
    table = run_to_end(out, "made", "--quick").stdout
    assert [line.split()[-3:] for line in table.splitlines() if line.strip().startswith("made: all")] == [
        ["1", "of", "4"]
    ]
    changed = run_to_end(out, "made/1", "--quick", "--set", "links.link1.rate=49 Mbit/s").stdout
    assert "full form" not in changed, "it is another experiment"


@pytest.mark.usefixtures("labs")
def test_a_grid_beside_the_full_form(tmp_path: Path) -> None:
    """A table without published values has a column per value."""
    out = tmp_path / "r"
    run_to_end(out, "made/more")
    document = json.loads((out / "made" / "table-more.json").read_text())
    document["measured"] = [value for value in document["measured"] if value["column"] == "mptcp"]
    document["measured"][0]["mean"] += 1
    (out / "made" / "table-more.json").write_text(json.dumps(document))
    output = run_to_end(out, "made/more", "--quick").stdout
    (row,) = csv.DictReader((out / "made" / "table-more.quick.csv").read_text().splitlines())
    assert row["MPTCP"] == "60.10 (full: 61.20 ± 0.25)"
    assert row["outside the full form"] == "1 of 1"
    assert "1 of 1 values lie outside the full form's 95 % interval (measured in this folder); 1 more" in output


@pytest.mark.usefixtures("labs")
def test_the_reference_is_shipped(studies: Path, tmp_path: Path) -> None:
    run_to_end(tmp_path / "full", "--all")
    output = reference.write(tmp_path / "full")
    assert [line.partition(" in ")[0] for line in output] == ["made: 2 of 2 tables", "other: 2 of 2 tables"]
    text = (studies / "made" / REFERENCE).read_text()
    cell = '{"mean": 60.2, "half_width": 0.2484138, "n": 3, "by_seed": {"1": 60.1, "2": 60.2, "3": 60.3}}'
    assert f'"mptcp": {cell}' in text, "a line for every cell, with the value of every seed"
    result = run_to_end(tmp_path / "elsewhere", "made/1", "--quick")
    assert "(shipped with the study, from kernel" in result.stdout
    assert "0 of 2 values" in result.stdout
    # Another scenario is not what the reference is about, but words in it do not matter.
    scenario = studies / "made" / "s.toml"
    scenario.write_text(SCENARIO.replace('"made"', '"other words"').replace("repeats = 3", "repeats = 2"))
    assert "0 of 2 values" in run_to_end(tmp_path / "elsewhere", "made/1", "--quick").stdout
    scenario.write_text(SCENARIO.replace("50 Mbit/s", "40 Mbit/s"))
    assert "no values of the full form" in run_to_end(tmp_path / "elsewhere", "made/1", "--quick").stdout
    document = json.loads(text)
    assert document["missing"] == {}
    assert document["tables"]["1"]["without"] == []
    run_to_end(tmp_path / "full", "made/1", "--set", "transport.congestion_control=reno")
    assert reference.write(tmp_path / "full")[0].endswith(
        "1: measured with changed keys; more: measured in an earlier form of the table"
    )
    assert json.loads((studies / "made" / REFERENCE).read_text())["tables"] == {}


def test_what_is_known_stays_shipped(labs: Labs, studies: Path, tmp_path: Path) -> None:
    """A folder with one table again does not take the others from the reference."""
    run_to_end(tmp_path / "full", "--all")
    reference.write(tmp_path / "full")
    before = (studies / "made" / REFERENCE).read_text()
    run_to_end(tmp_path / "again", "made/more")
    output = reference.write(tmp_path / "again")
    assert output[0].startswith("made: 2 of 2 tables")
    assert output[1].startswith("other: nothing in ")
    assert (studies / "made" / REFERENCE).read_text() == before
    labs.fate = second_fails
    call(tmp_path / "broken", "made/more")
    reference.write(tmp_path / "broken")
    assert (studies / "made" / REFERENCE).read_text() == before, "means over fewer runs are none"


@pytest.mark.usefixtures("labs")
def test_repeated_runs_confirm_what_is_shipped(studies: Path, tmp_path: Path) -> None:
    """One seed of three with the same digits names the build; another digit, or another setting, does not."""
    run_to_end(tmp_path / "full", "made")
    reference.write(tmp_path / "full")
    file = studies / "made" / REFERENCE
    before = json.loads(file.read_text())
    builds = before["tables"]["1"]["kernels"]
    run_to_end(tmp_path / "one", "made", "--set", "repeats=1")
    reference.repeat(tmp_path / "one")
    assert json.loads(file.read_text()) == before, "the same build is named already"
    for table in before["tables"].values():
        table["kernels"] = {"7.2": "earlier"}
    file.write_text(json.dumps(before))
    assert reference.repeat(tmp_path / "one") == [
        "made/1: repeated digit for digit",
        "made/more: repeated digit for digit",
    ]
    entry = json.loads(file.read_text())["tables"]["1"]
    assert entry.pop("repeated") == {"kernels": builds, "seeds": [1]}
    assert entry == before["tables"]["1"], "nothing else changes"
    stored = read_shipped(file, "1")
    assert stored is not None
    assert (stored.kernels, stored.repeated) == ({"7.2": "earlier"}, builds)
    assert stored.latest_kernels == builds
    assert stored.repeated_seeds == (1,)
    row, cells = next(iter(before["tables"]["1"]["cells"].items()))
    column = next(iter(cells))
    digits = cells[column]["by_seed"]["1"]
    cells[column]["by_seed"]["1"] += 0.001
    before["tables"]["1"]["repeated"] = {"kernels": {"7.2": "earlier"}, "seeds": [1]}
    file.write_text(json.dumps(before))
    assert reference.repeat(tmp_path / "one") == [
        f"made/1: differs at {row}, {column}: {{'1': {digits + 0.001}}} is shipped, {{'1': {digits}}} repeated",
        "made/more: repeated digit for digit",
    ]
    assert "repeated" not in json.loads(file.read_text())["tables"]["1"], "nor what was repeated earlier"
    run_to_end(tmp_path / "one", "made/1", "--set", "transport.congestion_control=reno")
    assert reference.repeat(tmp_path / "one")[0] == "made/1: measured with changed keys"


@pytest.mark.parametrize("name", study_names())
def test_shipped_references(name: str) -> None:
    """Every cell of a table is in the reference, or is said to be missing; and it is of the tables as they are now."""
    tables = select(name)
    document = json.loads((tables[0].folder / REFERENCE).read_text())
    assert set(document["tables"]) | set(document["missing"]) == {table.number for table in tables}
    for table in tables:
        if table.number in document["missing"]:
            continue
        cells, without = document["tables"][table.number]["cells"], document["tables"][table.number]["without"]
        known = {(row, column) for row, columns in cells.items() for column in columns}
        assert known, table.name
        assert known | {(row, column) for row, column in without} == {
            (row, column) for row in table.table.all_rows for column in table.table.columns
        }, table.name
        values = [cell for row in cells.values() for cell in row.values()]
        assert all(value["n"] >= 1 and (value["half_width"] is None) == (value["n"] == 1) for value in values)
        assert document["tables"][table.number]["kernels"], table.name
        again = f"mptcplab reproduce {table.name} --out R, and python -m mptcplab.study.reference --write R"
        assert full_form(table, {}).cells, f"table {table.name} changed since it was measured: {again}"
