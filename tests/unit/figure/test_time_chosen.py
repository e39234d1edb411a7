# SPDX-License-Identifier: MIT
"""What a figure over time shows where there is more than it can show: subflows, and intervals of rates."""

from __future__ import annotations

from mptcplab.figure.rates import coarsen, is_better_coarse, stack
from mptcplab.figure.time_chart import OverTime, RunColumn, side_by_side
from mptcplab.figure.timelines import MAX_LINES, TimelineCurve, WorkloadTimeline, _select_subflows
from mptcplab.metrics.subflows import SocketSample

SECOND = 10**9


def _subflow(first_s: int, last_s: int, bytes_per_s: int) -> list[SocketSample]:
    return [
        SocketSample("a", "b", time_ns=t * SECOND, bytes_acked=t * bytes_per_s, rtt_us=1)
        for t in range(first_s, last_s + 1)
    ]


def test_drawn_subflows_leave_no_hole_in_a_path() -> None:
    """Ten connections: first all on one path, then on the other, then on the first again, with most data at the end.

    A figure of the eight with most data showed no network at the beginning.
    """
    names, sent = [], []
    for number in range(1, 11):
        names += [f"fibre #{number}", f"5G #{number}", f"fibre #{number + 10}"]
        sent += [_subflow(0, 15, 1), _subflow(15, 45, 2), _subflow(45, 80, 100 + number)]
    chosen, samples = _select_subflows(names, sent)
    assert len(chosen) == len(set(chosen)) == MAX_LINES
    shown = {
        (name.partition(" #")[0], sample.time_ns // SECOND)
        for name, of_subflow in zip(chosen, samples, strict=True)
        for sample in of_subflow
    }
    assert {("fibre", t) for t in (*range(16), *range(45, 81))} <= shown
    assert {("5G", t) for t in range(15, 46)} <= shown
    assert _select_subflows(names[:3], sent[:3]) == (names[:3], sent[:3]), "few are all drawn, in their order"


def test_a_figure_says_that_subflows_are_left_out() -> None:
    lines = tuple(TimelineCurve(f"a #{number}", (0.0, 1.0), (1.0, 2.0)) for number in range(MAX_LINES))
    timeline = WorkloadTimeline("bulk", (0, 1), {"a": (1.0,)}, lines, (), (), 7, 2)
    said = f"RTT and window: {MAX_LINES} subflows are drawn; 7 more are left out"
    assert said in OverTime("t", (RunColumn("one", timeline),), ("rtt",)).key
    assert said not in OverTime("t", (RunColumn("one", timeline),), ("rate",)).key, "the rates are of all"


def _requests(goodput: TimelineCurve | None = None) -> WorkloadTimeline:
    """Answers of 20 ms, twice a second for 80 s."""
    edges = tuple(0.02 * number for number in range(4001))
    rates = tuple(2.0 if number % 25 == 0 else 0.0 for number in range(4000))
    return WorkloadTimeline("sessions", edges, {"a": rates}, (), (), (), 0, 4000, goodput=goodput)


def test_needles_become_means() -> None:
    timeline = _requests()
    assert is_better_coarse(timeline)
    longer = coarsen(timeline)
    rates, lengths = stack(longer)
    assert len(rates) <= 80
    before, short = stack(timeline)
    assert abs((rates * lengths).sum() - (before * short).sum()) < 1e-3, "as many bytes"
    assert rates.max() < 0.2, "2 Mbit/s for a twenty-fifth of the time"
    steady = WorkloadTimeline("bulk", timeline.edges, {"a": (2.0,) * 2000 + (0.0,) * 2000}, (), (), (), 0, 4000)
    assert not is_better_coarse(steady), "a transfer that ends early, or an outage"


def test_columns_side_by_side_have_the_same_intervals() -> None:
    """One of two had needles of 2 Mbit/s, and the other a goodput of 0.1."""
    steady = WorkloadTimeline("bulk", _requests().edges, {"a": (1.0,) * 4000}, (), (), (), 0, 4000)
    with_line = _requests(TimelineCurve("goodput", (0.0, 80.0), (0.08, 0.08)))
    columns = side_by_side([RunColumn("plain", steady), RunColumn("line", with_line)])
    assert len({len(column.timeline.edges) for column in columns}) == 1
    assert len(columns[0].timeline.edges) <= 81
    assert side_by_side([RunColumn("plain", steady)])[0].timeline is steady
