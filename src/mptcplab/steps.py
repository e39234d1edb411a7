# SPDX-License-Identifier: MIT
"""What a plan is made of: ordinary commands, programs on a timeline, events, counters. Everything that has a part in a
plan gives these.

Times count from the moment at which the network is set up and every server waits.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal

#: What the names of our own programs in plans begin with.
OURS = "mptcplab-"


class Step:
    """A command line in a plan. ``starts`` names the programs that it starts beside its own, ``argv[0]``.

    An engine lets the steps of a plan find the programs that these name and no others: none can be forgotten here.
    """

    argv: tuple[str, ...]
    starts: tuple[str, ...]

    @property
    def uses(self) -> tuple[str, ...]:
        """Every program that runs, by name."""
        return (self.argv[0], *self.starts)


@dataclass(frozen=True)
class Call(Step):
    """A command line before it has a place in a plan."""

    argv: tuple[str, ...]
    starts: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As a shell reads it."""
        return shlex.join(self.argv)

    def run_by(self, *words: str) -> Call:
        """The same, started by the program and its options in ``words``."""
        return Call((*words, *self.argv), (*words[:1], *self.starts, self.argv[0]))


def shell(line: str, *starts: str | Call) -> Call:
    """A line for ``sh``. ``starts`` are the programs in it, those that shells carry out themselves left out."""
    names = [name for one in starts for name in (one.uses if isinstance(one, Call) else (one,))]
    return Call(("sh", "-c", line), tuple(dict.fromkeys(names)))


@dataclass(frozen=True)
class Command(Step):
    """One command that must succeed. ``node`` is where it runs; None is outside of all nodes.

    ``features`` are what it makes the kernel do to packets: queueing disciplines and what filters do by the names of
    ``tc``, and ``nft``.
    """

    node: str | None
    argv: tuple[str, ...]
    starts: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Program(Step):
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
    starts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counter(Step):
    """A command whose output is kept when the workloads are done, as ``counters/NODE/NAME``."""

    node: str
    name: str
    argv: tuple[str, ...]
    starts: tuple[str, ...] = ()


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
    ``both``. An event of a node has a ``kind`` of its own, and the node's name as ``link``.
    """

    at_ns: int
    kind: str
    link: str
    direction: str
    value: str
    commands: tuple[Command, ...]
    every_ns: int = 0
