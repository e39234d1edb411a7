# SPDX-License-Identifier: MIT
"""What every test of the lab needs: scenarios and hand-made plans, run in the lab kernel, and what they left."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mptcplab.campaign.identity import code_digest
from mptcplab.campaign.lab import CompletedRun, Lab, Stop
from mptcplab.campaign.record import Engines, labels, prepare_job
from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.engine.protocol import Outcome
from mptcplab.engine.tools import find_programs, fingerprint, library_fingerprints
from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.errors import LabError
from mptcplab.metrics.rows import ResultRow, result_rows
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.proxies.catalog import is_built, recipe_of
from mptcplab.recording.record import Recording, relabel
from mptcplab.scenario.load import Experiment, Run, load
from mptcplab.steps import Counter, Program
from mptcplab.workload.recorded import read_workloads
from mptcplab.workload.registry import workload_of

from . import shared_recordings

MINUTE_NS = 60 * 10**9
CLI = (sys.executable, "-m", "mptcplab")
#: What the engine said of a plan's execution, beside its files.
_OUTCOME = "outcome.json"


def needs(program: str) -> None:
    """Skip a test whose ``program`` is built from a registry, and is not built here."""
    recipe = recipe_of(program)
    if recipe is not None and not is_built(recipe):
        pytest.skip(f"{program} is not built: mptcplab gateways build {recipe.name}")


def note(name: str, value: float) -> None:
    """Print a measured value, and keep it for the pages that quote it when ``make docs`` asks for that.

    ``name`` is what the pages call it: ``[measured: NAME]``; docs/maintaining-docs.md has the rest.
    """
    print(f"{name}: {value:.6g}")
    if file := os.environ.get("MPTCPLAB_MEASURED"):
        with Path(file).open("a") as kept:
            kept.write(json.dumps({name: float(f"{value:.6g}")}) + "\n")


@dataclass(frozen=True)
class LabOutput:
    """What a hand-made plan left."""

    folder: Path
    outcome: Outcome

    def text(self, program: str, kind: str = "out") -> str:
        """What a program wrote."""
        return (self.folder / "out" / f"{program}.{kind}").read_text()

    def counter(self, node: str, name: str) -> Any:
        """A counter, parsed when it is JSON."""
        text = (self.folder / "counters" / node / name).read_text()
        return json.loads(text) if name.endswith(".json") else text

    def qdisc(self, node: str, device: str, kind: str) -> dict[str, Any]:
        """The counters of one queueing discipline, as ``tc -s -j`` gives them."""
        rows = [row for row in self.counter(node, "tc.json") if row["dev"] == device and row["kind"] == kind]
        assert len(rows) == 1, f"{len(rows)} disciplines {kind} at {device} of {node}"
        return dict(rows[0])


class Bench:
    """Runs things in the lab kernel, in a folder of the test's own.

    ``shared`` is a results folder of all tests: recordings are taken from there, and made there if they are not.
    """

    def __init__(self, engines: Mapping[str, VirtualEngine], folder: Path, shared_results: Path | None = None) -> None:
        self.engines, self.folder = engines, folder
        self.shared = folder / "shared" if shared_results is None else shared_results

    def write(self, text: str, name: str = "scenario.toml") -> Path:
        """A scenario file; a title is put before it when it has none."""
        file = self.folder / name
        file.write_text(text if text.lstrip().startswith("title") else f'title = "test"\n{text}')
        return file

    def experiment(self, text: str, *overrides: str, seed: int | None = None) -> Experiment:
        """A scenario, loaded."""
        return load(self.write(text), overrides=overrides, seed=seed)

    def lab(self, out: str = "results", *, fresh: bool = False) -> Lab:
        """A lab that writes its results to ``out``; a relative path is below the test's own folder."""
        return Lab(Engines(DEFAULT_ENGINE, self.engines), self.folder / out, stop=Stop(), fresh=fresh)

    def try_all(self, experiment: Experiment, *, out: str = "results", fresh: bool = False) -> list[CompletedRun]:
        """All runs of an experiment, also the failed ones, executed for this test alone."""
        return self.lab(out, fresh=fresh).execute(experiment.runs, jobs=1, progress=lambda _: None)

    def record(self, text: str, *overrides: str, seed: int | None = None, out: str | None = None) -> list[Recording]:
        """The recordings of a scenario, in the order of its runs. Failures are the test's.

        A test whose point it is that a run is executed names ``out``.
        """
        return self.recordings(self.experiment(text, *overrides, seed=seed).runs, out=out)

    def recordings(self, runs: Sequence[Run], *, out: str | None = None, may_fail: bool = False) -> list[Recording]:
        """Return the recordings of ``runs`` in order. Other tests' recordings are copied and get this test's labels.

        A connection may fail in them only if the test says so: ``may_fail``.
        """
        made = self._recordings(runs, out)
        for recording in made if not may_fail else ():
            _check_connections(recording)
        return made

    def _recordings(self, runs: Sequence[Run], out: str | None) -> list[Recording]:
        done = self.lab(out or str(self.shared)).execute(runs, jobs=1, progress=lambda _: None)
        for completed in done:
            if completed.error is not None:
                raise completed.error
        # A run that another worker was making has come last.
        folders = {id(completed.run): completed.folder for completed in done}
        places = [place for run in runs if (place := folders[id(run)]) is not None]
        if out is not None:
            return [Recording(place) for place in places]
        mine = self.folder / f"recordings{len(list(self.folder.glob('recordings*')))}"
        return [self._copy(place, mine / place.name, run) for place, run in zip(places, runs, strict=True)]

    def _copy(self, place: Path, mine: Path, run: Run) -> Recording:
        if not mine.exists():
            # A worker that labels it anew has a hidden file there for a moment.
            shutil.copytree(place, mine, ignore=shutil.ignore_patterns(".*"))
            return relabel(Recording(mine), labels(run))
        return Recording(mine)

    @contextlib.contextmanager
    def reuse(self, runs: Iterable[Run], out: Path) -> Iterator[None]:
        """Let a command find the ``runs`` that another test has made in its results folder; keep the others.

        For tests of what a command prints and writes, not of how it executes runs.
        """
        engines = Engines(DEFAULT_ENGINE, self.engines)
        for identity in {prepare_job(run, engines).identity.name for run in runs}:
            shared_recordings.lend(self.shared / "runs" / identity, out / "runs" / identity)
        yield
        for recording in (out / "runs").glob("[!.]*"):
            shared_recordings.keep(recording, self.shared / "runs" / recording.name)

    def rows(self, text: str, *overrides: str, seed: int | None = None) -> list[ResultRow]:
        """The rows of a scenario's table."""
        return result_rows(self.record(text, *overrides, seed=seed))

    def row(self, text: str, *overrides: str, seed: int | None = None) -> ResultRow:
        """The only row of a scenario's table."""
        rows = self.rows(text, *overrides, seed=seed)
        assert len(rows) == 1
        return rows[0]

    def plan(self, text: str, *overrides: str, programs: Iterable[Program], counters: Iterable[Counter] = ()) -> Plan:
        """The network of a scenario, exactly as written, with other programs on it.

        A workload is added, since a scenario must have one.
        """
        experiment = self.experiment(text + UNUSED_WORKLOAD, "phases=fixed", *overrides)
        plan = compile_plan(experiment.points[0].scenario, seed=1)
        return replace(plan, programs=tuple(programs), counters=(*plan.counters, *counters), sampled=())

    def live(
        self, plan: Plan, *, seed: int = 1, version: str = "7.2", stall_seconds: float = 10.0, fresh: bool = False
    ) -> LabOutput:
        """Execute a plan; what it leaves stays in a new folder. What another test has executed is copied.

        A test whose point it is that a plan is executed says ``fresh``.
        """
        folder = self.folder / f"plan{len(list(self.folder.glob('plan*')))}"
        engine = replace(self.engines[version], stall_seconds=stall_seconds)
        place = None if fresh else self.shared / "plans" / _identity(plan, engine, seed)
        if place is None or not shared_recordings.lend(place, folder):
            folder.mkdir()
            outcome = engine.execute(plan, seed=seed, folder=folder, cpu=min(os.sched_getaffinity(0)))
            (folder / _OUTCOME).write_text(json.dumps(asdict(outcome)))
            if place is not None:
                shared_recordings.keep(folder, place)
        return LabOutput(folder, Outcome(**json.loads((folder / _OUTCOME).read_text())))

    def fail(self, plan: Plan, *, stall_seconds: float = 10.0) -> LabError:
        """The error that a plan ends with."""
        try:
            self.live(plan, stall_seconds=stall_seconds, fresh=True)
        except LabError as error:
            return error
        raise AssertionError("the plan did not fail")


def _check_connections(recording: Recording) -> None:
    """A run in which a connection fails has results: a test that did not expect that must not pass for this reason."""
    for workload in read_workloads(recording):
        failures = workload_of(workload).failed_connections(recording, workload.name)
        assert not failures.failed, f"{recording.folder}: {workload.name}: {failures}"


def _identity(plan: Plan, engine: VirtualEngine, seed: int) -> str:
    """A name for all that a plan's execution depends on, except code outside of the guest (shared_recordings.py)."""
    paths = {**find_programs(plan.uses, engine.tools), "python": Path(sys.executable)}
    facts = {
        "guest": code_digest(("guest/*.py",)),
        "kernel": engine.kernel_facts,
        "programs": {name: fingerprint(path) for name, path in sorted(paths.items())},
        "libraries": library_fingerprints(tuple(sorted(paths.values()))),
        "plan": plan.to_json(),
        "seed": seed,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


UNUSED_WORKLOAD = """
[workloads.unused]
kind = "flow"
from = "client"
to = "server"
size = "1 B"
"""


def client(name: str, *argv: str, node: str = "client", start_ns: int = 0, seconds: float = 600) -> Program:
    """A program that has to end by itself."""
    return Program(name, node, "client", argv, start_ns, start_ns + round(seconds * 1e9), _script_programs(argv))


def server(name: str, *argv: str, node: str = "server") -> Program:
    """A program that waits."""
    return Program(name, node, "server", argv, starts=_script_programs(argv))


def _script_programs(argv: Sequence[str]) -> tuple[str, ...]:
    """What scripts of the tests may start."""
    network = ("ip", "nft", "ping", "ss", "sysctl", "tc")
    scripts = ("cat", "python3", "seq", "setpriv", "sleep", "touch", "unshare", *network)
    return scripts if argv[0] in ("sh", "python3") else ()


def bare_plan(*programs: Program) -> Plan:
    """Two nodes without a network."""
    return Plan(("client", "server"), (), programs, (), (), 10**9)


def ping_ms(text: str) -> list[float]:
    """Round-trip times of ``ping``, in the order of arrival; from 100 ms on it prints whole ms only."""
    return [float(value) for value in re.findall(r"time=([0-9.]+) ms", text)]


def ping_extremes(text: str) -> tuple[float, float]:
    """The least and the largest round-trip time, which ``ping`` prints to 1 us, in ms."""
    match = re.search(r"= ([0-9.]+)/[0-9.]+/([0-9.]+)/", text)
    assert match is not None, text
    return float(match[1]), float(match[2])


def ping_sequence(text: str) -> list[int]:
    """Sequence numbers of ``ping``, in the order of arrival."""
    return [int(value) for value in re.findall(r"icmp_seq=([0-9]+)", text)]


def tree_hash(folder: Path) -> str:
    """One hash of all names and bytes below ``folder``."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(file.relative_to(folder)).encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def mptcplab(
    *arguments: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """The command line, to its end. Nothing that a user can cause shows a traceback."""
    done = subprocess.run(
        [*CLI, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        timeout=timeout,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def lab_processes(folder: Path) -> dict[int, str]:
    """Every process that works in ``folder``, and every member of a session that such a process leads, by its name."""
    sessions: dict[int, list[int]] = {}
    inside: set[int] = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            pid, state = int(place.name), (place / "stat").read_text().rpartition(")")[2].split()
            sessions.setdefault(int(state[3]), []).append(pid)
            if state[0] != "Z" and os.readlink(place / "cwd").startswith(str(folder)):
                inside.add(pid)
        except OSError:
            continue
    pids = inside | {pid for leader in inside for pid in sessions.get(leader, [])}
    return {pid: _name(pid) for pid in sorted(pids) if _name(pid)}


def alive(pids: Sequence[int]) -> dict[int, str]:
    """Return the ``pids`` that still run, by their name."""
    return {pid: _name(pid) for pid in pids if _name(pid)}


def wait_until_gone(pids: list[int], seconds: float) -> float:
    """How long it took. Fails when one is still there after ``seconds``."""
    started = time.monotonic()
    while left := alive(pids):
        waited = time.monotonic() - started
        assert waited < seconds, f"after {waited:.1f} s there still are {left}"
        time.sleep(0.02)
    return time.monotonic() - started


def _name(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return "" if stat.rpartition(")")[2].split()[0] == "Z" else stat.partition("(")[2].rpartition(")")[0]


def has_protection_keys() -> bool:
    """Return whether this processor has protection keys, which guard a lab kernel that runs programs in its process."""
    return "ospke" in Path("/proc/cpuinfo").read_text().split()
