# SPDX-License-Identifier: MIT
"""Figures of the size of a column or a slide: what they are as large as, and that all of their words have room."""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tests.unit.command_output import output_of
from tests.unit.results_folders import make_results

from mptcplab.errors import InputError
from mptcplab.figure import FigureSpec, build_figure
from mptcplab.figure.choice import FigureChoice
from mptcplab.figure.paper import Length
from mptcplab.results import Results, open_results
from mptcplab.units import UnitError
from mptcplab.workload.outputs import Item, Items

MANY = """
title = "Which of eight schedulers is best with which congestion control?"
repeats = 2
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "2 s" }
sweep."transport.scheduler" = ["default", "minrtt", "roundrobin", "redundant", "blest", "ecf", "priority", "minrtt_v09"]
sweep."transport.congestion_control" = ["cubic", "reno", "lia", "olia", "balia"]
"""
COLUMN = "8.5 cm"
#: One column of a paper: figures of all kinds, with few and with many curves.
CHOICES = {
    "bars": FigureChoice(kind="bars", width=COLUMN),
    "few bars": FigureChoice(kind="bars", width=COLUMN, x="scheduler", points=(("congestion_control", "lia"),)),
    "lines": FigureChoice(kind="lines", width=COLUMN),
    "one curve": FigureChoice(
        kind="cdf", metric="goodput", width=COLUMN, points=(("scheduler", "ecf"), ("congestion_control", "lia"))
    ),
    "two curves": FigureChoice(
        kind="cdf",
        metric="goodput",
        width=COLUMN,
        points=(("scheduler", "ecf"), ("congestion_control", "lia"), ("congestion_control", "reno")),
    ),
    "eight curves": FigureChoice(kind="cdf", metric="goodput", width=COLUMN, points=(("congestion_control", "lia"),)),
    "time": FigureChoice(kind="time", width=COLUMN, points=(("scheduler", "ecf"), ("congestion_control", "lia"))),
    "two times": FigureChoice(
        kind="time",
        width=COLUMN,
        points=(("scheduler", "ecf"), ("congestion_control", "lia"), ("congestion_control", "reno")),
    ),
    "four times": FigureChoice(
        kind="time",
        width="17.8 cm",
        points=(
            ("congestion_control", "lia"),
            *(("scheduler", name) for name in ("ecf", "blest", "minrtt", "default")),
        ),
    ),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("made") / "results"
    make_results(folder, MANY)
    return open_results(folder)


def _texts(made: FigureSpec) -> tuple[tuple[float, float], list[tuple[str, Any, Any]], list[Any]]:
    """Return the size in inches; level texts with their sizes and boxes in inches; and the boxes of the plots."""
    from matplotlib.text import Text  # late, as all of matplotlib

    with made.sheet.open_drawing(made.draw) as drawing:
        drawing.draw_without_rendering()
        scale = drawing.dpi_scale_trans.inverted()
        beyond = {label for axes in drawing.axes for axis in (axes.xaxis, axes.yaxis) for label in _hidden_labels(axis)}
        shown = [text for text in drawing.findobj(Text) if text.get_visible() and text.get_text().strip()]
        boxes = [
            (text.get_text().strip(), text.get_fontsize(), _ink_box(text, text.get_window_extent().transformed(scale)))
            for text in shown
            if text.get_rotation() in (0, 90) and text not in beyond
        ]
        plots = [axes.get_window_extent().transformed(scale) for axes in drawing.axes]
        width, height = drawing.get_size_inches()
        return (width, height), boxes, plots


def _ink_box(text: Any, box: Any) -> Any:
    """Return the box of a text without blank lines at its beginning, which leave a legend its room."""
    words = text.get_text()
    blank = len(words) - len(words.lstrip("\n"))
    from matplotlib.transforms import Bbox

    return Bbox([[box.x0, box.y0], [box.x1, box.y1 - blank * box.height / (words.count("\n") + 1)]])


def _hidden_labels(axis: Any) -> list[Any]:
    """Return the labels of ticks that are not drawn, since they are beyond the ends of an axis."""
    low, high = sorted(axis.get_view_interval())
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return [tick.label1 for tick in ticks if not low - 1e-9 <= tick.get_loc() <= high + 1e-9]


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOICES)
def test_all_words_of_a_narrow_figure_have_room(results: Results, name: str) -> None:
    """At one column's width the legend was cut off, and labels of panels were one word."""
    (width, height), texts, plots = _texts(build_figure(results, CHOICES[name]))
    assert width == pytest.approx(Length.parse(CHOICES[name].width).inches)
    assert min(size for _, size, _ in texts) >= 7, "text that is printed smaller cannot be read"
    for words, _, box in texts:
        assert box.x0 > -0.03, f"{words} is cut off"
        assert box.x1 < width + 0.03, f"{words} is cut off"
        assert box.y0 > -0.03, f"{words} is cut off"
        assert box.y1 < height + 0.03, f"{words} is cut off"
    for (text, _, first), (other, _, second) in combinations(texts, 2):
        # Boxes have room for letters that go below the line.
        deep = min(first.y1, second.y1) - max(first.y0, second.y0) > 0.03
        wide = min(first.x1, second.x1) - max(first.x0, second.x0) > 0.03
        assert not (deep and wide), f"'{text}' and '{other}' collide"
    rows = len({round(box.y0, 2) for box in plots})
    assert min(box.height for box in plots) > 0.4, "nothing can be seen in a lower plot"
    if rows == 1:
        assert min(box.height for box in plots) > 0.4 * width, "a strip"


def _png_size(file: Path) -> tuple[int, int]:
    across, up = struct.unpack(">II", file.read_bytes()[16:24])
    return int(across), int(up)


@pytest.mark.slow
def test_a_figure_has_the_size_that_was_asked_for(
    results: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.png"
    words = ("figure", results.folder, "--kind", "bars", "--points", "scheduler=ecf", "--points", "scheduler=blest")
    ended = output_of(monkeypatch, capsys, *words, "--width", "3.4 in", "--height", "2.5in", "--out", file)
    assert ended.status == 0, ended.err
    assert _png_size(file) == (680, 500), "200 dots per inch"
    before = file.read_bytes()
    output_of(monkeypatch, capsys, *words, "--width", "3.4 in", "--height", "2.5in", "--out", file)
    assert file.read_bytes() == before, "equal figures give equal bytes"
    output_of(monkeypatch, capsys, *words, "--height", "5 in", "--out", file)
    assert _png_size(file) == (1280, 1000), "the usual width"


@pytest.mark.slow
def test_a_legend_below_does_not_make_a_figure_higher_than_asked_for(results: Results) -> None:
    points = tuple(("scheduler", name) for name in ("ecf", "blest", "priority"))
    points += tuple(("congestion_control", name) for name in ("lia", "olia"))
    choice = FigureChoice(kind="cdf", metric="goodput", points=points, title="", width="3.4 in", height="3.6 in")
    made = build_figure(results, choice)
    with made.sheet.open_drawing(made.draw) as drawing:
        legend = drawing.axes[0].get_legend()
        assert legend is not None
        assert legend.get_window_extent().y1 < drawing.axes[0].get_window_extent().y0, (
            "the legend is below: the test shows something"
        )
        assert tuple(drawing.get_size_inches()) == pytest.approx((3.4, 3.6))


@pytest.mark.slow
def test_too_small_a_figure_is_refused(results: Results, tmp_path: Path) -> None:
    made = build_figure(results, FigureChoice(kind="bars", width="8 cm", height="3 cm"))
    with pytest.raises(InputError, match=r"no room for its words in 8 cm x 3 cm\n") as refused:
        made.write(tmp_path / "a.png")
    assert "--title" in str(refused.value.hint)
    assert not list(tmp_path.iterdir()), "no file, nor a part of one"
    with pytest.raises(InputError, match="--width 1 cm is too small for a figure"):
        FigureChoice(width="1 cm")
    with pytest.raises(InputError, match="--height: '300 px' 'px' is not a unit of a length") as refused:
        FigureChoice(height="300 px")
    assert refused.value.hint == "write the size on paper: cm, mm, in or pt"


@pytest.mark.slow
def test_a_refusal_has_the_units_that_the_user_wrote(results: Results, tmp_path: Path) -> None:
    """All were inches."""
    few = FigureChoice(kind="bars", points=(("scheduler", "ecf"),))
    for width, height, words in (
        ("86mm", "1 in", "86 mm x 1 in"),
        (None, "100 pt", "463 pt x 100 pt"),
        ("8 cm", "1.0 inch", "8 cm x 1 inch"),
    ):
        with pytest.raises(InputError, match=f" in {words}\n"):
            build_figure(results, replace(few, width=width, height=height)).write(tmp_path / "a.png")
    words = ("scheduler " * 12).strip()
    with pytest.raises(InputError, match=r" in 3 cm x [0-9.]+ cm\n"):
        build_figure(results, replace(few, width="3 cm", labels=(("cubic", words),))).write(tmp_path / "a.png")


@pytest.mark.slow
@pytest.mark.parametrize(("label", "is_below"), [("the kernel's one", True), ("both", False)])
def test_a_legend_of_a_column_takes_no_half_of_it(results: Results, label: str, is_below: bool) -> None:
    """It took 1.3 of 3.4 inches, and the plot had less than half of the width."""
    choice = FigureChoice(
        kind="cdf", metric="goodput", width="8.6 cm", points=(("scheduler", "ecf"), ("congestion_control", "lia"))
    )
    choice = replace(
        choice, points=(*choice.points, ("scheduler", "blest")), labels=(("ecf", label), ("scheduler", ""))
    )
    made = build_figure(results, choice)
    with made.sheet.open_drawing(made.draw) as drawing:
        shown = drawing.axes[0].get_legend()
        assert shown is not None
        legend, plot = shown.get_window_extent(), drawing.axes[0].get_window_extent()
        assert (legend.y1 < plot.y0) == is_below
        assert plot.width > 0.5 * drawing.bbox.width
        assert legend.x1 < drawing.bbox.width


@pytest.mark.slow
def test_a_title_has_the_width_of_its_figure(results: Results) -> None:
    """The title of four runs side by side was broken as if it were above one plot."""
    made = build_figure(results, replace(CHOICES["four times"], width=None, title=" ".join(["words"] * 20)))
    with made.sheet.open_drawing(made.draw) as drawing:
        drawing.draw_without_rendering()
        (title,) = (text for text in drawing.texts if text.get_text().startswith("words"))
        assert "\n" not in title.get_text()
        assert title.get_window_extent().x1 < drawing.bbox.width


def test_lengths() -> None:
    assert Length.parse("8.6 cm") == Length.parse("86mm")
    assert Length.parse("3.4 in").inches == pytest.approx(3.4)
    # As \the\columnwidth prints it.
    assert Length.parse("241.14749pt").inches == pytest.approx(241.14749 / 72.27, rel=1e-5)
    with pytest.raises(UnitError, match="a length needs a unit"):
        Length.parse("8.6")


@pytest.mark.slow
def test_a_label_of_the_metric_is_on_the_axis_of_a_distribution(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was for a chosen metric; where the values are of objects, the figure ignored the label."""
    choice = FigureChoice(kind="cdf", metric="goodput", points=(("congestion_control", "lia"),))
    assert _x_label(build_figure(results, replace(choice, labels=(("goodput", "rate"),)))) == "rate, Mbit/s"
    rows = [replace(row, metrics={**row.metrics, "completion_p95_s": row.goodput_mbps}) for row in results.rows]
    monkeypatch.setitem(results.__dict__, "rows", rows)
    items = Items("objects", "completion time", "s", (Item(0, 0.02), Item(0, 0.07)))
    monkeypatch.setattr("mptcplab.figure.from_results.items_of", lambda _: {"bulk": items})
    choice = replace(choice, metric=None)
    assert _x_label(build_figure(results, choice)) == "completion time, ms"
    for name in ("completion p95", "completion_p95_s", "completion time"):
        assert (
            _x_label(build_figure(results, replace(choice, labels=((name, "time to load"),)))) == "time to load, ms"
        ), name


def _x_label(made: FigureSpec) -> str:
    with made.sheet.open_drawing(made.draw) as drawing:
        return str(drawing.axes[0].get_xlabel())
