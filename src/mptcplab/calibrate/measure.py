# SPDX-License-Identifier: MIT
"""Measure the CPU time of a program's sides under every load, and fit their costs."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mptcplab.calibrate.bed import CalibrationBed, Running, open_bed
from mptcplab.calibrate.fit import Costs, LoadSample, fit
from mptcplab.calibrate.programs import CalibratedProgram, Load, ProgramChain, ProgramSide
from mptcplab.calibrate.syscalls import SyscallCounter, count_calls
from mptcplab.engine.tools import find_program, flow_program
from mptcplab.errors import LabError
from mptcplab.workload.context import FLOW

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
    started: Callable[[ProgramSide, Running], None] = lambda _side, _running: None,
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
        started: Callable[[ProgramSide, Running], None],
    ) -> None:
        self._bed, self._chain, self._seconds, self._started = place, chain, seconds, started
        cpus = sorted(os.sched_getaffinity(0))
        self._other_cpu = cpus[-1]
        #: Sides on different CPUs, as far as there are any, and the entry apart from the traffic.
        self._cpus = {side.name: cpus[number % len(cpus)] for number, side in enumerate(reversed(chain.sides))}
        for helper in chain.helpers:
            place.wait_for_port(place.start(helper.argv, cpu=self._other_cpu), helper.port)
        self._lasting = {side.name: self._start_ready(side) for side in chain.sides if not side.ends}

    def _start_ready(self, side: ProgramSide) -> Running:
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
