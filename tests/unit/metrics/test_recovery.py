# SPDX-License-Identifier: MIT
"""Gaps and recovery times, from curves whose answers are known by construction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.manifests import manifest

from mptcplab.metrics.catalog.recovery import compute_recovery_metrics, find_recoveries, workload_recoveries
from mptcplab.metrics.delivery import Delivery, compute_earlier_rate, compute_gap_s, compute_recovery_s, read_delivery
from mptcplab.metrics.instants import Instant
from mptcplab.metrics.subflows import ends_of
from mptcplab.recording import samples
from mptcplab.recording.record import Recording

_NS = 10**9


def _curve(pieces: Sequence[tuple[float, float]], *, step_s: float = 0.1) -> Delivery:
    """``pieces``: how long, and how many bytes per second."""
    times, total = [0.0], [0.0]
    for seconds, speed in pieces:
        for _ in range(round(seconds / step_s)):
            times.append(times[-1] + step_s)
            total.append(total[-1] + speed * step_s)
    return Delivery(np.array(times), np.array(total))


#: 10 s at 1000 B/s, nothing for 4 s, 3 s at 500 B/s, then 950 B/s.
CUT = _curve([(10, 1000), (4, 0), (3, 500), (5, 950)])


def test_the_rate_before_is_the_mean_of_5_seconds() -> None:
    assert compute_earlier_rate(CUT, 10) == pytest.approx(8000)
    assert compute_earlier_rate(CUT, 12) == pytest.approx(8000 * 3 / 5)
    assert compute_earlier_rate(CUT, 2) == pytest.approx(8000), "since the beginning, if that is less than 5 s ago"
    assert compute_earlier_rate(CUT, 0) is None


def test_a_rate_is_back_with_the_first_window_of_90_percent() -> None:
    """950 B/s begin at 17 s: the window from 16.9 s on has 905 B, that from 16.8 s on 860 B; 900 B count."""
    assert compute_recovery_s(CUT, 10, 7200, CUT.end_s) == pytest.approx(6.9, abs=1e-6)
    assert compute_recovery_s(CUT, 10, 7200, 16) is None, "not before the next instant"
    assert compute_recovery_s(CUT, 2, 7200, 10) == 0, "it never fell"
    assert compute_recovery_s(CUT, 10, 8000, CUT.end_s) is None, "950 B/s are not enough"


def test_a_gap_is_the_longest_pause_around_the_instant() -> None:
    assert compute_gap_s(CUT, 10, CUT.end_s) == pytest.approx(4.1), (
        "from the last growth at 10.0 s to the first at 14.1 s"
    )
    assert compute_gap_s(CUT, 12, 13) == pytest.approx(4.1), "the same pause, however much of it the stretch has"
    assert compute_gap_s(CUT, 2, 9) == pytest.approx(0.1), "samples that follow each other"
    described = Delivery(CUT.times, CUT.total, np.array([[1.0, 1.2], [10.01, 14.03]]))
    assert compute_gap_s(described, 10, CUT.end_s) == pytest.approx(4.02), "the receiver's own pauses come first"
    assert compute_gap_s(described, 15, 20) is None, "no pause around this time is known: that is not one of 0 s"


def test_restorations_count_against_the_rate_before_their_failure() -> None:
    instants = find_recoveries(
        CUT, [Instant(14, False, "link1"), Instant(10, True, "link1"), Instant(13, False, "link9")]
    )
    assert [recovery.at.time_s for recovery in instants] == [10, 14], (
        "what was restored without a failure has nothing to return to"
    )
    assert [recovery.level_bps for recovery in instants] == pytest.approx([7200, 7200])
    assert instants[0].recovery_s is None, "not back before the restoration"
    assert instants[1].recovery_s == pytest.approx(2.9, abs=1e-6)
    figures = compute_recovery_metrics(instants)
    assert figures["gap_s"] == pytest.approx(4.1)
    assert figures["recovery_after_failure_s"] == float("inf"), "never within the time that it had"
    assert figures["recovery_after_restoration_s"] == pytest.approx(2.9, abs=1e-6)


def test_links_that_fail_and_return_together_do_not_end_each_others_time() -> None:
    alone = [Instant(10, True, "link1"), Instant(14, False, "link1")]
    beside = [Instant(10, True, "link2"), Instant(14, False, "link2")]
    together = find_recoveries(CUT, [*alone, *beside])
    assert [(recovery.at.time_s, recovery.recovery_s, recovery.gap_s) for recovery in together] == [
        (recovery.at.time_s, recovery.recovery_s, recovery.gap_s)
        for recovery in find_recoveries(CUT, alone)
        for _ in beside
    ]
    assert compute_recovery_metrics(together) == compute_recovery_metrics(find_recoveries(CUT, alone))


def test_a_time_shorter_than_a_window_shows_no_recovery() -> None:
    """It is unknown whether the rate would have been back: that is not the same as never."""
    instants = find_recoveries(CUT, [Instant(10, True), Instant(10.9, False)])
    assert [recovery.can_observe_recovery for recovery in instants] == [False, True]
    assert "recovery_after_failure_s" not in compute_recovery_metrics(instants)


def test_instants_outside_of_the_transfer_say_nothing() -> None:
    assert find_recoveries(CUT, [Instant(0, True), Instant(30, True)]) == []
    assert compute_recovery_metrics([]) == {}


@given(
    st.lists(st.tuples(st.integers(1, 30), st.sampled_from([0.0, 500.0, 1000.0])), min_size=2, max_size=8),
    st.floats(0.05, 0.95),
    st.floats(0.1, 1.0),
)
def test_recovery_and_gap_keep_their_bounds(pieces: list[tuple[int, float]], part: float, share: float) -> None:
    curve = _curve([(2, 1000), *((tenths / 10, speed) for tenths, speed in pieces)])
    instant = part * curve.end_s
    level = share * 8000
    duration_s = compute_recovery_s(curve, instant, level, curve.end_s)
    if duration_s is not None:
        assert 0 <= duration_s <= curve.end_s - instant
        assert curve.rate(instant + duration_s, instant + duration_s + 1) >= level * (1 - 1e-9)
        lower = compute_recovery_s(curve, instant, level / 2, curve.end_s)
        assert lower is not None
        assert lower <= duration_s, "half the rate is never back later"
    gap = compute_gap_s(curve, instant, curve.end_s)
    assert gap is None or 0 < gap <= curve.end_s


def _make_recording(folder: Path, workload: str = "flow", **events: Any) -> Recording:
    """Two connections of 1000 B/s each, sampled every 500 ms for 10 s; no data from 4 to 6 s."""
    rows: list[samples.Row] = []
    for step in range(21):
        at = step / 2
        total = round(1000 * (min(at, 4) + max(0.0, at - 6)))
        for conn in (0, 1):
            row: dict[str, Any] = {"time_ns": step * _NS // 2, "node": "server"}
            if workload == "flow":
                rows.append({**row, "program": "bulk.server", "conn": conn, "total": total})
            else:
                rows.append(
                    {**row, "local": "10.0.2.2:5001", "remote": f"10.0.1.1:4000{conn}", "bytes_received": total}
                )
    samples.write(rows, folder / ("connections.parquet" if workload == "flow" else "subflows.parquet"))
    (folder / "out").mkdir()
    sender = [{"event": "end", "conn": conn, "t_ns": 10 * _NS, "bytes": 0, "last_ns": 10 * _NS} for conn in (0, 1)]
    (folder / "out" / "bulk.client.out").write_text("".join(json.dumps(event) + "\n" for event in sender))
    (folder / "manifest.json").write_text(json.dumps(manifest({"bulk": {"kind": workload}}, zero_ns=0)))
    if events:
        pl.DataFrame(events).write_parquet(folder / "events.parquet")
    return Recording(folder)


@pytest.mark.parametrize("kind", ["flow", "iperf3"])
def test_delivery_of_a_recording(tmp_path: Path, kind: str) -> None:
    recording = _make_recording(tmp_path, kind)
    (ends,) = ends_of(recording)
    curve = read_delivery(recording, ends)
    assert curve is not None
    assert curve.rate(1, 3) == pytest.approx(16_000), "both connections together"
    assert curve.rate(4, 6) == 0
    assert compute_gap_s(curve, 4, 10) == pytest.approx(2.5)
    assert workload_recoveries(recording, ends) == [], "nothing failed"


@pytest.mark.parametrize("kinds", [("down", "up"), ("address-removed", "address-added")])
def test_recoveries_of_a_recording(tmp_path: Path, kinds: tuple[str, str]) -> None:
    """Both directions of a link are one failure, and a change of another link is none."""
    instants = [4 * _NS, 6 * _NS, 6 * _NS, 4 * _NS]
    links = ["link1", "link1", "link2", "link1"]
    recording = _make_recording(tmp_path, instant_ns=instants, kind=[*kinds, "change", kinds[0]], link=links)
    (ends,) = ends_of(recording)
    failure, repair = workload_recoveries(recording, ends)
    assert failure.recovery_s is None
    assert failure.gap_s == pytest.approx(2.5)
    assert repair.recovery_s == 0, "data came again at once"


def test_the_pauses_of_one_workload_say_nothing_of_another(tmp_path: Path) -> None:
    """A column that only another workload's rows have is null in ours: that is not a pause of 0 s."""
    rows: list[samples.Row] = []
    for second, total in enumerate([0, 1000, 2000, 2000, 2000, 3000]):
        row = {"time_ns": second * _NS, "node": "client", "conn": 0, "total": total}
        described = {"pause_ns": _NS // 10, "pause_at_ns": second * _NS}
        rows += [{**row, "program": "ask.client"}, {**row, "program": "bulk.server", **(described if second else {})}]
    samples.write(rows, tmp_path / "connections.parquet")
    kinds = {"ask": "requests", "bulk": "flow"}
    workloads = {name: {"kind": kind} for name, kind in kinds.items()}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest(workloads)))
    gaps = {}
    for ends in ends_of(Recording(tmp_path)):
        curve = read_delivery(Recording(tmp_path), ends)
        assert curve is not None
        gaps[ends.workload] = compute_gap_s(curve, 2.5, 4.9)
    assert gaps == {"ask": 3.0, "bulk": pytest.approx(0.1)}


def test_a_gap_that_has_not_ended_is_none_of_a_run() -> None:
    """The sender went on for 10 s after the last data that arrived."""
    curve = _curve([(10, 1000), (10, 0)])
    sent = replace(curve, sent_until_s=20.0)
    (recovery,) = find_recoveries(sent, [Instant(9.95, True)])
    assert recovery.gap_s == float("inf")
    assert compute_recovery_metrics([recovery]) == dict.fromkeys(("gap_s", "recovery_after_failure_s"), float("inf"))
    at_end = replace(curve, sent_until_s=10.0)
    (recovery,) = find_recoveries(at_end, [Instant(9.95, True)])
    assert compute_recovery_metrics([recovery]) == {"gap_s": pytest.approx(0.1)}, "the end of the data is not a gap"
    (unknown,) = find_recoveries(curve, [Instant(10.05, True)])
    assert (unknown.gap_s, compute_recovery_metrics([unknown])) == (None, {})
