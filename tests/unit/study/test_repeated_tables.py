# SPDX-License-Identifier: MIT
"""Tables that measure the published values of another table again, in another test bed."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from mptcplab.stats import Interval
from mptcplab.study.figures import points_of
from mptcplab.study.library import SelectedTable, select
from mptcplab.study.measurement import TableSource, Value, shipped_values
from mptcplab.study.output import study_table
from mptcplab.study.schema import Study
from mptcplab.study.scoreboard import line_of, scoreboard_document, scoreboard_table, total
from mptcplab.study.verdict import JudgedTable, judge

DATA = """
title = "t"
authors = "a"
year = 2000
where = "w"
test_bed = "b"

[tables.1]
title = "rates"
place = "Table 1"
scenario = "1.toml"
along = "links.line.rate"
along_label = "rate"
columns = { tcp = "TCP", mptcp = "MPTCP" }
unit = "Mbit/s"
tolerance = "5%"
why_tolerance = "because"
because = [{ columns = ["mptcp"], reason = "of the first test bed" }]

[tables.1.published]
"8 Mbit/s" = { tcp = 7.0, mptcp = 14.0 }

[tables.beside]
again = "1"
scenario = "beside.toml"
claim_reasons = { "MPTCP has twice as much" = { reason = "of the second test bed" } }

[[claims]]
text = "MPTCP has twice as much"
table = "1"
of = "mptcp"
to = ["tcp"]
min = 1.9
why_bounds = "b"
because = { reason = "of the first test bed" }
"""


def _study(more: str = "", old: str = "", new: str = "") -> Study:
    return Study.model_validate({"name": "made", **tomllib.loads(DATA.replace(old, new) + more)})


def _values(tcp: float, mptcp: float) -> dict[tuple[str, str], Value]:
    three = {"tcp": tcp, "mptcp": mptcp}
    return {("8 Mbit/s", name): Value(Interval(mean, 0.01, 3), {1: mean}) for name, mean in three.items()}


@pytest.fixture
def judged_tables() -> list[JudgedTable]:
    study, folder = _study(), select("subramani2018")[0].folder.parent / "made"
    first, second = (SelectedTable(study, folder, number, study.tables[number]) for number in ("1", "beside"))
    others = {"made/1": TableSource(_values(7.0, 12.0))}
    return [judge(first, _values(7.0, 12.0)), judge(second, _values(7.0, 13.9), others=others)]


def test_what_is_left_out_is_as_in_the_other_table() -> None:
    table = _study().tables["beside"]
    assert (table.along, table.place, table.unit, table.tolerance) == ("links.line.rate", "Table 1", "Mbit/s", 5)
    assert table.published == _study().tables["1"].published
    assert table.title == "rates, through the gateways"
    assert table.because == (), "a reason belongs to a test bed"


def test_claims_are_judged_again_with_reasons_of_their_own() -> None:
    claims = _study().claims
    assert [(claim.table, claim.because and claim.because.reason) for claim in claims] == [
        ("1", "of the first test bed"),
        ("beside", "of the second test bed"),
    ]


def test_both_measured_values_are_in_one_line(judged_tables: list[JudgedTable]) -> None:
    table = study_table(judged_tables[1])
    row = dict(zip(table.headings, table.rows[1], strict=True))
    shown = [row[head] for head in ("published", "measured", "in Table 1", "verdict")]
    assert shown == ["14.00", "13.90 ± 0.01", "12.00 ± 0.01", "agrees"]


def test_a_value_that_is_not_in_the_folder_is_the_shipped_one() -> None:
    selected = next(table for table in select("subramani2018") if table.number == "gateway-4.1")
    place = ("5 s", "mptcp")
    table = study_table(judge(selected, {place: Value(Interval(183.0, 0.5, 3), {1: 183.0})}))
    row = dict(zip(table.headings, table.rows[1], strict=True))
    shipped = shipped_values(replace(selected, number="4.1"))[place].interval
    assert row["in Table 4.1"] == f"{shipped.mean:.1f} ± {shipped.half_width:.2f} (shipped)"


def test_verdicts_of_both_test_beds_are_counted_apart(judged_tables: list[JudgedTable]) -> None:
    lines = [line_of(table, quick=False) for table in judged_tables]
    assert total(lines).values == {"agrees": 1, "differs, supposed": 1}
    assert total(lines, beside=True).values == {"agrees": 2}
    board = scoreboard_document(lines)
    assert board["all"]["values"]["agrees"] == 1
    assert board["beside"]["made"]["values"]["agrees"] == 2
    names = [row[0] for row in scoreboard_table(lines).rows]
    assert names == ["made/1", "made/beside", "made: all", "made: beside"]


def test_a_published_value_is_one_point_of_the_figure(judged_tables: list[JudgedTable]) -> None:
    assert [len(points_of(table)) for table in judged_tables] == [2, 0]


def test_the_first_table_is_measured_before() -> None:
    assert _study().sources("beside") == {"1"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('again = "1"', 'again = "2"', "which the study does not have"),
        ('{ "MPTCP has twice as much" =', '{ "TCP has more" =', "a reason for a claim that table 1 does not have"),
        ("claim_reasons =", 'rows = ["8 Mbit/s"]\nclaim_reasons =', "has claims of its own"),
    ],
)
def test_damaged_data_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        _study(old=old, new=new)


def test_equal_values_elsewhere_in_the_source_are_counted_in_their_own_test_bed() -> None:
    tables: dict[str, Any] = {table.number: table.table for table in select("subramani2018")}
    assert tables["4.5"].first_of("2 ms", "tcp") == ("4.4", "2 ms", "tcp")
    assert tables["gateway-4.5"].first_of("2 ms", "tcp") == ("gateway-4.4", "2 ms", "tcp")
