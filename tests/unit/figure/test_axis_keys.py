# SPDX-License-Identifier: MIT
"""Which key lies along the axis, and which lines are drawn, where keys change together or lines are too many."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.command_output import output_of
from tests.unit.report.test_report import result_row
from tests.unit.results_folders import TWO_LINES, make_results

from mptcplab.figure.choice import FigureChoice
from mptcplab.figure.from_results import build_figure
from mptcplab.figure.sweep import (
    choose_axis,
    leading_keys,
    line_keys,
    memory_note,
    points_of,
    points_per_line,
    spread,
    sweep_figure,
)
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.warnings import SHORT_OF_MEMORY
from mptcplab.report.html_sweep import axes_of, sweep_drawing
from mptcplab.results import open_results

#: The second link's queue follows from the first link's queue and the delay.
ZIPPED = [
    {
        "cc": cc,
        "links.link1.queue": f"{queue} ms",
        "links.link2.delay": f"{delay} ms",
        "links.link2.queue": f"{queue * delay // 10} ms",
    }
    for cc in ("cubic", "lia")
    for queue in (10, 20, 40)
    for delay in (10, 20, 40, 80)
]
GOODPUT = METRICS["goodput_mbps"]
MANY = """
title = "Many lines"
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "2 s" }
sweep."transport.protocol" = ["tcp", "mptcp"]
sweep."links.link1.delay" = ["10 ms", "20 ms", "30 ms"]
sweep."links.link2.rate" = ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"]
sweep."links.link2.delay" = ["10 ms", "30 ms", "60 ms", "100 ms"]
"""


def test_a_key_that_follows_from_others_is_none_of_the_lines() -> None:
    """The queue of the second link had the most values; each of its lines was a single point."""
    assert line_keys(ZIPPED, "links.link2.delay") == ["cc", "links.link1.queue"]
    assert line_keys(ZIPPED, "links.link2.queue") == ["cc", "links.link1.queue"]
    assert {key: points_per_line(ZIPPED, key) for key in ZIPPED[0]} == {
        "cc": 2, "links.link1.queue": 3, "links.link2.delay": 4, "links.link2.queue": 4,
    }  # fmt: skip
    rows = [result_row(settings=point) for point in ZIPPED]
    assert choose_axis(points_of(rows)) == "links.link2.delay", "every line has a point at each of its values"
    figure = sweep_figure("t", rows, GOODPUT, "links.link2.delay")
    assert [series.name for series in figure.series][:2] == ["cubic, 10 ms", "cubic, 20 ms"]
    assert all(None not in series.measured for series in figure.series)


def test_numbers_lie_along_the_axis_before_names() -> None:
    """Five schedulers and four delays: lines over the delay, as on the report's page."""
    schedulers = ("default", "minrtt", "blest", "roundrobin", "redundant")
    points = [{"scheduler": scheduler, "delay": f"{ms} ms"} for scheduler in schedulers for ms in (10, 40, 80, 160)]
    assert choose_axis(points) == "delay"
    two = [point for point in points if point["delay"] in ("10 ms", "40 ms")]
    assert choose_axis(two) == "scheduler", "two points make no curve"


def test_all_combinations_are_as_they_were() -> None:
    points = [{"a": str(a), "b": str(b)} for a in range(2) for b in range(3)]
    assert line_keys(points, "b") == ["a"]
    assert leading_keys(points) == {"a": [], "b": []}
    # A point that is not available makes no key follow from others.
    lacking = points[:2] + points[3:]
    assert line_keys(lacking, "b") == ["a"]
    assert (points_per_line(lacking, "a"), points_per_line(lacking, "b")) == (2, 3)


def test_the_page_begins_with_an_axis_of_long_lines() -> None:
    rows = [result_row(settings=point) for point in ZIPPED]
    data = sweep_drawing(rows, axes_of(rows)).data
    names = [axis["name"] for axis in data["axes"]]
    assert names[data["along"]] == "link2.delay"
    assert [names[at] for at in data["lines"][data["along"]]] == ["cc", "link1.queue"]
    assert data["together"][data["along"]] == "link2.queue changes with link2.delay and link1.queue."
    places = [tuple(row[0]) for row in data["rows"]]
    for along, others in enumerate(data["lines"]):
        kept = {tuple(place[at] for at in (along, *others)) for place in places}
        assert len(kept) == len(ZIPPED), "no two points of a line have the same place"


def test_keys_that_follow_from_one_other_are_no_axes_of_the_page() -> None:
    """Each is the other's name: an axis of numbers is worth more."""
    points = [
        {"hosts.client.transport.scheduler": name, "links.link1.delay": delay, "links.link1.queue": queue, "cc": cc}
        for cc in ("cubic", "lia")
        for name, delay, queue in (("default", "1 ms", "5 ms"), ("blest", "2 ms", "5 ms"), ("ecf", "9 ms", "8 ms"))
    ]
    assert leading_keys(points) == {
        "links.link1.delay": ["hosts.client.transport.scheduler", "links.link1.queue"],
        "cc": [],
    }
    rows = [result_row(settings=point) for point in points]
    drawing = sweep_drawing(rows, axes_of(rows))
    assert drawing.choices[0] == ("Horizontal axis", ("link1.delay", "cc"))
    assert drawing.data["lines"] == [[1], [0]]
    assert drawing.data["together"][0] == "scheduler changes with link1.delay. link1.queue changes with link1.delay."


def test_some_lines_of_many_have_all_values() -> None:
    lines = [(a, b, c) for a in "xy" for b in "xy" for c in "xyz"]
    chosen = spread(lines, 6)
    assert chosen == sorted(chosen)
    for part, values in enumerate(("xy", "xy", "xyz")):
        counts = {value: sum(line[part] == value for line in chosen) for value in values}
        assert set(counts.values()) == {6 // len(values)}, counts


@pytest.mark.slow
def test_too_many_lines_are_an_overview_unless_they_were_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command refused what ``mptcplab run`` had drawn of the same results."""
    make_results(tmp_path / "made", MANY)
    note = build_figure(open_results(tmp_path / "made"), FigureChoice()).note
    assert "shown: 6 of 18 lines; for others: mptcplab figure with --points protocol=tcp" in note, note
    for options in (("--by", "protocol,link1.delay,rate"), ("--x", "link2.delay"), ("--kind", "bars")):
        ended = output_of(monkeypatch, capsys, "figure", tmp_path / "made", *options)
        assert ended.status == 2, options
        assert "18 curves cannot be told apart" in ended.err
        assert "choose fewer, such as with --points protocol=tcp" in ended.err
    # The example is one.
    words = ("--x", "link2.delay", "--points", "protocol=tcp", "--out", tmp_path / "a.svg")
    assert output_of(monkeypatch, capsys, "figure", tmp_path / "made", *words).status == 0


@pytest.mark.slow
def test_too_many_points_over_time_name_the_keys_that_vary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_results(tmp_path / "made", TWO_LINES)
    words = ("figure", tmp_path / "made", "--kind", "time", "--label", "tcp=Plain TCP", "--out", tmp_path / "a.svg")
    ended = output_of(monkeypatch, capsys, *words)
    assert "6 points do not fit side by side: they differ in protocol, link2.delay" in ended.err
    assert "choose up to 4, such as with --points protocol=tcp" in ended.err, "the value, not its words"
    assert output_of(monkeypatch, capsys, *words, "--points", "protocol=tcp").status == 0


def test_figures_name_points_that_were_short_of_the_labs_memory() -> None:
    """Somebody read "BBR collapses with large buffers" in a figure whose table had the warning."""
    warned = (f"{SHORT_OF_MEMORY}: TcpExtTCPMemoryPressures 1. Separate hosts would not share this limit",)
    rows = [
        result_row(settings={"cc": "bbr", "size": f"{size} MiB"}, warnings=warned if size == 64 else ())
        for size in (4, 16, 64)
    ]
    assert list(memory_note(rows)) == ["short of the lab's memory in some runs, see the table: bbr, 64 MiB"]
    assert "see the table: bbr, 64 MiB" in sweep_figure("t", rows, GOODPUT, "size").note
    assert not list(memory_note(rows[:2]))
