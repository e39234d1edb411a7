# SPDX-License-Identifier: MIT
"""Coupled congestion controls on the lab kernel: their settings, their counter, and a window of one segment."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest
from tests.lab.bench import Bench, bare_plan, client

SECOND_NS = 10**9
SETTINGS = ("coupled_count_idle", "coupled_hystart", "coupled_olia_best")

_LOSSY = """
title = "A line that loses every eighth packet beside one with a queue"
topology.preset = "disjoint-paths"
links.link1 = { rate = "10 Mbit/s", delay = "20 ms", queue = "50 packets" }
links.link2 = { rate = "10 Mbit/s", delay = "20 ms", forward.loss = "12 %" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "30 s" }
transport.scheduler = "minrtt"
record.interval = "100 ms"
"""


@pytest.mark.parametrize(("control", "smallest"), [("lia", 2), ("olia", 1), ("balia", 1)])
def test_smallest_window_on_a_lossy_path(bench: Bench, control: str, smallest: int) -> None:
    """OLIA and BALIA keep one segment, as their drafts ask for, LIA two; and the path goes on carrying data.

    At a window of 1 a lost segment is only found by a timeout of at least 0.2 s. Six in a row double it to 13 s, and
    have a probability of 3e-6 at 12 %: in five seconds something arrives.
    """
    (recording,) = bench.record(_LOSSY, f"transport.congestion_control={control}")
    rows = recording.subflows.filter((pl.col("node") == "client") & pl.col("local").str.starts_with("10.0.3.1:"))
    min_ssthresh = rows["snd_ssthresh"].min()
    samples: list[tuple[int, int]] = rows.select("time_ns", "bytes_acked").rows()
    acked = [max(count for time_ns, count in samples if time_ns <= at * SECOND_NS) for at in range(5, 31, 5)]
    print(f"{control}: smallest ssthresh {min_ssthresh!r}, bytes acked at 5, 10, ... s: {acked}")
    assert min_ssthresh == smallest
    assert all(later > earlier for earlier, later in pairwise(acked))


@pytest.mark.parametrize("version", ["7.2", "6.1"])
def test_settings_and_counter(bench: Bench, version: str) -> None:
    """Off by default, 0 and 1 are all that they take, and a fresh namespace has counted nothing."""
    files = " ".join(f"/proc/sys/net/mptcp/{name}" for name in SETTINGS)
    script = (
        f"cat {files} /proc/net/mptcp_coupled; "
        f"for file in {files}; do echo 1 > $file; echo 2 > $file || echo refused; cat $file; done"
    )
    lived = bench.live(bare_plan(client("c", "sh", "-c", script)), version=version)
    lines = lived.text("c").split("\n")
    print(lines)
    assert lines == ["0"] * 3 + ["uncoupled 0"] + ["refused", "1"] * 3 + [""]


def test_recordings_have_the_count_of_uncoupled_subflows(bench: Bench) -> None:
    (recording,) = bench.record(_LOSSY, "workloads.bulk.duration=1 s", "transport.congestion_control=lia")
    assert recording.counter("client", "algorithms.json")["uncoupled"] == 0
