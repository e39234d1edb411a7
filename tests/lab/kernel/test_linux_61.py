# SPDX-License-Identifier: MIT
"""The lab kernel of Linux 6.1: mainline's own scheduler of that time, the coupled controls, and runs that repeat."""

from __future__ import annotations

import pytest
from tests.lab.bench import Bench, tree_hash

from mptcplab.ebpf.objects import CONGESTION_CONTROLS

_LINES = """
title = "A fast line and a slow one"
topology.preset = "disjoint-paths"
links.link1 = { rate = "20 Mbit/s", delay = "10 ms", loss = "LOSS" }
links.link2 = { rate = "5 Mbit/s", delay = "100 ms" }
"""
_SCREEN = _LINES.replace("LOSS", "0 %") + (
    'workloads.screen = { kind = "requests", from = "client", to = "server", duration = "20 s", response = "50 kB", '
    'think = "500 ms", times = "exponential" }\n'
)
_BULK = _LINES.replace("LOSS", "1 %") + (
    'workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "3 s" }\n'
)


@pytest.mark.parametrize(("version", "min_share", "max_share"), [("7.2", 0.0, 0.001), ("6.1", 0.1, 0.5)])
def test_responses_stay_with_a_subflow(bench: Bench, version: str, min_share: float, max_share: float) -> None:
    """Linux 6.1 stays with a subflow until that has sent 64 kB, so that some responses of 50 kB take the slow path.

    Since Linux 6.6 each chooses again, and none does. Every seed has some on the slow path with 6.1, and not half:
    in docs/fidelity.md the stock kernel has 29 %.
    """
    row = bench.row(_SCREEN, f"kernel={version}")
    slow = next((share for path, share in row.shares.items() if "link2" in path), 0.0)
    print(f"Linux {version}: {100 * slow:.1f} % on the slow path")
    assert min_share <= slow <= max_share


@pytest.mark.parametrize("control", [f"{name}{end}" for name in CONGESTION_CONTROLS for end in ("", "_v09")])
def test_coupled_controls_run(bench: Bench, control: str) -> None:
    words = (f"transport.congestion_control={control}", "kernel=6.1")
    row = bench.row(_BULK, *words)
    print(control, row.goodput_mbps.mean, row.shares)
    assert (row.mptcp, row.congestion) == ("2 subflows", control)
    (recording,) = bench.record(_BULK, *words)
    assert recording.counter("client", "algorithms.json")["uncoupled"] == 0


def test_a_run_repeats(bench: Bench) -> None:
    hashes = []
    for out in ("one", "two"):
        bench.record(_BULK, "transport.congestion_control=olia", "kernel=6.1", out=out)
        hashes.append(tree_hash(bench.folder / out / "runs"))
    assert hashes[0] == hashes[1]
