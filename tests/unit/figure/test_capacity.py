# SPDX-License-Identifier: MIT
"""The line of what the paths could carry, beside what arrived: where it is known, and how the rates stay legible."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.manifests import manifest as hosts_manifest
from tests.unit.manifests import recording_with
from tests.unit.results_folders import make_results

from mptcplab.figure.canvas import open_pyplot
from mptcplab.figure.over_time import draw_over_time
from mptcplab.figure.rates import shown_capacity
from mptcplab.figure.time_chart import OverTime, RunColumn
from mptcplab.figure.timelines import TimelineCurve, WorkloadTimeline, timelines
from mptcplab.metrics.capacity import _usable_paths, joint_capacity
from mptcplab.metrics.manifest import read_nodes
from mptcplab.plan.compile import compile_plan
from mptcplab.recording import samples
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import RecordedWorkload

SCENARIO = """
title = "Capacity"
topology = {{ preset = "disjoint-paths", paths = 2 }}
{links}
workloads.bulk = {{ kind = "flow", from = "client", to = "server", duration = "2 s" }}
transport.protocol = "{protocol}"
events = [{events}]
"""
LINKS = """
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms" }
"""
SLOWER = '{ at = "500 ms", type = "change", link = "link1", rate = "10 Mbit/s", delay = "20 ms" },'
TUNNEL = """
{ at = "1 s", type = "down", link = "access2", direction = "backward" },
{ at = "1500 ms", type = "up", link = "access2" },
"""
#: Payload of a full frame.
SHARE = 1448 / 1514


def _capacity(folder: Path, *, protocol: str = "mptcp", links: str = LINKS, events: str) -> TimelineCurve | None:
    """Return the line of one run, whose recording has the events of its plan."""
    text = SCENARIO.format(protocol=protocol, links=links, events=events)
    experiment = make_results(folder / "made", text)
    (run,) = (folder / "made" / "runs").iterdir()
    keys = ("kind", "link", "direction", "value")
    plan = compile_plan(experiment.points[0].scenario, seed=1)
    rows = [{"instant_ns": event.at_ns, **{key: getattr(event, key) for key in keys}} for event in plan.events]
    if rows:
        samples.write(rows, run / "events.parquet")
    (timeline,) = timelines(Recording(run), max_values=1000)
    return timeline.capacity


def _values(line: TimelineCurve | None) -> list[tuple[float, float]]:
    assert line is not None
    return [(time, round((value or 0) / SHARE, 2)) for time, value in zip(line.times, line.values, strict=True)]


def test_mptcp_has_the_capacity_of_all_paths_and_tcp_of_its_own(tmp_path: Path) -> None:
    both = _capacity(tmp_path / "both", events=SLOWER + TUNNEL)
    # Without acknowledgements a path carries nothing: it is down in one direction only.
    assert _values(both) == [(0, 70), (0.5, 30), (1, 10), (1.5, 30)]
    capacity = _capacity(tmp_path / "own", protocol="tcp", events=SLOWER + TUNNEL)
    assert _values(capacity) == [(0, 50), (0.5, 10)], "the other path is down, and TCP does not use it"


@pytest.mark.parametrize(
    ("transport", "usable"),
    [
        ({"endpoints": "auto", "modes": {}}, ["one", "two"]),
        ({"endpoints": "auto", "modes": {"access2": "backup"}}, ["one", "two"]),
        ({"endpoints": "auto", "modes": {"access2": "off"}}, ["one"]),
        ({"endpoints": [{"link": "access2", "flags": ["subflow"]}], "modes": {}}, ["one", "two"]),
        ({"endpoints": [{"link": "access1", "flags": ["subflow"]}], "modes": {}}, ["one"]),
        ({"endpoints": "none", "modes": {}}, ["one"]),
        ({"endpoints": "auto", "modes": {}, "limits": {"subflows": 0}}, ["one"]),
    ],
)
def test_paths_that_mptcp_may_use(transport: dict[str, Any], usable: list[str]) -> None:
    """The connection begins on the first path."""
    described = hosts_manifest({"bulk": {"kind": "flow"}}, addresses={}, programs=[])
    ends = RecordedWorkload.from_json(described["workloads"][0]).ends
    bystander = {"endpoints": "auto", "modes": {}, "limits": {"subflows": 0}}
    described["nodes"] = [
        {"name": "client", "transport": transport}, {"name": "server"}, {"name": "other", "transport": bystander},
    ]  # fmt: skip
    known = {
        name: [(link, "forward"), ("link", "forward")] for name, link in {"one": "access1", "two": "access2"}.items()
    }
    assert _usable_paths(read_nodes(recording_with(described)), ends, known, ["one"]) == usable


def test_the_capacity_follows_a_trace_step_by_step(tmp_path: Path) -> None:
    links = LINKS.replace('rate = "50 Mbit/s"', f'forward.trace = "{tmp_path}/ride.csv"')
    (tmp_path / "ride.csv").write_text("time_s,rate_mbit_s\n0,30\n0.4,0\n0.6,15.5\n3,20\n")
    line = _capacity(tmp_path, links=links, events="")
    assert _values(line) == [(0, 50), (0.4, 20), (0.6, 35.5)], "the last step is after the end"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("links", "events"),
    [
        (LINKS, ""),
        (LINKS, TUNNEL),
        (LINKS, '{ at = "500 ms", type = "change", link = "link1", delay = "20 ms" }'),
        (LINKS, '{ at = "1 s", type = "change", link = "link1", direction = "backward", rate = "9 Mbit/s" }'),
        (LINKS.replace('rate = "20 Mbit/s", ', ""), SLOWER),
    ],
    ids=["nothing", "only a failure, which has marks", "a delay", "the other direction", "a path without a rate"],
)
def test_no_line_without_a_known_rate_that_changes(tmp_path: Path, links: str, events: str) -> None:
    assert _capacity(tmp_path, links=links, events=events) is None


def test_a_shared_bottleneck_counts_once() -> None:
    rates = {
        (name, "forward"): np.array(values)
        for name, values in {"a": [3.0, 3.0], "b": [4.0, 0.0], "c": [9.0, 9.0], "d": [5.0, 2.0]}.items()
    }

    def capacity_of(*paths: str) -> list[float] | None:
        capacity = joint_capacity([frozenset((name, "forward") for name in path) for path in paths], rates)
        return None if capacity is None else list(capacity)

    assert capacity_of("a") == [3, 3]
    assert capacity_of("ad") == [3, 2], "the bottleneck of a path changes"
    assert capacity_of("a", "b") == [7, 3]
    assert capacity_of("ad", "bd") == [5, 2], "limited by what they share"
    assert capacity_of("ac", "bc") == [7, 3], "limited by their own links"
    assert capacity_of("c", "c") == [9, 9]
    assert capacity_of("a", "bd", "cd") == [8, 5]
    assert capacity_of("ac", "c") == [9, 9], "one of them is limited by the shared link only"
    assert capacity_of("ac", "ad", "bc", "bd") is None, "crosswise: that would need an optimum"


EDGES = tuple(round(0.5 * number, 1) for number in range(21))


def _timeline(values: tuple[float, ...], times: tuple[float, ...], **others: Any) -> WorkloadTimeline:
    line = TimelineCurve("capacity", times, values)
    return WorkloadTimeline("bulk", EDGES, {"a": (10.0,) * 20}, (), (), (), 0, 20, capacity=line, **others)


def _draw(figure: OverTime) -> tuple[list[str], dict[str, list[tuple[float, float]]], float]:
    """Return the legend, the lines by their markers or labels, and where the axis ends."""
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=figure.size, layout="constrained")
        draw_over_time(figure, drawing)
        (axes,) = drawing.axes
        entries = [text.get_text() for text in axes.get_legend().get_texts()]
        lines = {
            f"{line.get_label()}".removeprefix("_child") if line.get_marker() == "None" else str(line.get_marker()): [
                (float(x), float(y)) for x, y in zip(*line.get_data(), strict=True)
            ]
            for line in axes.lines
            if len(line.get_xdata())
        }
        top = axes.get_ylim()[1]
        plt.close(drawing)
    return entries, lines, top


def test_the_line_has_an_entry_and_a_note() -> None:
    goodput = TimelineCurve("goodput", (0.0, 10.0), (8.0, 8.0))
    timeline = _timeline((20.0, 0.0, 12.0), (0.0, 4.0, 6.0), goodput=goodput, twice_percent=25.0)
    figure = OverTime("t", (RunColumn("one", timeline),))
    entries, lines, top = _draw(figure)
    assert entries == ["capacity", "goodput", "a"], "in the order of their heights"
    assert lines["capacity"] == [(0, 20), (4, 0), (6, 12), (10, 12)]
    assert 20 < top < 22, "twice the rates: all is shown"
    assert figure.key == [
        "25 % of the data arrived on two subflows and is stacked twice; the black line is the goodput",
        "capacity: the payload that the paths could carry",
    ]


def test_what_is_far_above_the_rates_is_cut_off() -> None:
    """100 Mbit/s would leave the 10 that arrived a tenth of the height."""
    figure = OverTime("t", (RunColumn("one", _timeline((100.0, 12.0, 100.0), (0.0, 4.0, 6.0))),))
    _, lines, top = _draw(figure)
    assert top == pytest.approx(1.05 * 12)
    assert lines["^"] == [(2, 0.97), (8, 0.97)], "one triangle for each time beyond the axis"
    assert figure.key == ["capacity: the payload that the paths could carry; △: beyond the axis, up to 100 Mbit/s"]
    always = OverTime("t", (RunColumn("one", _timeline((100.0, 90.0), (0.0, 4.0))),))
    assert _draw(always)[2] == pytest.approx(1.05 * 10), "the rates have all of the height"


def test_more_steps_than_intervals_are_averaged() -> None:
    times = tuple(round(0.1 * number, 1) for number in range(100))
    timeline = _timeline(tuple(float(number % 5) for number in range(100)), times)
    line = shown_capacity(timeline)
    assert line is not None
    assert line.times == EDGES[:-1]
    assert set(line.values) == {2.0}, "the mean of 0 to 4"
    few = _timeline((20.0, 12.0), (0.0, 4.0))
    assert shown_capacity(few) is few.capacity


def test_the_report_has_the_line_to_the_end_of_its_figure() -> None:
    def rates(timeline: WorkloadTimeline) -> dict[str, Any]:
        panel: dict[str, Any] = OverTime("", (RunColumn("", timeline),)).to_json()["panels"]["rate"]
        return panel

    near = rates(_timeline((10.0, 20.0), (0.0, 1.0)))
    (capacity,) = (curve for curve in near["curves"] if curve["role"] == "capacity")
    assert capacity["v"] == (10.0, 20.0, 20.0)
    assert capacity["t"][-1] == near["t"][-1]
    assert "end" not in near, "the line is near the rates"
    assert rates(_timeline((10.0, 900.0), (0.0, 1.0)))["end"] < 900, "the rates have to be seen"
    without = rates(replace(_timeline((10.0,), (0.0,)), capacity=None))
    assert {curve["role"] for curve in without["curves"]} == {"area"}
