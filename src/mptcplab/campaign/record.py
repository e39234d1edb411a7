# SPDX-License-Identifier: MIT
"""One run, from its plan to its recording: what every executor does, here or on another machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from mptcplab.campaign.contract import contract
from mptcplab.campaign.identity import Identity, identify
from mptcplab.campaign.locks import leased_cpu
from mptcplab.engine.protocol import DEFAULT_STALL_SECONDS, Engine, Outcome
from mptcplab.engine.registry import DEFAULT_ENGINE, engine_kinds
from mptcplab.engine.stop import Stop
from mptcplab.engine.tools import flow_program
from mptcplab.plan.compile import compile_plan, ports
from mptcplab.plan.model import Plan
from mptcplab.recording.record import finish
from mptcplab.scenario.load import Run
from mptcplab.scenario.network import Network
from mptcplab.workload.context import FLOW


@dataclass(frozen=True)
class Job:
    """A run with all that it needs to be executed, and its identity on this machine."""

    run: Run
    plan: Plan
    identity: Identity


@dataclass(frozen=True)
class RunDuration:
    """What an executed run took: virtual time from time zero, wall time, and the worker that did it, if not we."""

    virtual_ns: int
    wall_seconds: float
    where: str = ""


class Executor(Protocol):
    """Carries out jobs: in this process, or on other machines."""

    def record(self, job: Job, folder: Path, stop: Stop) -> RunDuration:
        """Make the recording of ``job`` in ``folder``, an empty one.

        :raises LabError: when the run failed. :raises RunInterruptedError: when ``stop`` was asked for.
        """


@dataclass(frozen=True)
class Engines:
    """Engines of one kind, by the version of the kernel that scenarios ask for."""

    name: str
    by_version: Mapping[str, Engine]

    def of(self, run: Run) -> Engine:
        """Return the one for ``run``."""
        return self.by_version[run.point.scenario.kernel]

    def check_folder(self, folder: Path) -> None:
        """:raises InputError: when they cannot have their files in ``folder``."""
        engine_kinds()[self.name].check_folder(folder)


def prepare_engines(
    runs: Iterable[Run], *, name: str = DEFAULT_ENGINE, stall_seconds: float = DEFAULT_STALL_SECONDS
) -> Engines:
    """An engine for every kernel version that ``runs`` ask for.

    :raises InputError: when they ask for what engines of this kind cannot do.
    :raises MissingError: when a kernel is not built.
    """
    runs = list(runs)
    kind = engine_kinds()[name]
    if kind.capabilities.has_limits:
        for run in {id(run.point): run for run in runs}.values():
            scenario = run.point.scenario
            kernel = scenario.kernel if scenario.is_set("kernel") else None
            kind.capabilities.check(compile_plan(scenario, seed=run.seed), kernel=kernel, name=name)
    versions = dict.fromkeys(run.point.scenario.kernel for run in runs)
    tools = {FLOW: flow_program()}
    found = {version: kind.prepare(version, tools, stall_seconds=stall_seconds) for version in versions}
    return Engines(name, found)


def prepare_job(run: Run, engines: Engines) -> Job:
    """Plan and identity of ``run``. :raises MissingError: when the plan uses a program that this machine lacks."""
    plan = compile_plan(run.point.scenario, seed=run.seed)
    engine = engines.of(run)
    facts = identify(run, plan, engine=engines.name, kernel=engine.kernel_facts, tools=engine.tools)
    return Job(run, plan, facts)


@dataclass(frozen=True)
class LocalExecutor:
    """Runs labs on this machine, each pinned to a CPU of its own as long as there are enough."""

    engines: Engines

    def record(self, job: Job, folder: Path, stop: Stop) -> RunDuration:
        """See :class:`Executor`."""
        engine = self.engines.of(job.run)
        with leased_cpu() as cpu:
            outcome = engine.execute(job.plan, seed=job.run.seed, folder=folder, cpu=cpu, stop=stop.descriptor)
        # As the guest had it, it names the places of this machine's tools, which are no part of a recording.
        (folder / "plan.json").write_text(json.dumps({"plan": asdict(job.plan)}, sort_keys=True, indent=1))
        finish(folder, manifest=_manifest(job, outcome), zero_ns=outcome.zero_ns)
        return RunDuration(outcome.virtual_ns - outcome.zero_ns, outcome.wall_seconds)


def labels(run: Run) -> dict[str, Any]:
    """What a run is called in its experiment. It does not change the result: another sweep may have the same run."""
    return {"settings": [[key, value] for key, value in run.point.settings.items()], "repeat": run.repeat}


def _manifest(job: Job, outcome: Outcome) -> dict[str, Any]:
    run = job.run
    itself = {program.name for program in job.plan.programs if program.argv[0] == FLOW}
    network = Network(run.point.scenario)
    return {
        "identity": job.identity.name,
        "facts": job.identity.facts,
        **labels(run),
        "seed": run.seed,
        "zero_ns": outcome.zero_ns,
        "virtual_ns": outcome.virtual_ns,
        "addresses": {port.ip: {"node": port.node, "link": port.link} for port in network.ports.values()},
        **contract(network, ports(run.point.scenario)),
        "programs": [{**program, "samples_itself": program["name"] in itself} for program in outcome.programs],
    }
