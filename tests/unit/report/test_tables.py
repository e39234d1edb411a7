# SPDX-License-Identifier: MIT
"""Tables for readers and for programs: units and digits, chosen columns, what fits a terminal, CSV."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.unit.report.test_report import IN_EVERY_ROW, result_row
from tests.unit.results_folders import make_results

from mptcplab.errors import InputError
from mptcplab.metrics.column import Column, Display, Scope, ScopeRow
from mptcplab.metrics.named import unit_of
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.values import choose_unit, percent
from mptcplab.report import network
from mptcplab.report.choosing import choose, split_to_width, to_rich
from mptcplab.report.result_table import (
    RESPONSES,
    RESPONSES_NOTE,
    _with_unit,
    check_columns,
    long_csv,
    result_table,
    wide_csv,
)
from mptcplab.report.table import Note, Table, TableColumn, key_columns
from mptcplab.results import Results, open_results
from mptcplab.stats import Interval


@pytest.mark.parametrize(
    ("unit", "value", "half_width", "name", "text"),
    [
        ("s", 0.0873, 0.0012, "ms", "87.3 ± 1.2"),
        ("s", 0.00009, None, "us", "90.0"),
        ("Mbit/s", 95.154, 0.123, "Mbit/s", "95.15 ± 0.12"),
        ("Mbit/s", 24.43, 11.32, "Mbit/s", "24.4 ± 11.3"),
        ("Mbit/s", 185.1, 0.0003, "Mbit/s", "185.10 ± <0.01"),
        ("Mbit/s", 1234.5, 8.0, "Gbit/s", "1.2345 ± 0.0080"),
        ("Mbit/s", 15.303698, 0.0, "Mbit/s", "15.3 (identical)"),
        ("Mbit/s", 0.0, 0.0, "Mbit/s", "0.00 (identical)"),
        ("", 1.59, 0.14, "", "1.59 ± 0.14"),
        ("%", 44.1, 6.79, "%", "44.1 ± 6.8"),
        # Recordings have whole ns.
        ("ms", 1.2832e-6, 0.0000004e-6, "ns", "1 ± <1"),
    ],
)
def test_three_significant_digits_in_a_unit_that_suits(
    unit: str, value: float, half_width: float | None, name: str, text: str
) -> None:
    choice = choose_unit(unit, [value])
    assert (choice.name, choice.with_spread(value, half_width)) == (name, text)


def test_a_column_has_one_unit() -> None:
    choice = choose_unit("s", [0.0873, 2.31])
    assert [choice.name, choice.with_spread(0.0873, 0.0012), choice.text(2.31)] == ["s", "0.0873 ± 0.0012", "2.31"]


def test_one_long_time_does_not_hide_many_short_ones() -> None:
    """A call's delays of 13.7 ms were 0.0137 s beside one of 4 s."""
    assert choose_unit("ms", [13.7, 14.1, 4000.0]).name == "ms"
    assert choose_unit("ms", [13.7, 14.1, 40000.0]).name == "s", "40000 ms"
    assert choose_unit("ms", [13.7, 4000.0]).name == "s", "half of them are long"
    assert choose_unit("ms", [0.0, 0.0, 1200.0]).name == "s", "zero is as short in each unit"
    assert choose_unit("ms", [4e-7, 4e-7, 8.1]).name == "ms", "most would not be a us either"
    assert choose_unit("s", [0.02, 0.02, 6.8]).name == "s", "times after a failure stand beside each other in s"
    assert choose_unit("bit/s", [80e3, 80e3, 2e6]).name == "Mbit/s", "rates of one table are compared in one unit"


def test_a_change_has_its_sign() -> None:
    assert percent(16.81, 11.38) == "+16.8 ± 11.4"
    assert percent(-0.0000015) == "-0.00000150"


_SAME = "10 Mbit/s over two links"
WIDE = Table.build(
    "Wide",
    (
        TableColumn("scheduler", is_key=True),
        TableColumn("goodput Mbit/s", ("goodput_mbps", "goodput"), is_numeric=True),
        *("note", "link"),
        TableColumn("completion ms", ("completion_p95_s",), is_numeric=True),
    ),
    tuple(
        (name, f"{value} ± 1.25", "quite some words about it", _SAME, f"{1000 - value}")
        for name, value in (("default", 95), ("blest", 101), ("ecf", 9))
    ),
)


def _capture_output(tables: list[Table], width: int) -> str:
    out = Console(width=width, file=io.StringIO())
    for table in tables:
        out.print(to_rich(table, width))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


@pytest.mark.parametrize("width", [200, 100, 80, 60, 40])
def test_no_cell_breaks_inside_a_word(width: int) -> None:
    parts, notes = split_to_width(WIDE, width)
    text = _capture_output(parts, width)
    assert max(map(len, text.splitlines())) <= width
    whole = {word for cell in (*WIDE.headings, *(cell for row in WIDE.rows for cell in row)) for word in cell.split()}
    shown = {word for line in text.splitlines() if "──" not in line for word in line.split()} - {"Wide"}
    assert shown <= whole, "no part of a word"
    assert (notes == []) == (width >= 120), "a constant column is in the table as long as there is room"
    if notes:
        assert notes == [f"The same in all rows: note quite some words about it; link {_SAME}."]
    assert text.count("default") == len(parts), "each part says which rows it is about"
    for value in ("95 ± 1.25", "905"):
        assert value in text


def test_columns_and_order_are_chosen() -> None:
    chosen = choose(WIDE, ["completion_p95_s", "scheduler"], "-goodput")
    assert chosen.headings == ("completion ms", "scheduler")
    assert [row[1] for row in chosen.rows] == ["blest", "default", "ecf"]
    assert [row[0] for row in choose(WIDE, [], "Goodput Mbit/s").rows] == ["ecf", "default", "blest"]
    delays = Table.build("", ("delay",), (("10 ms",), ("9 ms",), ("",), ("100 ms",)))
    assert [row[0] for row in choose(delays, [], "delay").rows] == ["9 ms", "10 ms", "100 ms", ""]
    with pytest.raises(InputError, match="no column 'goodputs'") as caught:
        choose(WIDE, ["goodputs"], None)
    assert caught.value.hint == "use one of scheduler, goodput, note, link, completion ms", "as on the screen"


def test_columns_have_the_names_that_figures_accept() -> None:
    """The last part of a swept key, and metrics with and without their unit."""
    keys = ("links.link1.delay", "links.access1.rate", "links.access2.rate")
    row = result_row(
        settings=dict.fromkeys(keys, "10"),
        metrics={**IN_EVERY_ROW, "completion_p95_s": Interval(0.4, 0.1, 3), "captured_s": Interval(4.0, 0.1, 3)},
    )
    table = result_table("t", [row], every=True)
    for name, head in (
        ("delay", "link1.delay"),
        ("completion_p95", "completion p95 ms"),
        ("completion p95", "completion p95 ms"),
        ("completion p95 s", "completion p95 ms"),
        ("completion_p95_s", "completion p95 ms"),
        ("captured", "captured s"),
    ):
        check_columns([name], f"-{name}", keys)
        assert head in choose(table, [name], f"-{name}").headings, name
    with pytest.raises(InputError, match="'rate' is the end of several swept keys"):
        check_columns(["rate"], None, keys)
    with pytest.raises(InputError, match="'rate' is the name of several columns") as caught:
        choose(table, ["rate"], None)
    assert caught.value.hint == "use one of access1.rate, access2.rate"


@pytest.mark.parametrize(("latest", "unit"), [(0.9, "ms"), (12.0, "s")])
def test_statistics_of_one_quantity_have_one_unit(latest: float, unit: str) -> None:
    names = ("completion_p50_s", "completion_p95_s", "completion_p99_s")
    values = dict(zip(names, (0.08, 0.4 if unit == "s" else 0.09, latest), strict=True))
    row = result_row(metrics={**IN_EVERY_ROW, **{name: Interval(value, 0.001, 3) for name, value in values.items()}})
    heads = result_table("t", [row]).headings
    assert [head for head in heads if "completion" in head] == [f"completion p{n} {unit}" for n in (50, 95, 99)]
    assert "s" in heads, "duration is another quantity"
    assert unit_of(METRICS["completion_p50_s"], [row]).name == unit, "figures have the unit of the table"


def test_metrics_that_only_json_has_do_not_change_the_unit_of_tables() -> None:
    values = {"delay_mean_ms": 40.0, "delay_max_ms": 2000.0, "delay_p50_ms": 300.0}
    row = result_row(metrics={**IN_EVERY_ROW, **{name: Interval(value, 0.001, 3) for name, value in values.items()}})
    assert "delay ms" in result_table("t", [row]).headings
    heads = result_table("t", [row], every=True).headings
    assert {head.rpartition(" ")[2] for head in heads if head.startswith("delay")} == {"ms"}, "whatever is chosen"


def test_chosen_columns_keep_what_tells_rows_apart_and_what_refers_to_notes() -> None:
    identical = Note("(identical): equal values.", about=r"\(identical\)")
    marked = (identical, "[1] Warning: slow.", "[2] Not available: no such thing.", "Mean.")
    rows = (("a", "x", "1.00 (identical)", "5.0", "3"), ("a", "y", "2.00", "6.0", "3 [1]"), ("b", "y", "3", "7.0", "3"))
    table = Table.build("", (*key_columns("name", "workload"), "late", "s", "n"), rows, marked)
    assert choose(table, ["workload", "s"], None).headings == ("name", "workload", "s", "n")
    two = table.with_rows([0, 2])
    assert choose(two, ["workload", "s"], None).headings == ("workload", "s"), "no row is ambiguous, none has a mark"
    assert choose(two, ["s", "s"], None).headings == ("name", "workload", "s")
    assert choose(table, ["name", "workload", "s"], None).notes == marked[1:]
    assert choose(table, ["name", "workload", "late"], None).notes == marked
    unnamed = Table.build("", ("", "scheduler"), (("1", "blest"),))
    with pytest.raises(InputError) as caught:
        choose(unnamed, [], "%")
    assert caught.value.hint == "use one of scheduler"


def test_a_misspelled_column_is_refused_before_anything_runs() -> None:
    settings = ["transport.protocol"]
    check_columns(["protocol", "goodput", "response_p99_ms", "MPTCP in use", "n"], "-mos", settings)
    with pytest.raises(InputError) as caught:
        check_columns(["gooput"], None, settings)
    assert caught.value.hint == "did you mean `goodput`?"
    with pytest.raises(InputError) as caught:
        check_columns(["latency"], None, settings)
    assert "`response_p50_ms`" in str(caught.value.hint), "as `compare --metric latency` says, not `late`"
    with pytest.raises(InputError, match="no table has a column 'p95'") as caught:
        check_columns(["p95"], None, settings)
    assert "`completion_p95_s`" in str(caught.value.hint), "all 95th percentiles"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("made") / "two"
    make_results(folder)
    return open_results(folder)


@pytest.mark.slow
@pytest.mark.parametrize(("mptcp", "noted"), [("1 of 2 subflows", True), ("2 subflows", True), ("no", False)])
def test_shares_of_requests_and_responses_are_those_of_the_responses(results: Results, mptcp: str, noted: bool) -> None:
    rows = [replace(row, mptcp=mptcp) for row in results.rows]
    answered = [replace(row, metrics={**row.metrics, RESPONSES: row.goodput_mbps}) for row in rows]
    assert (RESPONSES_NOTE in result_table("t", answered).notes) == noted
    assert RESPONSES_NOTE not in choose(result_table("t", answered), ["goodput"], None).notes, "of other columns"
    behind = [replace(row, mptcp="no", gateways=f"bond: TCP | MPTCP, {mptcp} | TCP") for row in answered]
    assert (RESPONSES_NOTE in result_table("t", behind).notes) == noted, "a gateway's subflows"
    assert RESPONSES_NOTE not in result_table("t", rows).notes, "nothing of note comes the other way"


def test_any_metric_can_be_a_column(results: Results) -> None:
    rows = [replace(row, metrics={**row.metrics, "sent_mbps": row.goodput_mbps}) for row in results.rows]
    usual, every = result_table("t", rows), result_table("t", rows, every=True)
    assert "sent Mbit/s" not in usual.headings, "it is only in JSON"
    shown = choose(every, ["sent_mbps", "goodput"], None).headings
    assert shown[shown.index("sent Mbit/s") :] == ("sent Mbit/s", "goodput Mbit/s")


def _lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("make", [wide_csv, long_csv])
def test_csv_has_numbers(results: Results, make: Callable[[list[object]], str]) -> None:
    """Mean, half width and n are numbers of their own, unrounded; an absent value is an empty cell."""
    lines = _lines(make(list(results.rows)))
    numbers = [name for name in lines[0] if name.endswith(("mean", "half_width", "_n", "_mbps", "_s", "_ms"))]
    assert len(numbers) >= 2
    for line in lines:
        assert set(line) == set(lines[0]), "as many cells as heads"
        for name in numbers:
            assert line[name] == "" or float(line[name]) is not None
    assert {line["links.link2.delay"] for line in lines} == {"10 ms", "30 ms", "100 ms"}


def test_wide_csv_has_a_line_per_point_and_workload(results: Results) -> None:
    lines = _lines(wide_csv(results.rows))
    assert len(lines) == len(results.rows)
    for line, row in zip(lines, results.rows, strict=True):
        assert float(line["goodput_mbps"]) == row.goodput_mbps.mean
        assert line["goodput_mbps_n"] == line["runs"] == "3"


def test_long_csv_has_a_line_per_metric(results: Results) -> None:
    lines = _lines(long_csv(results.rows))
    assert len(lines) == sum(len(row.metrics) for row in results.rows)
    (line,) = [line for line in lines if line["metric"] == "goodput_mbps"
               and (line["transport.protocol"], line["links.link2.delay"]) == ("tcp", "30 ms")]  # fmt: skip
    assert (line["workload"], line["unit"], line["n"]) == ("bulk", "Mbit/s", "3")


def test_nothing_wraps_in_a_pipe(tmp_path: Path) -> None:
    """Each row is one line, however wide: other programs read lines."""
    code = (
        "from mptcplab.cli.common import print_table\nfrom mptcplab.report.table import Table\n"
        "row = tuple(f'{n} some words' for n in range(40))\n"
        "print_table(Table.build('t', tuple(f'column {n}' for n in range(40)), (row,) * 3, ['a long note ' * 40]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    assert len(lines) == 1 + 2 + 3 + 1, "title, head with its rule, rows, note"
    assert all(line.count("some words") == 40 for line in lines[3:6])


@pytest.mark.parametrize(
    ("counts", "text"),
    [([27.0] * 3, "27 (identical)"), ([70_900.0, 70_954.0], "70927 ± 343"), ([0.0, 3.0], "1.50 ± 19.06"), ([5.0], "5")],
)
def test_counts_are_whole_where_their_parts_say_nothing(counts: list[float], text: str) -> None:
    assert _network_cell(counts, type=int) == text


def test_numbers_without_spread_print_without_it_in_tables_of_the_network() -> None:
    alone = Display(with_spread=False)
    assert _network_cell([27, 27, 27], type=int, display=alone) == "27"
    assert _network_cell([70_900, 70_954], type=int, display=alone) == "70927"
    assert _network_cell([1e6, 3e6], display=replace(alone, per=1e6)) == "2.00"
    assert _network_cell([1e6, 3e6], display=Display(per=1e6)) == "2.00 ± 12.71"


def _network_cell(counts: list[float], **keys: Any) -> str:
    """Return the cell of a column whose value in each run is one of ``counts``."""
    column: Column[float] = Column(name="counted", definition="a count", value=float, **keys)
    scope: Scope[float] = Scope(name="counts", read=lambda _: (), keys=(), columns=(column,))
    return network._cell(column, ScopeRow(scope, {}, tuple(enumerate(counts, start=1))))


def test_a_mark_comes_after_the_unit_where_metrics_share_a_cell() -> None:
    assert _with_unit("0.00 (identical)", "%") == "0.00 % (identical)"
    assert _with_unit("0.00 (identical) (2 of 3)", "%") == "0.00 % (identical) (2 of 3)"
    assert _with_unit("1.2 ± 0.1", "ms") == "1.2 ± 0.1 ms"
    assert _with_unit("4.20", "") == "4.20"
