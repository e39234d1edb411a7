# SPDX-License-Identifier: MIT
"""The tables of docs/fidelity.md that have several sides beside each other (validation/fidelity/side_tables.py)."""

from __future__ import annotations

from typing import Any

import pytest
from validation.fidelity import cells, forms, page
from validation.fidelity.side_tables import SideTable
from validation.fidelity.sides import SIDES, Side

_SLOWER, _OLD = "stock-7.2-slower", "stock-6.12-slower"


def _row(percent: float, metric: str = "goodput_mbps", workload: str = "bulk", a: float = 100.0) -> dict[str, Any]:
    values = {"a": a, "b": a + percent, "percent": percent, "percent_half_width": 0.5}
    differences = {"difference": percent, "half_width": 0.25, "verdict": "equivalent"}
    return {"metric": metric, "settings": {}, "workload": workload} | values | differences


@pytest.fixture
def measured_sides(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The sides of one scenario, to be filled."""
    sides: dict[str, Any] = {}
    monkeypatch.setattr(cells, "document", lambda: {"kernels": {}, "scenarios": {"made": {"sides": sides}}})
    monkeypatch.setattr(cells, "is_of_other_build", lambda *_: False)
    return sides


def _lines(table: SideTable) -> list[str]:
    return table.text().splitlines()[2:]


def test_a_row_has_what_was_measured_of_each_side(measured_sides: dict[str, Any]) -> None:
    """The lab's value is the first side's, which may have run with more seeds."""
    measured_sides[_OLD] = {"rows": [_row(-1.0, a=99.0)]}
    table = SideTable({"": "lab", _SLOWER: "7.2", _OLD: "6.12"})
    assert _lines(table) == ["| `made` | bulk | 99.00 |  | -1.0 ± 0.5 |"]
    measured_sides[_SLOWER] = {"rows": [_row(0.5, a=98.0), _row(7.0, "duration_s")]}
    assert _lines(table) == ["| `made` | bulk | 98.00 | +0.5 ± 0.5 | -1.0 ± 0.5 |"]


def test_a_side_that_does_not_decide_adds_no_rows(measured_sides: dict[str, Any]) -> None:
    measured_sides[_SLOWER] = {"rows": [_row(-9.0, a=1.0), _row(-9.0, workload="other")]}
    measured_sides[_OLD] = {"rows": [_row(1.0)]}
    table = SideTable({_SLOWER: "7.2", "": "lab", _OLD: "6.12"}, deciding=(_OLD,))
    assert _lines(table) == ["| `made` | bulk | -9.0 ± 0.5 | 100.0 | +1.0 ± 0.5 |"]


def test_an_excerpt_has_the_scenarios_that_it_names(measured_sides: dict[str, Any]) -> None:
    measured_sides[_SLOWER] = {"rows": [_row(1.0)]}
    columns = {"": "lab", _SLOWER: "7.2"}
    assert _lines(SideTable(columns, only=("other",))) == []
    assert _lines(SideTable(columns, only=("other", "made"))) == ["| `made` | bulk | 100.0 | +1.0 ± 0.5 |"]


def test_a_table_may_have_only_what_is_outside(measured_sides: dict[str, Any]) -> None:
    outside = _row(-9.0) | {"verdict": "differs"}
    measured_sides[_SLOWER] = {"rows": [outside, _row(0.5, workload="other")]}
    measured_sides[_OLD] = {"rows": [_row(1.0), _row(1.0, workload="other")]}
    table = SideTable({_SLOWER: "7.2", _OLD: "6.12"}, deciding=(_SLOWER,), is_outside=True)
    assert _lines(table) == ["| `made` | bulk | -9.0 ± 0.5 ! | +1.0 ± 0.5 |"]


def test_what_is_outside_on_one_side_stands_beside_what_is_not_on_another(measured_sides: dict[str, Any]) -> None:
    """An empty cell would say that it was not measured."""
    measured_sides[_SLOWER] = {"rows": [_row(1.0), _row(2.0, workload="other")]}
    measured_sides[_OLD] = {"rows": [_row(-9.0) | {"verdict": "differs"}, _row(3.0, workload="other")]}
    table = SideTable({_SLOWER: "7.2", _OLD: "6.12"}, is_outside=True)
    assert _lines(table) == ["| `made` | bulk | +1.0 ± 0.5 | -9.0 ± 0.5 ! |"]


@pytest.mark.parametrize(("most", "expected"), [(3, 3), (2, 1), (None, 3)])
def test_of_many_flows_a_table_may_have_the_sum(
    measured_sides: dict[str, Any], most: int | None, expected: int
) -> None:
    measured_sides[_SLOWER] = {
        "rows": [_row(1.0, workload=workload) for workload in ("fetch1", "fetch2", "all together")]
    }
    lines = _lines(SideTable({_SLOWER: "7.2"}, most_flows=most))
    assert len(lines) == expected
    assert "all together" in lines[-1]


def test_a_table_of_several_metrics_names_them(measured_sides: dict[str, Any]) -> None:
    measured_sides[_SLOWER] = {"rows": [_row(1.0, "duration_s"), _row(2.0, "mos")]}
    table = SideTable({"": "lab", _SLOWER: "7.2"}, ("duration_s", "mos"))
    assert [line.split(" | ")[2] for line in _lines(table)] == ["duration, s", "MOS"]


def test_retransmissions_have_their_value_and_no_mark(measured_sides: dict[str, Any]) -> None:
    """The margin of 2 % of a goodput says nothing about them: a difference of 2 points would be enormous."""
    measured_sides[_SLOWER] = {"rows": [_row(1.5, "retransmitted_percent", a=0.1) | {"verdict": "not shown"}]}
    table = SideTable({"": "lab", _SLOWER: "7.2"}, ("retransmitted_percent",))
    assert _lines(table) == ["| `made` | bulk | 0.100 | 1.600 (+1.500 ± 0.250) |"]


def test_seeds_are_named_by_side_where_they_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    form = {"points": [""], "changes": []}
    made = {
        "one": {"form": form, "sides": {"local": {"seeds": 3}, _SLOWER: {"seeds": 3}}},
        "two": {"form": form, "sides": {"local": {"seeds": 3}, _SLOWER: {"seeds": 12}, _OLD: {"refused": "no"}}},
    }
    monkeypatch.setattr(page, "document", lambda: {"scenarios": made})
    ends = [line.rsplit(" | ", 1)[1] for line in page.form_table().splitlines()[2:]]
    assert ends == ["3 |", "3 (local); 12 (stock 7.2, slower) |"]


@pytest.mark.parametrize(
    ("name", "points"), [("virtual-7.2-slower", 2), (_SLOWER, 2), (_OLD, 1), ("stock-7.2-far-slower", 2)]
)
def test_older_kernels_run_the_last_point_only(name: str, points: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are as slow as the newest, and add what years of Linux change."""
    monkeypatch.setattr("validation.fidelity.sides.forms.changed_points", lambda *_: ("first", "last"))
    side: Side = SIDES[name]
    chosen: tuple[Any, ...] = side.points(forms.Form("made", "made", (), ()))
    assert (len(chosen), chosen[-1]) == (points, "last")
