# SPDX-License-Identifier: MIT
"""Figures say what they show: bars that cannot be seen, the part of the results, words for keys, legends, letters."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.report.test_report import IN_EVERY_ROW, result_row
from tests.unit.results_folders import make_results

from mptcplab.errors import InputError
from mptcplab.figure.bars import draw_bars
from mptcplab.figure.canvas import open_pyplot
from mptcplab.figure.choice import FigureChoice
from mptcplab.figure.distribution import DistributionCurve, DistributionFigure, draw_distribution
from mptcplab.figure.from_results import build_figure
from mptcplab.figure.lines import Figure, FigureSeries, draw_lines
from mptcplab.figure.sweep import sweep_figure
from mptcplab.metrics.named import unit_of
from mptcplab.metrics.registry import METRICS
from mptcplab.pages import build_report
from mptcplab.report.result_table import result_table
from mptcplab.results import PARTIAL, open_results
from mptcplab.stats import Interval
from mptcplab.workload.outputs import Item, Items

VALUES = (("a", 0.25), ("b", 1.5))
BARS = Figure(
    "t",
    "x",
    "outage, s",
    ("on", "backup", "handover"),
    (FigureSeries("kernel", (Interval(0.0, 0.0, 3), Interval(1.0, 4.0, 3), None)),),
)


def test_bars_have_their_values_in_words() -> None:
    """Zero and a missing value both looked like a dash near zero, and a whisker took the axis below zero."""
    with open_pyplot() as plt:
        drawing, axes = plt.subplots()
        draw_bars(BARS, drawing, axes)
        words = [(text.get_text(), text.xy) for text in axes.texts]
        rotations = {text.get_rotation() for text in axes.texts}
        whiskers = [line.get_segments() for line in axes.collections if hasattr(line, "get_segments")]
        bottom, top = axes.get_ylim()
        plt.close(drawing)
    assert words == [("0", (0.0, 0.0)), ("1.00", (1.0, 5.0)), ("n/a", (2.0, 0.0))]
    assert rotations == {0}
    assert bottom == 0
    assert top > 5.2, "no room for the words above the whisker"
    ends = [float(y) for some in whiskers for segment in some for _, y in segment]
    assert min(ends) == 0, ends
    assert max(ends) == 5, ends


@pytest.mark.parametrize("draw", [draw_bars, draw_lines])
def test_a_metric_that_may_be_negative_is_not_cut_off(draw: Any) -> None:
    """An aggregation benefit below zero means that MPTCP was slower than TCP."""
    bars = replace(
        BARS, signed=True, series=(FigureSeries("s", (Interval(-0.2, 0.1, 3), Interval(0.1, 0.3, 3), None)),)
    )
    with open_pyplot() as plt:
        drawing, axes = plt.subplots()
        draw(bars, drawing, axes)
        bottom = axes.get_ylim()[0]
        plt.close(drawing)
    assert bottom < -0.3


@pytest.mark.parametrize("draw", [draw_bars, draw_lines])
def test_no_interval_leaves_the_range_of_its_metric(draw: Any) -> None:
    """A mean opinion score of 4.2 had a whisker up to 5.6, and a share of 99 % one above 100 %."""
    bars = replace(
        BARS,
        lowest=1.0,
        highest=4.41,
        series=(FigureSeries("s", (Interval(4.2, 1.4, 3), Interval(1.5, 9.0, 3), None)),),
    )
    with open_pyplot() as plt:
        drawing, axes = plt.subplots()
        draw(bars, drawing, axes)
        whiskers = [line.get_segments() for line in axes.collections if hasattr(line, "get_segments")]
        plt.close(drawing)
    ends = [round(float(y), 9) for some in whiskers for segment in some for _, y in segment]
    assert sorted(ends) == [1.0, 2.8, 4.41, 4.41]


def test_many_values_stand_upright() -> None:
    bars = replace(BARS, series=tuple(FigureSeries(str(n), (Interval(1.0, 0.1, 3),) * 3) for n in range(6)))
    with open_pyplot() as plt:
        drawing, axes = plt.subplots()
        draw_bars(bars, drawing, axes)
        rotations = {text.get_rotation() for text in axes.texts}
        plt.close(drawing)
    assert rotations == {90}


MODES = """
title = "Two lines and a call"
repeats = 2
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "2 s" }
workloads.other = { kind = "flow", from = "client", to = "server", duration = "2 s" }
sweep."transport.path_manager" = ["kernel", "userspace"]
sweep."hosts.client.transport.modes.access2" = ["backup", "handover"]
"""


@pytest.mark.slow
def test_a_figure_says_which_part_it_shows(tmp_path: Path) -> None:
    make_results(tmp_path / "made", MODES)
    results = open_results(tmp_path / "made")
    choice = FigureChoice(
        workloads=("bulk",),
        x="access2",
        points=(("access2", "backup"), ("access2", "handover")),
        labels=(("access2", "second line"), ("path_manager", "who decides")),
    )
    note = " ".join(build_figure(results, choice).note.split())
    assert note.startswith("only second line backup or handover workload bulk means; whiskers: 95 %"), note
    assert 'n/a: no value, since "handover" (second line) is not a mode' in note, note
    assert "is not a mode of the kernel's path manager" in note, note
    words_of_values = replace(choice, labels=(*choice.labels, ("handover", "only when told"), ("kernel", "Linux")))
    made = build_figure(results, words_of_values)
    note = " ".join(made.note.split())
    assert note.startswith("only second line backup or only when told workload bulk means; whiskers: 95 %"), note
    assert 'since "only when told" (second line) is not a mode of the kernel' in note, note
    with open_pyplot() as plt:
        drawing = plt.figure()
        made.draw(drawing)
        (axes,) = drawing.axes
        entries = [text.get_text() for text in axes.get_legend().get_texts()]
        ticks = [text.get_text() for text in axes.get_xticklabels()]
        plt.close(drawing)
    assert (entries, ticks) == (["Linux", "userspace"], ["backup", "only when told"])
    with open_pyplot() as plt:
        drawing = plt.figure()
        build_figure(results, choice).draw(drawing)
        (axes,) = drawing.axes
        words = axes.get_xlabel(), axes.get_legend().get_title().get_text()
        plt.close(drawing)
    assert words == ("second line", "who decides")
    everything = build_figure(results, FigureChoice(by=("path_manager",), x="access2", points=(("access2", "backup"),)))
    assert "workload " not in everything.note, "both are drawn"
    assert "n/a" not in everything.note, "the points that are not available are not asked for"
    figure = build_figure(
        results, FigureChoice(kind="time", points=(("access2", "backup"),), labels=(("access2", "second line"),))
    )
    assert "only second line backup" in figure.note
    with pytest.raises(InputError, match="'access9' is not a swept key or value, nor a workload") as refused:
        build_figure(results, FigureChoice(labels=(("access9", "x"),)))
    assert refused.value.hint is not None
    assert refused.value.hint.startswith(
        "use one of path_manager, access2, kernel, backup, userspace, handover, bulk, other; or a metric: goodput"
    )
    with pytest.raises(InputError, match=r"two values of .*access2 have the same words"):
        build_figure(results, FigureChoice(labels=(("backup", "handover"),)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bars", "cdf"])
def test_labels_name_metrics_and_workloads(tmp_path: Path, kind: Any) -> None:
    make_results(tmp_path / "made", MODES)
    results = open_results(tmp_path / "made")
    labels = (("goodput", "what arrives"), ("bulk", "the download"))
    points = (("access2", "backup"), ("path_manager", "kernel"))
    with open_pyplot() as plt:
        drawing = plt.figure()
        build_figure(results, FigureChoice(kind=kind, metric="goodput", points=points, labels=labels)).draw(drawing)
        (axes,) = drawing.axes
        title = axes.get_ylabel() if kind == "bars" else axes.get_xlabel()
        entries = " ".join(text.get_text() for text in axes.get_legend().get_texts())
        plt.close(drawing)
    assert title.startswith("what arrives, Mbit/s"), "the unit is kept"
    assert "the download" in entries, entries
    assert "other" in entries, entries
    alone = build_figure(results, FigureChoice(kind=kind, metric="bulk:goodput", points=points, labels=labels))
    assert kind == "cdf" or "workload the download" in alone.note, alone.note
    with pytest.raises(InputError, match="two workloads have the same words"):
        build_figure(results, FigureChoice(labels=(("bulk", "other"),)))


THREE = """
title = "Three workloads"
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms" }
workloads.down = { kind = "flow", from = "client", to = "server", duration = "2 s" }
workloads.up = { kind = "flow", from = "client", to = "server", duration = "2 s" }
workloads.other = { kind = "flow", from = "client", to = "server", duration = "2 s" }
sweep."transport.protocol" = ["tcp", "mptcp"]
"""


def test_some_of_the_workloads(tmp_path: Path) -> None:
    """A call and a download do not have bars of goodput side by side: figures take workloads that go together."""
    make_results(tmp_path / "made", THREE)
    results = open_results(tmp_path / "made")
    made = build_figure(results, FigureChoice(kind="bars", metric="goodput", workloads=("down", "up")))
    assert made.note.startswith("workloads down, up")
    figure = build_figure(results, FigureChoice(kind="bars", metric="up:goodput"))
    assert figure.note.startswith("workload up")
    with open_pyplot() as plt:
        drawings = [plt.figure(), plt.figure()]
        made.draw(drawings[0])
        figure.draw(drawings[1])
        bars = [len(drawing.axes[0].patches) for drawing in drawings]
        plt.close("all")
    assert bars == [4, 2]
    with pytest.raises(InputError, match="shows one workload"):
        build_figure(results, FigureChoice(kind="time", workloads=("down", "up")))


def test_a_figure_of_an_interrupted_sweep_says_so(tmp_path: Path) -> None:
    """It had the folder's name for a title, and looked complete."""
    experiment = make_results(tmp_path / "made", MODES, keep=lambda run: run.seed == 1)
    document = json.loads((tmp_path / "made" / "results.json").read_text())
    del document["rows"]
    (tmp_path / "made" / "results.json").unlink()
    (tmp_path / "made" / PARTIAL).write_text(json.dumps(document | {"planned": f"{len(experiment.runs)} runs"}))
    made = build_figure(
        open_results(tmp_path / "made"), FigureChoice(workloads=("bulk",), x="access2", by=("path_manager",))
    )
    note = " ".join(made.note.split())
    assert note.startswith("incomplete: 3 of 6 runs workload bulk"), note
    assert 'n/a: no value, since "handover" (hosts.client.transport.modes.access2) is not a mode' in note, note
    with open_pyplot() as plt:
        drawing = plt.figure()
        made.draw(drawing)
        title = drawing.axes[0].get_title(loc="left")
        plt.close(drawing)
    assert title == "Two lines and a call"
    (warning, *_) = build_report(tmp_path / "made").experiments[0].notices
    assert (warning.level, warning.text) == ("warning", "The experiment is incomplete: 3 of 6 runs.")
    assert warning.command.startswith("mptcplab run ")


def test_names_of_points_and_folders_are_hinted_at(tmp_path: Path) -> None:
    text = (
        THREE.partition('sweep."transport')[0] + 'sweep.zip = [{ name = ["both, first", "one"], "repeats" = [1, 1] }]\n'
    )
    text = text.replace('"repeats" = [1, 1]', '"links.link1.delay" = ["10 ms", "20 ms"]')
    make_results(tmp_path / "night", text)
    with pytest.raises(InputError) as refused:
        build_figure(open_results(tmp_path / "night"), FigureChoice(points=(("name", "both"),)))
    assert refused.value.hint == 'use one of "both, first", one'
    with pytest.raises(InputError) as refused:
        open_results(tmp_path / "nigth")  # codespell:ignore nigth
    assert refused.value.hint == f"did you mean {tmp_path / 'night'}?"


def test_an_unknown_kind_is_refused() -> None:
    unknown: Any = "tme"
    with pytest.raises(InputError, match="no kind of figure 'tme'"):
        FigureChoice(kind=unknown)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tcp", "protocol mptcp, congestion_control cubic, scheduler default, link1.delay"])
def test_a_legend_leaves_the_plot_its_width(name: str) -> None:
    """Twelve long names took three fifths of the figure."""
    samples = tuple(DistributionCurve(f"{name} {number}", (1.0, 2.0 + number)) for number in range(12))
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=(6.4, 4.0), layout="constrained")
        axes = drawing.subplots()
        draw_distribution(DistributionFigure("t", "delay, ms", samples), axes)
        drawing.canvas.draw()
        width = axes.get_window_extent().width / drawing.bbox.width
        legend, label = axes.get_legend().get_window_extent(), axes.xaxis.label.get_window_extent()
        height, bottom = axes.get_window_extent().height / drawing.dpi, legend.y0
        plt.close(drawing)
    assert width > 0.55, f"{width:.0%} of the figure"
    assert height > 2.5, f"{height:.1f} inches"
    assert bottom >= 0, "it is cut off"
    assert legend.x0 > axes.bbox.x1 or legend.y1 <= label.y0 + 1, "it is beside the plot, or below its labels"


def test_a_curve_below_another_is_seen() -> None:
    """A later curve with the same values hid it."""
    values = tuple(float(number) for number in range(20, 40))
    shown = (
        DistributionCurve("5G", values),
        DistributionCurve("DSL", tuple(4 * value for value in values)),
        DistributionCurve("minrtt", values),
    )
    with open_pyplot() as plt:
        drawing, axes = plt.subplots()
        draw_distribution(DistributionFigure("t", "delay, ms", shown), axes)
        hidden, alone, above = (line.get_linewidth() for line in axes.lines)
        highest = axes.transData.inverted().transform(axes.lines[0].get_clip_box().max)[1]
        plt.close(drawing)
    assert alone == above
    assert hidden >= above + 1, "less than half a point on each side"
    assert highest == pytest.approx(1), "a part of its width is above a share of 1"


def test_the_note_says_why_a_curve_is_wider(tmp_path: Path) -> None:
    """Curves had different widths, and no word about it."""
    make_results(tmp_path / "made", MODES)
    results = open_results(tmp_path / "made")
    both = FigureChoice(kind="cdf", metric="bulk:goodput", points=(("access2", "backup"),))
    words = "a wider curve is behind a narrower curve that nearly coincides with it"
    assert words in build_figure(results, both).note.split("\n"), "both path managers have the same goodput"
    curve = replace(both, points=(*both.points, ("path_manager", "kernel")))
    assert "wider" not in build_figure(results, curve).note


def test_a_logarithmic_axis_says_so_and_has_numbers() -> None:
    with open_pyplot() as plt:
        drawing, axes = plt.subplots()
        draw_distribution(
            DistributionFigure("t", "delay, ms", (DistributionCurve("a", (3.0, 40.0, 700.0)),), legend="scheduler"),
            axes,
        )
        drawing.canvas.draw()
        low, high = axes.get_xlim()
        ticks = [tick.label1.get_text() for tick in axes.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
        label, legend = axes.get_xlabel(), axes.get_legend().get_title().get_text()
        plt.close(drawing)
    assert label == "delay, ms (logarithmic)"
    assert ticks == ["5", "10", "20", "50", "100", "200", "500"]
    assert legend == "scheduler"


def test_a_distribution_is_of_the_workload_that_has_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first workload is a bulk transfer; and what the curves have in common is in the legend's title."""
    make_results(tmp_path / "made", MODES)
    items = Items("objects", "completion time", "s", (Item(0, 0.02), Item(0, 0.07)))
    monkeypatch.setattr("mptcplab.figure.from_results.items_of", lambda _: {"other": items})
    made = build_figure(open_results(tmp_path / "made"), FigureChoice(kind="cdf", points=(("access2", "backup"),)))
    assert made.note.startswith("only access2 backup\nobjects of workload other")
    with open_pyplot() as plt:
        drawing = plt.figure()
        made.draw(drawing)
        (axes,) = drawing.axes
        legend, label = axes.get_legend(), axes.get_xlabel()
        plt.close(drawing)
    assert label == "completion time, ms"
    assert [text.get_text() for text in legend.get_texts()] == ["kernel (4)", "userspace (4)"]
    assert legend.get_title().get_text() == "path_manager"


def test_a_figure_has_the_unit_of_the_table() -> None:
    """Also where it shows a part of the results whose values alone would suit a smaller unit."""
    rows = [
        result_row(settings={"x": x}, metrics={**IN_EVERY_ROW, "gap_s": Interval(gap, 0.001, 3)}) for x, gap in VALUES
    ]
    for shown, label in ((rows, "longest gap without data, s"), (rows[:1], "longest gap without data, ms")):
        figure = sweep_figure("t", shown, METRICS["gap_s"], "x")
        assert figure.y_label == label
        (value, *_) = figure.series[0].measured
        assert value is not None
        assert value.mean == (0.25 if shown is rows else 250)
    unit = unit_of(METRICS["gap_s"], rows)
    assert sweep_figure("t", rows[:1], METRICS["gap_s"], "x", unit=unit).y_label == "longest gap without data, s"
    heads = result_table("t", rows).headings
    assert "gap s" in heads
