# SPDX-License-Identifier: MIT
"""Measure the CPU time of a program's sides under every load, in a namespace of their own, and fit their costs."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mptcplab.calibrate.programs import CalibratedProgram, Load, ProgramChain, ProgramSide
from mptcplab.calibrate.syscalls import SyscallCounter, count_calls
from mptcplab.engine.tools import find_program, flow_program
from mptcplab.errors import LabError
from mptcplab.workload.context import FLOW

# Find the costs per system call and per byte that explain a program's CPU time under several loads.


@dataclass(frozen=True)
class LoadSample:
    """One load of one side of a program, all by byte of payload that the load moved.

    ``cpu_ns`` is CPU time, ``calls`` and ``bytes`` are system calls and the bytes that they read and wrote.
    """

    load: str
    cpu_ns: float
    calls: float
    bytes: float


@dataclass(frozen=True)
class Costs:
    """The time of a system call and of each byte that it reads or writes, in ns."""

    per_call_ns: float
    per_byte_ns: float

    def cost_of(self, sample: LoadSample) -> float:
        """Return the CPU time by byte of payload that the costs give for a load, in ns."""
        return self.per_call_ns * sample.calls + self.per_byte_ns * sample.bytes

    def error(self, sample: LoadSample) -> float:
        """Return by which fraction of the measured CPU time that is too much; negative if it is too little."""
        return self.cost_of(sample) / sample.cpu_ns - 1


def fit(samples: Sequence[LoadSample]) -> Costs:
    """Return the costs with the smallest sum of squared relative errors. Neither is negative.

    It is a least-squares problem of two unknowns: if the free minimum has a negative cost, the minimum without that
    cost is the solution, because the sum is convex.
    """
    rows = [(sample.calls / sample.cpu_ns, sample.bytes / sample.cpu_ns) for sample in samples]
    cc, cb, bb = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    c, b = (sum(row[i] for row in rows) for i in (0, 1))
    determinant = cc * bb - cb * cb
    alone = (Costs(c / cc if cc else 0.0, 0.0), Costs(0.0, b / bb if bb else 0.0))
    if determinant > 1e-9 * cc * bb:
        free = Costs((c * bb - b * cb) / determinant, (b * cc - c * cb) / determinant)
        if free.per_call_ns >= 0 and free.per_byte_ns >= 0:
            return free
    return min(alone, key=lambda costs: sum(costs.error(sample) ** 2 for sample in samples))


# Runs programs natively in a network namespace of their own, which has only the loopback interface.

_READY_SECONDS = 10.0
_POLL_SECONDS = 0.01
_LISTEN = "0A"
#: A process that waits, with its number known, until it may become the program.
_GATE = ("sh", "-c", 'read -r _ && exec "$0" "$@"')
_HOLDER = "ip link set dev lo up && echo up && exec cat"


@dataclass
class RunningProgram:
    """A started program."""

    argv: tuple[str, ...]
    process: subprocess.Popen[str]
    errors: Path

    @property
    def pid(self) -> int:
        """Its process number."""
        return self.process.pid

    def cpu_ns(self) -> int:
        """Return the CPU time of all its threads so far, in ns. The program must run."""
        # The clock of another process: include/linux/posix-timers_types.h.
        return time.clock_gettime_ns((~self.pid << 3) | 2)

    def begin(self) -> None:
        """Let a program that was started behind the gate begin."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.close()

    def wait(self, seconds: float) -> resource.struct_rusage:
        """Wait for its end and return what it used. :raises LabError: if it fails, or does not end in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            pid, status, used = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                if self.process.returncode:
                    raise self.failure(f"ended with status {self.process.returncode}")
                return used
            time.sleep(_POLL_SECONDS)
        raise self.failure(f"did not end within {seconds:g} s")

    def failure(self, what: str) -> LabError:
        """Return an error about the program with the end of its error output."""
        lines = self.errors.read_text(errors="replace").strip().splitlines()
        return LabError(f"'{self.argv[0]}' {what}", hint=lines[-1] if lines else None)


class CalibrationBed:
    """Starts programs in the namespace of the process ``holder``; ``folder`` takes what they print."""

    def __init__(self, holder: int, folder: Path) -> None:
        self._holder, self._folder = holder, folder
        self._started: list[RunningProgram] = []

    def start(self, argv: Sequence[str], *, cpu: int, gated: bool = False) -> RunningProgram:
        """Start a program on one CPU; ``gated``: it waits for :meth:`RunningProgram.begin`."""
        number = len(self._started)
        words = ("nsenter", f"--net=/proc/{self._holder}/ns/net", "taskset", "--cpu-list", str(cpu))
        output, errors = (self._folder / f"{number}.{kind}" for kind in ("out", "err"))
        with output.open("w") as out, errors.open("w") as err:
            process = subprocess.Popen(
                [*words, *(_GATE if gated else ()), *argv],
                stdin=subprocess.PIPE if gated else subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                text=True,
            )
        running = RunningProgram(tuple(argv), process, errors)
        self._started.append(running)
        return running

    def output(self, running: RunningProgram) -> str:
        """Return what a program has printed."""
        return running.errors.with_suffix(".out").read_text()

    def wait_for_port(self, running: RunningProgram, port: int) -> None:
        """Wait until a program listens on ``port``. :raises LabError: if it ends before, or does not listen in time."""
        deadline = time.monotonic() + _READY_SECONDS
        while port not in self._listening_ports():
            if running.process.poll() is not None:
                raise running.failure(f"ended with status {running.process.returncode} before it listened")
            if time.monotonic() > deadline:
                raise running.failure(f"does not listen on port {port}")
            time.sleep(_POLL_SECONDS)

    def _listening_ports(self) -> set[int]:
        ports: set[int] = set()
        for name in ("tcp", "tcp6"):
            rows = [line.split() for line in Path(f"/proc/{self._holder}/net/{name}").read_text().splitlines()[1:]]
            ports |= {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == _LISTEN}
        return ports

    def end(self, running: RunningProgram) -> None:
        """End a program, if it still runs."""
        if running.process.returncode is None:
            running.process.kill()
            running.process.wait()

    def end_all(self) -> None:
        """End all programs."""
        for running in reversed(self._started):
            self.end(running)


@contextmanager
def open_bed(folder: Path) -> Iterator[CalibrationBed]:
    """Make the namespace; everything in it ends on leaving. :raises LabError: if it cannot be made."""
    with subprocess.Popen(
        ["unshare", "--net", "sh", "-c", _HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stderr is not None
        if holder.stdout.readline().strip() != "up":
            raise LabError(
                "no network namespace can be made on this machine", hint=holder.stderr.read().strip() or None
            )
        made = CalibrationBed(holder.pid, folder)
        try:
            yield made
        finally:
            made.end_all()
            holder.kill()


# Measure the CPU time of a program's sides under every load, and fit their costs.

#: Time for programs to notice that their connections have ended.
_SETTLE_SECONDS = 0.1
#: A load has to end by itself within this time after it should have.
_GRACE_SECONDS = 30.0
_Report = Callable[[str], None]


@dataclass(frozen=True)
class SideCalibration:
    """The costs of one side of a program, and the loads from which they follow."""

    side: str
    costs: Costs
    samples: tuple[LoadSample, ...]

    @property
    def cpu(self) -> dict[str, str]:
        """The key ``cpu`` of a node, with three significant digits."""
        return {"per_call": _time_text(self.costs.per_call_ns), "per_byte": _time_text(self.costs.per_byte_ns)}

    @property
    def worst(self) -> LoadSample:
        """The load that the costs explain worst."""
        return max(self.samples, key=lambda sample: abs(self.costs.error(sample)))


def _time_text(cost_ns: float) -> str:
    picoseconds = round(float(f"{1000 * cost_ns:.3g}"))
    return f"{picoseconds / 10**6:g} us" if picoseconds >= 10**6 else f"{picoseconds / 10**3:g} ns"


@dataclass(frozen=True)
class _LoadRun:
    """One load: payload, CPU time by side in ns, and calls and bytes by side if they were counted."""

    payload: int
    cpu_ns: Mapping[str, int]
    counts: Mapping[str, tuple[int, int]]


def calibrate(
    program: CalibratedProgram,
    cipher: str,
    *,
    seconds: float,
    repeats: int,
    report: _Report,
    started: Callable[[ProgramSide, RunningProgram], None] = lambda _side, _running: None,
) -> list[SideCalibration]:
    """Run ``program`` with ``cipher`` under all its loads, each for ``seconds``, and return its sides' costs.

    System calls are counted in a run of their own, since counting takes CPU time. The CPU time is the least of
    ``repeats`` other runs. ``started`` is called with each side that has been started.
    :raises MissingError: if this machine lacks a program, or does not allow it. :raises LabError: if a program fails.
    """
    paths = _paths(program)
    chain = _resolve(program.chain(cipher, seconds), paths)
    with tempfile.TemporaryDirectory(prefix="mptcplab-calibrate-") as folder, open_bed(Path(folder)) as place:
        bench = _Bench(place, chain, seconds, started)
        report("counting system calls")
        with count_calls() as counter:
            counted = {load.name: bench.run(load, counter) for load in chain.loads}
        timed: dict[str, list[_LoadRun]] = {load.name: [] for load in chain.loads}
        for number in range(1, repeats + 1):
            report(f"measuring CPU time, {number} of {repeats}")
            for load in chain.loads:
                timed[load.name].append(bench.run(load, None))
    return [_calibration(side, counted, timed) for side in counted[chain.loads[0].name].cpu_ns]


def _calibration(
    side: str, counted: Mapping[str, _LoadRun], timed: Mapping[str, Sequence[_LoadRun]]
) -> SideCalibration:
    samples = []
    for load, run in counted.items():
        calls, moved = run.counts[side]
        # Other programs on the machine can only add to it: they take caches, and a part of the core.
        cpu_ns = min(load_run.cpu_ns[side] / load_run.payload for load_run in timed[load])
        samples.append(LoadSample(load, cpu_ns, calls / run.payload, moved / run.payload))
    return SideCalibration(side, fit(samples), tuple(samples))


class _Bench:
    """The programs of a chain in a namespace: helpers and lasting sides run, the others are started for each load."""

    def __init__(
        self,
        place: CalibrationBed,
        chain: ProgramChain,
        seconds: float,
        started: Callable[[ProgramSide, RunningProgram], None],
    ) -> None:
        self._bed, self._chain, self._seconds, self._started = place, chain, seconds, started
        cpus = sorted(os.sched_getaffinity(0))
        self._other_cpu = cpus[-1]
        #: Sides on different CPUs, as far as there are any, and the entry apart from the traffic.
        self._cpus = {side.name: cpus[number % len(cpus)] for number, side in enumerate(reversed(chain.sides))}
        for helper in chain.helpers:
            place.wait_for_port(place.start(helper.argv, cpu=self._other_cpu), helper.port)
        self._lasting = {side.name: self._start_ready(side) for side in chain.sides if not side.ends}

    def _start_ready(self, side: ProgramSide) -> RunningProgram:
        running = self._bed.start(side.argv, cpu=self._cpus[side.name])
        self._started(side, running)
        self._bed.wait_for_port(running, side.port)
        return running

    def run(self, load: Load, counter: SyscallCounter | None) -> _LoadRun:
        """Run one load. :raises LabError: if a program fails or nothing arrives."""
        short = {side.name: self._start_ready(side) for side in self._chain.sides if side.ends}
        client = self._bed.start(load.argv, cpu=self._other_cpu, gated=True)
        sides = {**self._lasting, **short}
        measured = {**sides, **({load.side: client} if load.side else {})}
        if counter is not None:
            for running in measured.values():
                counter.watch(running.pid)
        before = {name: running.cpu_ns() for name, running in measured.items()}
        client.begin()
        used = {client.pid: client.wait(self._seconds + _GRACE_SECONDS)}
        time.sleep(_SETTLE_SECONDS)
        used |= {running.pid: running.wait(_GRACE_SECONDS) for running in short.values()}
        cpu_ns = {}
        for name, running in measured.items():
            rusage = used.get(running.pid)
            total = running.cpu_ns() if rusage is None else round(1e9 * (rusage.ru_utime + rusage.ru_stime))
            cpu_ns[name] = total - before[name]
        payload = load.payload(self._bed.output(client))
        if payload <= 0:
            raise LabError(f"no payload arrived with {load.name}", hint="see whether the program works on this machine")
        counts = {name: counter.read(running.pid) for name, running in measured.items()} if counter is not None else {}
        return _LoadRun(payload, cpu_ns, counts)


def _paths(program: CalibratedProgram) -> dict[str, str]:
    """Return the paths of what runs. :raises MissingError: naming the package of what is missing."""
    return {name: str(flow_program() if name == FLOW else find_program(name)) for name in program.uses}


def _resolve(chain: ProgramChain, paths: Mapping[str, str]) -> ProgramChain:
    """Return the chain with the paths of its programs."""

    def argv(side: ProgramSide | Load) -> tuple[str, ...]:
        return (paths[side.argv[0]], *side.argv[1:])

    return ProgramChain(
        sides=tuple(replace(side, argv=argv(side)) for side in chain.sides),
        loads=tuple(replace(load, argv=argv(load)) for load in chain.loads),
        helpers=tuple(replace(helper, argv=argv(helper)) for helper in chain.helpers),
    )
