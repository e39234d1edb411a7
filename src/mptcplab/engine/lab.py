# SPDX-License-Identifier: MIT
"""Run an experiment: every run once, several at a time, nothing twice, nothing lost.

OUT/runs/IDENTITY/   one recording each; a run that is there is not executed again
    log.jsonl        when, where and how fast each run was executed: all that is not part of its identity
    .work/           runs under way; what a killed process left there goes when the next command begins
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab.engine.identity import Identity, identify
from mptcplab.engine.machine import check_folder
from mptcplab.engine.tools import flow_program
from mptcplab.engine.virtual import Outcome, RunInterruptedError, VirtualEngine
from mptcplab.engine.watchdog import DEFAULT_STALL_SECONDS
from mptcplab.errors import InputError, LabError
from mptcplab.kernel import find_kernel
from mptcplab.kernel.cache import work_dir
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan, Program
from mptcplab.recording.record import Recording, finish, is_complete, relabelled
from mptcplab.scenario.load import Run
from mptcplab.scenario.network import Network
from mptcplab.workload.context import FLOW


@dataclass(frozen=True)
class Done:
    """One run and its recording, or why there is none.

    ``wall_seconds`` is None when it was there already; ``virtual_ns`` counts from the plan's time zero.
    """

    run: Run
    recording: Recording | None
    error: LabError | None = None
    wall_seconds: float | None = None
    virtual_ns: int = 0


class Stop:
    """Turns Ctrl-C and SIGTERM into the end of every lab: a descriptor that becomes readable."""

    def __init__(self) -> None:
        self._event = os.eventfd(0)
        self.asked = False

    @property
    def descriptor(self) -> int:
        """Becomes readable, and stays so, when the end was asked for."""
        return self._event

    def ask(self) -> None:
        """End everything."""
        self.asked = True
        os.eventfd_write(self._event, 1)

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """Ask on SIGINT and SIGTERM while inside; must be entered by the main thread."""
        before = {number: signal.signal(number, lambda *_: self.ask()) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def prepare_engines(runs: Iterable[Run], *, stall_seconds: float = DEFAULT_STALL_SECONDS) -> dict[str, VirtualEngine]:
    """An engine for every kernel version that ``runs`` ask for. :raises MissingError: when one is not built."""
    versions = dict.fromkeys(run.point.scenario.kernel for run in runs)
    kernels = {version: find_kernel(version) for version in versions}
    tools = {FLOW: flow_program()}
    return {version: VirtualEngine(kernel, tools, stall_seconds) for version, kernel in kernels.items()}


class Lab:
    """Executes runs into one results folder. ``engines`` has one for every kernel version that the runs ask for.

    With ``fresh``, recordings that are there already are made again.
    """

    def __init__(self, engines: Mapping[str, VirtualEngine], out: Path, *, stop: Stop, fresh: bool = False) -> None:
        self._engines, self._stop, self._fresh = engines, stop, fresh
        self._out = out.resolve()
        self._runs = self._out / "runs"
        self._work = self._out / ".work"
        self._log = self._out / "log.jsonl"
        self._log_lock = threading.Lock()
        check_folder(self._out)
        try:
            self._runs.mkdir(parents=True, exist_ok=True)
            # Removes leftovers, and finds out now whether anything can be written here.
            with work_dir("start", self._work), self._log.open("a"):
                pass
        except OSError as error:
            hint = "name another folder with --out"
            raise InputError(f"{out}: {(error.strerror or str(error)).lower()}", hint=hint) from error

    def execute(self, runs: Sequence[Run], *, jobs: int, progress: Callable[[Done], None]) -> list[Done]:
        """All ``runs``, in their order. Failed runs have an error; the others are not affected.

        :raises RunInterruptedError: when the end was asked for; finished runs are kept.
        """
        cpus = _cpus(jobs)
        results: dict[int, Done] = {}
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            waiting = {pool.submit(self._one, run, cpus): number for number, run in enumerate(runs)}
            pending: set[Future[Done]] = set(waiting)
            while pending:
                finished, pending = wait(pending, return_when=FIRST_COMPLETED, timeout=0.5)
                for future in finished:
                    done = future.result()
                    results[waiting[future]] = done
                    if not self._stop.asked:
                        progress(done)
        if self._stop.asked:
            raise RunInterruptedError("interrupted", hint="the same command goes on where this one ended")
        return [results[number] for number in sorted(results)]

    def _one(self, run: Run, cpus: queue.SimpleQueue[int]) -> Done:
        if self._stop.asked:
            return Done(run, None)
        cpu = cpus.get()
        try:
            return self._record(run, cpu)
        except LabError as error:
            return Done(run, None, error)
        except OSError as error:
            message = f"{self._out} cannot be written: {(error.strerror or str(error)).lower()}"
            return Done(run, None, LabError(message, hint="see `df` and `ls -ld`, or name another folder with --out"))
        finally:
            cpus.put(cpu)

    def _record(self, run: Run, cpu: int) -> Done:
        plan = compile_plan(run.point.scenario, seed=run.seed)
        engine = self._engines[run.point.scenario.kernel]
        identity = identify(run, plan, engine="virtual", kernel=engine.kernel, tools=engine.tools)
        target = self._runs / identity.name
        if is_complete(target) and not self._fresh:
            return Done(run, relabelled(Recording(target), _labels(run)))
        with work_dir(identity.name, self._work) as place:
            folder = place / "run"
            folder.mkdir()
            outcome = engine.execute(plan, seed=run.seed, folder=folder, cpu=cpu, stop=self._stop.descriptor)
            manifest = _manifest(run, plan, identity, outcome)
            finish(folder, manifest=manifest, zero_ns=outcome.zero_ns, console=outcome.console)
            with contextlib.suppress(FileNotFoundError):
                target.rename(place / "replaced")
            folder.rename(target)
        self._note(identity, outcome)
        return Done(run, Recording(target), None, outcome.wall_seconds, outcome.virtual_ns - outcome.zero_ns)

    def _note(self, identity: Identity, outcome: Outcome) -> None:
        line = {
            "run": identity.name,
            "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "wall_seconds": round(outcome.wall_seconds, 3),
            "virtual_seconds": outcome.virtual_ns / 1e9,
            "host": {"kernel": platform.release(), "machine": platform.machine(), "cpus": os.cpu_count()},
        }
        with self._log_lock, self._log.open("a") as log:
            log.write(json.dumps(line, sort_keys=True) + "\n")


def _cpus(jobs: int) -> queue.SimpleQueue[int]:
    """One CPU per job, round and round when there are more jobs than CPUs."""
    mine = sorted(os.sched_getaffinity(0), reverse=True)
    cpus: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(jobs):
        cpus.put(mine[number % len(mine)])
    return cpus


def _manifest(run: Run, plan: Plan, identity: Identity, outcome: Outcome) -> dict[str, Any]:
    itself = {program.name for program in plan.programs if _is_flow(program)}
    network = Network(run.point.scenario)
    return {
        "identity": identity.name,
        "facts": identity.facts,
        **_labels(run),
        "seed": run.seed,
        "zero_ns": outcome.zero_ns,
        "virtual_ns": outcome.virtual_ns,
        "addresses": {port.ip: {"node": port.node, "link": port.link} for port in network.ports.values()},
        "programs": [{**program, "samples_itself": program["name"] in itself} for program in outcome.programs],
    }


def _labels(run: Run) -> dict[str, Any]:
    """What a run is called in its experiment. It does not change the result: another sweep may have the same run."""
    return {"settings": [[key, value] for key, value in run.point.settings.items()], "repeat": run.repeat}


def _is_flow(program: Program) -> bool:
    return program.argv[0] == FLOW
