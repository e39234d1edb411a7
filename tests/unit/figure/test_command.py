# SPDX-License-Identifier: MIT
"""``mptcplab figure``: what it draws by default and when told, what it refuses, and that all is legible."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import pytest
from tests.unit.command_output import output_of
from tests.unit.results_folders import TWO_LINES, make_results

from mptcplab.cli.commands.results import figure
from mptcplab.cli.main import main
from mptcplab.errors import InputError
from mptcplab.figure import FigureSpec, build_figure
from mptcplab.figure.canvas import open_pyplot
from mptcplab.figure.choice import FigureChoice
from mptcplab.figure.time_chart import PANELS
from mptcplab.results import open_results

SINGLE = TWO_LINES.partition("sweep.")[0]
NAMES = """
title = "The same two lines with a title that is much too long for one line above a plot of this width, so it wraps"
repeats = 2
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "2 s" }
sweep."transport.protocol" = ["tcp", "mptcp"]
sweep."transport.congestion_control" = ["cubic", "reno", "bbr", "westwood", "illinois", "vegas", "veno", "dctcp"]
"""
MANY = TWO_LINES.replace('"10 ms", "30 ms", "100 ms"', ", ".join(f'"{delay} ms"' for delay in range(1, 33)))


@pytest.fixture(scope="module")
def two_lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results that tests only read: they are measured once."""
    folder = tmp_path_factory.mktemp("results") / "made"
    make_results(folder)
    return folder


def _make(tmp_path: Path, text: str, **choice: Any) -> FigureSpec:
    make_results(tmp_path / "made", text)
    return build_figure(open_results(tmp_path / "made"), FigureChoice(**choice))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "choice", "kind", "shows"),
    [
        pytest.param(SINGLE, {}, "time", "workload bulk over time, seed 1", id="one point"),
        pytest.param(TWO_LINES, {}, "lines", "goodput by link2.delay", id="an axis of numbers"),
        pytest.param(TWO_LINES, {"x": "protocol"}, "bars", "goodput by protocol", id="an axis of names"),
        pytest.param(NAMES, {}, "bars", "goodput by congestion_control", id="only names"),
        pytest.param(TWO_LINES, {"metric": "retransmitted"}, "lines", "retransmitted by link2.delay", id="a metric"),
        pytest.param(
            TWO_LINES, {"kind": "cdf", "metric": "goodput"}, "cdf", "distribution of goodput over runs", id="runs"
        ),
        pytest.param(SINGLE, {"metric": "goodput"}, "bars", "goodput", id="a metric of one point"),
    ],
)
def test_what_it_shows(tmp_path: Path, text: str, choice: dict[str, Any], kind: str, shows: str) -> None:
    drawing = _make(tmp_path, text, **choice)
    assert (drawing.kind, drawing.shows) == (kind, shows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choice", "legend", "first"),
    [
        ({"points": (("delay", "30 ms"),), "by": ("protocol",)}, "protocol", "tcp (3)"),
        ({"by": ("delay", "protocol")}, "link2.delay, protocol", "10 ms, tcp (3)"),
        ({}, "protocol, link2.delay", "tcp, 10 ms (3)"),
    ],
)
def test_curves_of_a_distribution_are_named_by(tmp_path: Path, choice: dict[str, Any], legend: str, first: str) -> None:
    made = _make(tmp_path, TWO_LINES, kind="cdf", metric="goodput", **choice)
    with open_pyplot() as plt:
        drawing = plt.figure()
        made.draw(drawing)
        box = drawing.axes[0].get_legend()
        plt.close(drawing)
    assert (box.get_title().get_text(), box.get_texts()[0].get_text()) == (legend, first)


def test_a_choice_takes_one_text_or_a_dictionary() -> None:
    choice: Any = {"by": "scheduler", "workloads": "requests", "panels": ["rate"]}
    assert (FigureChoice(**choice).by, FigureChoice(**choice).workloads, FigureChoice(**choice).panels) == (
        ("scheduler",),
        ("requests",),
        ("rate",),
    )
    pairs: Any
    for pairs in (("delay", "80 ms"), {"delay": "80 ms"}, [["delay", "80 ms"]], (("delay", "80 ms"),)):
        assert FigureChoice(points=pairs, labels=pairs).points == (("delay", "80 ms"),), pairs
        assert FigureChoice(labels=pairs).labels == (("delay", "80 ms"),), pairs


@pytest.mark.parametrize(
    ("choice", "form"),
    [
        ({"by": 3}, 'by=("scheduler",)'),
        ({"panels": (1,)}, 'panels=("rate", "rtt")'),
        ({"workloads": ("a", None)}, 'workloads=("download", "upload")'),
        ({"points": "delay"}, 'points=(("delay", "10 ms"), ("delay", "80 ms"))'),
        ({"points": {"delay": 80}}, 'points=(("delay", "10 ms"), ("delay", "80 ms"))'),
        ({"points": ("delay", "80 ms", "x")}, 'points=(("delay", "10 ms"), ("delay", "80 ms"))'),
        ({"labels": 1}, 'labels=(("mptcp", "both lines"),)'),
    ],
)
def test_anything_else_shows_the_form(choice: dict[str, Any], form: str) -> None:
    with pytest.raises(InputError, match="is not a list of") as refused:
        FigureChoice(**choice)
    assert refused.value.hint == f"write {form}"


@pytest.mark.slow
@pytest.mark.parametrize("choice", [{}, {"kind": "time", "points": (("delay", "30 ms"),)}, {"kind": "bars"}])
def test_the_note_names_what_the_command_line_changed(tmp_path: Path, choice: dict[str, Any]) -> None:
    make_results(tmp_path / "made", TWO_LINES, overrides=["links.link1.rate=40 Mbit/s", "links.link2.loss=1 %"])
    note = build_figure(open_results(tmp_path / "made"), FigureChoice(**choice)).note.replace("\n", " ")
    assert note.endswith("Changed on the command line: links.link1.rate = 40 Mbit/s, links.link2.loss = 1 %"), note
    assert "command line" not in _make(tmp_path / "plain", TWO_LINES, **choice).note


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "width"), [("time", "12 cm"), ("bars", "8.6 cm"), ("cdf", None)])
def test_a_note_for_the_caption_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str, width: str | None
) -> None:
    """In a paper it belongs into the caption."""
    make_results(tmp_path / "made", TWO_LINES, overrides=["links.link1.rate=40 Mbit/s", "links.link2.loss=1 %"])
    words = ["figure", tmp_path / "made", "--kind", kind, "--points", "delay=10 ms", "--out", tmp_path / "a.svg"]
    words += [] if width is None else ["--width", width]
    words += ["--metric", "goodput"] if kind == "cdf" else []
    ended = output_of(monkeypatch, capsys, *words)
    with_note = (tmp_path / "a.svg").read_text()
    assert "kernel 7.2.1-made" in with_note
    assert "kernel" not in ended.out, "it is in the figure"
    ended = output_of(monkeypatch, capsys, *words, "--no-note")
    assert ended.status == 0, ended.err
    without = (tmp_path / "a.svg").read_text()
    assert "kernel" not in without
    assert "protocol" in without, "only the note is left out"
    first, *note = ended.out.splitlines()
    assert first.endswith(("over time, seed 1", "goodput by protocol", "goodput over runs"))
    assert note[0] == "Note: only link2.delay 10 ms"
    assert any("kernel 7.2.1-made" in line for line in note)
    changed = "Changed on the command line: links.link1.rate = 40 Mbit/s, links.link2.loss = 1 %"
    assert note[-1] == changed, "its lines break elsewhere than in the figure"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "choice"),
    [
        pytest.param(SINGLE, {}, id="time"),
        pytest.param(TWO_LINES, {"kind": "time", "points": (("delay", "30 ms"),)}, id="two columns"),
        pytest.param(TWO_LINES, {}, id="lines"),
        pytest.param(TWO_LINES, {"kind": "bars"}, id="bars"),
        pytest.param(NAMES, {}, id="many names"),
        pytest.param(MANY, {}, id="32 numbers"),
        pytest.param(MANY, {"kind": "bars"}, id="64 bars"),
        pytest.param(TWO_LINES, {"kind": "cdf", "metric": "goodput_mbps"}, id="distribution"),
    ],
)
def test_nothing_overlaps_or_is_cut_off(tmp_path: Path, text: str, choice: dict[str, Any]) -> None:
    """Of all texts: on the canvas, and none on another; and every curve is in a legend."""
    figure = _make(tmp_path, text, **choice)
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=figure.size, layout="constrained")
        figure.draw(drawing)
        drawing.canvas.draw()
        width, height = drawing.canvas.get_width_height()
        boxes = [(text.get_text(), text.get_window_extent()) for text in _texts(drawing)]
        legends = {text.get_text() for axes in drawing.axes if axes.get_legend() for text in axes.get_legend().texts}
        labels = {label for axes in drawing.axes for label in axes.get_legend_handles_labels()[1]}
        plt.close(drawing)
    assert len(boxes) > 5, boxes
    for shown, box in boxes:
        outside = (-box.x0, -box.y0, box.x1 - width, box.y1 - height)
        assert max(outside) < 1, f"{shown!r} is cut off: {outside}"
    for (label, a), (other, b) in combinations(boxes, 2):
        apart = a.x1 <= b.x0 + 1 or b.x1 <= a.x0 + 1 or a.y1 <= b.y0 + 1 or b.y1 <= a.y0 + 1
        assert apart or label == other, f"{label!r} overlaps {other!r}"
    assert labels <= legends or len(labels) == 1


def _texts(drawing: Any) -> list[Any]:
    """All texts that are visible and level: of inclined ones the boxes overlap although the letters do not."""
    from matplotlib.text import Text

    texts = [text for text in drawing.findobj(Text) if text.get_visible() and text.get_text().strip()]
    ticks = [tick for axes in drawing.axes for tick in (*axes.xaxis.get_major_ticks(), *axes.yaxis.get_major_ticks())]
    hidden = {id(tick.label1) for tick in ticks if not tick.label1.get_visible()} | {id(tick.label2) for tick in ticks}
    inside = []
    for axes in drawing.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                if low <= tick.get_loc() <= high:
                    inside.append(id(tick.label1))
    labels = {id(tick.label1) for tick in ticks}
    return [
        text
        for text in texts
        if not text.get_rotation() % 90 and id(text) not in hidden and (id(text) not in labels or id(text) in inside)
    ]


@pytest.mark.slow
def test_files_are_equal_and_of_three_formats(tmp_path: Path) -> None:
    drawing = _make(tmp_path, TWO_LINES)
    heads = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    for suffix, head in heads.items():
        files = [tmp_path / f"{name}{suffix}" for name in ("one", "two")]
        for file in files:
            drawing.write(file)
        assert files[0].read_bytes() == files[1].read_bytes(), suffix
        assert files[0].read_bytes().startswith(head)


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (("--metric", "speed"), "there is no metric 'speed'", "did you mean `goodput_mbps` (payload"),
        (("--metric", "height"), "there is no metric 'height'", "these results have goodput_mbps"),
        (("--metric", "mos"), "no run has the metric mos", "goodput_mbps"),
        (("--x", "loss"), "'loss' is not a swept key", "protocol, link2.delay"),
        (("--points", "protocol=udp"), "no point has transport.protocol = udp", "tcp, mptcp"),
        (("--points", "protocol"), "'protocol' is not a key with a value", "--points KEY=VALUE"),
        (("--by", "protocol", "--x", "protocol"), "transport.protocol is both --x and --by", "remove it"),
        (("--by", "protocol", "--x", "delay", "--seed", "1"), "--seed is for figures over time", "--kind time"),
        (("--kind", "time", "--metric", "goodput"), "--metric changes nothing in a figure of kind time", "remove it"),
        (("--kind", "time", "--x", "delay"), "--x changes nothing in a figure of kind time", "remove it"),
        (
            ("--kind", "cdf", "--metric", "goodput", "--by", "protocol"),
            "points also differ in link2.delay",
            "add link2.delay to --by",
        ),
        (
            ("--kind", "cdf", "--metric", "goodput", "--by", "protocol,delay", "--points", "protocol=tcp"),
            "--by protocol changes nothing: all curves have the same",
            "remove it",
        ),
        (("--kind", "time"), "6 points do not fit side by side", "--points"),
        (("--kind", "time", "--points", "delay=10 ms", "--seed", "99"), "no run has the seed 99", "1, 2, 3"),
        (
            ("--kind", "time", "--points", "delay=10 ms", "--panels", "speed"),
            "there is no panel 'speed'",
            "rate, rtt, cwnd",
        ),
        (
            ("--kind", "time", "--points", "delay=10 ms", "--panels", "delay"),
            "bulk has no samples for delay",
            "rate, rtt, cwnd",
        ),
        (("--panels", "rate"), "--panels is for figures over time", "--kind time"),
        (("--workload", "bulk,web"), "there is no workload 'web'", "bulk"),
        (("--metric", "web:goodput"), "there is no workload 'web'", "bulk"),
        (("--metric", "bulk:goodput", "--workload", "web"), "name different workloads", "remove one"),
        (("--kind", "cdf"), "does not deliver objects, requests or messages", "--metric"),
        (("--out", "figure.gif"), "figure.gif does not end with the suffix of a format", ".svg"),
        (("--out", "no/such/figure.svg"), "no/such/figure.svg cannot be written", "--out"),
    ],
)
def test_refusals(
    two_lines: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    message: str,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["mptcplab", "figure", str(two_lines), *options])
    with pytest.raises(SystemExit) as ended:
        main()
    error = capsys.readouterr().err
    assert ended.value.code == 2
    first, second = error.splitlines()
    assert message in first
    assert hint in second
    assert list(tmp_path.iterdir()) == [], "a file was left"


def test_no_results(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        open_results(tmp_path / "nothing")


def test_the_help_names_all_panels() -> None:
    (option,) = (param for param in figure.params if param.name == "panels")
    assert isinstance(option, click.Option)
    assert f": {', '.join(PANELS)}." in str(option.help)
