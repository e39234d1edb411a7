# SPDX-License-Identifier: MIT
"""Runs of the lab on one CPU, measured from the boot of its kernel to its end."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.usage import Usage, measure_usage
from mptcplab.engine.tools import compile_tools
from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.kernel import find_kernel
from mptcplab.kernel.data import DEFAULT_VERSION
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import load

_SEED = 1


@dataclass(frozen=True)
class Lab:
    """One measured run. ``packet_hops``: packets sent by any node on any link, acknowledgements included."""

    usage: Usage
    virtual_seconds: float
    payload_bytes: int
    packet_hops: int

    @property
    def times_real_time(self) -> float:
        """The virtual seconds of the workload, from time zero to the end, per CPU second."""
        return self.virtual_seconds / self.usage.cpu

    @property
    def payload_per_cpu_second(self) -> float:
        """The received payload per CPU second, in bytes."""
        return self.payload_bytes / self.usage.cpu

    @property
    def packet_hops_per_cpu_second(self) -> float:
        """The number of packets that one CPU carries over one link per second."""
        return self.packet_hops / self.usage.cpu


@dataclass(frozen=True)
class Workload:
    """What is measured: a plan, and the version of the lab kernel that executes it."""

    plan: Plan
    kernel: str


def workload_of(scenario: str) -> Workload:
    """Return the plan of a scenario in TOML, with a fixed seed, and the kernel that the scenario names."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as folder:
        file = Path(folder, "bench.toml")
        file.write_text(scenario)
        run = load(file, seed=_SEED).runs[0]
    return Workload(compile_plan(run.point.scenario, seed=run.seed), run.point.scenario.kernel)


@cache
def engine(kernel: str = DEFAULT_VERSION) -> VirtualEngine:
    """Return an engine with a lab kernel, by its version, and the `flow` that every run uses."""
    return VirtualEngine(find_kernel(kernel), compile_tools())


def cpu() -> int:
    """Return the CPU for all measurements: the last available one, since interrupts mostly go to the first."""
    return max(os.sched_getaffinity(0))


def measure(workload: Workload) -> Lab:
    """Execute and measure a workload once, with its kernel."""
    engine(workload.kernel)  # prepared before the measurement
    result, usage = measure_usage(lambda: _execute(workload))
    return Lab(usage=usage, **result)


def _execute(workload: Workload) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as name:
        folder = Path(name)
        outcome = engine(workload.kernel).execute(workload.plan, seed=_SEED, folder=folder, cpu=cpu())
        return {
            "virtual_seconds": (outcome.virtual_ns - outcome.zero_ns) / 1e9,
            "payload_bytes": sum(_received_payloads(folder)),
            "packet_hops": sum(_sent_packets(folder)),
        }


def _received_payloads(folder: Path) -> Iterator[int]:
    """Yield the payload at the receivers that `flow` servers and iperf3 clients report."""
    for file in sorted((folder / "out").glob("*.out")):
        text = file.read_text()
        if file.stem.endswith(".server") and text.startswith('{"event"'):
            yield from (event["bytes"] for event in map(json.loads, text.splitlines()) if event["event"] == "end")
        elif file.stem.endswith(".client") and text.startswith("{\n"):
            yield json.loads(text)["end"]["sum_received"]["bytes"]


def _sent_packets(folder: Path) -> Iterator[int]:
    """Yield the packets sent on the links; an IFB is not a link, but only a device for shaping."""
    for file in (folder / "counters").glob("*/link.json"):
        for device in json.loads(file.read_text()):
            if device["link_type"] == "ether" and not device["ifname"].startswith("ifb"):
                yield device["stats64"]["tx"]["packets"]
