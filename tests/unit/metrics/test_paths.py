# SPDX-License-Identifier: MIT
"""What several paths gave and cost: aggregation benefit, data that waited or came twice; and fairness over time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.manifests import manifest

from mptcplab.campaign.contract import describe_scenario
from mptcplab.metrics.catalog.paths import (
    Reassembly,
    aggregation_benefit,
    compute_reassemblies,
    path_capacities,
    reassembly_metrics,
    reinjected_bytes,
)
from mptcplab.metrics.delivery import Delivery, compute_jain_over_time
from mptcplab.metrics.registry import METRICS, list_metric_names
from mptcplab.metrics.subflows import ends_of
from mptcplab.recording import samples
from mptcplab.recording.record import FORMAT, Recording
from mptcplab.scenario.load import load
from mptcplab.scenario.network import Network
from mptcplab.workload.outputs import compute_percentiles


def test_aggregation_benefit_is_that_of_the_paper() -> None:
    """Paasch et al. 2013: (g - best) / (sum - best) from the best path on, (g - best) / best below."""
    paths = [10e6, 30e6]
    assert aggregation_benefit(40e6, paths) == 1
    assert aggregation_benefit(35e6, paths) == 0.5
    assert aggregation_benefit(30e6, paths) == 0
    assert aggregation_benefit(15e6, paths) == -0.5
    assert aggregation_benefit(0, paths) == -1
    assert aggregation_benefit(30e6, [30e6]) is None, "one path aggregates nothing"
    assert aggregation_benefit(1e6, []) is None


@given(st.lists(st.floats(1, 1e9), min_size=2, max_size=5), st.floats(0, 1), st.floats(0, 1))
def test_aggregation_benefit_grows_with_goodput(paths: list[float], rate: float, other: float) -> None:
    low, high = sorted((rate * sum(paths), other * sum(paths)))
    benefits = [aggregation_benefit(goodput, paths) for goodput in (low, high)]
    assert all(benefit is not None and -1 <= benefit <= 1 + 1e-9 for benefit in benefits)
    assert (benefits[0] or 0) <= (benefits[1] or 0)


LINES = """
title = "two lines"
{family}
topology = {{ preset = "disjoint-paths" }}
links.link1 = {{ rate = "10 Mbit/s", overhead = "24 B" }}
links.link2 = {{ rate = "20 Mbit/s" }}
{links}
workloads.bulk = {{ kind = "flow", from = "client", to = "server", duration = "1 s" }}
"""
SHARED = """
title = "one bottleneck"
topology = { preset = "shared-bottleneck" }
links.bottleneck = { rate = "10 Mbit/s" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "1 s" }
"""
PATHS = ("access1>link1", "access2>link2")


def _capacities(folder: Path, text: str, *paths: str) -> list[float] | None:
    file = folder / "made.toml"
    file.write_text(text)
    scenario = load(file).points[0].scenario
    described = {"format": FORMAT, **describe_scenario(Network(scenario), scenario.server_ports)}
    (folder / "manifest.json").write_text(json.dumps(described))
    return path_capacities(Recording(folder), "bulk", paths)


def test_capacities_are_payload_at_the_bottleneck_of_each_path(tmp_path: Path) -> None:
    """Of a full frame of 1514 bytes, 1448 are payload; of IPv6's, 1428."""
    text = LINES.format(family="", links="")
    assert _capacities(tmp_path, text, *PATHS) == pytest.approx([1e7 * 1448 / 1538, 2e7 * 1448 / 1514])
    back = ("link1>access1", "link2>access2")
    download = text.replace('duration = "1 s"', 'duration = "1 s", reverse = true')
    assert _capacities(tmp_path, download, *back) == pytest.approx([1e7 * 1448 / 1538, 2e7 * 1448 / 1514])
    text = LINES.format(family='family = "ipv6"', links='links.access2 = { rate = "5 Mbit/s" }')
    assert _capacities(tmp_path, text, *PATHS) == pytest.approx([1e7 * 1428 / 1538, 5e6 * 1428 / 1514])


def test_capacities_that_cannot_be_told(tmp_path: Path) -> None:
    unlimited = LINES.format(family="", links="").replace('links.link2 = { rate = "20 Mbit/s" }', "")
    assert _capacities(tmp_path, unlimited, *PATHS) is None
    assert _capacities(tmp_path, LINES.format(family="", links=""), "elsewhere>link1") is None


def test_a_shared_bottleneck_is_one_capacity(tmp_path: Path) -> None:
    capacities = _capacities(tmp_path, SHARED, "access1>r2-server", "access2>r2-server")
    assert capacities == pytest.approx([1e7 * 1448 / 1514])


def test_what_waits_is_told_from_what_came_twice() -> None:
    """300 bytes wait from 1 to 2 s and are there for good at 3 s; 100 of them come twice between 2 and 3 s."""
    on_subflows = np.array([0.0, 1000.0, 2000.0, 3100.0, 4100.0])
    in_order = np.array([0.0, 700.0, 1700.0, 3000.0, 4000.0])
    reassembly = Reassembly(np.arange(5.0), on_subflows, in_order)
    assert reassembly.duplicate == 100
    # 300 B of difference at 1 s and 2 s, of which at most 100 B can have come twice by then.
    assert reassembly.waiting.tolist() == [0, 200, 200, 0, 0]
    figures = reassembly_metrics([reassembly], reinjected=160)
    assert figures["duplicate_percent"] == pytest.approx(100 * 100 / 4000)
    assert figures["reinjected_percent"] == pytest.approx(100 * 160 / 4000)
    assert figures["out_of_order_mean_bytes"] == pytest.approx(400 / 4)
    assert figures["out_of_order_max_bytes"] == 200
    # Little's law: 100 B wait on average, 1000 B/s arrive.
    assert figures["head_of_line_delay_ms"] == pytest.approx(100)
    assert reassembly_metrics([], reinjected=None) == {}


def test_reassembly_of_a_recording(tmp_path: Path) -> None:
    """A subflow that is gone from the samples keeps what it had received."""
    subflows, connections = [], []
    for step in range(1, 5):
        at = {"time_ns": step * 10**9, "program": "bulk.server", "node": "server", "conn": 0}
        connections.append({**at, "bytes_received": 1000 * step if step != 2 else 1500})
        client = {**at, "program": "bulk.client", "node": "client"}
        connections.append({**client, "bytes_sent": 1000 * step})
        subflows.append({**client, "local": "a", "remote": "b", "bytes_sent": 700 * step, "bytes_retrans": 40 * step})
        subflows.append({**client, "local": "c", "remote": "d", "bytes_sent": 500 * step, "bytes_retrans": 0})
        subflows.append({**at, "local": "10.0.2.2:5001", "remote": "10.0.1.1:4000", "bytes_received": 600 * step})
        if step <= 2:
            subflows.append({**at, "local": "10.0.4.2:5001", "remote": "10.0.3.1:4001", "bytes_received": 400 * step})
    subflows[-1]["bytes_received"] = 1600 + 400 * 2
    samples.write(connections, tmp_path / "connections.parquet")
    samples.write(subflows, tmp_path / "subflows.parquet")
    (tmp_path / "manifest.json").write_text(json.dumps(manifest({"bulk": {"kind": "flow"}})))
    recording = Recording(tmp_path)
    (ends,) = ends_of(recording)
    (reassembly,) = compute_reassemblies(recording, ends)
    assert reassembly.on_subflows[0] == 1000
    assert reassembly.in_order.tolist() == [1000, 1500, 3000, 4000]
    # 2800 - 160 + 2000 bytes on subflows, for 4000.
    assert reinjected_bytes(recording, ends) == 640


def test_fairness_over_time_sees_turns() -> None:
    """Two that take turns of 2 s have shares that are alike in the whole, and an index of 1/2 in every second."""
    times = np.arange(9.0)
    first = np.array([0, 10, 20, 20, 20, 30, 40, 40, 40.0])
    second = np.array([0, 0, 0, 10, 20, 20, 20, 30, 40.0])
    curves = [Delivery(times, first), Delivery(times, second)]
    assert compute_jain_over_time(curves, 0, 8).tolist() == [0.5] * 8
    assert compute_jain_over_time(curves, 0, 8, window_s=4).tolist() == [1, 1]
    assert compute_jain_over_time([curves[0], curves[0]], 0, 8).tolist() == [1] * 4, (
        "nobody gets anything in the others"
    )
    assert len(compute_jain_over_time(curves, 0, 0.5)) == 0


def test_percentiles_are_of_nearest_rank() -> None:
    assert compute_percentiles(list(range(1, 101)), "x", "s", (50, 95, 99)) == {
        "x_p50_s": 50,
        "x_p95_s": 95,
        "x_p99_s": 99,
    }
    assert compute_percentiles([3.0, 1.0], "x", "s", (50, 99)) == {"x_p50_s": 1, "x_p99_s": 3}
    assert compute_percentiles([], "x", "s", (50,)) == {}


@given(st.lists(st.floats(0, 1e6), min_size=1), st.integers(1, 100))
def test_a_percentile_is_a_value_with_enough_below(values: list[float], wanted: int) -> None:
    (percentile,) = compute_percentiles(values, "x", "s", (wanted,)).values()
    assert percentile in values
    assert 100 * sum(value <= percentile for value in values) >= wanted * len(values)


def test_columns_keep_their_order_and_hide_what_is_not_for_tables() -> None:
    there = [{"mos": 1.0, "aggregation_benefit_of_capacity": 1.0}, {"delay_mean_ms": 1.0}]
    assert list_metric_names(there) == ["delay_mean_ms", "mos"]
    assert list_metric_names(there, hidden=True) == ["delay_mean_ms", "mos", "aggregation_benefit_of_capacity"]
    titles = [metric.heading for metric in METRICS.values()]
    assert len(set(titles)) == len(titles), "columns are told by their titles"
