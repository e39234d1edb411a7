# SPDX-License-Identifier: MIT
"""The order of rows: by the values that cells show, not by their texts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.comparisons import output, row_of, write
from tests.unit.report.test_report import IN_EVERY_ROW, result_row

from mptcplab.metrics.rows import ResultRow
from mptcplab.report.choosing import choose
from mptcplab.report.result_table import result_table
from mptcplab.report.table import Cell, Table
from mptcplab.stats import Interval, mean_interval

#: Values that are all printed as 95.1, in no order.
CLOSE = {"c": 95.1031, "a": 95.0961, "d": 95.1384, "b": 95.1012}


def _first(table: Table) -> list[str]:
    return [row[0] for row in table.rows]


def test_values_that_are_printed_alike_are_in_order() -> None:
    rows = [
        result_row(
            settings={"transport.scheduler": name}, metrics={**IN_EVERY_ROW, "goodput_mbps": Interval(value, None, 1)}
        )
        for name, value in CLOSE.items()
    ]
    table = result_table("t", rows)
    place = table.headings.index("goodput Mbit/s")
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


@pytest.mark.parametrize("reference", [("--reference", "default"), ()])
def test_percent_is_a_column_of_every_table(
    reference: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its head is ``% of A`` where the metric is in percent, and ``% against the best`` in a ranking."""
    rows = [
        replace(
            row_of({"transport.scheduler": name}, {seed: value + seed / 1000 for seed in range(4)}, run=name),
            **_late_fields({seed: (value + seed / 1000) / 10 for seed in range(4)}),
        )
        for name, value in {"default": 95.0, "ecf": 91.0, "blest": 97.0}.items()
    ]
    folder = write(tmp_path / "made", rows)
    words = ("--by", "scheduler", *reference, "--metric", "goodput", "--metric", "late", "--sort", "-%")
    code, out, error = output(capsys, monkeypatch, folder, *words, "--columns", "scheduler,%")
    assert code == 0, error
    heads = ["scheduler", "%"], ["scheduler", "%", "of", "A"]
    wanted = heads if reference else [[*heads[0], "against", "the", "best"]] * 2
    assert [line.split() for line in out.splitlines() if "scheduler" in line and "%" in line] == list(wanted), out
    code, _, error = output(capsys, monkeypatch, folder, *words, "--columns", "x")
    assert "hint: use one of" in error
    assert ", %," in error, "as the screen has it"
    assert "percent" not in error


def _late_fields(values: dict[int, float]) -> dict[str, Any]:
    """Return the fields of a row with values of a metric in percent."""
    row = row_of({}, values)
    samples = tuple(values.values())
    return {
        "metrics": {**row.metrics, "late_percent": mean_interval(samples)},
        "samples": {**row.samples, "late_percent": samples},
        "metric_seeds": {"late_percent": tuple(values)},
    }


@pytest.mark.parametrize("way", ["ranking", "folders"])
def test_all_tables_of_one_metric_have_one_unit(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(more: float) -> list[ResultRow]:
        return [
            row_of(
                {"transport.scheduler": name},
                {seed: value + more + seed / 1000 for seed in range(4)},
                workload=workload,
                run=f"{name}{workload}{more}",
            )
            for workload, value in (("slow", 0.4), ("fast", 40.0))
            for name in ("default", "ecf", "blest")
        ]

    a, b = write(tmp_path / "a", rows(0.0)), write(tmp_path / "b", rows(0.1))
    metrics = ("--metric", "slow:goodput", "--metric", "fast:goodput")
    _, out, _ = output(capsys, monkeypatch, a, *(("--by", "scheduler") if way == "ranking" else (b,)), *metrics)
    assert "kbit/s" not in out, out
    assert len(re.findall(r"goodput Mbit/s|  A Mbit/s", out)) == 2, out


def test_probabilities_below_the_smallest_printed_one_are_numbers() -> None:
    """``< 0.0001`` made a text of the whole column."""
    cells = (
        Cell("0.0400", 0.04),
        Cell("< 0.0001", 2e-9),
        Cell("1.0000", 1.0),
        Cell("< 0.0001", 1e-9),
        "",
    )
    table = Table.build("", ("p",), [(cell,) for cell in cells])
    assert [row[0] for row in choose(table, (), "p").rows] == [cells[3], cells[1], cells[0], cells[2], ""]
    assert [getattr(row[0], "number", None) for row in choose(table, (), "p").rows] == [1e-9, 2e-9, 0.04, 1.0, None]


def test_settings_are_ordered_as_quantities() -> None:
    table = Table.build("", ("delay",), (("1 s",), ("20 ms",), ("5 ms",), ("0.5 s",)))
    assert _first(choose(table, (), "delay")) == ["5 ms", "20 ms", "0.5 s", "1 s"]
    table = Table.build("", ("rate",), (("1 Gbit/s",), ("50 Mbit/s",), ("800 kbit/s",)))
    assert _first(choose(table, (), "-rate")) == ["1 Gbit/s", "50 Mbit/s", "800 kbit/s"]
    buffers = tuple((f'["4 KiB", "{size}", "{size}"]',) for size in ("1 MB", "256 kB", "4 MB"))
    sizes = [row.split('"')[3] for row in _first(choose(Table.build("", ("tcp_rmem",), buffers), (), "tcp_rmem"))]
    assert sizes == ["256 kB", "1 MB", "4 MB"], "lists of quantities"


def test_cells_without_a_value_are_last_in_both_orders() -> None:
    rows = ((Cell("10 [1]", 10),), ("not available [2]",), (Cell("9", 9),))
    table = Table.build("", ("n",), rows)
    assert _first(choose(table, (), "n")) == ["9", "10 [1]", "not available [2]"]
    assert _first(choose(table, (), "-n")) == ["10 [1]", "9", "not available [2]"]
