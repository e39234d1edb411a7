# SPDX-License-Identifier: MIT
"""One run from its plan to its recording: the steps of every executor, on this or another machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mptcplab.campaign.contract import describe_scenario
from mptcplab.campaign.gateways import describe_gateways
from mptcplab.campaign.identity import Identity, identify, resolve_scenario
from mptcplab.campaign.radios import describe_radios
from mptcplab.campaign.store import leased_cpu
from mptcplab.engine.defaults import DEFAULT_ENGINE, DEFAULT_STALL_SECONDS
from mptcplab.engine.memory import MemoryBudget
from mptcplab.engine.protocol import Engine, Outcome, Stop, WithMemory, WithPrograms, engine_kind, kind_named
from mptcplab.engine.tools import compile_tools, radio_program, steer_program
from mptcplab.files import format_json
from mptcplab.node.cpu import without_cpu_cost
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.plan.radios import RADIO
from mptcplab.plan.steering import STEER
from mptcplab.recording.record import finish
from mptcplab.scenario.load import Run
from mptcplab.scenario.network import Network
from mptcplab.workload.context import FLOW


@dataclass(frozen=True)
class RunJob:
    """A run with its plan and its identity on this machine."""

    run: Run
    plan: Plan
    identity: Identity


@dataclass(frozen=True)
class RunDuration:
    """The duration of an executed run in virtual time from time zero and in wall time, and the worker, if any."""

    virtual_ns: int
    wall_seconds: float
    worker: str = ""


class Executor(Protocol):
    """Executes jobs in this process or on other machines."""

    def record(self, job: RunJob, folder: Path, stop: Stop) -> RunDuration:
        """Record ``job`` in ``folder``, which is empty.

        :raises LabError: if the run fails. :raises RunInterruptedError: if ``stop`` is requested.
        """


@dataclass(frozen=True)
class Engines:
    """Engines of one kind, by the kernel version in the scenarios."""

    name: str
    by_version: Mapping[str, Engine]

    def engine_for(self, run: Run) -> Engine:
        """Return the engine for ``run``."""
        return self.by_version[run.point.scenario.kernel]

    def check_folder(self, folder: Path) -> None:
        """Check that the engines can use ``folder`` for their files. :raises InputError: if they cannot."""
        kind_named(self.name).check_folder(folder)


def prepare_engines(
    runs: Iterable[Run], *, name: str = DEFAULT_ENGINE, stall_seconds: float = DEFAULT_STALL_SECONDS
) -> Engines:
    """Return an engine for every kernel version of ``runs``. ``name`` can include an image: ``stock:6.12``.

    :raises InputError: if a run needs something that engines of this kind, or their kernels, cannot do.
    :raises MissingError: if a kernel is not built or not obtained.
    """
    runs = list(runs)
    check_capabilities(runs, name=name)
    name, kind = engine_kind(name)
    points = _first_of_points(runs)
    versions = dict.fromkeys(run.point.scenario.kernel for run in runs)
    tools = compile_tools()
    if any(run.point.scenario.has_radios for run in points):
        tools[RADIO] = radio_program()
    if any(run.point.scenario.steering is not None for run in points):
        tools[STEER] = steer_program()
    engines = Engines(name, {each: kind.prepare(each, tools, stall_seconds=stall_seconds) for each in versions})
    if kind.capabilities.has_limits:
        for run in points:
            engines.engine_for(run).check(compile_plan(run.point.scenario, seed=run.seed))
    return engines


def check_capabilities(runs: Iterable[Run], *, name: str = DEFAULT_ENGINE) -> None:
    """Check that engines of the kind ``name`` can execute ``runs``, whatever kernel they have. Needs no kernel.

    :raises InputError: if a run needs something that they cannot do.
    """
    name, kind = engine_kind(name)
    for run in _first_of_points(runs):
        scenario = run.point.scenario
        if kind.capabilities.has_limits or scenario.bpf:
            kernel = scenario.kernel if scenario.is_set("kernel") else None
            kind.capabilities.check(compile_plan(scenario, seed=run.seed), kernel=kernel, name=name)


def _first_of_points(runs: Iterable[Run]) -> list[Run]:
    """Return one run of each point."""
    return list({id(run.point): run for run in runs}.values())


def prepare_job(run: Run, engines: Engines) -> RunJob:
    """Compile and identify ``run``. :raises MissingError: if the plan uses a program that this machine lacks."""
    plan = compile_plan(run.point.scenario, seed=run.seed)
    engine = engines.engine_for(run)
    programs = engine.program_digests(plan) if plan.bpf and isinstance(engine, WithPrograms) else {}
    facts = identify(run, plan, engine=engines.name, kernel=engine.kernel_facts, tools=engine.tools, bpf=programs)
    return RunJob(run, plan, facts)


@dataclass(frozen=True)
class LocalExecutor:
    """Runs labs on this machine, each pinned to a separate CPU while there are enough, and within its memory."""

    engines: Engines
    budget: MemoryBudget | None = None

    @classmethod
    def with_free_memory(cls, engines: Engines) -> LocalExecutor:
        """Return an executor that divides the memory which is free now, if each run has a machine of its own."""
        kind = kind_named(engines.name)
        return cls(engines, MemoryBudget(kind.free_memory()) if isinstance(kind, WithMemory) else None)

    def record(self, job: RunJob, folder: Path, stop: Stop) -> RunDuration:
        """See :class:`Executor`."""
        engine = self.engines.engine_for(job.run)
        with self._memory(job, stop), leased_cpu() as cpu:
            outcome = engine.execute(job.plan, seed=job.run.seed, folder=folder, cpu=cpu, stop=stop.descriptor)
        # The guest's version has the paths of this machine's tools, which must not be part of a recording.
        (folder / "plan.json").write_text(format_json({"plan": job.plan.to_dict()}, levels=3))
        finish(folder, manifest=_manifest(job, outcome), zero_ns=outcome.zero_ns)
        return RunDuration(outcome.virtual_ns - outcome.zero_ns, outcome.wall_seconds)

    def _memory(self, job: RunJob, stop: Stop) -> AbstractContextManager[None]:
        if self.budget is None:
            return nullcontext()
        return self.budget.reserve(job.plan.memory_bytes, lambda: stop.requested)


def labels(run: Run) -> dict[str, Any]:
    """Return the names of a run in its experiment, which do not change the result: two sweeps can share a run."""
    return {"settings": [[key, value] for key, value in run.point.settings.items()], "repeat": run.repeat}


def _manifest(job: RunJob, outcome: Outcome) -> dict[str, Any]:
    run = job.run
    self_sampling = {program.name for program in job.plan.programs if without_cpu_cost(program)[0] == FLOW}
    network = Network(run.point.scenario)
    return {
        "identity": job.identity.name,
        "facts": job.identity.facts,
        "scenario": resolve_scenario(run),
        **labels(run),
        "seed": run.seed,
        "zero_ns": outcome.zero_ns,
        "virtual_ns": outcome.virtual_ns,
        "addresses": {port.ip: {"node": port.node, "link": port.link} for port in network.ports.values()},
        **describe_scenario(network, run.point.scenario.server_ports),
        **describe_gateways(network),
        **describe_radios(network, run.seed),
        "programs": [{**program, "samples_itself": program["name"] in self_sampling} for program in outcome.programs],
    }
