# SPDX-License-Identifier: MIT
"""What a plan is made of: ordinary commands, programs on a timeline, events, counters. Everything that has a part in a
plan gives these.

Times count from the moment at which the network is set up and every server waits.
"""

from __future__ import annotations

from dataclasses import dataclass
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
