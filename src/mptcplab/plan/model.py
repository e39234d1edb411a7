# SPDX-License-Identifier: MIT
"""What a plan is: ordinary commands per node, programs on a timeline, and what to read at the end.

A plan is data. An engine executes it without knowing what the commands are for; printed as a script it does the same
in the namespaces of any machine. Times count from the moment at which the network is set up and every server waits.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal


@dataclass(frozen=True)
class Command:
    """One command that must succeed. ``node`` is where it runs; None is outside of all nodes."""

    node: str | None
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Program:
    """A program of a workload. Its standard output and error are kept as ``NAME.out`` and ``NAME.err``.

    A ``server`` is started before time zero and ended when all clients are done, if it has not ended itself; a
    ``client`` starts at ``start_ns`` and must end by itself before ``deadline_ns``.
    """

    name: str
    node: str
    role: Literal["server", "client"]
    argv: tuple[str, ...]
    start_ns: int = 0
    deadline_ns: int = 0


@dataclass(frozen=True)
class Counter:
    """A command whose output is kept when the workloads are done, as ``counters/NODE/NAME``."""

    node: str
    name: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Needs:
    """What the kernel has to have, asked before anything is set up. By name, and whether MPTCP sockets can be given a
    scheduler of their own."""

    congestion_controls: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()
    scheduler_per_socket: bool = False
    weights: bool = False


@dataclass(frozen=True)
class Queue:
    """The queue of one direction of a link: the discipline ``handle`` of ``device`` on ``node``."""

    node: str
    device: str
    handle: int
    link: str
    direction: str


@dataclass(frozen=True)
class Event:
    """Commands that change the network at ``at_ns`` from time zero, and, when ``every_ns`` is not 0, again and again.

    ``kind``, ``link``, ``direction`` and ``value`` say in the recording what happened. ``kind`` is ``down``, ``up``,
    ``change``, ``trace``, ``address-removed`` or ``address-added``; ``direction`` is ``forward``, ``backward`` or
    ``both``.
    """

    at_ns: int
    kind: str
    link: str
    direction: str
    value: str
    commands: tuple[Command, ...]
    every_ns: int = 0


@dataclass(frozen=True)
class Plan:
    """Everything an engine needs.

    ``sampled`` are the nodes whose TCP sockets are sampled every ``sample_interval_ns``, and ``queues`` what is sampled
    beside them; ``tools`` the names of our own programs that ``argv`` may begin with and that the engine replaces by
    their paths. ``watched`` are the nodes on whose sockets congestion control and scheduler are looked up meanwhile.
    ``events`` happen while the workloads run, in order; those that are due later than the last client are left out.
    """

    nodes: tuple[str, ...]
    setup: tuple[Command, ...]
    programs: tuple[Program, ...]
    counters: tuple[Counter, ...]
    sampled: tuple[str, ...]
    sample_interval_ns: int
    tools: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    needs: Needs = Needs()
    queues: tuple[Queue, ...] = ()
    events: tuple[Event, ...] = ()

    @property
    def deadline_ns(self) -> int:
        """When the last client must have ended."""
        return max(program.deadline_ns for program in self.programs)

    @property
    def commands(self) -> list[tuple[str, ...]]:
        """Every command line of the plan."""
        during = [command.argv for event in self.events for command in event.commands]
        return [step.argv for steps in (self.setup, self.programs, self.counters) for step in steps] + during

    def to_json(self) -> str:
        """The plan as the guest reads it; equal plans give equal text."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
