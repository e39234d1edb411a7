# SPDX-License-Identifier: MIT
"""The overhead of a run, by stage: measures plans that each do one thing more than the one before."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bench import lab, scenarios
from bench.ratios import Ratio
from bench.usage import Usage, measure_usage
from mptcplab.campaign.lab import Lab, Stop
from mptcplab.campaign.record import Engines
from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.scenario.load import load
from mptcplab.steps import Program

_TARGET_SECONDS = 0.7
_NOTHING = Program("nothing", "client", "client", ("true",), 0, 10**9)
STAGES = ("kernel", "guest", "set-up", "flow", "counters", "recording")
"""The stages in the order of a run; the cost of each is its addition to those before."""


def measure(repeats: int, report: Callable[[str], None]) -> dict[str, list[Usage]]:
    """Return by stage the usage up to and including it, for 0.1 s of MPTCP over two paths."""
    workload = lab.workload_of(scenarios.two_paths("flow", "100 ms"))
    plan = workload.plan
    bare = replace(plan, setup=(), programs=(_NOTHING,), counters=(), sampled=(), watched=(), queues=(), events=())
    runs: dict[str, Callable[[], Usage]] = {
        "kernel": _boot,
        "guest": lambda: _usage(replace(workload, plan=bare)),
        "set-up": lambda: _usage(replace(workload, plan=replace(bare, setup=plan.setup))),
        "flow": lambda: _usage(replace(workload, plan=replace(plan, counters=()))),
        "counters": lambda: _usage(workload),
        "recording": _whole,
    }
    results: dict[str, list[Usage]] = {stage: [] for stage in STAGES}
    for _ in range(repeats):
        for stage in STAGES:
            results[stage].append(runs[stage]())
    for stage in STAGES:
        report(f"up to {stage}: {min(usage.wall for usage in results[stage]):.3f} wall s at best")
    return results


def _usage(workload: lab.Workload) -> Usage:
    return lab.measure(workload).usage


def _boot() -> Usage:
    """Boot to process 1, which exits at once and so ends the kernel."""

    def work() -> None:
        with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as folder:
            options = ["mem=1G", "root=none", "rootfstype=hostfs", "hostfs=/", "ro", "init=/bin/true", "panic=-1"]
            options += ["time-travel=inf-cpu", "con=null", "con0=null,fd:1", "ssl=null", "quiet", f"uml_dir={folder}/"]
            command = ["taskset", "--cpu-list", str(lab.cpu()), str(lab.engine().kernel.executable), *options]
            environment = {"PATH": os.environ["PATH"], "TMPDIR": "/dev/shm"}
            done = subprocess.run([*command, "seccomp=on"], capture_output=True, timeout=60, env=environment)
            if b"Attempted to kill init" not in done.stdout + done.stderr:
                raise RuntimeError("the kernel did not reach its process 1")

    _, usage = measure_usage(work)
    return usage


def _whole() -> Usage:
    """Do the work of `mptcplab run` for one run: identity, lab, recording. Its own Python counts only in wall time."""
    engine = lab.engine()
    with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as name:
        file = Path(name, "bench.toml")
        file.write_text(scenarios.two_paths("flow", "100 ms"))

        def work() -> None:
            run = load(file, seed=1).runs[0]
            stop = Stop()
            engines = Engines(DEFAULT_ENGINE, {run.point.scenario.kernel: engine})
            done = Lab(engines, Path(name, "out"), stop=stop)
            (result,) = done.execute([run], jobs=1, progress=lambda _: None)
            if result.error:
                raise result.error

        started = time.monotonic()
        _, usage = measure_usage(work)
        return Usage(max(usage.wall, time.monotonic() - started), usage.user, usage.system)


def whole_run(results: dict[str, list[Usage]]) -> Ratio:
    """Return the wall seconds of whole runs: the only time among the ratios, with its own target."""
    walls = [usage.wall for usage in results[STAGES[-1]]]
    return Ratio("a whole run, wall seconds", target(), walls, key="whole-run-wall-s")


def target() -> float:
    """Return the maximum wall seconds of a whole run."""
    return _TARGET_SECONDS
