# SPDX-License-Identifier: MIT
"""The lab kernel as a machine: how often its timers tick, what its hosts share, and that runs say when it mattered."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest
from tests.lab.bench import Bench, bare_plan, client
from tools.docs.figures import machine

from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.metrics.rows import result_rows
from mptcplab.metrics.warnings import pressure_counts

BOTH = pytest.mark.parametrize("version", ["7.2", "6.12"])

#: 40 connections, each with 4 MB that wait in its socket: 160 MB, where tcp_mem is 64 MB with 1 GB of memory. By need,
#: the lab would have more.
CROWD = """
memory = "1 GiB"

[topology]
preset = "disjoint-paths"
paths = 1

[links.link1]
rate = "10 Mbit/s"
delay = "10 ms"

[transport]
protocol = "tcp"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
connections = 40
duration = "2 s"

# The sockets' 160 MB take two minutes, of which samples would fill 240 MB.
[record]
interval = "500 ms"
"""
LARGE = 'hosts.client.transport.tcp_wmem=["4 KiB", "4 MiB", "4 MiB"]'


@BOTH
def test_runs_short_of_memory_are_marked(bench: Bench, version: str) -> None:
    marks = {}
    cases = {"usual buffers": (), "4 MiB each": (LARGE,), "and more memory": (LARGE, "memory=4 GiB")}
    for name, settings in cases.items():
        (recording,) = bench.record(CROWD, f"kernel={version}", *settings)
        (row,) = result_rows([recording])
        state = recording.machine
        print(name, pressure_counts(recording), state, row.warnings)
        assert len(state["tcp_mem_pages"]) == 3
        marks[name] = [warning for warning in row.warnings if "short of memory" in warning]
        if name == "4 MiB each":
            assert state["tcp_pages_peak"] > state["tcp_mem_pages"][1], "the test did not use the memory up"
        elif not settings:
            # 40 sockets with some 100 kB each.
            assert 0 < state["tcp_pages_peak"] < state["tcp_mem_pages"][0]
    assert marks["usual buffers"] == marks["and more memory"] == []
    assert len(marks["4 MiB each"]) == 1
    assert "TCPMemoryPressures" in marks["4 MiB each"][0]


@BOTH
def test_every_boot_has_the_same_memory(bench: Bench, version: str) -> None:
    """Limits such as tcp_mem follow it, and a recording holds them: equal identity, equal bytes."""
    look = bare_plan(client("look", "head", "-n", "1", "/proc/meminfo"))
    sizes = [bench.live(look, version=version, fresh=True).text("look") for _ in range(4)]
    print(sizes)
    assert len(set(sizes)) == 1


#: Two tests look at the same reading.
_read = cache(machine.read)


def test_timers_tick_as_the_kernel_says(engines: Mapping[str, VirtualEngine]) -> None:
    """Counted inside: jiffies in ten seconds. The table in docs/machine.md is made of the same reading."""
    values = {version: _read(version) for version in engines}
    ticks = {version: value["HZ"] for version, value in values.items()}
    print(ticks)
    assert ticks == {version: str(engine.kernel.hz) for version, engine in engines.items()}
    assert set(ticks.values()) == {"1000"}
    described = {version: values[version] for version in machine.KERNELS}
    rows = {name: (ours, theirs, same) for name, ours, theirs, same, _ in machine.rows(described)}
    for name, row in rows.items():
        print(name, *row, sep=" | ")
    assert rows["HZ"] == ("1000", "250", "**no**")
    # With 1 GB: a quarter of what 7.2 allows on a machine with 4 GB and more, and all that 6.12 does.
    assert rows["net.ipv4.tcp_rmem"][0].startswith("7.2: 4096 131072 8")
    assert "6.12: 4096 131072 6291456" in rows["net.ipv4.tcp_rmem"][0]
    # What decides how TCP recovers and grows is as on any other machine.
    for name in (
        "tcp_recovery",
        "tcp_sack",
        "tcp_timestamps",
        "tcp_ecn",
        "tcp_slow_start_after_idle",
        "tcp_autocorking",
    ):
        assert rows[f"net.ipv4.{name}"][2] == "yes", name


def test_every_setting_of_the_table_exists_in_some_kernel() -> None:
    """A name that no kernel knows would silently be no row."""
    values = {version: _read(version) for version in machine.KERNELS}
    made = {name for name, *_ in machine.rows(values)}
    assert {setting.name for setting in machine.SETTINGS} - made == set()
