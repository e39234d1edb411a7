# SPDX-License-Identifier: MIT
"""Two long fat paths, whose buffers are beyond what a lab of 1 GiB lets TCP use."""

from __future__ import annotations

import polars as pl
import pytest
from tests.lab.bench import Bench, note

from mptcplab.metrics.warnings import SHORT_OF_MEMORY, machine_warnings
from mptcplab.recording.record import Recording

#: 150 ms of round trip at 1 Gbit/s are 19 MB, and the queues hold 12.5 MB more.
PATHS = """
title = "Two long fat paths"

[topology]
preset = "disjoint-paths"

[links.link1]
rate = "500 Mbit/s"
delay = "75 ms"

[links.link2]
rate = "500 Mbit/s"
delay = "75 ms"

[transport]
tcp_rmem = ["4 KiB", "128 KiB", "48 MiB"]
tcp_wmem = ["4 KiB", "64 KiB", "48 MiB"]

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "8 s"
"""
#: Slow start and its first recovery are over.
STEADY_S = (7.0, 8.5)


def _mbit_s(recording: Recording) -> float:
    """Return the rate of new payload at the receiver in the steady interval."""
    start_s, end_s = STEADY_S
    rows = recording.connections.filter(
        (pl.col("node") == "server") & pl.col("time_ns").is_between(int(start_s * 1e9), int(end_s * 1e9))
    ).sort("time_ns")
    received = rows["bytes_received"].to_list()
    times = rows["time_ns"].to_list()
    return float((received[-1] - received[0]) * 8 / (times[-1] - times[0]) * 1e3)


@pytest.mark.slow
def test_two_paths_of_500_mbit_s_are_full(bench: Bench) -> None:
    """1448 of 1514 bytes are payload, less 20 bytes of MPTCP's options: 943 Mbit/s at most. TCP stays below the limit
    from which the kernel restrains it, in the lab that the estimate gives it."""
    (recording,) = bench.record(PATHS)
    rate, machine = _mbit_s(recording), recording.machine
    peak = machine["tcp_pages_peak"] * machine["page_bytes"]
    note("long fat paths Mbit/s", rate)
    note("long fat paths TCP memory MiB", peak / 2**20)
    note("long fat paths TCP memory in both buffers", peak / (2 * 48 * 2**20))
    assert rate > 0.95 * 943
    assert machine["tcp_mem_pages"][1] == 32000, "2 GiB"
    assert machine["tcp_pages_peak"] < machine["tcp_mem_pages"][1]
    assert machine["tcp_pages_peak"] > 16000, "with 1 GiB, TCP would be restrained"
    assert not [warning for warning in machine_warnings(recording) if warning.startswith(SHORT_OF_MEMORY)]


@pytest.mark.slow
def test_the_usual_memory_is_too_little_for_them(bench: Bench) -> None:
    """The key keeps the lab small: windows stop growing before they use the buffers, and the row says so."""
    (recording,) = bench.record(PATHS, "memory=1 GiB")
    note("long fat paths Mbit/s with 1 GiB", _mbit_s(recording))
    assert 16000 < recording.machine["tcp_pages_peak"] < 24000, "restrained, below what it takes with more memory"
    assert any(warning.startswith(SHORT_OF_MEMORY) for warning in machine_warnings(recording))
