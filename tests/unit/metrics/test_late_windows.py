# SPDX-License-Identifier: MIT
"""Which late subflows are taken for limited by their windows: samples are made by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from mptcplab.metrics.warnings import window_limited_subflows

MSS = 1420


def _subflow(local: str, begun_s: float, **values: Any) -> list[dict[str, Any]]:
    """20 s of samples of one subflow, which sends as much as it may."""
    window, cwnd = values.pop("snd_wnd", 77_000), values.pop("snd_cwnd", 400)
    row = {
        "conn": 0,
        "local": local,
        "remote": "10.0.1.1:40000",
        "state": "established",
        "snd_wnd": window,
        "snd_cwnd": cwnd,
        "snd_mss": MSS,
        "unacked": min(cwnd, window // MSS),
        "rtt_us": 18_300,
        "min_rtt_us": 18_000,
        **values,
    }
    return [{**row, "time_ns": round((begun_s + step / 5) * 1e9)} for step in range(100)]


def _find(*subflows: list[dict[str, Any]]) -> list[float]:
    frame = pl.DataFrame([row for subflow in subflows for row in subflow])
    return window_limited_subflows(frame.sort("time_ns"))["window"].to_list()


FIRST = _subflow("10.0.2.2:1", 0, snd_wnd=4_600_000)


def test_a_late_subflow_that_its_window_limits() -> None:
    assert _find(FIRST, _subflow("10.0.2.2:2", 10)) == [77_000]


@pytest.mark.parametrize(
    ("reason", "late"),
    [
        ("a subflow that began with the connection grows with it", _subflow("10.0.2.2:2", 0.1)),
        ("the congestion window is the limit", _subflow("10.0.2.2:2", 10, snd_cwnd=50)),
        ("the line is full: packets wait", _subflow("10.0.2.2:2", 10, rtt_us=30_000)),
        ("its window is like the others'", _subflow("10.0.2.2:2", 10, snd_wnd=2_000_000, snd_cwnd=9000)),
        ("it has little to send", _subflow("10.0.2.2:2", 10, unacked=3)),
        ("it is idle", _subflow("10.0.2.2:2", 10, unacked=0)),
        ("it was seen for a moment", _subflow("10.0.2.2:2", 10)[:5]),
    ],
)
def test_subflows_with_another_limit(reason: str, late: list[dict[str, Any]]) -> None:
    assert _find(FIRST, late) == [], reason


def test_another_connection_has_its_own_beginning() -> None:
    """A second connection that starts later is not late, and has no larger window to be compared with."""
    assert _find(FIRST, [{**row, "conn": 1} for row in _subflow("10.0.2.2:2", 10)]) == []
