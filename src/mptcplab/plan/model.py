# SPDX-License-Identifier: MIT
"""What a plan is: ordinary commands per node, programs on a timeline, and what to read at the end.

A plan is data. An engine executes it without knowing what the commands are for; printed as a script it does the same
in the namespaces of any machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from mptcplab.steps import Command, Counter, Event, Program, Queue, Step


@dataclass(frozen=True)
class Needs:
    """What the kernel has to have, asked before anything is set up. By name, and whether MPTCP sockets can be given a
    scheduler of their own."""

    congestion_controls: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()
    scheduler_per_socket: bool = False
    weights: bool = False


def used_by(steps: Iterable[Step]) -> tuple[str, ...]:
    """Return the programs that run in these steps, each once, sorted by name."""
    return tuple(sorted({name for step in steps for name in step.uses}))


@dataclass(frozen=True)
class Plan:
    """Everything an engine needs.

    ``sampled`` are the nodes whose TCP sockets are sampled every ``sample_interval_ns``, and ``queues`` what is sampled
    beside them. ``watched`` are the nodes on whose sockets congestion control and scheduler are looked up meanwhile.
    ``events`` happen while the workloads run, in order; those that are due later than the last client are left out.
    """

    nodes: tuple[str, ...]
    setup: tuple[Command, ...]
    programs: tuple[Program, ...]
    counters: tuple[Counter, ...]
    sampled: tuple[str, ...]
    sample_interval_ns: int
    watched: tuple[str, ...] = ()
    needs: Needs = Needs()
    queues: tuple[Queue, ...] = ()
    events: tuple[Event, ...] = ()

    @property
    def deadline_ns(self) -> int:
        """When the last client must have ended."""
        return max(program.deadline_ns for program in self.programs)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every command line of the plan."""
        return (*self.commands, *self.programs, *self.counters)

    @property
    def commands(self) -> tuple[Command, ...]:
        """What changes the network, before the workloads and while they run."""
        return (*self.setup, *(command for event in self.events for command in event.commands))

    @property
    def uses(self) -> tuple[str, ...]:
        """Every program that runs, of the machine and of ours, by name."""
        return used_by(self.steps)

    @property
    def features(self) -> tuple[str, ...]:
        """What the kernel does to packets, see :class:`mptcplab.steps.Command`; sorted."""
        return tuple(sorted({feature for command in self.commands for feature in command.features}))

    def to_json(self) -> str:
        """The plan as the guest reads it; equal plans give equal text."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
