# SPDX-License-Identifier: MIT
"""Process 1 of the lab kernel: set the machine up, execute the plan, leave the results, power off.

Runs inside the lab kernel with the standard library only, and imports nothing of the host side. What it is told is in
the script that starts it and in ``plan.json``; what it has to say goes to ``guest.json``.
"""

from __future__ import annotations

import json
import os
import sys
import time

from mptcplab.guest import complaints, instants, machine, system
from mptcplab.guest.nodes import GuestError, Nodes, provide
from mptcplab.guest.timeline import Timeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def main(results: str, exposed: list[str]) -> None:
    """Execute the plan in the folder ``results``. Never returns: the machine is off afterwards."""
    report: dict[str, Any] = {}
    try:
        system.set_up_mounts(results, exposed)
        work = json.loads(system.read(f"{system.LAB}/plan.json"))
        provide(work["programs"])  # before random numbers begin anew: files that are made draw some
        instants.take_priority()
        instants.sleep_until(instants.SET_UP_NS)
        instants.reseed()
        report = _execute(work)
    except GuestError as error:
        report = {"error": str(error), "hint": error.hint}
    except BaseException as error:
        report = _unexpected(error)
    _say(report)
    system.power_off()


def _say(report: dict[str, Any]) -> None:
    try:
        system.write(f"{system.LAB}/guest.json", json.dumps(report, sort_keys=True).encode())
    except OSError as error:
        print(f"mptcplab: {_unwritten(error)}", file=sys.stderr, flush=True)


def _unexpected(error: BaseException) -> dict[str, Any]:
    """The host's disk and the guest's memory are nobody's fault here; everything else is.

    An OSError without a number is the guest's own, or Python's: no system call failed, so no disk is to blame.
    """
    if (
        isinstance(error, OSError)
        and error.errno is not None
        and str(error.filename or system.LAB).startswith(system.LAB)
    ):
        return {"error": _unwritten(error)}
    if isinstance(error, MemoryError):
        return {"error": "the lab ran out of memory"}
    import traceback  # only now, because it is large

    traceback.print_exc()
    return {"error": "the guest failed, which is a bug of mptcplab", "traceback": traceback.format_exc()}


def _unwritten(error: OSError) -> str:
    return f"the results folder cannot be written: {str(error.strerror).lower()}"


def _execute(work: dict[str, Any]) -> dict[str, Any]:
    plan = work["plan"]
    out = f"{system.LAB}/out"
    os.mkdir(out)
    if any(plan["needs"].values()):
        from mptcplab.guest import algorithms  # only now, because most plans have no wishes

        algorithms.check(plan["needs"])
    # Namespaces may only default to congestion controls that are allowed to everyone: here they all are.
    there = system.read("/proc/sys/net/ipv4/tcp_available_congestion_control")
    system.write("/proc/sys/net/ipv4/tcp_allowed_congestion_control", there.encode())
    machine.fix_limits()
    nodes = Nodes(plan["nodes"], work["programs"])
    nodes.set_up(plan["setup"])
    if "session" in work:
        from mptcplab.guest import session  # only now, because most labs have none

        return session.run(nodes, work["session"])
    timeline = Timeline(nodes, plan, out)
    try:
        programs = timeline.run()
    except GuestError as error:
        # First, since what follows may need more memory or disk than there is.
        _say({"error": str(error)})
        _leave_what_there_is(nodes, plan["counters"], timeline)
        raise
    for leave in _leavings(nodes, plan["counters"], timeline):
        leave()
    return {"programs": programs, "zero_ns": timeline.zero_ns, "virtual_ns": time.monotonic_ns()}


def _leave_what_there_is(nodes: Nodes, counters: list[dict[str, Any]], timeline: Timeline) -> None:
    """After a failure, for someone to look at: what cannot be read or written is not worth another error."""
    for leave in reversed(_leavings(nodes, counters, timeline)):
        try:
            leave()
        except Exception as error:
            print(f"mptcplab: not all is left: {error}", file=sys.stderr, flush=True)


def _leavings(nodes: Nodes, counters: list[dict[str, Any]], timeline: Timeline) -> list[Callable[[], None]]:
    """What is left beside the programs' outputs, the kernel's log last: reading the others may add to it."""

    def algorithms() -> None:
        for watch in timeline.watches:
            _keep(watch.node, "algorithms.json", json.dumps(watch.found, sort_keys=True).encode())

    def keep_machine() -> None:
        state = machine.state(timeline.memory)
        system.write(f"{system.LAB}/machine.json", json.dumps(state, sort_keys=True).encode())

    def count(counter: dict[str, Any]) -> Callable[[], None]:
        return lambda: _count(nodes, counter)

    return [
        lambda: _write_lines(f"{system.LAB}/sockets.jsonl", timeline.samples),
        lambda: _write_lines(f"{system.LAB}/queues.jsonl", timeline.queue_samples),
        lambda: _write_lines(f"{system.LAB}/events.jsonl", timeline.changes.happened),
        *[count(counter) for counter in counters],
        algorithms,
        keep_machine,
        _keep_kernel_log,
    ]


def _keep_kernel_log() -> None:
    log = complaints.log_with_complaints()
    if log:
        system.write(f"{system.LAB}/kernel.txt", log.encode())


def _count(nodes: Nodes, counter: dict[str, Any]) -> None:
    status, said, complaint = nodes.run(counter["node"], counter["argv"])
    if status:
        reason = complaint.decode(errors="replace").strip() or f"status {status}"
        raise GuestError(f"{counter['name']} of {counter['node']} cannot be read: {reason}")
    _keep(counter["node"], counter["name"], said)


def _keep(node: str, name: str, content: bytes) -> None:
    folder = f"{system.LAB}/counters/{node}"
    os.makedirs(folder, exist_ok=True)
    system.write(f"{folder}/{name}", content)


def _write_lines(file: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        system.write(file, "".join(json.dumps(row) + "\n" for row in rows).encode())
