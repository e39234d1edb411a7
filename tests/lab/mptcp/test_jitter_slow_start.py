# SPDX-License-Identifier: MIT
"""Jitter that is drawn independently for each packet ends CUBIC's slow start, which delays downloads of some MB."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path

from tests.lab.bench import Bench, note

from mptcplab.plan.compile import compile_plan
from mptcplab.scenario.load import load
from mptcplab.steps import Command

#: A 5G line of 80 Mbit/s whose ping is 40 ms with an mdev of 8 ms, as docs/bonding.md translates it.
MODEM = """
title = "A download over a line with jitter"
transport = { protocol = "tcp", congestion_control = "cubic" }
topology = { preset = "disjoint-paths", paths = 1 }
links.link1 = { rate = "80 Mbit/s", delay = "20 ms", jitter = "JITTER" }
workloads.file = { kind = "flow", from = "server", to = "client", size = "5 MB" }
"""
#: Turns HyStart off for the sockets of the whole lab: delays no longer end cubic's slow start.
WITHOUT_HYSTART = Command(None, ("sh", "-c", "echo 0 > /sys/module/tcp_cubic/parameters/hystart"), ("sh",))
SEEDS = 5


def _seconds(bench: Bench, folder: Path, jitter: str, *more: Command) -> tuple[float, int]:
    """Return the mean time of the file, and how many slow starts HyStart ended in all runs."""
    file = folder / "modem.toml"
    file.write_text(MODEM.replace("JITTER", jitter))
    times, ended = [], 0
    for run in load(file, repeats=SEEDS).runs:
        plan = compile_plan(run.point.scenario, seed=run.seed)
        output = bench.live(replace(plan, setup=(*plan.setup, *more)))
        (sender,) = (program for program in output.outcome.programs if program["name"] == "file.client")
        times.append((sender["end_ns"] - sender["start_ns"]) / 1e9)
        counted = output.counter("server", "nstat.json")["kernel"]
        ended += sum(counted.get(f"TcpExtTCPHystart{kind}Detect", 0) for kind in ("Train", "Delay"))
    return statistics.mean(times), ended


def test_jitter_ends_the_slow_start_of_cubic(bench: Bench, tmp_path: Path) -> None:
    """HyStart takes a round whose shortest delay is longer than in the round before for a queue that fills."""
    calm, _ = _seconds(bench, tmp_path, "0 ms")
    jittered, exits = _seconds(bench, tmp_path, "9.6 ms")
    without, others = _seconds(bench, tmp_path, "9.6 ms", WITHOUT_HYSTART)
    note("download 5 MB, no jitter s", calm)
    note("download 5 MB, jitter s", jittered)
    note("download 5 MB, jitter, no HyStart s", without)
    print(f"slow starts that HyStart ended: {exits} of {SEEDS}, and without it {others}")
    assert others == 0 < exits
    # The cause is shown if most of what the jitter adds is gone without HyStart.
    assert jittered > 1.3 * calm, (calm, jittered)
    assert without - calm < 0.5 * (jittered - calm), (calm, jittered, without)
