# SPDX-License-Identifier: MIT
"""The engine ``ssh``: one plan on the machines of an inventory, in real time."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from mptcplab.cache import cache_root, make_work_folder
from mptcplab.engine.protocol import Capabilities, EngineKind, Outcome
from mptcplab.engine.report import PLAN_HINT
from mptcplab.engine.tools import static_flow_program
from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.files import expand_home
from mptcplab.node.cpu import without_cpu_cost
from mptcplab.plan.model import Plan
from mptcplab.workload.context import FLOW
from mptcplab_ssh.collect import write_events, write_machines, write_results
from mptcplab_ssh.connection import AGAIN, SshConnection
from mptcplab_ssh.fitting import FittedNode, fit, link_ends
from mptcplab_ssh.inventory import MachineInventory, load_inventory
from mptcplab_ssh.machine import BASE, MachineAgent, Survey, check_machine, clean, survey_machine
from mptcplab_ssh.needs import trials_of, try_needs
from mptcplab_ssh.scripts import files_of
from mptcplab_ssh.timeline import Fleet, RemoteTimeline

_T = TypeVar("_T")


@dataclass(frozen=True)
class SshEngine:
    """Executes plans on the machines of ``inventory``, which the user calls ``name``."""

    tools: Mapping[str, Path]
    name: str
    inventory: MachineInventory
    #: A machine has one set of interfaces: runs come one after the other.
    _turn: threading.Lock = field(default_factory=threading.Lock)
    #: What machines were asked for and have: other points of a sweep need the same.
    _checked: list[Any] = field(default_factory=list)
    _surveys: dict[str, Survey] = field(default_factory=dict)

    @property
    def _lease_seconds(self) -> int:
        return int(self.inventory.lease) // 10**9

    @property
    def kernel_facts(self) -> dict[str, Any]:
        """See :class:`mptcplab.engine.protocol.Engine`: the kernels of all machines that plans were checked for."""
        facts = dict(sorted(self._surveys.items()))
        hertz = {survey.hertz for survey in facts.values()}
        machines = {name: self.inventory.nodes[name].model_dump_json() for name in facts}
        key = hashlib.sha256(repr((machines, [survey.system[:4] for survey in facts.values()], _code())).encode())
        return {
            "release": ", ".join(sorted({survey.release for survey in facts.values()})),
            "key": key.hexdigest(),
            "config_sha256": "",
            "hz": hertz.pop() if len(hertz) == 1 else None,
            "time": "real",
            "nodes": {
                name: {
                    "host": self.inventory.nodes[name].host,
                    "release": survey.release,
                    "machine": survey.architecture,
                    "clock_source": survey.sections["clocksource"].strip(),
                }
                for name, survey in facts.items()
            },
        }

    @contextlib.contextmanager
    def _connect(self, nodes: list[str], wait: Callable[[], None]) -> Iterator[dict[str, SshConnection]]:
        """Connect to the machines of ``nodes``."""
        with make_work_folder("ssh", cache_root()) as folder, contextlib.ExitStack() as stack:
            yield {
                node: stack.enter_context(SshConnection(node, self.inventory, folder=folder, wait=wait))
                for node in nodes
            }

    def check(self, plan: Plan) -> None:
        """See :class:`mptcplab.engine.protocol.Engine`. :raises MissingError: naming what a machine lacks."""
        fitted = fit(plan, self.inventory, name=self.name)
        trials = {fitting.node: trials_of(fitting, plan) for fitting in fitted}
        new = [
            fitting
            for fitting in fitted
            if (fitting.uses, fitting.interfaces, trials[fitting.node]) not in self._checked
        ]
        with self._connect([fitting.node for fitting in new], lambda: None) as connections:

            def check_one(fitting: FittedNode) -> None:
                connection = connections[fitting.node]
                survey = self._surveys[fitting.node] = _checked_survey(connection, fitting, self._lease_seconds)
                try_needs(connection, survey.release, trials[fitting.node])

            _call_each(new, check_one)
        self._checked.extend((fitting.uses, fitting.interfaces, trials[fitting.node]) for fitting in new)

    def execute(self, plan: Plan, *, seed: int, folder: Path, cpu: int, stop: int | None = None) -> Outcome:
        """See :class:`mptcplab.engine.protocol.Engine`. The seed is in the plan; machines choose CPUs themselves."""
        del seed, cpu
        parts = {fitting.node: fitting for fitting in fit(plan, self.inventory, name=self.name)}
        fleet = Fleet([], stop)
        with self._turn, self._connect(list(parts), fleet.check_stop) as connections:
            started = time.monotonic()
            surveys = _call_each(
                connections.values(), lambda entry: _checked_survey(entry, parts[entry.node], self._lease_seconds)
            )
            fleet.agents = [
                MachineAgent(connection, parts[node], survey, self._lease_seconds)
                for (node, connection), survey in zip(connections.items(), surveys, strict=True)
            ]
            run = _RemoteRun(plan, fleet, folder)
            with _put_back(fleet.agents, folder):
                run.prepare()
                run.go()
            return Outcome(run.records, run.zero_ns, time.monotonic_ns(), time.monotonic() - started)


@cache
def _code() -> str:
    """Return the hash of this engine's code, which decides how a plan is executed."""
    files = sorted(file for file in Path(__file__).parent.iterdir() if file.suffix in (".py", ".sh"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _checked_survey(connection: SshConnection, fitted: FittedNode, lease_seconds: int) -> Survey:
    """Return a machine's facts, checked for its part of a plan."""
    flow = fitted.machine.flow
    names = dict.fromkeys((*BASE, "ss", "ping", *fitted.uses, *([flow] if flow else [])))
    survey = survey_machine(connection, list(names))
    if survey.sections["runs"].split():
        clean(connection, survey, lease_seconds)
        survey = survey_machine(connection, list(names))
    check_machine(connection.place, fitted, survey, copied=[FLOW])
    if FLOW in fitted.uses and flow is None and survey.architecture != os.uname().machine:
        message = f"{connection.place} is a {survey.architecture} machine, which cannot run this machine's programs"
        hint = f'build tools/flow for it, and write flow = "/path/there" in [nodes.{connection.node}]'
        raise MissingError(message, hint=hint)
    if flow is not None and flow not in survey.programs:
        raise InputError(
            f"the machine {connection.place} has no program {flow}", hint=f"see flow in [nodes.{connection.node}]"
        )
    return survey


def _call_each(items: Any, function: Callable[[Any], _T]) -> list[_T]:
    """Call ``function`` with each item at the same time; raise the first error."""
    items = list(items)
    with ThreadPoolExecutor(max_workers=max(1, len(items))) as pool:
        return list(pool.map(function, items))


@contextlib.contextmanager
def _put_back(agents: Sequence[MachineAgent], folder: Path) -> Iterator[None]:
    """Put all machines back at the end, as far as they were changed. :raises LabError: if a machine cannot be."""
    try:
        yield
    except LabError as error:
        problems = [text for text in _call_each(agents, _problem) if text]
        raise type(error)(
            error.message, hint="\n  ".join([*([error.hint] if error.hint else []), *problems])
        ) from error
    else:
        problems = [text for text in _call_each(agents, _problem) if text]
        if problems:
            raise LabError(problems[0], hint="\n  ".join(problems[1:]) or None)
    finally:
        text = "".join(f"== {agent.connection.place}\n{agent.connection.messages}" for agent in agents)
        (folder / "console.txt").write_text(text)


def _problem(agent: MachineAgent) -> str:
    """Put a machine back, and return a sentence if that fails."""
    try:
        text = agent.put_back().strip()
    except LabError:
        return f"{agent.connection.place} cannot be reached: it puts itself back when its lease ends"
    return f"{agent.connection.place} could not be put back: {text.splitlines()[0]}" if text else ""


class _RemoteRun:
    """One execution of a plan."""

    def __init__(self, plan: Plan, fleet: Fleet, folder: Path) -> None:
        self._plan, self._fleet, self._folder = plan, fleet, folder
        self._events: list[list[tuple[str, str]]] = []
        self._timeline: RemoteTimeline | None = None
        self.records: list[dict[str, Any]] = []
        self.zero_ns = 0

    def prepare(self) -> None:
        """Take the interfaces and set up the network."""
        agents = self._fleet.agents
        backs = {agent.node: agent.restoring_lines() for agent in agents}
        events = self._event_functions()
        interval_ns = self._plan.sample_interval_ns

        def open_one(agent: MachineAgent) -> None:
            samples = agent.fitted.is_sampled or agent.fitted.is_watched or agent.fitted.queues
            files = files_of(
                agent.fitted,
                back=backs[agent.node],
                lease_seconds=agent.lease_seconds,
                events=events[agent.node],
                interval_ns=interval_ns if samples else None,
            )
            agent.open(files, _flow_of(agent.fitted))

        _call_each(agents, open_one)
        for agent in agents:
            agent.start()
        self._fleet.wait_for(agents, "start its agent", lambda machine_agent: machine_agent.state == "outside")
        for agent in agents:
            agent.order("enter")
        self._fleet.wait_for(agents, "take its interfaces", lambda machine_agent: machine_agent.state != "outside")
        for agent in agents:
            if agent.state != "inside":
                raise LabError(f"the interfaces of {agent.connection.place} cannot be taken: {agent.state}", hint=AGAIN)
        self._carry_out("setup")
        self._fleet.wait_for_cables(link_ends(self._plan))

    def _event_functions(self) -> dict[str, dict[str, list[Any]]]:
        """Return each node's functions of events, and note them in order for the timeline."""
        mappings: dict[str, dict[str, list[Any]]] = {agent.node: {} for agent in self._fleet.agents}
        for number, event in enumerate(self._plan.events):
            parts: dict[tuple[str, str], None] = {}
            for command in event.commands:
                assert command.node is not None
                mappings[command.node].setdefault(f"event_{number}", []).append(command)
                parts[command.node, f"event_{number}"] = None
            self._events.append(list(parts))
        return mappings

    def _carry_out(self, name: str) -> None:
        self._fleet.carry_out(name, self._fleet.agents)
        for agent in self._fleet.agents:
            status, at, text = agent.done[name]
            if status:
                steps = agent.fitted.commands if name == "setup" else agent.fitted.counters
                argv = " ".join(steps[at - 1].argv) if at else name
                raise LabError(f"a command failed on {agent.connection.place}: {argv}: {text}", hint=PLAN_HINT)

    def go(self) -> None:
        """Run the programs and fetch the results."""
        timed = {program.name for program in self._plan.programs if without_cpu_cost(program)[0] == FLOW}
        self._timeline = RemoteTimeline(self._fleet, self._plan, self._events)
        self._timeline.run()
        self._carry_out("count")
        self.zero_ns = self._timeline.zero_ns
        self.records = self._timeline.records()
        outputs = {agent.node: agent.collect() for agent in self._fleet.agents}
        write_results(self._folder, self._fleet.agents, outputs, zero_ns=self.zero_ns, timed=timed)
        write_events(self._folder, self._timeline.executed)
        write_machines(self._folder, self._fleet.agents)


def _flow_of(fitted: FittedNode) -> dict[str, bytes]:
    """Return our workload program by file name, if a machine needs it."""
    if FLOW not in fitted.uses or fitted.machine.flow is not None:
        return {}
    return {"flow": static_flow_program().read_bytes()}


class SshEngineKind:
    """The kind of engine that uses the machines of an inventory: ``ssh:FILE``."""

    capabilities = Capabilities(
        virtual_time=False,
        needs_root=True,
        one_kernel=False,
        chooses_kernel=False,
        features=None,
        on_clusters=False,
    )

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._inventory = load_inventory(file) if file is not None else None

    def with_images(self, image: str) -> EngineKind:
        """See :class:`mptcplab.engine.protocol.WithImages`: the inventory. :raises InputError: if it is not one."""
        return SshEngineKind(expand_home(image))

    def prepare(self, version: str, tools: Mapping[str, Path], *, stall_seconds: float) -> SshEngine:
        """See :class:`mptcplab.engine.protocol.EngineKind`. ``version`` is of lab kernels, and real time does not
        stall, so neither is used.

        :raises InputError: without an inventory.
        """
        del version, stall_seconds
        if self._file is None or self._inventory is None:
            raise InputError("the engine 'ssh' needs an inventory", hint="--engine ssh:FILE, see docs/engine-ssh.md")
        return SshEngine(tools, str(self._file), self._inventory)

    def check_folder(self, folder: Path) -> None:
        """See :class:`mptcplab.engine.protocol.EngineKind`: every folder of this machine will do."""
