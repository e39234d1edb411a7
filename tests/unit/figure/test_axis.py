# SPDX-License-Identifier: MIT
"""Lines over numbers stand at their values, on the same scale in the command's figures as in the report's."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.results_folders import make_results

from mptcplab.errors import InputError
from mptcplab.figure import FigureSpec, build_figure
from mptcplab.figure.axis import ChosenScale, axis_of
from mptcplab.figure.choice import FigureChoice
from mptcplab.figure.lines import Figure, FigureSeries, check_scales
from mptcplab.report.html_sweep import axes_of
from mptcplab.results import Results, open_results
from mptcplab.stats import Interval

TRANSFERS = """
title = "Short transfers"
repeats = 2
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", size = "2 MB" }
"""
SIZES = f"""{TRANSFERS}sweep."transport.protocol" = ["tcp", "mptcp"]
sweep."workloads.bulk.size" = [%s]
"""


def _results(tmp_path: Path, *sizes: str) -> Results:
    make_results(tmp_path / "made", SIZES % ", ".join(f'"{size}"' for size in sizes))
    return open_results(tmp_path / "made")


def _axis_of(made: FigureSpec) -> tuple[str, list[float], list[tuple[str, Any]]]:
    """Return the label of the horizontal axis, where the points of the first line stand, and names with their boxes."""
    with made.sheet.open_drawing(made.draw) as drawing:
        drawing.draw_without_rendering()
        axes = drawing.axes[0]
        places = [float(x) for x in np.asarray(axes.lines[0].get_xdata())]
        names = [(label.get_text(), label.get_window_extent()) for label in axes.get_xticklabels() if label.get_text()]
        return axes.get_xlabel(), places, names


@pytest.mark.parametrize(
    ("values", "scale", "numbers"),
    [
        pytest.param(["10 kB", "20 kB", "2000 kB"], "log", (10e3, 20e3, 2e6), id="far apart"),
        pytest.param(["500 kB", "1 MB", "2 MB"], "linear", (500e3, 1e6, 2e6), id="mixed units"),
        pytest.param(["1 packet", "20 packets"], "linear", (1, 20), id="one packet and many"),
        pytest.param(["-70 dBm", "-50 dBm"], "linear", (-70, -50), id="a unit that the lab does not know"),
        pytest.param([*"0145", "7", "20"], "linear", (0, 1, 4, 5, 7, 20), id="apart, though names are not"),
        pytest.param([f"{n} ms" for n in range(1, 33)], "linear", tuple(range(1, 33)), id="many at equal distances"),
        pytest.param([str(2**n) for n in range(32)], "log", tuple(2**n for n in range(32)), id="many powers of two"),
        pytest.param(["1 kB", "1001 B", "50 MB"], "even", (0, 1, 2), id="on no scale apart"),
        pytest.param(["1 MB", "inf"], "linear", None, id="a size and no limit"),
        pytest.param(["1", "inf"], "linear", None, id="infinity has no place"),
        pytest.param(["64 KiB", "100 ms"], "linear", None, id="two quantities"),
        pytest.param(["4G", "5G"], "linear", None, id="names that begin with numbers"),
    ],
)
def test_values_are_numbers_of_one_quantity_or_names(
    values: list[str], scale: str, numbers: tuple[float, ...] | None
) -> None:
    axis = axis_of("links.link1.queue", "queue", values)
    assert (axis.scale, axis.numbers) == (scale, pytest.approx(numbers) if numbers else None)


@pytest.mark.slow
def test_lines_stand_at_their_values(tmp_path: Path) -> None:
    """Sizes of 10 kB, 20 kB and 2000 kB stood at equal distances, so that slopes meant nothing."""
    results = _results(tmp_path, "10 kB", "20 kB", "2000 kB")
    made = build_figure(results, FigureChoice())
    label, places, _ = _axis_of(made)
    assert (made.kind, label) == ("lines", "size (logarithmic)")
    assert places == pytest.approx([4, 4 + math.log10(2), 6 + math.log10(2)])
    (axis,) = [axis for axis in axes_of(results.rows) if axis.name == "size"]
    assert axis.places == pytest.approx(places), "the report has another axis"


@pytest.mark.slow
def test_values_with_mixed_units_get_lines(tmp_path: Path) -> None:
    """In other units, the same sweep had bars, and with --kind lines points that nothing joined."""
    made = build_figure(_results(tmp_path, "2 MB", "500 kB", "1 MB"), FigureChoice())
    label, places, names = _axis_of(made)
    assert (made.kind, label) == ("lines", "size")
    assert places == [500e3, 1e6, 2e6], "a line joins neighbours, whatever the order of the sweep"
    assert [name for name, _ in names] == ["500 kB", "1 MB", "2 MB"]


@pytest.mark.slow
def test_words_for_values_stand_at_the_values(tmp_path: Path) -> None:
    made = build_figure(_results(tmp_path, "10 kB", "20 kB", "2000 kB"), FigureChoice(labels=(("20 kB", "a page"),)))
    _, places, names = _axis_of(made)
    assert made.kind == "lines"
    assert places[1] == pytest.approx(4 + math.log10(2))
    assert names[1][0] == "a page"


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["linear", "log", None])
@pytest.mark.parametrize("width", ["8.5 cm", None])
def test_names_of_values_do_not_collide(tmp_path: Path, scale: Any, width: str | None) -> None:
    """On a linear axis, 10 kB and 20 kB are nearly at the same place of 2000 kB; the ends always have their names."""
    made = build_figure(_results(tmp_path, "10 kB", "20 kB", "2000 kB"), FigureChoice(x_scale=scale, width=width))
    label, places, names = _axis_of(made)
    assert (label, places[0]) == (("size", 10e3) if scale == "linear" else ("size (logarithmic)", pytest.approx(4)))
    assert [names[0][0], names[-1][0]] == ["10 kB", "2000 kB"]
    assert len(names) == (2 if scale == "linear" else 3)
    assert all(left.x1 < right.x0 for (_, left), (_, right) in pairwise(names)), names


def test_the_axis_of_the_metric_can_be_logarithmic(tmp_path: Path) -> None:
    made = build_figure(_results(tmp_path, "1 MB", "2 MB"), FigureChoice(y_scale="log"))
    with made.sheet.open_drawing(made.draw) as drawing:
        (axes,) = drawing.axes
        low, high = axes.get_ylim()
        assert (axes.get_yscale(), axes.get_ylabel()) == ("log", "goodput, Mbit/s (logarithmic)")
    # Of the made results, TCP has 45 Mbit/s and MPTCP 60.
    assert 20 < low < 45 < 60 < high < 100


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"kind": "lines", "x": "protocol", "x_scale": "log"}, "the values of protocol are not numbers"),
        ({"kind": "bars", "x_scale": "linear"}, "--x-scale changes nothing in a figure of kind bars"),
        ({"kind": "cdf", "metric": "goodput", "y_scale": "log"}, "--y-scale changes nothing in a figure of kind cdf"),
        ({"x_scale": "symlog"}, "there is no scale 'symlog'"),
        ({"y_scale": "log", "metric": "retransmitted"}, "a logarithmic axis has no place for a value of 0"),
        (
            {"kind": "cdf", "metric": "retransmitted", "x_scale": "log"},
            "a logarithmic axis has no place for a value of 0",
        ),
    ],
)
def test_scales_that_values_do_not_have(tmp_path: Path, choice: dict[str, Any], message: str) -> None:
    results = _results(tmp_path, "1 MB", "2 MB")
    with pytest.raises(InputError, match=message):
        build_figure(results, FigureChoice(**choice))


def test_zero_has_no_place_on_a_logarithmic_axis() -> None:
    series = FigureSeries("s", (Interval(1.0, 0.1, 3), Interval(2.0, 0.1, 3)))
    with pytest.raises(InputError, match="a logarithmic axis has no place for loss = 0 %"):
        check_scales(Figure("t", "loss", "y", ("1 %", "0 %"), (series,), x_scale="log"))


EIGHT = f"""{TRANSFERS}sweep."workloads.bulk.via" = ["link1", "link2"]
sweep."transport.scheduler" = ["default", "minrtt", "blest", "ecf"]
sweep."workloads.bulk.size" = ["50 kB", "500 kB", "5 MB"]
"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [None, "8.6 cm"], ids=["usual", "column"])
@pytest.mark.parametrize("scale", [None, "linear", "log"])
def test_points_of_many_lines_stay_inside_and_near_their_value(
    tmp_path: Path, width: str | None, scale: ChosenScale | None
) -> None:
    """Points at one value stand side by side: eight took more room than the values had in a column of a paper."""
    make_results(tmp_path / "made", EIGHT)
    choice = FigureChoice(kind="lines", x="size", width=width, x_scale=scale)
    made = build_figure(open_results(tmp_path / "made"), choice)
    with made.sheet.open_drawing(made.draw) as drawing:
        drawing.draw_without_rendering()
        axes = drawing.axes[0]
        box, ticks = axes.get_window_extent(), axes.transData.transform([(x, 0) for x in axes.get_xticks()])[:, 0]
        lines = [line for line in axes.lines if line.get_marker() not in ("None", "_", "|")]
        shown = np.array([line.get_transform().transform(line.get_xydata())[:, 0] for line in lines])
        assert shown.shape == (8, 3), "eight lines of three points"
        half = 2 * drawing.dpi / 72
        assert box.x0 <= shown.min() - half, "no point is cut at the left end"
        assert shown.max() + half <= box.x1, "nor at the right one"
        nearest = np.abs(shown[..., None] - ticks).argmin(axis=-1)
        assert (nearest == [0, 1, 2]).all(), f"a point stands at another value's tick: {nearest}"
        beside = np.abs(shown - ticks).max() * 72 / drawing.dpi
        # Half of 12 points, to either side; the margin is for rounding.
        assert beside <= 6.1, f"a point is {beside:.1f} points beside its value, which looks like another value"
    if scale is None:
        assert "logarithmic" in axes.get_xlabel(), (
            "on a linear axis two of the three values have no room for eight points"
        )
