# SPDX-License-Identifier: MIT
"""The tables of results on a report's page: a table for each workload, each metric in a column, not too wide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.unit.report.test_report import IN_EVERY_ROW, result_row

from mptcplab.metrics.rows import ResultRow
from mptcplab.report.html_sweep import axes_of, sweep_drawing
from mptcplab.report.result_table import narrow_tables, page_tables
from mptcplab.report.table import Table
from mptcplab.stats import Interval

SCHEDULERS = ("default", "blest")
#: The metrics of three kinds of workloads, which are too many for the columns of one table.
METRICS = {
    "download": {},
    "objects": {f"completion_{percentile}_s": 0.2 for percentile in ("p50", "p95", "p99")},
    "call": {"delay_mean_ms": 50.0, "jitter_ms": 3.0, "late_percent": 0.2, "lost_percent": 0.1, "mos": 4.3},
}


def _rows() -> list[ResultRow]:
    return [
        _row(scheduler, workload, {name: Interval(value + at, 0.3, 3) for name, value in metrics.items()})
        for at, scheduler in enumerate(SCHEDULERS)
        for workload, metrics in METRICS.items()
    ]


def _row(scheduler: str, workload: str, metrics: dict[str, Interval], **changed: Any) -> ResultRow:
    settings = {"transport.scheduler": scheduler}
    metrics_of_row = {**IN_EVERY_ROW, "goodput_mbps": Interval(len(scheduler), 0.1, 3), **metrics}
    warnings = ("it was slow",) if workload == "call" else ()
    return result_row(
        settings=settings, workload=workload, metrics=metrics_of_row, scheduler=scheduler, warnings=warnings, **changed
    )


def test_workloads_of_several_kinds_have_a_table_each() -> None:
    """Three workloads had all their metrics in one cell, which cannot be sorted by MOS."""
    tables = page_tables("t", _rows())
    download, objects, call = tables
    assert [table.title for table in tables] == ["Workload download", "Workload objects", "Workload call"]
    assert not any(head.startswith(("MOS", "completion", "metrics", "workload")) for head in download.headings)
    assert [head for head in objects.headings if "completion" in head] == [
        "completion p50 s",
        "completion p95 s",
        "completion p99 s",
    ]
    assert call.headings[:2] == ("scheduler", "n")
    place = call.headings.index("MOS")
    assert [row[place] for row in call.rows] == ["4.30 ± 0.30", "5.30 ± 0.30"]
    assert call.columns[place].is_numeric
    assert [row[1] for row in call.rows] == ["3 [1]", "3 [1]"]
    assert not any("it was slow" in note for note in (*download.notes, *objects.notes))
    assert "[1] Warning: it was slow." in call.notes


def test_points_that_cannot_be_run_are_in_each_table() -> None:
    unavailable = [({"transport.scheduler": "magic"}, "no such scheduler")]
    tables = page_tables("t", _rows(), unavailable=unavailable)
    assert [table.rows[-1][:2] for table in tables] == [("magic", "not available [2]")] * 3
    assert "[2] Not available: no such scheduler." in tables[-1].notes


def test_workloads_that_are_alike_share_a_table() -> None:
    rows = [_row(scheduler, workload, {}) for scheduler in SCHEDULERS for workload in ("a", "b")]
    (table,) = page_tables("t", rows)
    assert (table.title, table.headings[:2], len(table.rows)) == ("t", ("scheduler", "workload"), 4)


def test_a_table_of_mostly_empty_cells_is_split() -> None:
    """Three kinds of workloads with six metrics had one table, two thirds of it empty; with three, it is small."""
    value = Interval(1.234, 0.1, 3)
    for count, parts in ((2, 3), (1, 1)):
        names = iter(("completion_p50_s", "gap_s", "mos", "delay_mean_ms", "response_p50_ms", "response_p95_ms"))
        rows = [_row("default", workload, {next(names): value for _ in range(count)}) for workload in ("a", "b", "c")]
        assert len(page_tables("t", rows)) == parts


def test_a_wide_table_says_below_what_all_rows_have() -> None:
    """At 1300 pixels the shares of paths were behind a scroll bar, beside columns with one value, or a key's again."""
    wide = {name: Interval(1.234, 0.001, 3) for some in METRICS.values() for name in some}
    rows = [
        _row(scheduler, "a", {**wide, "gap_s": Interval(at + 1.0, 0.1, 3)}) for at, scheduler in enumerate(SCHEDULERS)
    ]
    (table,) = page_tables("t", rows)
    assert table.headings == ("scheduler", "n", "goodput Mbit/s", "gap s")
    same, as_asked, *_ = table.notes
    assert same.startswith("The same in all rows: s 10.0")
    assert "CC on sockets cubic" in same
    assert as_asked == "As asked for in all rows: scheduler."
    narrow = Table.build("links", ("link", "lost"), (("a", "0"), ("b", "0")), notes=("a note",))
    assert narrow_tables([narrow]) == (narrow,)


def test_a_figure_of_the_page_has_units_and_limits_of_its_metrics() -> None:
    """As the table has them; whiskers of a MOS do not go beyond its scale."""
    rows = _rows()
    data = sweep_drawing(rows, axes_of(rows)).data
    measures = {measure["name"]: (measure["unit"], measure["limits"]) for measure in data["measures"]}
    assert measures["MOS"] == ("", [1.0, 4.41])
    assert measures["goodput"] == ("Mbit/s", [0.0, None])
    assert measures["late"] == ("%", [0.0, 100.0])
    rows_of = [_row(name, "w", {"completion_p50_s": Interval(0.2, 0.1, 3)}) for name in SCHEDULERS]
    (measure,) = (
        each for each in sweep_drawing(rows_of, axes_of(rows_of)).data["measures"] if each["name"] == "completion p50"
    )
    assert measure["unit"] == "ms"


def test_what_the_caption_says_is_in_the_figure() -> None:
    """It spoke of points below a figure of bars."""

    def caption(*settings: dict[str, str]) -> str:
        rows = [replace(_row("blest", "download", {}), settings=setting) for setting in settings]
        return sweep_drawing(rows, axes_of(rows)).caption

    names = ({"transport.scheduler": "blest"}, {"transport.scheduler": "ecf"})
    numbers = ({"links.link1.delay": "1 ms"}, {"links.link1.delay": "2 ms"})
    both = [{**settings_of, **other} for settings_of in names for other in numbers]
    assert caption(*names).startswith("Bars are means; whiskers are 95 %")
    assert caption(*numbers).startswith("Points are means; whiskers and bands are 95 %")
    assert caption(*both).startswith("Points and bars are means; whiskers and bands are 95 %")
