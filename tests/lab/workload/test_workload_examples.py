# SPDX-License-Identifier: MIT
"""The examples of workloads show what they are there to show."""

from __future__ import annotations

from pathlib import Path

from tests.lab.bench import Bench

from mptcplab.metrics.rows import ResultRow, result_rows
from mptcplab.scenario.load import load

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def _rows(bench: Bench, name: str) -> dict[tuple[str, ...], ResultRow]:
    """By their settings, with one seed, and the workload where there are several."""
    experiment = load(EXAMPLES / f"{name}.toml", repeats=1)
    rows = result_rows(bench.recordings(experiment.runs))
    for row in rows:
        print(row.settings, row.workload, {name: round(value.mean, 3) for name, value in row.metrics.items()})
    several = len({row.workload for row in rows}) > 1
    return {(*row.settings.values(), *([row.workload] if several else [])): row for row in rows}


def test_downloads(bench: Bench) -> None:
    rows = _rows(bench, "downloads")
    for kind in ("http", "ftp"):
        assert rows[kind, "mptcp"].mptcp == "2 subflows"
        assert rows[kind, "mptcp"].goodput_mbps.mean > 1.2 * rows[kind, "tcp"].goodput_mbps.mean
    assert not any(row.warnings for row in rows.values())


def test_call(bench: Bench) -> None:
    """UDP loses what falls into the 3 s of 30; TCP plays it late; MPTCP has it by the other line."""
    rows = _rows(bench, "call")
    udp, tcp, mptcp = (rows[protocol,].metrics for protocol in ("udp", "tcp", "mptcp"))
    assert 9.9 < udp["lost_percent"].mean < 10.1
    assert 3.0 < udp["gap_s"].mean < 3.05
    assert tcp["lost_percent"].mean == mptcp["lost_percent"].mean == 0
    assert tcp["late_percent"].mean > 9
    assert mptcp["gap_s"].mean < 2
    assert mptcp["mos"].mean > max(udp["mos"].mean, tcp["mos"].mean)


def test_cross_traffic(bench: Bench) -> None:
    rows = _rows(bench, "cross-traffic")
    assert rows["mptcp", "file"].goodput_mbps.mean > rows["tcp", "file"].goodput_mbps.mean + 10
    assert rows["mptcp", "file"].shares["link2>access2"] > 0.55, "it goes round the line that others use"


def test_web(bench: Bench) -> None:
    rows = _rows(bench, "web")
    tcp, mptcp = (rows[protocol,].metrics for protocol in ("tcp", "mptcp"))
    assert tcp["flows"].mean == mptcp["flows"].mean, "the same visitors"
    assert abs(mptcp["completion_p50_s"].mean / tcp["completion_p50_s"].mean - 1) < 0.1, "a short flow has one subflow"
    assert mptcp["completion_p99_s"].mean < tcp["completion_p99_s"].mean, "a long one has two"


def test_requests(bench: Bench) -> None:
    rows = _rows(bench, "requests")
    times = {key: row.metrics["response_p50_ms"].mean for key, row in rows.items()}
    assert times["mptcp", "roundrobin"] > 3 * times["tcp", "default"], "every response waits for the slow line"
    assert times["mptcp", "blest"] < 1.2 * times["tcp", "default"], "which blest leaves alone"


def test_stream(bench: Bench) -> None:
    rows = _rows(bench, "stream")
    udp, tcp, mptcp = (rows[protocol,].metrics for protocol in ("udp", "tcp", "mptcp"))
    assert udp["lost_percent"].mean > 0.3
    assert udp["delay_max_ms"].mean < 41
    assert tcp["late_percent"].mean > mptcp["late_percent"].mean
    assert tcp["delay_mean_ms"].mean > 2 * mptcp["delay_mean_ms"].mean
