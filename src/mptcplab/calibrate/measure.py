# SPDX-License-Identifier: MIT
"""Measure the CPU time of a program's sides under every load, and fit their costs."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mptcplab.calibrate.bed import Bed, Running, bed
from mptcplab.calibrate.fit import Costs, Sample, fit
from mptcplab.calibrate.programs import Chain, Load, Program, Side
from mptcplab.calibrate.syscalls import SyscallCounter, counting
from mptcplab.engine.tools import find_program, flow_program
from mptcplab.errors import LabError
from mptcplab.workload.context import FLOW

#: Time for programs to notice that their connections have ended.
_SETTLE_SECONDS = 0.1
#: A load has to end by itself within this time after it should have.
_GRACE_SECONDS = 30.0
_Report = Callable[[str], None]


@dataclass(frozen=True)
class Calibration:
    """The costs of one side of a program, and the loads from which they follow."""

    side: str
    costs: Costs
    samples: tuple[Sample, ...]

    @property
    def worst(self) -> Sample:
        """The load that the costs explain worst."""
        return max(self.samples, key=lambda sample: abs(self.costs.error(sample)))


@dataclass(frozen=True)
class _Run:
    """One load: payload, CPU time by side in ns, and calls and bytes by side if they were counted."""

    payload: int
    cpu_ns: Mapping[str, int]
    counts: Mapping[str, tuple[int, int]]


def calibrate(
    program: Program,
    cipher: str,
    *,
    seconds: float,
    repeats: int,
    report: _Report,
    started: Callable[[Side, Running], None] = lambda _side, _running: None,
) -> list[Calibration]:
    """Run ``program`` with ``cipher`` under all its loads, each for so many ``seconds``, and return its sides' costs.

    System calls are counted in a run of their own, since counting takes CPU time. The CPU time is the least of
    ``repeats`` other runs. ``started`` is called with each side that has been started.
    :raises MissingError: if this machine lacks a program, or does not allow it. :raises LabError: if a program fails.
    """
    paths = _paths(program)
    chain = _resolved(program.chain(cipher, seconds), paths)
    with tempfile.TemporaryDirectory(prefix="mptcplab-calibrate-") as folder, bed(Path(folder)) as place:
        bench = _Bench(place, chain, seconds, started)
        report("counting system calls")
        with counting() as counter:
            counted = {load.name: bench.run(load, counter) for load in chain.loads}
        timed: dict[str, list[_Run]] = {load.name: [] for load in chain.loads}
        for number in range(1, repeats + 1):
            report(f"measuring CPU time, {number} of {repeats}")
            for load in chain.loads:
                timed[load.name].append(bench.run(load, None))
    return [_calibration(side, counted, timed) for side in counted[chain.loads[0].name].cpu_ns]


def _calibration(side: str, counted: Mapping[str, _Run], timed: Mapping[str, Sequence[_Run]]) -> Calibration:
    samples = []
    for load, run in counted.items():
        calls, moved = run.counts[side]
        # Other programs on the machine can only add to it: they take caches, and a part of the core.
        cpu_ns = min(one.cpu_ns[side] / one.payload for one in timed[load])
        samples.append(Sample(load, cpu_ns, calls / run.payload, moved / run.payload))
    return Calibration(side, fit(samples), tuple(samples))


class _Bench:
    """The programs of a chain in a namespace: helpers and lasting sides run, the others are started for each load."""

    def __init__(self, place: Bed, chain: Chain, seconds: float, started: Callable[[Side, Running], None]) -> None:
        self._bed, self._chain, self._seconds, self._started = place, chain, seconds, started
        cpus = sorted(os.sched_getaffinity(0))
        self._other_cpu = cpus[-1]
        #: Sides on different CPUs, as far as there are any, and the entry apart from the traffic.
        self._cpus = {side.name: cpus[number % len(cpus)] for number, side in enumerate(reversed(chain.sides))}
        for helper in chain.helpers:
            place.wait_for_port(place.start(helper.argv, cpu=self._other_cpu), helper.port)
        self._lasting = {side.name: self._ready(side) for side in chain.sides if not side.ends}

    def _ready(self, side: Side) -> Running:
        running = self._bed.start(side.argv, cpu=self._cpus[side.name])
        self._started(side, running)
        self._bed.wait_for_port(running, side.port)
        return running

    def run(self, load: Load, counter: SyscallCounter | None) -> _Run:
        """Run one load. :raises LabError: if a program fails or nothing arrives."""
        short = {one.name: self._ready(one) for one in self._chain.sides if one.ends}
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
        return _Run(payload, cpu_ns, counts)


def _paths(program: Program) -> dict[str, str]:
    """Return the paths of what runs. :raises MissingError: naming the package of what is missing."""
    return {name: str(flow_program() if name == FLOW else find_program(name)) for name in program.uses}


def _resolved(chain: Chain, paths: Mapping[str, str]) -> Chain:
    """Return the chain with the paths of its programs."""

    def argv(one: Side | Load) -> tuple[str, ...]:
        return (paths[one.argv[0]], *one.argv[1:])

    return Chain(
        sides=tuple(replace(one, argv=argv(one)) for one in chain.sides),
        loads=tuple(replace(one, argv=argv(one)) for one in chain.loads),
        helpers=tuple(replace(one, argv=argv(one)) for one in chain.helpers),
    )
