# SPDX-License-Identifier: MIT
"""The order of rows: by the values that cells show, not by their texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.compared import output, row_of, write
from tests.unit.test_report import BASIC, result_row

from mptcplab.report.choosing import choose
from mptcplab.report.result_table import result_table
from mptcplab.report.table import Cell, Table
from mptcplab.stats import Interval

#: Values that are all printed as 95.1, in no order.
CLOSE = {"c": 95.1031, "a": 95.0961, "d": 95.1384, "b": 95.1012}


def _first(table: Table) -> list[str]:
    return [row[0] for row in table.rows]


def test_values_that_are_printed_alike_are_in_order() -> None:
    rows = [
        result_row(settings={"transport.scheduler": name}, metrics={**BASIC, "goodput_mbps": Interval(value, None, 1)})
        for name, value in CLOSE.items()
    ]
    table = result_table("t", rows)
    place = table.columns.index("goodput Mbit/s")
    assert {row[place] for row in table.rows} == {"95.1"}, "the texts differ: the test shows nothing"
    assert _first(choose(table, (), "goodput")) == ["a", "b", "c", "d"]
    assert _first(choose(table, (), "-goodput_mbps")) == ["d", "c", "b", "a"]
    assert _first(choose(choose(table, ["goodput"], None), (), "-goodput")) == ["d", "c", "b", "a"], "kept in a part"


@pytest.mark.parametrize(
    ("sort", "order"),
    [("B", "abcd"), ("-B", "dcba"), ("-mean_b", "dcba"), ("-B - A", "dcba"), ("%", "abcd"), ("-percent", "dcba")],
)
def test_compare_sorts_by_values(
    sort: str, order: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"reference": 95.0, **CLOSE}
    rows = [
        row_of({"transport.scheduler": name}, {seed: value + seed / 1000 for seed in range(4)}, run=name)
        for name, value in values.items()
    ]
    words = ("--by", "transport.scheduler", "--reference", "reference", "--columns", "scheduler,B", "--sort", sort)
    _, out, _ = output(capsys, monkeypatch, write(tmp_path / "made", rows), *words)
    lines = [line.split() for line in out.splitlines()]
    shown = [line for line in lines if len(line) == 2 and line[0] in CLOSE]
    assert {value for _, value in shown} == {"95.1"}, "the texts differ: the test shows nothing"
    assert "".join(name for name, _ in shown) == order, out


def test_probabilities_below_the_smallest_printed_one_are_numbers() -> None:
    """``< 0.0001`` made a text of the whole column."""
    cells = (Cell("0.0400", 0.04), Cell("< 0.0001", 2e-9), Cell("1.0000", 1.0), Cell("< 0.0001", 1e-9), "")
    table = Table("", ("p",), tuple((cell,) for cell in cells), frozenset({"p"}))
    assert [row[0] for row in choose(table, (), "p").rows] == [cells[3], cells[1], cells[0], cells[2], ""]
    assert [getattr(row[0], "number", None) for row in choose(table, (), "p").rows] == [1e-9, 2e-9, 0.04, 1.0, None]


def test_settings_are_ordered_as_quantities() -> None:
    table = Table("", ("delay",), (("1 s",), ("20 ms",), ("5 ms",), ("0.5 s",)))
    assert _first(choose(table, (), "delay")) == ["5 ms", "20 ms", "0.5 s", "1 s"]
    table = Table("", ("rate",), (("1 Gbit/s",), ("50 Mbit/s",), ("800 kbit/s",)))
    assert _first(choose(table, (), "-rate")) == ["1 Gbit/s", "50 Mbit/s", "800 kbit/s"]
    buffers = tuple((f'["4 KiB", "{size}", "{size}"]',) for size in ("1 MB", "256 kB", "4 MB"))
    sizes = [row.split('"')[3] for row in _first(choose(Table("", ("tcp_rmem",), buffers), (), "tcp_rmem"))]
    assert sizes == ["256 kB", "1 MB", "4 MB"], "lists of quantities"


def test_cells_without_a_value_are_last_in_both_orders() -> None:
    rows = ((Cell("10 [1]", 10),), ("not available [2]",), (Cell("9", 9),))
    table = Table("", ("n",), rows)
    assert _first(choose(table, (), "n")) == ["9", "10 [1]", "not available [2]"]
    assert _first(choose(table, (), "-n")) == ["10 [1]", "9", "not available [2]"]
