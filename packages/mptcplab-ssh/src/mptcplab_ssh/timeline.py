# SPDX-License-Identifier: MIT
"""Runs a plan's programs and events on several machines, by orders at their instants on our clock.

An order takes the connection's delay to arrive; a program's recorded start is when the machine began it. While the
timeline waits for anything, it renews every machine's lease.
"""

from __future__ import annotations

import heapq
import itertools
import select
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mptcplab.engine.protocol import RunInterruptedError
from mptcplab.engine.report import PLAN_HINT
from mptcplab.errors import LabError
from mptcplab.plan.model import Plan
from mptcplab_ssh.connection import AGAIN
from mptcplab_ssh.machine import MachineAgent
from mptcplab_ssh.scripts import SAMPLER

_SECOND = 1_000_000_000
_RENEWAL_NS = _SECOND
#: Questions for the clock before and after the programs: with each, its interval can only become shorter.
_CLOCK_QUESTIONS = 20
#: A machine that is silent for this part of its lease counts as lost: before it takes its interfaces back itself.
_SILENCE = 0.6
_SILENT_HINT = "it puts itself back when its lease ends; a slow machine needs a longer `lease` in the inventory"
#: Time for servers to start: 20 times what the slowest of ours (lighttpd, on a busy machine) takes.
_ZERO_STEP_NS = _SECOND
#: Time for servers to notice that their clients have ended, to obey SIGTERM, and to end by force. Captures take 0.9 s
#: for the second, after which a busy machine still has to write the last packets.
_GRACE_NS = {"": _SECOND, "TERM": 5 * _SECOND, "KILL": _SECOND}
#: A cable's ends negotiate for a few seconds after they are set up; a switch between may wait before it forwards.
_CABLE_SECONDS = 20.0
_CABLE_STEP_NS = _SECOND // 5
_MAX_MESSAGE_CHARS = 300


@dataclass
class Fleet:
    """The agents of a run. ``stop`` is the descriptor that requests a stop."""

    agents: list[MachineAgent]
    stop: int | None
    _next_renewal_ns: int = 0

    def agent_of(self, node: str) -> MachineAgent:
        """Return the agent of a node."""
        return next(agent for agent in self.agents if agent.node == node)

    def check_stop(self) -> None:
        """:raises RunInterruptedError: if a stop was requested."""
        if self.stop is not None and select.select([self.stop], [], [], 0)[0]:
            raise RunInterruptedError("interrupted")

    def pump(self, until_ns: int) -> None:
        """Take what agents say until one has said something, or until ``until_ns`` on our clock.

        :raises LabError: if a connection is lost. :raises RunInterruptedError: if a stop was requested.
        """
        self.check_stop()
        now = time.monotonic_ns()
        if now >= self._next_renewal_ns:
            self._next_renewal_ns = now + _RENEWAL_NS
            for agent in self.agents:
                # A machine that is slower than its questions come would answer everything later and later.
                if not agent.is_asked:
                    agent.renew()
        watched = {agent.descriptor: agent for agent in self.agents if agent.descriptor is not None}
        seconds = max(0, min(until_ns, self._next_renewal_ns) - now) / _SECOND
        extra = [self.stop] if self.stop is not None else []
        ready, _, _ = select.select([*watched, *extra], [], [], seconds)
        for descriptor in ready:
            if descriptor in watched:
                watched[descriptor].read()
        for agent in self.agents:
            if agent.silent_seconds > _SILENCE * agent.lease_seconds:
                message = f"{agent.connection.place} has not answered for {agent.silent_seconds:.0f} s"
                raise LabError(message, hint=_SILENT_HINT)
            if agent.is_lost:
                lines = agent.connection.messages.strip().splitlines()
                text = f": {lines[-1]}" if lines else ""
                raise LabError(f"the connection to {agent.connection.place} is lost{text}", hint=AGAIN)

    def wait(self, what: str, is_true: Callable[[], bool]) -> None:
        """Wait until ``is_true``. :raises LabError: that ``what`` has not happened in time."""
        seconds = max(agent.connection.answer_seconds for agent in self.agents)
        end = time.monotonic_ns() + int(seconds * _SECOND)
        while not is_true():
            if time.monotonic_ns() > end:
                raise LabError(f"{what} within {seconds:g} s", hint=AGAIN)
            self.pump(end)

    def wait_for(self, agents: Iterable[MachineAgent], what: str, is_true: Callable[[MachineAgent], bool]) -> None:
        """Wait until ``is_true`` of each agent. :raises LabError: naming the first of which it is not in time."""
        for agent in agents:
            self.wait(f"{agent.connection.place} did not {what}", partial(is_true, agent))

    def ask_clocks(self) -> None:
        """Ask every machine for its clock several times, one question after the other."""
        for _ in range(_CLOCK_QUESTIONS):
            for agent in self.agents:
                expected = agent.answers + 1
                agent.renew()
                self.wait(f"{agent.connection.place} did not answer", partial(_has_answered, agent, expected))

    def wait_for_cables(self, ends: Mapping[str, tuple[str, str, str]]) -> None:
        """Wait until every link has a carrier and its other end answers; ``ends`` are node, other node and its address.

        :raises LabError: naming the interface whose cable is not where the inventory says.
        """
        limit = time.monotonic_ns() + int(_CABLE_SECONDS * _SECOND)
        for number in itertools.count():
            question = str(number)
            for agent in self.agents:
                agent.order("carriers", question)
            self.wait_for(self.agents, "answer", partial(_has_carriers, question))
            missing = [(agent, link) for agent in self.agents for link in agent.carriers[question]]
            if not missing or time.monotonic_ns() > limit:
                break
            self._pause()
        for agent, link in missing[:1]:
            message = f"the interface {agent.interface_of(link)} has no carrier"
            raise LabError(message, hint=f"is the cable of {link} plugged in at both ends?")
        asked = [
            (self.agent_of(node), link, self.agent_of(other), address) for link, (node, other, address) in ends.items()
        ]
        asked = [pair for pair in asked if "ping" in pair[0].survey.programs and pair[2].hardware_address_of(pair[1])]
        while asked:
            for agent, link, _, address in asked:
                agent.reached.pop(link, None)
                agent.order("reach", link, address)
            for agent, link, _, _ in asked:
                self.wait_for([agent], "answer", partial(_has_reached, link))
            # A host answers for all its addresses, whichever of its interfaces is asked.
            asked = [pair for pair in asked if pair[0].reached[pair[1]] != pair[2].hardware_address_of(pair[1])]
            if asked and time.monotonic_ns() > limit:
                agent, link, other, address = asked[0]
                text = "does not reach" if agent.reached[link] == "none" else "is not connected with"
                message = f"the interface {agent.interface_of(link)} {text} {other.interface_of(link)} ({address})"
                raise LabError(
                    message, hint=f"does the cable of {link} connect the interfaces that the inventory names?"
                )

    def _pause(self) -> None:
        end = time.monotonic_ns() + _CABLE_STEP_NS
        while time.monotonic_ns() < end:
            self.pump(end)

    def carry_out(self, name: str, agents: Sequence[MachineAgent]) -> None:
        """Execute a function of commands on each machine, at the same time."""
        for agent in agents:
            agent.done.pop(name, None)
            agent.order("do", name)
        self.wait_for(agents, "carry out its commands", lambda machine_agent: name in machine_agent.done)


def _has_carriers(question: str, agent: MachineAgent) -> bool:
    return question in agent.carriers


def _has_reached(link: str, agent: MachineAgent) -> bool:
    return link in agent.reached


def _has_answered(agent: MachineAgent, times: int) -> bool:
    return agent.answers >= times


class RemoteTimeline:
    """One plan's programs and events. ``events`` has the functions of an event's commands in order: node and name."""

    def __init__(self, fleet: Fleet, plan: Plan, events: list[list[tuple[str, str]]]) -> None:
        self._fleet, self._plan = fleet, plan
        self._events = events
        self._due = [(event.at_ns, number) for number, event in enumerate(plan.events)]
        heapq.heapify(self._due)
        self._accepted = {program.name: (0, *program.accepted_statuses) for program in plan.programs}
        self._stopped: set[str] = set()
        self._started: list[str] = []
        self._ended_at: dict[str, int] = {}
        self.executed: list[dict[str, Any]] = []
        self.zero_ns = 0

    def run(self) -> None:
        """Run everything. :raises LabError: if a program fails or is late."""
        for agent in self._fleet.agents:
            # Answers during the set-up came late, and no instant of then is translated.
            agent.clock.answers.clear()
        self._fleet.ask_clocks()
        for agent in self._fleet.agents:
            if agent.fitted.is_sampled or agent.fitted.is_watched:
                agent.order("start", SAMPLER)
        for program in self._plan.programs:
            if program.role == "server":
                self._start(program.name, program.node)
        names = set(self._started)
        self._fleet.wait("the servers did not start", lambda: names <= self._started_programs())
        self.zero_ns = time.monotonic_ns() + _ZERO_STEP_NS
        while time.monotonic_ns() < self.zero_ns:
            self._fleet.pump(self.zero_ns)
            self._check()
        self._run_clients()
        self._end_servers()
        self._fleet.ask_clocks()
        self._check_events()

    def _elapsed_ns(self) -> int:
        return time.monotonic_ns() - self.zero_ns

    def _started_programs(self) -> set[str]:
        return {name for agent in self._fleet.agents for name in agent.began}

    def _ended_programs(self) -> dict[str, tuple[int, int]]:
        return {name: pair for agent in self._fleet.agents for name, pair in agent.ended.items()}

    def _start(self, name: str, node: str) -> None:
        self._fleet.agent_of(node).order("start", name)
        self._started.append(name)

    def _run_clients(self) -> None:
        waiting = sorted(
            (program for program in self._plan.programs if program.role == "client"),
            key=lambda program: program.start_ns,
        )
        clients = {program.name: program for program in waiting}
        while waiting or not all(name in self._ended_programs() for name in clients):
            self._carry_out_events()
            while waiting and waiting[0].start_ns <= self._elapsed_ns():
                program = waiting.pop(0)
                self._start(program.name, program.node)
            running = [
                clients[name] for name in self._started if name in clients and name not in self._ended_programs()
            ]
            for program in running:
                if self._elapsed_ns() >= program.deadline_ns:
                    seconds = (program.deadline_ns - program.start_ns) / _SECOND
                    raise LabError(f"{program.name} did not end within its timeout of {seconds:g} s", hint=PLAN_HINT)
            instants = [program.deadline_ns for program in running] + [program.start_ns for program in waiting[:1]]
            instants += [self._due[0][0]] if self._due else []
            self._fleet.pump(self.zero_ns + min(instants, default=self._elapsed_ns()))
            self._check()

    def _carry_out_events(self) -> None:
        while self._due and self._due[0][0] <= self._elapsed_ns():
            at_ns, number = heapq.heappop(self._due)
            event = self._plan.events[number]
            if event.every_ns:
                heapq.heappush(self._due, (at_ns + event.every_ns, number))
            for node, name in self._events[number]:
                self._fleet.agent_of(node).order("do", name)
            described = {key: getattr(event, key) for key in ("kind", "link", "direction", "value")}
            self.executed.append({"instant_ns": at_ns, **described})

    def _check_events(self) -> None:
        """:raises LabError: if an event's command has failed."""
        for number, parts in enumerate(self._events):
            for node, name in parts:
                agent = self._fleet.agent_of(node)
                status, at, text = agent.done.get(name, (0, 0, ""))
                if status:
                    commands = [command for command in self._plan.events[number].commands if command.node == node]
                    argv = " ".join(commands[min(at, len(commands)) - 1].argv)
                    raise LabError(
                        f"an event's command failed on {agent.connection.place}: {argv}: {text}", hint=PLAN_HINT
                    )

    def _check(self) -> None:
        """:raises LabError: if a program has failed."""
        self._check_events()
        for agent in self._fleet.agents:
            for name, (status, _) in agent.ended.items():
                if status not in self._accepted.get(name, (0,)) and name not in self._stopped and name != SAMPLER:
                    text = " ".join(agent.last_message(name).split())[-_MAX_MESSAGE_CHARS:]
                    end = f"ended with status {status}" if status < 128 else f"was killed by signal {status - 128}"
                    raise LabError(
                        f"{name} on {agent.connection.place} {end}{f': {text}' if text else ''}", hint=PLAN_HINT
                    )

    def _running_programs(self) -> list[tuple[MachineAgent, str]]:
        return [(agent, name) for agent in self._fleet.agents for name in agent.began if name not in agent.ended]

    def _end_servers(self) -> None:
        for word, grace_ns in _GRACE_NS.items():
            limit = time.monotonic_ns() + grace_ns
            for agent, name in self._running_programs():
                if word or name == SAMPLER:
                    self._stopped.add(name)
                    agent.order("stop", name, word or "TERM")
            while self._running_programs() and time.monotonic_ns() < limit:
                self._fleet.pump(limit)
                self._check()

    def records(self) -> list[dict[str, Any]]:
        """Return one record per program, in the order of their starts; times count from zero on our clock."""
        texts = []
        programs = {program.name: program for program in self._plan.programs}
        for name in self._started:
            agent = self._fleet.agent_of(programs[name].node)
            here = agent.clock.to_our_clock()
            status, end_ns = agent.ended.get(name, (None, None))
            texts.append(
                {
                    "name": name,
                    "node": agent.node,
                    "role": programs[name].role,
                    "start_ns": here.to_here(agent.began[name]) - self.zero_ns if name in agent.began else None,
                    "end_ns": here.to_here(end_ns) - self.zero_ns if end_ns is not None else None,
                    "status": 128 - status if status is not None and status > 128 else status,
                    "stopped": name in self._stopped,
                }
            )
        return texts
