# SPDX-License-Identifier: MIT
"""``python -m bench.cpu``: throughput of gateways whose CPU is the limit, in the lab and on this machine's own kernel.

A proxy's entry gets a fifth of a CPU. Natively a control group gives it that much, and in the lab its node has a `cpu`
with five times the costs that are measured just before, in such a group. Everything else has more than enough on both
sides, so that the entry's CPU is what limits the throughput.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bench import machines
from bench.lab import engine, workload_of
from mptcplab.calibrate.measure import Costs, LoadSample, RunningProgram, calibrate, fit, open_bed
from mptcplab.calibrate.programs import PROGRAMS, ProgramSide, flow_server, shadowsocks_libev_sides
from mptcplab.engine.tools import find_program, flow_program
from mptcplab.errors import LabError, MissingError, reason
from mptcplab.node.cpu import with_cpu_cost
from mptcplab.steps import Program
from mptcplab.units import CpuTime
from mptcplab.workload.context import FLOW

_PROGRAM = "shadowsocks-libev"
_KERNEL = "7.2-cpu"
_SHARE = 0.2
_PERIOD_US = 20_000
_GROUPS = Path("/sys/fs/cgroup")
#: Options of the client by the kind of traffic.
LOADS: Mapping[str, tuple[str, ...]] = {
    "one upload": ("--connections", "1"),
    "one download": ("--connections", "1", "--download"),
    "4 uploads": ("--connections", "4"),
    "responses of 8 kB, 16 at once": ("--connections", "16", "--ask", "--response-bytes", "8000"),
    "responses of 2 kB, 16 at once": ("--connections", "16", "--ask", "--response-bytes", "2000"),
}
#: What this machine measured, for the table of docs/cpu.md.
FILE = Path(__file__).with_name("cpu.json")
_Report = Callable[[str], None]


@dataclass(frozen=True)
class CpuRow:
    """One cipher and kind of traffic: throughput in Mbit/s, natively of each repeat.

    ``native_busy`` is the part of its share of a CPU that the entry used natively: 1 if that was the limit.
    """

    cipher: str
    load: str
    per_call_ns: float
    per_byte_ns: float
    native_mbps: tuple[float, ...]
    native_busy: tuple[float, ...]
    lab_mbps: float

    @property
    def ratio(self) -> float:
        """The lab's throughput by the median of the native ones."""
        return self.lab_mbps / statistics.median(self.native_mbps)


def measure(ciphers: Sequence[str], seconds: float, repeats: int, report: _Report) -> list[CpuRow]:
    """Return one row per cipher and kind of traffic.

    Each repeat measures the costs and the throughput one after the other. The lab runs once, with the costs that follow
    from the median CPU times: what a program costs on a shared machine depends on its neighbours at that time.
    :raises MissingError: if this machine lacks something.
    """
    rows = []
    for cipher in ciphers:
        samples: list[tuple[LoadSample, ...]] = []
        native: dict[str, list[tuple[float, float]]] = {load: [] for load in LOADS}
        for number in range(1, repeats + 1):
            report(f"{cipher}, {number} of {repeats}")
            samples.append(_samples(cipher))
            for load, options in LOADS.items():
                native[load].append(_native(cipher, options, seconds))
        costs = fit([_median(of_load) for of_load in zip(*samples, strict=True)])
        for load, options in LOADS.items():
            mbps, busy = zip(*native[load], strict=True)
            lab = _lab(cipher, options, seconds, costs)
            rows.append(CpuRow(cipher, load, costs.per_call_ns, costs.per_byte_ns, mbps, busy, lab))
            report(_text(rows[-1]))
    return rows


def _text(row: CpuRow) -> str:
    native = f"{statistics.median(row.native_mbps):.0f} ({min(row.native_mbps):.0f} to {max(row.native_mbps):.0f})"
    limit = f"busy {min(row.native_busy):.2f}"
    return f"{row.cipher:24} {row.load:30} native {native:20} {limit}  lab {row.lab_mbps:5.0f}  ratio {row.ratio:.2f}"


def _samples(cipher: str) -> tuple[LoadSample, ...]:
    """Measure the entry's CPU time under the loads of ``mptcplab calibrate``, in a control group."""
    with _group() as group:
        calibrations = calibrate(
            PROGRAMS[_PROGRAM],
            cipher,
            seconds=1,
            repeats=1,
            report=lambda _: None,
            started=lambda side, running: _limit(running, group) if side.name == "entry" else None,
        )
    (entry,) = (calibration for calibration in calibrations if calibration.side == "entry")
    return entry.samples


def _median(samples: Sequence[LoadSample]) -> LoadSample:
    values = ([getattr(sample, name) for sample in samples] for name in ("cpu_ns", "calls", "bytes"))
    return LoadSample(samples[0].load, *map(statistics.median, values))


def _limit(running: RunningProgram, group: Path) -> None:
    (group / "cgroup.procs").write_text(str(running.pid))


def _client(options: Sequence[str], seconds: float, entry: ProgramSide, host: str) -> tuple[str, ...]:
    """Return the command line of the client of an ``entry`` on ``host``."""
    to = ("--connect", host, "--port", str(entry.port), "--seconds", f"{seconds:g}")
    return (FLOW, "client", *to, "--interval-ms", "0", *options)


def throughput_mbps(output: str) -> float:
    """Return the payload of all connections of a client of ``flow``, by the time of the longest."""
    ends = [event for event in map(json.loads, output.splitlines()) if event["event"] == "end"]
    return 8e3 * sum(int(event["bytes"]) for event in ends) / max(int(event["elapsed_ns"]) for event in ends)


# -- on this machine


def _native(cipher: str, options: Sequence[str], seconds: float) -> tuple[float, float]:
    """Return the throughput in Mbit/s, and which part of its share of a CPU the entry has used."""
    paths = {FLOW: str(flow_program()), **{name: str(find_program(name)) for name in ("ss-server", "ss-tunnel")}}
    exit_, entry = shadowsocks_libev_sides(cipher)
    cpus = sorted(os.sched_getaffinity(0))

    def start(argv: tuple[str, ...], *, cpu: int = cpus[-1], gated: bool = False) -> RunningProgram:
        return place.start((paths[argv[0]], *argv[1:]), cpu=cpu, gated=gated)

    # A group can be removed when its programs have ended.
    with (
        tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as folder,
        _group() as group,
        open_bed(Path(folder)) as place,
    ):
        for side in (flow_server(), exit_):
            place.wait_for_port(start(side.argv), side.port)
        running = start(entry.argv, cpu=cpus[0])
        _limit(running, group)
        place.wait_for_port(running, entry.port)
        client = start(_client(options, seconds, entry, "127.0.0.1"), gated=True)
        used_ns, began_ns = running.cpu_ns(), time.monotonic_ns()
        client.begin()
        client.wait(seconds + 60)
        busy = (running.cpu_ns() - used_ns) / (time.monotonic_ns() - began_ns) / _SHARE
        return throughput_mbps(place.output(client)), busy


@contextmanager
def _group() -> Iterator[Path]:
    """Make a control group that has the share of a CPU, and prefers its programs to others of this machine.

    :raises MissingError: if this machine has no such groups.
    """
    quota_us = round(_SHARE * _PERIOD_US)
    first = {"cpu.cfs_period_us": _PERIOD_US, "cpu.cfs_quota_us": quota_us, "cpu.shares": 100_000}
    second = {"cpu.max": f"{quota_us} {_PERIOD_US}", "cpu.weight": 10_000}
    root, settings = (_GROUPS / "cpu", first) if (_GROUPS / "cpu").is_dir() else (_GROUPS, second)
    group = root / f"mptcplab-bench-{os.getpid()}"
    try:
        group.mkdir()
        for name, value in settings.items():
            (group / name).write_text(str(value))
    except OSError as error:
        message = f"no control group can be made for CPU time: {reason(error)}"
        raise MissingError(message, hint="run it as root, and mount the controller cpu at /sys/fs/cgroup") from error
    try:
        yield group
    finally:
        group.rmdir()


# -- in the lab


def _lab(cipher: str, options: Sequence[str], seconds: float, costs: Costs) -> float:
    cpu = f'{{ per_call = "{_slow_down(costs.per_call_ns)}", per_byte = "{_slow_down(costs.per_byte_ns)}" }}'
    workload = workload_of(_SCENARIO.format(kernel=_KERNEL, cpu=cpu))
    hosts = {"entry_host": "10.0.1.2", "exit_host": "10.0.2.2", "server_host": "10.0.3.2"}
    exit_, entry = shadowsocks_libev_sides(cipher, **hosts)
    servers = [Program(program.name, program.name, "server", program.argv) for program in (flow_server(), exit_, entry)]
    client = _client(options, seconds, entry, hosts["entry_host"])
    deadline_ns = round(1e9 * (seconds + 600))
    programs = (
        *servers[:-1],
        with_cpu_cost(servers[-1]),
        Program("client", "client", "client", client, 0, deadline_ns),
    )
    plan = replace(workload.plan, programs=programs, sampled=(), watched=(), counters=())
    with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as folder:
        engine(workload.kernel).execute(plan, seed=1, folder=Path(folder), cpu=max(os.sched_getaffinity(0)))
        return throughput_mbps(Path(folder, "out", "client.out").read_text())


def _slow_down(cost_ns: float) -> CpuTime:
    return CpuTime(round(1000 * cost_ns / _SHARE))


_SCENARIO = """
title = "bench: a gateway whose CPU is the limit"
kernel = "{kernel}"
phases = "fixed"

[hosts.client]
[hosts.entry]
cpu = {cpu}
[hosts.exit]
[hosts.server]

[transport]
protocol = "tcp"

[links.link1]
between = ["client", "entry"]
delay = "50 us"

[links.link2]
between = ["entry", "exit"]
delay = "50 us"

[links.link3]
between = ["exit", "server"]
delay = "50 us"

[workloads.unused]
kind = "flow"
from = "client"
to = "entry"
size = "1 B"
"""


def main() -> None:
    """Measure, and print or write the rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.cpu", description=__doc__)
    ciphers = PROGRAMS[_PROGRAM].ciphers
    parser.add_argument("--cipher", choices=ciphers, action="append", help="only this cipher; repeatable")
    parser.add_argument("--seconds", type=float, default=3, help="duration of each run; default 3")
    parser.add_argument("--repeats", type=int, default=5, help="native runs of each kind; default 5")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the rows as JSON")
    arguments = parser.parse_args()
    before = os.getloadavg()[0]
    try:
        rows = measure(
            arguments.cipher or ciphers,
            arguments.seconds,
            arguments.repeats,
            lambda text: print(text, file=sys.stderr, flush=True),
        )
    except LabError as error:
        print(f"python -m bench.cpu: {error.message}\n  hint: {error.hint}", file=sys.stderr)
        sys.exit(error.status)
    print(*map(_text, rows), sep="\n")
    if arguments.write:
        document = {
            "machine": machines.present(),
            "load": [before, os.getloadavg()[0]],
            "seconds": arguments.seconds,
            "rows": list(map(asdict, rows)),
        }
        arguments.write.write_text(json.dumps(document, indent=1) + "\n")


def table(file: Path = FILE) -> str:
    """Return the table of docs/cpu.md: throughput of every cipher and kind of traffic, from what ``--write`` wrote."""
    rows = [CpuRow(**row) for row in json.loads(file.read_text())["rows"]]
    lines = ["| cipher | traffic | native, Mbit/s | lab, Mbit/s | lab / native |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        low, high = min(row.native_mbps), max(row.native_mbps)
        native = f"{statistics.median(row.native_mbps):.0f} ({low:.0f} to {high:.0f})"
        lines.append(f"| {row.cipher} | {row.load} | {native} | {row.lab_mbps:.0f} | {row.ratio:.2f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
