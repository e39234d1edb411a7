# SPDX-License-Identifier: MIT
"""Print a plan as a readable shell script, which runs as root on any machine, in real time."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.node.cpu import without_cpu_cost
from mptcplab.plan.model import Plan
from mptcplab.plan.radios import RADIO
from mptcplab.steps import Command, Event, Program
from mptcplab.units import Duration


def script(plan: Plan, *, title: str, notes: Sequence[str] = ()) -> str:
    """Return a script with the commands and times of ``plan``, in network namespaces.

    ``notes`` are comment lines above the commands.
    """
    return "\n".join(_lines(plan, title, notes)) + "\n"


def _lines(plan: Plan, title: str, notes: Sequence[str]) -> Iterator[str]:
    yield from ("#!/bin/sh", f"# {title}", "# Made by `mptcplab plan`. Needs root; here time is real time.")
    yield from (f"# {note}" for note in notes)
    yield "# mptcplab-flow is tools/flow of mptcplab: make -C tools/flow, then copy build/flow to a folder in PATH,"
    yield "# with build/flow-sockopt.so beside it."
    for source in plan.bpf:
        yield f"# {source.name} is part of the scenario: compile and load the eBPF programs first."
    if any(program.argv[0] == PATH_MANAGER for program in plan.programs):
        yield f"# {PATH_MANAGER} is: python3 -m mptcplab.guest.path_manager, with mptcplab's src in PYTHONPATH."
    if any(without_cpu_cost(program) != program.argv for program in plan.programs):
        yield "# Only lab kernels of `mptcplab kernel build --cpu` have net.lab.*, by which programs take time there."
    if any(command.argv[0] == RADIO for command in plan.setup):
        yield f"# {RADIO} is tools/radio of mptcplab. Its radios need a lab kernel of `mptcplab kernel build --wifi`."
    yield from ("set -e", "")
    namespaces = " ".join(plan.nodes)
    yield f"trap 'for n in {namespaces}; do ip netns delete $n 2>/dev/null; done' EXIT"
    yield f"for n in {namespaces}; do ip netns add $n; done"
    yield from ("", "# -- the network")
    yield from (_command_line(command) for command in plan.setup)
    yield from ("", "# -- servers, waiting")
    servers = [program for program in plan.programs if program.role == "server"]
    yield from (f"{_run(program)} & s{number}=$!" for number, program in enumerate(servers, start=1))
    yield from ("sleep 1  # in real time nothing reports that a server is ready; an engine does not need this", "")
    yield "# -- clients and events, by time" if plan.events else "# -- clients, by start time"
    yield from _clients(plan)
    yield from _end_of_lasting(servers)
    yield from ("", "# -- the kernel's counters")
    for counter in plan.counters:
        yield f"echo '== {counter.node} {counter.name}'; {_command_line(Command(counter.node, counter.argv))}"


def _end_of_lasting(servers: list[Program]) -> Iterator[str]:
    """Yield the commands that end captures and the programs of nodes; servers of workloads end with their clients."""
    lasting = [number for number, program in enumerate(servers, start=1) if not program.name.endswith(".server")]
    if lasting:
        yield from ("", "# -- end the programs that run throughout", "sleep 1")
        yield from (f"kill $s{number}; wait $s{number} || true" for number in lasting)


def _clients(plan: Plan) -> Iterator[str]:
    """Yield clients and events by time; periodic events have a loop of their own."""
    periods = sorted({event.every_ns for event in plan.events if event.every_ns})
    for period_ns in periods:
        yield from _loop([event for event in plan.events if event.every_ns == period_ns], period_ns)
    clients = sorted((program for program in plan.programs if program.role == "client"), key=lambda each: each.start_ns)
    steps: list[tuple[int, str]] = [(event.at_ns, _event(event)) for event in plan.events if not event.every_ns]
    for number, program in enumerate(clients, start=1):
        timeout = f"timeout {_seconds(program.deadline_ns - program.start_ns)}"
        steps.append((program.start_ns, f"{timeout} {_run(program)} & c{number}=$!"))
    now = 0
    for instant_ns, line in sorted(steps, key=lambda step: step[0]):
        if instant_ns > now:
            yield f"sleep {_seconds(instant_ns - now)}"
            now = instant_ns
        yield line
    yield from (_wait(number, program) for number, program in enumerate(clients, start=1))
    if periods:
        yield "kill $loops"


def _wait(number: int, program: Program) -> str:
    """Return the command that waits for a client; the script ends if its status would fail a run."""
    accepted = "|".join(map(str, program.accepted_statuses))
    return f"wait $c{number}" + (f" || case $? in {accepted}) ;; *) exit 1 ;; esac" if accepted else "")


def _event(event: Event) -> str:
    text = f"{event.kind} {event.link} {event.direction} {event.value}".rstrip()
    return "\n".join([f"# {text}", *(_command_line(command) for command in event.commands)])


def _loop(events: list[Event], period_ns: int) -> Iterator[str]:
    """Yield a background loop of events with the same period."""
    events = sorted(events, key=lambda event: event.at_ns)
    first_ns = events[0].at_ns
    yield f"(sleep {_seconds(first_ns)}; while :; do"
    for event, later_ns in zip(events, [*(later.at_ns for later in events[1:]), first_ns + period_ns], strict=True):
        yield from (f"  {_command_line(command)}" for command in event.commands)
        if later_ns > event.at_ns:
            yield f"  sleep {_seconds(later_ns - event.at_ns)}"
    yield 'done) & loops="$loops $!"'


def _seconds(time_ns: int) -> str:
    return Duration(time_ns).decimal_seconds


def _command_line(command: Command) -> str:
    text = shlex.join(command.argv)
    return text if command.node is None else f"ip netns exec {command.node} {text}"


def _run(program: Program) -> str:
    files = f"> {program.name}.out 2> {program.name}.err"
    return f"{_command_line(Command(program.node, program.argv))} {files}"
