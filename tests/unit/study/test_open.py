# SPDX-License-Identifier: MIT
"""A difference that is declared open: counted as unexplained, told with what was tried, and no failure."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.unit.example_studies import Labs, run_to_end, scoreboard
from tests.unit.study.class_study import STUDY, measure

from mptcplab.errors import Exit
from mptcplab.study.figures import points_of
from mptcplab.study.library import SelectedTable, select
from mptcplab.study.measurement import REFERENCE, TableSource, TableValues, shipped_values
from mptcplab.study.notes import notes_of, reasons_of
from mptcplab.study.output import study_document
from mptcplab.study.schema import Study
from mptcplab.study.sheets import sheets_of
from mptcplab.study.verdict import JudgedCell, JudgedTable, is_good, judge, judge_cells

_CLAIM = 'text = "at most 1 at 4 ms"\n'
_OPEN = f"""{STUDY}
[[tables.1.because]]
columns = ["mptcp"]
rows = ["4 ms"]
open = "Another queue moves nothing"
evidence = "(Table e: {{e: large @ 3 ms}})."
"""


def _judge(text: str, number: str, values: TableValues | None = None) -> JudgedTable:
    study = Study.model_validate(tomllib.loads(text))
    selected = SelectedTable(study, Path("made"), number, study.tables[number])
    return judge(selected, values or measure(number), (), {"made/e": TableSource(measure("e"))})


def _judge_declared() -> JudgedTable:
    claim = f'{_CLAIM}because = {{ open = "Nothing was tried for a claim." }}\n'
    return _judge(_OPEN.replace(_CLAIM, claim, 1), "1")


def _cell(judged: JudgedTable) -> JudgedCell:
    return next(cell for cell in judged.cells if (cell.row, cell.column) == ("4 ms", "mptcp"))


def test_it_counts_as_unexplained_and_fails_nothing() -> None:
    bare, declared = _judge(STUDY, "1"), _judge_declared()
    for judged, undeclared in ((bare, True), (declared, False)):
        cell, claim = _cell(judged), judged.claims[4]
        assert (cell.verdict, cell.counted_as, claim.counted_as) == ("unexplained",) * 3
        assert (cell.is_undeclared, claim.is_undeclared) == (undeclared, undeclared)
        assert is_good(judged.cells, judged.claims) != undeclared
    (point,) = (point for point in points_of(declared) if point.name.endswith("MPTCP at 4 ms, Mbit/s"))
    assert point.verdict == "unexplained"


def test_what_was_tried_stands_beside_it() -> None:
    judged = _judge_declared()
    tried = "Another queue moves nothing (Table e: 92.0 ± 2.5 Mbit/s)."
    marks = reasons_of(judged)
    because = _cell(judged).because
    assert because is not None
    mark = marks[because.text]
    assert f"{mark} Unexplained: {tried}" in list(notes_of(judged, marks))
    assert any(note.endswith("Unexplained: Nothing was tried for a claim.") for note in notes_of(judged, marks))
    document = study_document(judged)
    (cell,) = (cell for cell in document["cells"] if (cell["row"], cell["column"]) == ("4 ms", "mptcp"))
    assert (cell["because"], cell["open"]) == (None, "Another queue moves nothing")
    assert document["claims"][4]["open"] == "Nothing was tried for a claim."
    assert document["claims"][2]["open"] is None
    pages = sheets_of(judged, [], [], anchor="made-1", sections={})
    sheets = {sheet.title: {fact.name: fact.text for fact in sheet.facts} for sheet in pages}
    facts = sheets["made/1: MPTCP at 4 ms"]
    assert facts["Tried"] == tried
    assert not {"Reason", "Evidence"} & set(facts), "nothing is supposed"
    assert {"Reason", "Evidence"} <= set(sheets["made/1: MPTCP at 3 ms"])


def test_a_missing_value_may_be_declared_open() -> None:
    """It is unexplained with or without a word; without one it fails the command."""
    values = {place: value for place, value in measure("1").items() if place != ("4 ms", "mptcp")}
    bare, declared = _judge(STUDY, "1", values), _judge(_OPEN, "1", values)
    assert [_cell(judged).verdict for judged in (bare, declared)] == ["not measured"] * 2
    assert [_cell(judged).counted_as for judged in (bare, declared)] == ["unexplained"] * 2
    assert [is_good(judged.cells, ()) for judged in (bare, declared)] == [False, True]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('open = "Another', 'reason = "r"\nopen = "Another', "either a `reason` or an `open`"),
        ('open = "Another queue moves nothing"\n', "", "either a `reason` or an `open`"),
        ('open = "Another', 'shown_by = { table = "e" }\nopen = "Another', "no mechanism that shown_by"),
        ("{e: large @ 3 ms}", "{e: large @ 9 ms}", "no row '9 ms'"),
    ],
)
def test_it_names_no_mechanism(old: str, new: str, said: str) -> None:
    assert old in _OPEN
    with pytest.raises(ValidationError, match=said):
        Study.model_validate(tomllib.loads(_OPEN.replace(old, new, 1)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("because", "status", "counted"),
    [
        ('because = [{ columns = ["mptcp"], rows = ["8 Mbit/s"], reason = "r" }]', Exit.DONE, "differs, supposed"),
        ('because = [{ columns = ["mptcp"], rows = ["8 Mbit/s"], open = "t" }]', Exit.DONE, "unexplained"),
        ("", Exit.FAILED, "unexplained"),
    ],
)
def test_the_exit_status(labs: Labs, studies: Path, tmp_path: Path, because: str, status: Exit, counted: str) -> None:
    """Only a difference of which the study says nothing fails the command."""
    assert labs.made == 0
    for name in ("made", "other"):
        file = studies / name / "study.toml"
        old = 'because = [{ columns = ["mptcp"], rows = ["8 Mbit/s"], reason = "r" }]'
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, because))
    said = run_to_end(tmp_path / "r", "--all", status=status).stdout
    assert scoreboard(tmp_path / "r")["made/1"]["values"][counted] == 1
    assert ("[1] Unexplained: t" in said) == ("open" in because)


@pytest.mark.parametrize(
    "selected", [table for table in select(None) if table.table.published], ids=lambda table: table.name
)
def test_the_data_says_something_of_every_shipped_difference(selected: SelectedTable) -> None:
    """Otherwise ``reproduce`` ends with status 1 on every machine."""
    shipped = json.loads((selected.folder / REFERENCE).read_text())
    if selected.number in shipped["missing"]:
        pytest.skip(f"no full form is shipped: {shipped['missing'][selected.number]}")
    values = shipped_values(selected)
    assert [(cell.row, cell.column) for cell in judge_cells(selected, values) if cell.is_undeclared] == []


@pytest.mark.parametrize("selected", select(None), ids=lambda table: table.name)
def test_a_reason_names_a_mechanism(selected: SelectedTable) -> None:
    """What says that nothing was isolated, or that it is as elsewhere, is open."""
    claims = [claim.because for claim in selected.study.claims if claim.table == selected.number and claim.because]
    reasons = [because.reason for because in (*selected.table.because, *claims)]
    assert [reason for reason in reasons if "isolate" in reason or reason.startswith(("As for ", "As in "))] == []


def test_a_claim_is_divided_by_its_own_table_where_the_evidence_has_nothing() -> None:
    """``small`` has 66 at 3 ms and TCP 30.2, seed by seed; TCP is not measured again."""
    old = 'because = { reason = "the buffer, of a claim", shown_by = { table = "e", of = "small" } }'
    claim = 'to = ["tcp"]\nmax = 2.3\nwhy_bounds = "b"\n'
    assert f'max = 70\nwhy_bounds = "b"\n{old}' in STUDY
    text = STUDY.replace(f'max = 70\nwhy_bounds = "b"\n{old}', f"{claim}{old}")
    judged = _judge(text, "1")
    judged_claim = judged.claims[2]
    assert judged_claim.evidence is not None
    assert [quantity.interval.mean for quantity in judged_claim.evidence.quantities] == [
        pytest.approx(66 / 30.2, rel=1e-3)
    ]
    assert (judged_claim.verdict, judged_claim.evidence.verdict) == ("does not hold", "holds")
    assert judged_claim.counted_as == "fitted", "as TCP is"
    said = " ".join(notes_of(judged, reasons_of(judged)))
    assert "judged with Table e (small buffer / TCP at most 2.3): holds" in said
    with pytest.raises(ValidationError, match="has no column 'udp'"):
        Study.model_validate(tomllib.loads(text.replace('to = ["tcp"]\nmax = 2.3', 'to = ["udp"]\nmax = 2.3')))
    with pytest.raises(ValidationError, match="has no column 'mptcp'"):
        Study.model_validate(tomllib.loads(text.replace('of = "small"', 'of = "mptcp"')))


@pytest.mark.parametrize(
    ("number", "row", "column"),
    [
        ("4.2", "100 Mbit/s", "mptcp"),
        ("4.3", "100 Mbit/s", "mptcp"),
        ("4.4", "64 ms", "one"),
        ("4.4", "128 ms", "both"),
        ("4.5", "64 ms", "mptcp"),
    ],
)
def test_a_contradiction_of_the_source_is_told_with_what_its_columns_give(number: str, row: str, column: str) -> None:
    (selected,) = select(f"subramani2018/{number}")
    values = selected.table.published[row]
    assert "contradict" in selected.table.note
    quotient = values["tcp"].mean / values[column].mean
    assert any(f"{quotient:.{digits}f}" in selected.table.note for digits in (2, 3)), quotient
