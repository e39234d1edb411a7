# SPDX-License-Identifier: MIT
"""Figures over time can be read: peaks, gaps, colours and what arrived twice."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from mptcplab.figure.canvas import open_pyplot
from mptcplab.figure.over_time import draw_over_time
from mptcplab.figure.time_chart import OverTime, RunColumn
from mptcplab.figure.timelines import TimelineCurve, WorkloadTimeline, _goodput, _rtt, _sort_subflows, _unique_names
from mptcplab.metrics.catalog.paths import Reassembly
from mptcplab.metrics.subflows import SocketSample


def _column(title: str, names: tuple[str, ...], end: float, events: tuple[tuple[float, str], ...]) -> RunColumn:
    lines = tuple(TimelineCurve(name, (0.0, end), (1.0, 2.0)) for name in names)
    return RunColumn(title, WorkloadTimeline("bulk", (), {}, lines, (), (), 0, 2), events)


def test_data_that_arrived_twice_is_not_goodput() -> None:
    """Of two copies on two subflows, the application gets one: the stack is 20 Mbit/s, and the goodput 10."""
    times = np.array([0.0, 1.0, 2.0, 3.0])
    copies = Reassembly(times, 2.5e6 * times, 1.25e6 * times)
    line, percent = _goodput([copies], 1e9 * times)
    assert (line, percent) == (TimelineCurve("goodput", (0, 1, 2, 3), (10, 10, 10, 10)), 100)
    assert _goodput([Reassembly(times, 1.005e6 * times, 1e6 * times)], 1e9 * times) == (None, 0)
    assert _goodput([], 1e9 * times) == (None, 0)
    received: dict[str, tuple[float, ...]] = {"a": (10.0,) * 3, "b": (10.0,) * 3}
    timeline = WorkloadTimeline("bulk", (0, 1, 2, 3), received, (), (), (), 0, 3, goodput=line, twice_percent=percent)
    figure = OverTime("t", (RunColumn("redundant", timeline),))
    assert figure.key == ["100 % of the data arrived on two subflows and is stacked twice; the line is the goodput"]
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=figure.size, layout="constrained")
        draw_over_time(figure, drawing)
        (axes,) = drawing.axes
        (drawn_line,) = axes.lines
        heights = set(drawn_line.get_ydata())
        entries = [text.get_text() for text in axes.get_legend().get_texts()]
        label = axes.get_ylabel()
        plt.close(drawing)
    assert (label, heights, entries) == ("received, Mbit/s", {10}, ["goodput", "b", "a"])


def test_a_peak_leaves_the_curve_its_height() -> None:
    """One interval of 10 ms in which a gap was filled: 1000 Mbit/s would leave the usual 10 one part in a hundred."""
    edges = tuple(round(0.01 * number, 2) for number in range(1001))
    rates = tuple(1000.0 if number == 500 else 10.0 for number in range(1000))
    figure = OverTime("t", (RunColumn("a", WorkloadTimeline("bulk", edges, {"p": rates}, (), (), (), 0, 1000)),))
    assert figure.highest_rate == pytest.approx(11.5)
    assert figure.key == ["▲: beyond the axis for a moment, up to 1000 Mbit/s: after a loss, much is in order at once"]
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=figure.size, layout="constrained")
        draw_over_time(figure, drawing)
        (axes,) = drawing.axes
        (triangles,) = axes.lines
        places, top = list(triangles.get_xdata()), axes.get_ylim()[1]
        plt.close(drawing)
    assert (places, top) == ([5.0], pytest.approx(11.5))
    line = TimelineCurve("goodput", (0.0, 4.0, 8.0, 10.0), (10.0, 14.0, 10.0, 10.0))
    waited = WorkloadTimeline("bulk", edges, {"p": rates}, (), (), (), 0, 1000, goodput=line, twice_percent=15.0)
    assert OverTime("t", (RunColumn("a", waited),)).highest_rate == pytest.approx(14.7), "the goodput is drawn whole"
    smooth = WorkloadTimeline("bulk", edges, {"p": (10.0,) * 1000}, (), (), (), 0, 1000)
    assert OverTime("t", (RunColumn("a", smooth),)).highest_rate is None


def test_a_figure_has_the_time_in_which_its_workload_ran() -> None:
    """An upload from 20 s to 30 s left two thirds of each row empty."""
    late = WorkloadTimeline(
        "upload", (20.0, 25.0, 30.0), {"p": (1.0, 2.0)}, (TimelineCurve("p", (0.0, 60.0), (1.0, 2.0)),), (), (), 0, 3
    )
    figure = OverTime("t", (RunColumn("a", late, ((5.0, "down"), (22.0, "up"))),))
    assert figure.key == ["a: up"], "what nobody sees has no letter"
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=figure.size, layout="constrained")
        draw_over_time(figure, drawing)
        ranges = {axes.get_xlim() for axes in drawing.axes}
        plt.close(drawing)
    assert ranges == {(19.9, 30.1)}


def test_the_rtt_of_a_dead_subflow_is_a_gap() -> None:
    """The kernel's value stays as it was when nothing is acknowledged: nothing was measured then."""
    line = _rtt("p", _stalled_samples(300), 1500)
    assert line.values.count(None) == 1
    at = line.values.index(None)
    assert (line.times[at - 1], line.times[at + 1]) == (0.99, 4.0)
    assert None not in _rtt("p", _stalled_samples(50), 1500).values, "half a second without an acknowledgement is none"


def _stalled_samples(samples: int) -> list[SocketSample]:
    """The samples of a subflow, 10 ms apart, on which nothing is acknowledged during ``samples`` of them."""
    acked = [*range(1, 101), *[100] * samples, *range(101, 201)]
    return [
        SocketSample("a", "b", time_ns=10**7 * at, rtt_us=20_000, bytes_acked=bytes_) for at, bytes_ in enumerate(acked)
    ]


def test_columns_over_time_agree() -> None:
    """The same subflow has one name, all columns have one range, and letters come in the order of reading."""
    figure = OverTime(
        "t",
        (
            _column("a", ("p",), 9.0, ((5.0, "down"), (7.0, "up"))),
            _column("b", ("p #1", "p #2"), 10.0, ((4.0, "lost"), (7.0, "up"))),
        ),
    )
    assert figure.key == ["a: down; b: up; c: lost"]
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=figure.size, layout="constrained")
        draw_over_time(figure, drawing)
        ranges = [axes.get_xlim() for axes in drawing.axes]
        lines = {
            line.get_label(): (line.get_color(), line.get_linestyle()) for axes in drawing.axes for line in axes.lines
        }
        plt.close(drawing)
    assert ranges[0] == ranges[1]
    assert {"p #1", "p #2"} <= lines.keys()
    assert "p" not in lines
    assert lines["p #1"] != lines["p #2"]


def test_a_queue_has_the_colour_of_its_path() -> None:
    """The queue of link2 had the colour of the path over link1, where link1 had a queue in each direction."""
    times, values = (0.0, 1.0), (1.0, 2.0)
    queues = ("link1 backward", "link1 forward", "link2 backward", "shared forward")
    timeline = WorkloadTimeline(
        "bulk",
        (0.0, 0.5, 1.0),
        {"shared>link1": (1.0, 1.0), "shared>link2": (2.0, 2.0)},
        # The second path has no RTT here, and yet it has the same colour as in the other panels.
        (TimelineCurve("shared>link2", times, values),),
        (),
        tuple(TimelineCurve(name, times, values) for name in queues),
        0,
        2,
    )
    figure = OverTime("t", (RunColumn("a", timeline),))
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=figure.size, layout="constrained")
        draw_over_time(figure, drawing)
        rate, rtt, queue = drawing.axes
        filled = {
            collection.get_label(): to_hex(collection.get_facecolor()[0]).upper() for collection in rate.collections
        }
        lines = {line.get_label(): (line.get_color(), line.get_linestyle()) for line in (*rtt.lines, *queue.lines)}
        plt.close(drawing)
    first, second = filled["shared>link1"], filled["shared>link2"]
    assert lines["shared>link2"][0] == second
    assert [lines[name][0] for name in queues[:3]] == [first, first, second]
    assert lines["link1 backward"] != lines["link1 forward"]
    assert lines["shared forward"][0] not in (first, second), "it is part of both paths"


def test_subflows_are_in_the_order_of_their_numbers() -> None:
    """Of twelve subflows, #1, #10, #11 and #12 came first, and those after #5 were left out."""
    names = _unique_names(["link1"] * 12)
    in_order = [name for name, _ in _sort_subflows(names, [[]] * 12)]
    assert in_order == [f"link1 #{number}" for number in range(1, 13)]
    figure = OverTime("t", (_column("a", tuple(sorted(names)), 1.0, ()),))
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=figure.size, layout="constrained")
        draw_over_time(figure, drawing)
        entries = [text.get_text() for text in drawing.axes[0].get_legend().get_texts()]
        plt.close(drawing)
    assert entries == in_order
