# SPDX-License-Identifier: MIT
"""A plan as a shell script that a person can read, and run as root on any machine (there in real time)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from mptcplab.plan.capture import PREFIX
from mptcplab.plan.model import Command, Plan, Program
from mptcplab.units import Duration


def script(plan: Plan, *, title: str) -> str:
    """The same commands and times as an engine would execute, in network namespaces."""
    return "\n".join(_lines(plan, title)) + "\n"


def _lines(plan: Plan, title: str) -> Iterator[str]:
    yield from ("#!/bin/sh", f"# {title}", "# Made by `mptcplab plan`. Needs root; here time is real time.")
    yield "# mptcplab-flow is tools/flow of mptcplab: make -C tools/flow, then copy build/flow to a folder in PATH,"
    yield "# with build/flow-sockopt.so beside it."
    yield from ("set -e", "")
    namespaces = " ".join(plan.nodes)
    yield f"trap 'for n in {namespaces}; do ip netns delete $n 2>/dev/null; done' EXIT"
    yield f"for n in {namespaces}; do ip netns add $n; done"
    yield from ("", "# -- the network")
    yield from (_inside(command) for command in plan.setup)
    yield from ("", "# -- servers, waiting")
    servers = [program for program in plan.programs if program.role == "server"]
    yield from (f"{_run(program)} & s{number}=$!" for number, program in enumerate(servers, start=1))
    yield from ("sleep 1  # in real time nothing says that a server is ready; an engine does not need this", "")
    yield "# -- clients, by their time of start"
    yield from _clients(plan)
    yield from _end_of_captures(servers)
    yield from ("", "# -- what the kernel counted")
    for counter in plan.counters:
        yield f"echo '== {counter.node} {counter.name}'; {_inside(Command(counter.node, counter.argv))}"


def _end_of_captures(servers: list[Program]) -> Iterator[str]:
    """Every other server ends when its clients have."""
    captures = [number for number, program in enumerate(servers, start=1) if program.name.startswith(PREFIX)]
    if captures:
        yield from ("", "# -- captures, which have to be told to end", "sleep 1")
        yield from (f"kill $s{number}; wait $s{number} || true" for number in captures)


def _clients(plan: Plan) -> Iterator[str]:
    clients = sorted((p for p in plan.programs if p.role == "client"), key=lambda program: program.start_ns)
    now = 0
    for number, program in enumerate(clients, start=1):
        if program.start_ns > now:
            yield f"sleep {_seconds(program.start_ns - now)}"
            now = program.start_ns
        timeout = f"timeout {_seconds(program.deadline_ns - program.start_ns)}"
        yield f"{timeout} {_run(program)} & c{number}=$!"
    yield from (f"wait $c{number}" for number in range(1, len(clients) + 1))


def _seconds(time_ns: int) -> str:
    return Duration(time_ns).decimal_seconds


def _inside(command: Command) -> str:
    text = shlex.join(command.argv)
    return text if command.node is None else f"ip netns exec {command.node} {text}"


def _run(program: Program) -> str:
    files = f"> {program.name}.out 2> {program.name}.err"
    return f"{_inside(Command(program.node, program.argv))} {files}"
