# SPDX-License-Identifier: MIT
"""Tables: for people, as Markdown, as CSV; numbers, names and notes."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from mptcplab.errors import InputError
from mptcplab.files import write_text
from mptcplab.metrics.rows import ResultRow
from mptcplab.metrics.values import short_names
from mptcplab.report.choosing import sorted_tables, to_rich
from mptcplab.report.result_table import IDENTICAL_NOTE, result_table, result_tables
from mptcplab.report.table import Table, interval_text, number, number_columns, spread_text, write_json
from mptcplab.stats import Interval, mean_interval

#: What every row has.
IN_EVERY_ROW = {
    "goodput_mbps": mean_interval([95.0, 95.2, 95.4]),
    "duration_s": mean_interval([10.0, 10.0, 10.0]),
    "retransmitted_percent": mean_interval([0.1, 0.1, 0.1]),
}


def result_row(**changed: Any) -> ResultRow:
    """A row as an experiment gives it."""
    plain: dict[str, Any] = {
        "settings": {"transport.protocol": "mptcp"},
        "workload": "bulk",
        "metrics": IN_EVERY_ROW,
        "mptcp": "2 subflows",
        "counts": (),
        "shares": {"access1>link1": 0.504, "access2>link2": 0.496},
        "congestion": "cubic",
        "scheduler": "default",
        "kernel": "7.2.1-test",
        "seeds": (1, 2, 3),
        "warnings": (),
    }
    return ResultRow(**plain | changed)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.00"),
        (0.004, "0.00"),
        (9.123, "9.12"),
        (94.149, "94.15"),
        (188.26, "188.3"),
        (1234.5, "1234"),
        (1e7, "10000000"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_intervals() -> None:
    assert interval_text(Interval(95.154, 0.123, 5)) == "95.15 ± 0.12"
    assert interval_text(Interval(95.154, None, 1)) == "95.15"


@pytest.mark.parametrize(
    ("half_width", "digits", "text"),
    [
        (None, None, ""),
        (0.0, None, " (identical)"),
        (5e-15, None, " ± <0.01"),
        (0.0049, None, " ± <0.01"),
        (0.0051, None, " ± 0.01"),
        (123.45, None, " ± 123.5"),
        (0.0004, 3, " ± <0.001"),
        (0.0006, 3, " ± 0.001"),
        (0.4, 0, " ± <1"),
        (0.0, 3, " (identical)"),
    ],
)
def test_no_spread_is_printed_as_zero(half_width: float | None, digits: int | None, text: str) -> None:
    """It would be read as certainty. Either all values are the same, or the spread is too small for the digits."""
    assert spread_text(half_width, digits) == text


def test_identical_runs_are_named_below_the_table() -> None:
    same = result_row(metrics=IN_EVERY_ROW | {"goodput_mbps": mean_interval([15.303698147062665] * 3)})
    table = result_table("t", [same])
    assert "15.3 (identical)" in table.rows[0]
    assert IDENTICAL_NOTE in table.notes
    assert IDENTICAL_NOTE not in result_table("t", [result_row()]).notes


def test_runs_with_one_identical_value_are_not_called_the_same() -> None:
    """A value with a floor, as an outage of 0 s, is often identical in runs that differ otherwise."""
    spread, floor = mean_interval([39.0, 39.9, 40.8]), mean_interval([0.0] * 3)
    table = result_table("t", [result_row(metrics=IN_EVERY_ROW | {"goodput_mbps": spread, "outage_s": floor})])
    assert "0.00 (identical)" in table.rows[0]
    (note,) = (note for note in table.notes if note.startswith("(identical)"))
    assert "Where nothing else in the row varies" in note
    assert "Nothing random" not in note


def test_identical_values_without_a_column_are_not_named() -> None:
    row = result_row(metrics=IN_EVERY_ROW | {"sent_mbps": mean_interval([5.0] * 3)})
    table = result_table("t", [row])
    assert row.metrics["sent_mbps"].is_identical
    assert not any("(identical)" in cell for cell in table.rows[0])
    assert IDENTICAL_NOTE not in table.notes


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        (["transport.protocol"], ["protocol"]),
        (["links.link1.rate", "links.link2.rate"], ["link1.rate", "link2.rate"]),
        (["a.b.rate", "c.b.rate", "x.delay"], ["a.b.rate", "c.b.rate", "x.delay"]),
        ([], []),
        (["hosts.ue.transport.tcp_rmem.2"], ["tcp_rmem.2"]),
        (["name", "hosts.flatmate.transport.protocol"], ["name", "flatmate.protocol"]),
        (["hosts.client.transport.protocol"], ["protocol"]),
    ],
)
def test_short_names(keys: list[str], names: list[str]) -> None:
    assert list(short_names(keys).values()) == names


TABLE = Table.build("A title", ("name", *number_columns("Mbit/s")), (("a|b", "1.5"), ('say "x", y', "20")), ["A note."])


def test_markdown() -> None:
    assert TABLE.to_markdown() == (
        '## A title\n\n| name | Mbit/s |\n| --- | ---: |\n| a\\|b | 1.5 |\n| say "x", y | 20 |\n\n- A note.\n'
    )


def test_csv_reads_back() -> None:
    assert list(csv.reader(io.StringIO(TABLE.to_csv()))) == [list(TABLE.headings), *map(list, TABLE.rows)]


def test_terminal_shows_every_cell() -> None:
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(to_rich(TABLE, console.width))
    said = console.export_text()
    assert all(cell in said for row in TABLE.rows for cell in row), said


_WORD = st.text("abcdefgh>_19", min_size=1, max_size=12)
_CELL = st.lists(_WORD, max_size=6).map(" ".join)


@pytest.mark.slow
@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.tuples(*[_CELL] * n), min_size=1, max_size=4)), st.data())
def test_words_stay_whole_where_they_fit(rows: list[tuple[str, ...]], data: st.DataObject) -> None:
    columns = tuple(f"c{number}" for number in range(len(rows[0])))
    words = [" ".join(column).split() for column in zip(columns, *rows, strict=True)]
    longest = [max(map(len, column)) for column in words]
    # Three characters stand between two columns, and two around all.
    width = sum(longest) + 3 * len(columns) + 2 + data.draw(st.integers(0, 60))
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(to_rich(Table.build("", columns, rows), width))
    said = console.export_text()
    assert sorted(said.replace("─", " ").split()) == sorted(word for column in words for word in column), said
    assert all(len(line) <= width for line in said.splitlines()), said


def test_brackets_are_not_markup() -> None:
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(to_rich(Table.build("t", ("a",), (("[red]x[/red]",),)), console.width))
    assert "[red]x[/red]" in console.export_text()


def test_result_table_says_what_a_result_must_carry() -> None:
    table = result_table("t", [result_row()])
    (row,) = table.rows
    cells = dict(zip(table.headings, row, strict=True))
    assert cells["protocol"] == "mptcp"
    # 95.2 +- 4.3027 * 0.2 / sqrt(3)
    assert cells["goodput Mbit/s"] == "95.20 ± 0.50"
    assert cells["MPTCP in use"] == "2 subflows"
    assert cells["share by path"] == "access1>link1 50%, access2>link2 50%"
    assert (cells["CC on sockets"], cells["scheduler"], cells["n"]) == ("cubic", "default", "3")
    notes = " ".join(table.notes)
    assert "Student's t" in notes
    assert "7.2.1-test" in notes


def test_warnings_are_marked_where_they_belong() -> None:
    rows = [result_row(warnings=("first", "second")), result_row(), result_row(warnings=("second",))]
    table = result_table("t", rows)
    assert [row[-1] for row in table.rows] == ["3 [1] [2]", "3", "3 [2]"]
    assert table.notes[:2] == ("[1] Warning: first.", "[2] Warning: second.")


def test_several_workloads_have_a_column() -> None:
    table = result_table("t", [result_row(workload="a"), result_row(workload="b")])
    assert [dict(zip(table.headings, row, strict=True))["workload"] for row in table.rows] == ["a", "b"]


def test_workloads_with_other_metrics_have_tables_of_their_own() -> None:
    """All metrics of a row in one cell made a table three times as wide as the rest of it."""
    objects = {f"completion_{percentile}_s": mean_interval([0.08, 0.09]) for percentile in ("p50", "p95", "p99")}
    calls = {
        name: mean_interval([3.0, 4.0])
        for name in ("delay_mean_ms", "jitter_ms", "late_percent", "lost_percent", "mos")
    }
    rows = [
        result_row(settings={"transport.scheduler": scheduler}, workload=workload, metrics=IN_EVERY_ROW | metrics)
        for scheduler in ("default", "blest")
        for workload, metrics in (("bulk", {}), ("objects", objects), ("call", calls), ("more", calls))
    ]
    rows[0] = replace(rows[0], warnings=("slow",))
    tables = result_tables("t", rows)
    assert [table.title for table in tables] == ["t", "objects", "call", "more"], "bulk has nothing else"
    assert [table.headings[:3] for table in tables[:2]] == [
        ("scheduler", "workload", "goodput Mbit/s"),
        ("scheduler", "completion p50 ms", "completion p95 ms"),
    ]
    assert [len(table.rows) for table in tables] == [8, 2, 2, 2]
    assert tables[0].rows[0][-1] == "3 [1]"
    assert [bool(table.notes) for table in tables] == [False, False, False, True]
    assert tables[-1].notes == result_table("t", rows).notes
    assert [table.rows[0][0] for table in sorted_tables(tables, "completion_p95_s")] == ["default"] * 4
    assert [table.rows[0][0] for table in sorted_tables(tables, "-mos")] == ["default"] * 4
    assert [table.rows[0][0] for table in sorted_tables(tables, "scheduler")] == ["blest"] * 4
    with pytest.raises(InputError, match="no column 'voice'"):
        sorted_tables(tables, "voice")
    assert len(result_tables("t", rows, every=True)) == len(result_tables("t", rows[:1])) == 1


def test_one_run_each_is_said() -> None:
    metrics = {key: mean_interval([1.0]) for key in ("goodput_mbps", "duration_s", "retransmitted_percent")}
    assert any("no confidence interval" in note for note in result_table("t", [result_row(metrics=metrics)]).notes)


def test_files_are_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    for text in ("long text\n", "short\n"):
        write_text(file, text)
        assert file.read_text() == text
    write_json({"a": [1.5, "ü"]}, tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text()) == {"a": [1.5, "ü"]}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.md", "b.json"], "nothing else is left"
