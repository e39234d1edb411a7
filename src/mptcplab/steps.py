# SPDX-License-Identifier: MIT
"""The elements of a plan: ordinary commands, programs on a timeline, events and counters. Everything that contributes
to a plan returns these.

Times count from time zero, when the network is set up and every server is ready.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

#: The prefix of our own programs' names in plans.
OURS = "mptcplab-"
#: The exit status of our program ``flow`` if a connection failed: EXIT_CONNECTION of tools/flow/flow.h.
CONNECTION_FAILED = 3
#: The hint for a run that a failed connection has ended.
FAILURES_END_HINT = (
    'the workload has failures = "end": without this key the run goes on, and its row says how many connections failed'
)


class CommandLine:
    """A command line in a plan. ``starts`` names the programs that it starts, beside its own, ``argv[0]``.

    An engine makes exactly these programs available to the steps of a plan, so a missing name causes an error.
    """

    argv: tuple[str, ...]
    starts: tuple[str, ...]

    @property
    def uses(self) -> tuple[str, ...]:
        """The names of all programs that run."""
        return (self.argv[0], *self.starts)


@dataclass(frozen=True)
class Call(CommandLine):
    """A command line that is not yet part of a plan."""

    argv: tuple[str, ...]
    starts: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it quoted for a shell."""
        return shlex.join(self.argv)

    def run_by(self, *words: str) -> Call:
        """Return the call with the program and options in ``words`` before it, as a wrapper."""
        return Call((*words, *self.argv), (*words[:1], *self.starts, self.argv[0]))


def shell(line: str, *starts: str | Call) -> Call:
    """Return a call of ``sh`` with ``line``. ``starts`` are the programs in it, without shell built-ins."""
    names = [name for start in starts for name in (start.uses if isinstance(start, Call) else (start,))]
    return Call(("sh", "-c", line), tuple(dict.fromkeys(names)))


@dataclass(frozen=True)
class Command(CommandLine):
    """A command that must succeed. It runs on ``node``, or outside of all nodes if that is None.

    ``features`` are the kernel's packet processing features that it uses: queueing disciplines and filter actions by
    their names in ``tc``, and ``nft``.
    """

    node: str | None
    argv: tuple[str, ...]
    starts: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Program(CommandLine):
    """A program of a workload. The recording keeps its standard output and error as ``NAME.out`` and ``NAME.err``.

    A ``server`` starts before time zero and is terminated when all clients have ended, unless it has ended by itself; a
    ``client`` starts at ``start_ns`` and must end by itself before ``deadline_ns``. It fails the run with any exit
    status that is neither 0 nor one of ``accepted_statuses``.
    """

    name: str
    node: str
    role: Literal["server", "client"]
    argv: tuple[str, ...]
    start_ns: int = 0
    deadline_ns: int = 0
    starts: tuple[str, ...] = ()
    accepted_statuses: tuple[int, ...] = ()


@dataclass(frozen=True)
class Counter(CommandLine):
    """A command that runs after the workloads; the recording keeps its output as ``counters/NODE/NAME``."""

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
    """Commands that change the network at ``at_ns`` from time zero and, if ``every_ns`` is not 0, periodically.

    ``kind``, ``link``, ``direction`` and ``value`` describe the event in the recording. ``kind`` is ``down``, ``up``,
    ``change``, ``trace``, ``address-removed``, ``address-added`` or of :mod:`mptcplab.node.words`; ``direction`` is
    ``forward``, ``backward`` or ``both``. An event of a node has a ``kind`` of its own, and the node's name as
    ``link``.
    """

    at_ns: int
    kind: str
    link: str
    direction: str
    value: str
    commands: tuple[Command, ...]
    every_ns: int = 0


def down_since(changes: Iterable[tuple[float, str, bool]], at_s: float) -> dict[str, float]:
    """Return the places that are down at ``at_s``, each with the time in s at which its failure began.

    ``changes`` are failures (True) and restorations (False) of places, in order of time.
    """
    down: dict[str, float] = {}
    for time_s, place, is_failure in changes:
        if time_s > at_s:
            continue
        if is_failure:
            down[place] = time_s
        else:
            down.pop(place, None)
    return down
