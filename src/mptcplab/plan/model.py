# SPDX-License-Identifier: MIT
"""The model of a plan: ordinary commands per node, programs on a timeline, and counters to read at the end.

A plan is data. An engine executes it without knowing the purpose of its commands; printed as a script, it does the same
in network namespaces of any machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from mptcplab.guest.sampler import SAMPLER
from mptcplab.steps import Command, CommandLine, Counter, Event, Program, Queue

# Programs that a plan names and yet does not need: the guest executes all their commands itself.
#
# A plan has ordinary commands, so that it can be printed and run anywhere. The guest of the lab kernel executes the
# forms below without a program (`guest/direct.py`, `guest/counters.py`). It starts the program only if the kernel
# refuses a command, to report the reason.

#: Programs that a machine can lack, with their packages: all other commands that the guest executes are iproute2's.
_PROGRAMS = frozenset({"ethtool", "sysctl"})
_FEATURES = frozenset({"tso", "gso", "gro"})
_STATES = frozenset({"on", "off"})


def dispensable_programs(steps: Iterable[CommandLine]) -> frozenset[str]:
    """Return the programs of ``steps`` that the guest starts only to report an error."""
    used: set[str] = set()
    needed: set[str] = set()
    for step in steps:
        named = _PROGRAMS.intersection(step.uses)
        used |= named
        if named and not is_direct(step):
            needed |= named
    return frozenset(used - needed)


def is_direct(step: CommandLine) -> bool:
    """Return whether the guest executes this command of ``ethtool`` or ``sysctl`` itself."""
    if step.starts:
        return False
    match step:
        case Command(argv=("ethtool", "-K", _, *words)):
            names, states = words[::2], words[1::2]
            return len(names) == len(states) and _FEATURES.issuperset(names) and _STATES.issuperset(states)
        case Command(argv=("sysctl", "-qw", *settings)):
            return all("=" in setting for setting in settings) and _are_plain(
                [setting.partition("=")[0] for setting in settings]
            )
        case Counter(argv=("sysctl", "-e", *names)):
            return _are_plain(names)
    return False


def _are_plain(names: Sequence[str]) -> bool:
    """Return whether these names of settings follow none of the special rules of ``sysctl``."""
    return not any("/" in name or "*" in name or name.startswith("-") for name in names)


#: The memory of a lab that needs no more.
USUAL_MEMORY_BYTES = 1 << 30
#: Pages of the memory of TCP in a lab of the usual size, which the guest sets (:mod:`mptcplab.guest.machine`): low,
#: pressure, high.
TCP_PAGES = (12000, 16000, 24000)
#: The field of programs that JSON has only where it says something.
_OPTIONAL = "accepted_statuses"
#: What JSON has as it is.
_FINAL = (str, int, type(None))


@dataclass(frozen=True)
class Needs:
    """Requirements on the kernel, checked before the set-up: algorithms by name, schedulers per MPTCP socket, weights
    of paths."""

    congestion_controls: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()
    scheduler_per_socket: bool = False
    weights: bool = False


@dataclass(frozen=True)
class ProgramSource:
    """A file in C, by its name without folders: an eBPF program to compile and load, or a header that one includes."""

    name: str
    text: str


def used_by(steps: Iterable[CommandLine]) -> tuple[str, ...]:
    """Return the names of the programs that these steps run, sorted and without duplicates."""
    return tuple(sorted({name for step in steps for name in step.uses}))


@dataclass(frozen=True)
class Plan:
    """Everything an engine needs.

    ``sampled`` has the nodes whose TCP sockets are sampled every ``sample_interval_ns``; ``queues`` are sampled as
    well. ``watched`` has the nodes whose sockets are checked for their congestion control and scheduler during the run.
    ``events`` happen in order while the workloads run; those due after the end of the last client are skipped. ``bpf``
    has eBPF programs, which are loaded before the set-up. ``memory_bytes`` is the memory of a machine that an engine
    makes for the plan.
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
    bpf: tuple[ProgramSource, ...] = ()
    memory_bytes: int = USUAL_MEMORY_BYTES

    @property
    def deadline_ns(self) -> int:
        """The time at which the last client must have ended."""
        return max(program.deadline_ns for program in self.programs)

    @property
    def steps(self) -> tuple[CommandLine, ...]:
        """Every command line of the plan."""
        return (*self.commands, *self.programs, *self.counters)

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands that change the network, before the workloads and while they run."""
        return (*self.setup, *(command for event in self.events for command in event.commands))

    @property
    def uses(self) -> tuple[str, ...]:
        """The names of all programs that run, the machine's and ours."""
        return tuple(sorted({*used_by(self.steps), *([SAMPLER] if self.has_samples else [])}))

    @cached_property
    def dispensable(self) -> frozenset[str]:
        """The programs of ``uses`` that the guest starts only to report an error."""
        return dispensable_programs(self.steps)

    @property
    def has_samples(self) -> bool:
        """True if sockets or queues are read while the workloads run."""
        return bool(self.sampled or self.watched or self.queues)

    @property
    def features(self) -> tuple[str, ...]:
        """The kernel's packet processing features, sorted; see :class:`mptcplab.steps.Command`."""
        return tuple(sorted({feature for command in self.commands for feature in command.features}))

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON data, without eBPF programs if it has none, without the usual memory, and without the
        accepted statuses of programs that have none, as before plans had them."""
        usual = {"bpf": (), "memory_bytes": USUAL_MEMORY_BYTES}
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: _to_json(value) for name, value in values if name not in usual or value != usual[name]}

    def to_json(self) -> str:
        """Return the plan as JSON for the guest; equal plans give equal text."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))


def _to_json(value: Any) -> Any:
    """Return a part of a plan as JSON data. `asdict` takes ten times as long: it copies what cannot change."""
    if isinstance(value, _FINAL):
        return value
    if isinstance(value, tuple):
        # Most are the words of a command.
        return value if value and isinstance(value[0], str) else tuple(map(_to_json, value))
    return {
        key: part if isinstance(part, _FINAL) else _to_json(part)
        for key, part in vars(value).items()
        if part or key != _OPTIONAL
    }
