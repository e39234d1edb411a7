# SPDX-License-Identifier: MIT
"""The ratios to real time, to ns-3 and to the native kernel. All parts of a repeat run one after the other."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from bench import lab, native, scenarios
from bench.extent import FULL, Extent

_NS3_RATES = {"100 Mbit/s": 100_000_000, "1 Gbit/s": 1_000_000_000}
_NS3_TARGETS = {"100 Mbit/s": 12.0, "1 Gbit/s": 15.0}
_FRAME = 1514
_QUEUE_SECONDS = 0.1
"""The lab's default queue is 100 ms of the rate; ns-3 gets as many full frames."""
_NS3_TIMEOUT = 600


@dataclass
class Ratio:
    """One row of the table. ``target`` is a minimum, ``detail`` names the numerator and denominator of each value.

    ``key`` is its name in bench/machines/.
    """

    name: str
    target: float
    values: list[float] = field(default_factory=list)
    detail: list[str] = field(default_factory=list)
    left_out: str | None = None
    key: str = ""


_PATHS = {"plain": scenarios.two_paths, "Table 4.1's": scenarios.table_4_1}


def real_time(
    paths: str, kind: str, target: float, repeats: int, report: Callable[[str], None], extent: Extent = FULL
) -> Ratio:
    """Measure the virtual seconds per CPU second of MPTCP over two 100 Mbit/s paths.

    The frequency of a receiver's wake-ups depends on the interleaving of the packets of both paths, and on its reads.
    Hence there are two kinds of ``paths``: plain ones, and the complete test bed of Subramani's Table 4.1.
    """
    duration = f"{extent.real_time_s} s"
    key = f"real-time-{'plain' if paths == 'plain' else 'table-4.1'}-{kind}"
    ratio = Ratio(f"times real time, MPTCP over two {paths} 100 Mbit/s paths, {duration}, {kind}", target, key=key)
    workload = lab.workload_of(_PATHS[paths](kind, duration))
    for _ in range(repeats):
        run = lab.measure(workload)
        ratio.values.append(run.times_real_time)
        ratio.detail.append(f"{run.usage.cpu:.2f} CPU s, {run.usage.wall:.2f} wall s")
        report(f"{ratio.name}: {ratio.values[-1]:.1f} ({ratio.detail[-1]})")
    return ratio


def against_ns3(rate: str, repeats: int, report: Callable[[str], None], extent: Extent = FULL) -> Ratio:
    """Measure payload per CPU second of a TCP flow over one router: the lab with boot, by ns-3's simulation alone."""
    bits = _NS3_RATES[rate]
    seconds = extent.ns3_s[bits]
    key = f"ns3-{bits // 1_000_000}-mbit"
    ratio = Ratio(f"payload per CPU second against ns-3.44, TCP {rate}, {seconds:g} s", _NS3_TARGETS[rate], key=key)
    workload = lab.workload_of(scenarios.one_path(rate, f"{seconds} s"))
    queue = int(bits * _QUEUE_SECONDS / 8 / _FRAME)
    if importlib.util.find_spec("ns") is None:
        ratio.left_out = "needs the package ns3: pip install -e '.[bench]'"
        return ratio
    for _ in range(repeats):
        ours = lab.measure(workload)
        theirs = _ns3(bits, seconds, queue)
        their_rate = theirs["payload_bytes"] / theirs["cpu_seconds"]
        ratio.values.append(ours.payload_per_cpu_second / their_rate)
        ratio.detail.append(
            f"{ours.payload_bytes / 1e6:.0f} MB in {ours.usage.cpu:.2f} CPU s by "
            f"{theirs['payload_bytes'] / 1e6:.0f} MB in {theirs['cpu_seconds']:.2f} CPU s"
        )
        report(f"{ratio.name}: {ratio.values[-1]:.1f} ({ratio.detail[-1]})")
    return ratio


def _ns3(bits: int, seconds: float, queue: int) -> dict[str, float]:
    """Run ns-3 in a separate process on the same CPU; ``cpu_seconds`` excludes its start, which compiles bindings."""
    command = ["taskset", "--cpu-list", str(lab.cpu()), sys.executable, "-m", "bench.ns3_flow"]
    command += [str(bits), str(seconds), str(queue)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_NS3_TIMEOUT)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def against_native(repeats: int, report: Callable[[str], None], extent: Extent = FULL) -> list[Ratio]:
    """Measure unshaped TCP through one router by the same on this machine's kernel, by payload and by packets.

    Offloads are disabled. The ratios differ, because a receiver acknowledges less often when whole windows arrive at
    one virtual instant. The second ratio counts every packet, so that such savings do not make the lab look better.
    """
    payload = Ratio("payload per CPU second against the native kernel, TCP unshaped", 0.5, key="native-payload")
    title = "packets x hops per CPU second against the native kernel, TCP unshaped"
    packets = Ratio(title, 0.5, key="native-packets")
    payload.left_out = packets.left_out = native.find_obstacle()
    if payload.left_out:
        return [payload, packets]
    for _ in range(repeats):
        theirs = [_native(extent, quantum) for quantum in extent.quanta_us]
        ours = [_measure_unshaped(extent, quantum) for quantum in extent.quanta_us]
        best = [max(run.payload_per_cpu_second for run in side) / 1e6 for side in (ours, theirs)]
        _note(payload, best, "MB per CPU s", report)
        best = [max(run.packet_hops_per_cpu_second for run in side) / 1e3 for side in (ours, theirs)]
        _note(packets, best, "thousand packet-hops per CPU s", report)
    return [payload, packets]


def _note(ratio: Ratio, best: list[float], unit: str, report: Callable[[str], None]) -> None:
    ratio.values.append(best[0] / best[1])
    ratio.detail.append(f"{best[0]:.0f} by {best[1]:.0f} {unit}")
    report(f"{ratio.name}: {ratio.values[-1]:.2f} ({ratio.detail[-1]})")


def _native(extent: Extent, quantum: int) -> native.Native:
    return native.measure(seconds=extent.native_s, cpu=lab.cpu(), quantum_us=quantum)


def _measure_unshaped(extent: Extent, quantum: int) -> lab.Lab:
    text = scenarios.unshaped_path(f"{extent.unshaped_s} s", delay="1 ms", quantum=f"{quantum} us")
    return lab.measure(lab.workload_of(text))
