# SPDX-License-Identifier: MIT
"""The panel of delays over time: when a call or stream became bad."""

from __future__ import annotations

import json
import math
from dataclasses import astuple
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.manifests import workload

from mptcplab.figure.canvas import open_pyplot
from mptcplab.figure.delays import delays_of
from mptcplab.figure.over_time import draw_over_time
from mptcplab.figure.time_chart import OverTime, RunColumn
from mptcplab.figure.timelines import TimelineCurve, WorkloadTimeline
from mptcplab.workload.outputs import TimedMessages

#: A call of a minute: good for 20 s, then ever later; a second from 40 s on is lost.
DUE = tuple(0.02 * number for number in range(3000) if not 2000 <= number < 2050)
LOST = tuple(0.02 * number for number in range(2000, 2050))
FADED = TimedMessages(DUE, tuple(30.0 if due < 20 else 30.0 + 100 * (due - 20) for due in DUE), LOST, 130.0)
GOOD = TimedMessages(tuple(0.02 * number for number in range(3000)), (30.0,) * 3000, (), 130.0)
CALLS = {"faded": FADED, "good": GOOD}


def _column(title: str, messages: TimedMessages) -> RunColumn:
    rtt = (TimelineCurve("p", (0.0, 60.0), (1.0, 2.0)),)
    edges = (0.0, 30.0, 60.0)
    return RunColumn(
        title,
        WorkloadTimeline("call", edges, {"p": (0.1, 0.1)}, rtt, (), (), 0, 3, delays=delays_of(*astuple(messages)[:4])),
    )


def _draw(figure: OverTime) -> dict[str, Any]:
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=figure.size, layout="constrained")
        draw_over_time(figure, drawing)
        drawing.canvas.draw()
        axes = drawing.axes[len(figure.columns)]
        ticks = [text for text in axes.get_yticklabels() if text.get_text()]
        low, high = axes.get_ylim()
        heights = [text.get_window_extent() for text in ticks if low <= text.get_position()[1] <= high]
        drawings = {
            "lines": {line.get_label(): line for line in axes.lines},
            "scale": axes.get_yscale(),
            "label": axes.get_ylabel(),
            "range": (low, high),
            "ticks": heights,
            "legend": [text.get_text() for text in drawing.axes[2 * len(figure.columns) - 1].get_legend().get_texts()],
        }
        plt.close(drawing)
    return drawings


def test_a_page_has_the_delays_and_the_ends_of_their_axis() -> None:
    panels = {
        name: OverTime("t", (_column("", messages),)).to_json()["panels"]["delay"] for name, messages in CALLS.items()
    }
    faded, good = panels["faded"], panels["good"]
    assert [curve["role"] for curve in faded["curves"]] == ["high", "median", "limit", "late"]
    assert [curve["role"] for curve in good["curves"]] == ["high", "median", "limit"]
    json.dumps(faded, allow_nan=False)
    low, high = faded["log"]
    assert low < 30 < 4000 < high, "from the usual delay to the largest, with room for marks"
    assert "log" not in good, "30 ms, and a limit of 130 ms"


def test_one_sees_when_a_call_became_bad() -> None:
    delays = delays_of(*astuple(FADED)[:4])
    assert delays is not None
    assert len(delays.edges) == 121
    assert (delays.edges[0], delays.edges[-1]) == pytest.approx((0, 59.98))
    # 130 ms are exceeded 1 s after the fading began; an interval has 0.5 s.
    assert delays.bad[0] == pytest.approx(21.2, abs=0.5)
    assert [b - a for a, b in pairwise(delays.bad)] == pytest.approx([0.5] * (len(delays.bad) - 1), abs=0.01)
    nothing = [edge for edge, value in zip(delays.edges, delays.median, strict=False) if math.isnan(value)]
    assert nothing == pytest.approx([40, 40.5], abs=0.1), "where all was lost there is no delay"
    assert delays.median[0] == delays.high[0] == 30
    assert delays.high[-1] > delays.median[-1] > 3000
    good = delays_of(*astuple(GOOD)[:4])
    assert good is not None
    assert (good.bad, set(good.median)) == ((), {30})
    assert delays_of((), (), (), 130.0) is None


@pytest.mark.slow
def test_the_panel_is_legible_and_says_what_it_shows() -> None:
    figure = OverTime("t", (_column("fades", FADED), _column("good", GOOD)))
    assert figure.shown == ("rate", "delay", "rtt")
    assert figure.key == [
        "delay: of the messages that were due in each 0.5 s; marks: some were beyond the limit, or lost"
    ]
    drawing = _draw(figure)
    assert (drawing["scale"], drawing["label"]) == ("log", "delay, ms (log.)")
    assert drawing["legend"] == ["95th percentile", "late or lost", "limit", "median"]
    low, high = drawing["range"]
    assert low < 30
    # The marks lie above the highest delay, 4028 ms, where they hide no line.
    assert math.log(4028 / low) / math.log(high / low) < 0.94
    assert len(drawing["ticks"]) >= 2
    for tick, other in pairwise(sorted(drawing["ticks"], key=lambda box: box.y0)):
        assert tick.y1 <= other.y0 + 1, "numbers of the axis overlap"
    assert {drawing["lines"][name].get_color() for name in ("median", "95th percentile")} == {"black"}, (
        "paths have colours"
    )


@pytest.mark.slow
def test_delays_that_differ_little_begin_at_zero() -> None:
    figure = OverTime("t", (_column("good", GOOD),))
    assert figure.key == ["delay: of the messages that were due in each 0.5 s"]
    drawing = _draw(figure)
    assert (drawing["scale"], drawing["label"]) == ("linear", "delay, ms")
    assert drawing["range"] == (0, pytest.approx(1.15 * 130))
    assert "late or lost" not in drawing["legend"]


def test_a_call_over_udp_has_the_time_of_its_messages() -> None:
    """It has no subflows, and so no other curves."""
    figure = OverTime(
        "t",
        (
            RunColumn(
                "udp", WorkloadTimeline("call", (3.0,), {}, (), (), (), 0, 0, delays=delays_of(*astuple(GOOD)[:4]))
            ),
        ),
    )
    assert figure.shown == ("delay",)
    assert figure.span == pytest.approx((0, 59.98))
    assert OverTime("t", figure.columns, panels=("rate", "rtt")).shown == ()


@pytest.mark.parametrize(
    ("described", "latest"),
    [
        ({"kind": "voip", "interval": "20 ms", "playout": "100 ms", "reverse": True}, 131.0),
        ({"kind": "stream", "interval": "20 ms", "deadline": "150 ms", "packet": "1.2 kB", "reverse": True}, 150.0),
        ({"kind": "flow"}, None),
    ],
)
def test_messages_have_the_instants_at_which_they_were_due(described: dict[str, Any], latest: float | None) -> None:
    outputs = {
        "hear.server": {"event": "end", "conn": 0, "t_ns": 0, "bytes": 0, "first_ns": 10_500_000_000, "messages": 4},
        "hear.client": {"event": "packets", "seq": [0, 2, 1], "delay_ns": [31_000_000, 32_000_000, 60_000_000]},
    }
    recording: Any = SimpleNamespace(
        output=lambda program: json.dumps(outputs[program], separators=(",", ":")), manifest={"zero_ns": 10**10}
    )
    messages = workload(described).timed_messages(recording, "hear")
    if latest is None:
        assert messages is None
        return
    assert messages is not None
    assert messages.due_s == pytest.approx((0.5, 0.54, 0.52))
    assert messages.lost_s == pytest.approx((0.56,))
    assert (messages.delay_ms, messages.latest_ms) == ((31, 32, 60), latest)
    assert (messages.interval_s, messages.size) == (0.02, {"voip": 172, "stream": 1200}[described["kind"]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("highest", "scale", "label"), [(6000.0, "log", "RTT, ms (log.)"), (900.0, "linear", "RTT, ms")]
)
def test_a_sample_of_seconds_leaves_the_usual_round_trips_legible(highest: float, scale: str, label: str) -> None:
    """After a failure TCP waits for its timer. Twenty times the median still leaves 5 % of a linear axis below it."""
    times = tuple(float(number) for number in range(61))
    rtt = (TimelineCurve("p", times, (*(100.0 + number for number in range(30)), highest, *[100.0] * 30)),)
    timeline = WorkloadTimeline("bulk", (0.0, 30.0, 60.0), {"p": (0.1, 0.1)}, rtt, (), (), 0, 3)
    drawing = _draw(OverTime("t", (RunColumn("", timeline),)))
    assert (drawing["scale"], drawing["label"]) == (scale, label)
    assert (drawing["range"][0] == 0) == (scale == "linear"), drawing["range"]
    assert drawing["range"][1] > highest, drawing["range"]
