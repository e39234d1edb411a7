# SPDX-License-Identifier: MIT
"""``python -m bench.boot``: the time of a stock machine from its start to the first packet and to its end, by stages.

The machine and its files are the same as for the engine `stock`, but for marks: process 1 writes them to the console,
and the firmware its messages to a port. This process notes when each arrives, and the CPU time that QEMU has used by
then. In the machine, a nanosecond is an instruction.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import statistics
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any
from unittest import mock

from tools.docs.making.pages import table_of

from bench.inside_boot import FIRST, MARK
from mptcplab.campaign.record import prepare_engines
from mptcplab.engine.stock import engine as stock
from mptcplab.engine.stock.machine import Hardware, StockBoot, StockMachine
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import load

ROOT = Path(__file__).parents[1]
FILE = Path(__file__).with_name("boot.json")
_EXAMPLE = ROOT / "examples" / "two-paths.toml"
_SETTINGS = ("transport.protocol=mptcp", "workloads.bulk.duration=100 ms")
_INSIDE = Path(__file__).with_name("inside_boot.py")
_BIOS, _CONSOLE = "bios", "console"
_START, _FIRMWARE, _END = "start", "firmware", "end"
#: The stages by the mark that ends them, in words.
STAGES = {
    _START: "this side: the run's files, QEMU's process",
    _FIRMWARE: "QEMU's start, firmware",
    "process 1": "kernel, start of Python",
    "imports": "Python's modules",
    "modules": "kernel's modules",
    "network": "set-up of the network",
    "servers": "programs that serve, idle until time zero",
    FIRST: "client's start until its first packet",
    "traffic": "100 ms of traffic",
    "counters": "counters",
    "results": "results leave the machine",
    _END: "QEMU's end, results unpacked",
}


@dataclass(frozen=True)
class Instant:
    """A mark: seconds of wall and CPU time (QEMU's and ours) since the start, and of the machine's clock, if known."""

    name: str
    wall: float
    cpu: float
    clock: float | None = None


class _Log:
    """The marks of one run, in the order of their arrival."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.monotonic(), time.process_time()
        self.instants: list[Instant] = []
        self._of_qemu, self.process = 0.0, 0

    def note(self, name: str, clock: float | None = None, *, of_qemu: float = 0.0) -> None:
        # Without a process QEMU has just ended.
        self._of_qemu = max(self._of_qemu, of_qemu, cpu_seconds(self.process))
        cpu = time.process_time() - self._cpu + self._of_qemu
        self.instants.append(Instant(name, time.monotonic() - self._wall, cpu, clock))


def cpu_seconds(process: int) -> float:
    """Return the CPU time that all threads of a process have used; 0 if there is none."""
    total = 0
    with contextlib.suppress(OSError):
        for file in Path(f"/proc/{process}/task").glob("*/schedstat"):
            total += int(file.read_text().split()[0])
    return total / 1e9


class _WatchedMachine(StockMachine):
    """A machine whose console and firmware are read while it runs."""

    log: _Log

    def __init__(self, boot: StockBoot) -> None:
        self._folder = boot.work
        for name in (_BIOS, _CONSOLE):
            os.mkfifo(boot.work / name)
        self._readers = [threading.Thread(target=read) for read in (self._read_bios, self._read_console)]
        self._text = b""
        for reader in self._readers:
            reader.start()
        super().__init__(boot)
        self.log.process = self.pid
        self.log.note(_START)

    def _read_bios(self) -> None:
        with (self._folder / _BIOS).open("rb") as lines:
            for line in lines:
                if line.startswith(b"Booting from"):
                    self.log.note(_FIRMWARE)

    def _read_console(self) -> None:
        with (self._folder / _CONSOLE).open("rb", buffering=0) as console:
            for line in console:
                self._text += line
                if line.startswith(MARK.encode()):
                    _, clock, name = line.decode().strip().split(maxsplit=2)
                    self.log.note(name, int(clock) / 1e9)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        for reader in self._readers:
            reader.join()
        (self._folder / _CONSOLE).unlink()
        (self._folder / _CONSOLE).write_bytes(self._text)
        super().__exit__(kind, error, trace)


@dataclass(frozen=True)
class _TalkingHardware(Hardware):
    """The machine with a port for the firmware's messages, and further options of QEMU and of the kernel."""

    more: tuple[str, ...] = ()
    kernel_options: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        port = ("-chardev", f"file,id=bios,path={_BIOS}", "-device", "isa-debugcon,iobase=0x402,chardev=bios")
        return (*super().command, *port, *self.more)

    @property
    def options(self) -> tuple[str, ...]:
        return (*super().options, *self.kernel_options)


@dataclass(frozen=True)
class _MarkedEngine(stock.StockEngine):
    """The engine with marks in process 1."""

    def _files(self, plan: Plan, programs: Mapping[str, Path], seed: int) -> dict[str, tuple[bytes, bool]]:
        files = super()._files(plan, programs, seed)
        script, executable = files["/init"]
        first, rest = script.split(b"\n", 1)
        words = f"import sys; sys.path.insert(0, '/bench'); import inside_boot; inside_boot.install({plan.nodes[0]!r})"
        # The package must be found before the marks import it.
        path, rest = rest.split(b"\n", 1)
        return {
            **files,
            "/init": (b"\n".join((first, path, words.encode(), rest)), executable),
            "/bench/inside_boot.py": (_INSIDE.read_bytes(), False),
        }


def measure(version: str, options: str, emulator: tuple[str, ...]) -> list[Instant]:
    """Return the marks of one run on a stock kernel, with further options of the kernel and of QEMU."""
    run = next(iter(load(_EXAMPLE, overrides=_SETTINGS).runs))
    engines = prepare_engines([run], name=f"stock:{version}")
    engine = engines.engine_for(run)
    assert isinstance(engine, stock.StockEngine)
    hardware = _TalkingHardware(more=emulator, kernel_options=tuple(options.split()))
    marked = _MarkedEngine(engine.kernel, engine.tools, engine.stall_seconds, hardware)
    plan = compile_plan(run.point.scenario, seed=run.seed)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    log = _WatchedMachine.log = _Log()
    with TemporaryDirectory() as folder, mock.patch.object(stock, "StockMachine", _WatchedMachine):
        marked.execute(plan, seed=run.seed, folder=Path(folder), cpu=min(os.sched_getaffinity(0)))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    log.note(_END, of_qemu=used)
    return log.instants


def main() -> None:
    """Measure, and print or write the marks."""
    parser = argparse.ArgumentParser(prog="python -m bench.boot", description=__doc__)
    parser.add_argument("--kernel", default="6.12", help="version of the stock kernel; default %(default)s")
    parser.add_argument("--repeats", type=int, default=5, help="runs; default %(default)s")
    parser.add_argument("--options", default="", help="further options of the kernel")
    parser.add_argument("--qemu", default="", help="further options of QEMU")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the marks as JSON")
    arguments = parser.parse_args()
    runs = []
    for _ in range(arguments.repeats):
        runs.append(measure(arguments.kernel, arguments.options, tuple(arguments.qemu.split())))
    document: dict[str, Any] = {
        "kernel": arguments.kernel,
        "load": os.getloadavg()[0],
        "runs": [[asdict(boot) for boot in run] for run in runs],
    }
    if arguments.write:
        arguments.write.write_text(json.dumps(document, indent=1) + "\n")
    print(table(document))


def table(document: dict[str, Any] | None = None) -> str:
    """Return the medians of all runs: each stage, and the time from the start to its end."""
    document = document or json.loads(FILE.read_text())
    columns = [_column(document["runs"], key) for key in ("wall", "cpu", "clock")]
    lines = [[title, *(cell for column in columns for cell in column[name])] for name, title in STAGES.items()]
    head = ["stage", "wall, s", "in all", "CPU, s", "in all", "machine's clock, s", "in all"]
    return table_of(head, lines)


def _column(runs: Sequence[Sequence[Mapping[str, Any]]], key: str) -> dict[str, tuple[str, str]]:
    """Return by stage the medians of its own time, and of the time until its end."""
    cells = {}
    before = [0.0] * len(runs)
    for name in STAGES:
        values = [next(program for program in run if program["name"] == name)[key] for run in runs]
        if None in values:
            cells[name] = ("", "")
            continue
        durations = [after - earlier for earlier, after in zip(before, values, strict=True)]
        cells[name] = (f"{statistics.median(durations):.2f}", f"{statistics.median(values):.2f}")
        before = values
    return cells


if __name__ == "__main__":
    main()
